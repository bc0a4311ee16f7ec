"""Faults of an installation's choices about identities in the catalog: tokens of AWS STS, or of an OIDC issuer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakegate.clients import list_faults

if TYPE_CHECKING:
    from infra.config import Config

ONLY_OF_CLIENTS = ("token_scope", "token_claim", "token_clients")
LONGEST_TOKEN = 60  # minutes that a token of STS lives
_AUDIENCE = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
_ENDPOINT = re.compile(r"https://[^\s/@?#]+/[^\s?#]*")
_SCOPE = re.compile(r"(?!.{257})[!#-\[\]-~]+( [!#-\[\]-~]+)*")  # RFC 6749's characters
_CLAIM = re.compile(r"[A-Za-z0-9_-]{1,64}")


def token_faults(config: Config) -> list[str]:
    """Return what is wrong with these choices together."""
    clients = (
        [f"-c token_clients {text}" for text in list_faults(config.token_clients)] if config.token_endpoint else []
    )
    return [text for is_wrong, text in (*_of_tokens(config), *_of_clients(config)) if is_wrong] + clients


def _of_tokens(config: Config) -> Iterator[tuple[bool, str]]:
    yield (
        bool(config.token_audience) and not _AUDIENCE.fullmatch(config.token_audience),
        "-c token_audience is up to 128 letters, digits and characters of ._:/-",
    )
    given = next((f"-c {name}" for name in ("token_audience", "token_endpoint") if getattr(config, name)), "")
    yield (
        bool(given) and not config.ephemeral and config.nessie_uri.startswith("http:"),
        f"{given} needs an https://… address of -c nessie_uri, because whoever sees a token can use it",
    )
    yield (
        bool(config.token_audience and not config.token_endpoint) and config.job_timeout_minutes > LONGEST_TOKEN,
        f"-c job_timeout_minutes is at most {LONGEST_TOKEN} with -c token_audience: STS's tokens end then",
    )


def _of_clients(config: Config) -> Iterator[tuple[bool, str]]:
    idle = [f"-c {name}" for name in ONLY_OF_CLIENTS if getattr(config, name)]
    yield (
        bool(idle) and not config.token_endpoint,
        f"give -c token_endpoint, the OIDC issuer's, for which {', '.join(idle)} would be",
    )
    yield (
        bool(config.token_endpoint) and not _ENDPOINT.fullmatch(config.token_endpoint),
        "-c token_endpoint is the address at which the OIDC issuer gives tokens, https://…/token",
    )
    yield (
        bool(config.token_scope) and not _SCOPE.fullmatch(config.token_scope),
        "-c token_scope is the scopes that clients ask for, with one space between two",
    )
    yield (
        bool(config.token_claim) and not _CLAIM.fullmatch(config.token_claim),
        "-c token_claim is the name of the claim that has the client's id, such as client_id",
    )
