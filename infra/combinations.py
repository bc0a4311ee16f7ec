"""Faults of choices that are right alone and wrong together. A text names each setting as `-c <name>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from lakegate.clients import list_faults
from lakegate.landing import canary
from lakegate.settings import WORKER_CORES

if TYPE_CHECKING:
    from infra.config import Config

NEEDED_OPTIONS = ("vpc", "nessie_image", "catalog_host", "token_issuer")
ONLY_OF_THE_STACK = (
    *("vpc", "azs", "nessie_image", "catalog_host", "catalog_certificate", "catalog_zone"),
    *("token_issuer", "token_claim"),
)
ONLY_OF_CLIENTS = ("token_scope", "token_claim", "token_clients")
LONGEST_TOKEN = 60  # minutes that a token of STS lives
Rows = Iterator[tuple[object, str]]  # is it wrong, and what to write


def combination_faults(config: Config, region: str) -> list[str]:
    """Return what is wrong with these choices together. `region` is the stack's, if known."""
    catalog = _beside_a_nessie if config.nessie_uri else _of_the_catalog_stack
    rows = (
        *_of_jobs(config),
        *_of_storage(config),
        *_of_tokens(config),
        *_of_channels(config),
        *_of_the_region(config, region),
        *catalog(config),
    )
    return [text for is_wrong, text in rows if is_wrong]


def _option_names(config: Config, *names: str) -> list[str]:
    return [f"-c {name}" for name in names if getattr(config, name)]


def _of_jobs(config: Config) -> Rows:
    yield (
        config.grace_seconds <= config.batch_window,
        "-c grace_seconds is over -c batch_window: otherwise the sweep takes files that still gather",
    )
    yield config.executors < 1, f"-c vcpus is at least {2 * WORKER_CORES} for each of -c jobs_at_once"


def _of_storage(config: Config) -> Rows:
    bucket, prefixes = config.landing_bucket, config.landing_prefixes
    yield (
        config.landing_days and config.landing_days < config.needed_days,
        f"-c landing_days is {config.needed_days} or more: a retry needs the file",
    )
    yield (
        bucket and (config.uploaders or config.landing_days),
        "-c uploaders and -c landing_days are for a bucket that the stack makes: set them at -c landing_bucket itself",
    )
    yield prefixes and not bucket, "-c landing_prefixes is for a bucket that is there: give -c landing_bucket, too"
    yield (
        any(inner.startswith(outer) for inner, outer in permutations(prefixes, 2)),
        "-c landing_prefixes names no folder twice, and none within another",
    )
    yield (
        prefixes and config.canary_hours and not canary.KEY.startswith(prefixes),
        f"-c landing_prefixes has to have {canary.KEY.partition('/')[0]}/ among them for -c canary_hours",
    )


def _of_tokens(config: Config) -> Rows:
    known_by = next(iter(_option_names(config, "token_audience", "token_endpoint")), "")
    yield (
        known_by and not config.ephemeral and config.nessie_uri.startswith("http:"),
        f"{known_by} needs an https://… address of -c nessie_uri, because whoever sees a token can use it",
    )
    yield (
        config.nessie_ca and config.nessie_uri.startswith("http:"),
        "-c nessie_ca is for an https://… address of -c nessie_uri",
    )
    if config.token_endpoint:
        yield from ((True, f"-c token_clients {text}") for text in list_faults(config.token_clients))
        return
    yield (
        config.token_audience and config.job_timeout_minutes > LONGEST_TOKEN,
        f"-c job_timeout_minutes is at most {LONGEST_TOKEN} with -c token_audience: STS's tokens end then",
    )
    idle = _option_names(config, *ONLY_OF_CLIENTS)
    yield idle, f"give -c token_endpoint, the OIDC issuer's, for which {', '.join(idle)} would be"


def _of_channels(config: Config) -> Rows:
    yield (
        bool(config.slack_secret) != bool(config.slack_channel),
        "-c slack_secret and -c slack_channel are given together",
    )
    yield (
        bool(config.webhook_url) != bool(config.webhook_secret),
        "-c webhook_url and -c webhook_secret are given together: whatever a webhook gets is signed",
    )
    yield (
        config.lineage_secret and not config.lineage_url,
        "give -c lineage_url, the receiver of OpenLineage's events, for which -c lineage_secret would be",
    )
    for name in ("webhook_url", "lineage_url"):
        yield (
            getattr(config, name).startswith("http:") and not config.ephemeral,
            f"-c {name} begins with https://, because it tells of your files",
        )


def _of_the_region(config: Config, region: str) -> Rows:
    """Yield what is of another region than the stack's. Names that are no ARN have none."""
    services = (
        ("alarm_topic", config.alarm_topic, "sns", "a topic", "because alarms reach no other region"),
        ("event_bus", config.event_bus, "events", "a bus", "because events are put on no other region's"),
        (
            "catalog_certificate",
            config.catalog_certificate,
            "acm",
            "a certificate",
            "because a balancer takes no other",
        ),
    )
    for name, arn, service, noun, reason in services:
        yield (
            region and arn.startswith("arn:") and f":{service}:{region}:" not in arn,
            f"-c {name} is {noun} in {region}, the stack's region, {reason}",
        )
    keys = [key for key in (config.kms_key, *config.upload_keys) if key.startswith("arn:")]
    yield (
        region and any(f":kms:{region}:" not in key for key in keys),
        f"-c kms_key and -c upload_keys are keys in {region}, the stack's region, because S3 takes no other",
    )
    yield (
        region and config.image and f".ecr.{region}." not in config.image,
        f"-c image is an image in {region}, the stack's region, because EMR takes none of another region",
    )


def _beside_a_nessie(config: Config) -> Rows:
    idle = _option_names(config, *ONLY_OF_THE_STACK)
    yield idle, f"-c nessie_uri takes the place of the catalog stack, which {', '.join(idle)} would be for"
    yield (
        not (config.subnets or config.security_groups or config.ephemeral),
        "give -c subnets=… and -c security_groups=… with a way to Nessie: without, jobs reach only AWS",
    )
    yield (
        bool(config.subnets) != bool(config.security_groups),
        "-c subnets and -c security_groups are given together",
    )


def _of_the_catalog_stack(config: Config) -> Rows:
    known_by = "token_claim" if config.token_endpoint else "token_audience"
    missing_options = [f"-c {name}" for name in (*NEEDED_OPTIONS, known_by) if not getattr(config, name)]
    yield missing_options, f"give -c nessie_uri, or what a catalog stack needs as well: {', '.join(missing_options)}"
    yield (
        bool(config.catalog_zone) == bool(config.catalog_certificate),
        "give either -c catalog_zone, the id of the host's public zone, or -c catalog_certificate, the host's own",
    )
    yield (
        not re.fullmatch(r"[a-z][a-z0-9]*", config.warehouse),
        "-c warehouse is small letters and digits: it is a part of a setting's name in the catalog stack",
    )
    if config.creates_vpc:
        yield (
            config.subnets or config.security_groups,
            "-c vpc=create makes its own -c subnets and -c security_groups: give none",
        )
    elif config.vpc:
        yield (
            not len(config.subnets) == len(config.azs) > 1,
            "-c vpc needs -c subnets, private ones with a NAT gateway, and -c azs, the zone of each, in two at least",
        )
