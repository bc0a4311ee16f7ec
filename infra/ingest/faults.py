"""Faults of an installation's choices about identities in the catalog (tokens of AWS STS, or of an OIDC issuer) and
about the channels to other systems.
"""

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
_BUS = re.compile(r"(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9._/-]{1,256}")
_WEB = re.compile(r"https?://[^\s/@]+(/[^\s@]*)?")
_SECRET = re.compile(r"[A-Za-z0-9/_+=.@-]{1,256}")


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


def channel_faults(config: Config, region: str) -> list[str]:
    """Return what is wrong with the choice of channels. `region` is the stack's, if known."""
    return [text for is_wrong, text in _of_channels(config, region) if is_wrong]


def _of_channels(config: Config, region: str) -> Iterator[tuple[bool, str]]:
    yield (
        bool(config.event_bus) and not _BUS.fullmatch(config.event_bus),
        "-c event_bus is the name or the ARN of an event bus, arn:aws:events:…:event-bus/<name>",
    )
    yield (
        bool(region) and config.event_bus.startswith("arn:") and f":events:{region}:" not in config.event_bus,
        f"-c event_bus is a bus in {region}, the stack's region, because events are put on no other region's",
    )
    yield (
        bool(config.webhook_url) != bool(config.webhook_secret),
        "-c webhook_url and -c webhook_secret are given together: whatever a webhook gets is signed",
    )
    yield (
        bool(config.lineage_secret) and not config.lineage_url,
        "give -c lineage_url, the receiver of OpenLineage's events, for which -c lineage_secret would be",
    )
    for name in ("webhook_url", "lineage_url"):
        url = getattr(config, name)
        yield (
            bool(url) and not _WEB.fullmatch(url),
            f"-c {name} is an address, https://…, without user and password",
        )
        yield (
            url.startswith("http:") and not config.ephemeral,
            f"-c {name} begins with https://, because it tells of your files",
        )
    for name in ("webhook_secret", "lineage_secret"):
        secret = getattr(config, name)
        yield (
            secret.startswith("arn:") or bool(secret and not _SECRET.fullmatch(secret)),
            f"-c {name} is the secret's name, not its ARN",
        )
