"""Faults of settings that are right alone and wrong together. A text names each setting that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

from lakegate.clients import list_faults
from lakegate.doctor.zones import SUBNETS
from lakegate.landing import canary
from lakegate.settings import WORKER_CORES

if TYPE_CHECKING:
    from infra.config import Config

ONLY_OF_THE_STACK = ("catalog_certificate", "network_vpc", "network_zones", "token_issuer", "token_claim")
ONLY_OF_CLIENTS = ("token_scope", "token_claim", "token_clients")
HOST = r"(?!.{254})([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}"
ADDRESSES_OF_OTHERS = 30  # in a private subnet: AWS's five, and those of balancer, database, tasks and functions
LONGEST_TOKEN = 60  # minutes that a token of STS lives
Rows = Iterator[tuple[object, str]]  # is it wrong, and what to write


def combination_faults(config: Config, region: str) -> list[str]:
    """Return what is wrong with these settings together. `region` is the stack's, if known."""
    catalog = _of_the_catalog_stack if config.catalog_image else _beside_a_nessie
    rows = (
        *_of_jobs(config),
        *_of_storage(config),
        *_of_tokens(config),
        *_of_channels(config),
        *_of_the_region(config, region),
        *catalog(config),
    )
    return [text for is_wrong, text in rows if is_wrong]


def workers_in_subnet(config: Config) -> int:
    """Return how many workers of a job have an address in one of the new VPC's private subnets, in which all run."""
    if config.vpc_range is None:
        return 0
    subnets = 2 * max(SUBNETS, len(config.network_zones))  # a public and a private one in each zone, all of one size
    prefix = config.vpc_range.prefixlen + (subnets - 1).bit_length()
    return max(0, (1 << 32 - prefix) - ADDRESSES_OF_OTHERS)


def _names(config: Config, *fields: str, is_set: bool = True) -> list[str]:
    """Return the names of the settings that are given, or that are not."""
    return [field.replace("_", ".", 1) for field in fields if bool(getattr(config, field)) is is_set]


def _of_jobs(config: Config) -> Rows:
    yield config.executors < 1, f"spark.vcpus is at least {2 * WORKER_CORES} for each of spark.jobs_at_once"


def _of_storage(config: Config) -> Rows:
    folders = config.landing_folders
    yield (
        folders and (config.landing_uploaders or config.landing_keep_days),
        "landing.uploaders and landing.keep_days are for a bucket of the stack's: set them at that of landing.folders",
    )
    yield (
        any(inner.startswith(outer) for inner, outer in permutations(folders, 2)),
        "landing.folders names no folder twice, and none within another",
    )
    yield (
        config.landing_prefixes and config.alarm_canary_hours and not canary.KEY.startswith(config.landing_prefixes),
        f"landing.folders has to have {canary.KEY.partition('/')[0]}/ among them for alarm.canary_hours",
    )


def _of_tokens(config: Config) -> Rows:
    known_by = next(iter(_names(config, "token_audience", "token_endpoint")), "")
    yield (
        known_by and not config.ephemeral and config.nessie_uri.startswith("http:"),
        f"{known_by} needs an https://… address of nessie.uri, because whoever sees a token can use it",
    )
    yield (
        config.nessie_ca and config.nessie_uri.startswith("http:"),
        "nessie.ca is for an https://… address of nessie.uri",
    )
    yield (
        config.token_issuer.startswith("http:") and not config.ephemeral,
        "token.issuer begins with https://, because Nessie verifies tokens by what it says",
    )
    if config.token_endpoint:
        yield from ((True, f"token.clients {text}") for text in list_faults(config.token_clients))
        return
    yield (
        config.token_audience and config.spark_timeout_minutes > LONGEST_TOKEN,
        f"spark.timeout_minutes is at most {LONGEST_TOKEN} with token.audience: STS's tokens end then",
    )
    idle = _names(config, *ONLY_OF_CLIENTS)
    yield idle, f"give token.endpoint, the OIDC issuer's, for which {', '.join(idle)} would be"


def _of_channels(config: Config) -> Rows:
    yield (
        bool(config.slack_secret) != bool(config.slack_channel),
        "slack.secret and slack.channel are given together",
    )
    yield (
        bool(config.event_webhook_url) != bool(config.event_webhook_secret),
        "event.webhook_url and event.webhook_secret are given together: whatever a webhook gets is signed",
    )
    yield (
        config.event_lineage_secret and not config.event_lineage_url,
        "give event.lineage_url, the receiver of OpenLineage's events, for which event.lineage_secret would be",
    )
    for name, url in (
        ("event.webhook_url", config.event_webhook_url),
        ("event.lineage_url", config.event_lineage_url),
    ):
        yield (
            url.startswith("http:") and not config.ephemeral,
            f"{name} begins with https://, because it tells of your files",
        )


def _of_the_region(config: Config, region: str) -> Rows:
    """Yield what is of another region than the stack's. Names that are no ARN have none."""
    services = (
        ("alarm.topic", config.alarm_topic, "sns", "a topic", "because alarms reach no other region"),
        ("event.bus", config.event_bus, "events", "a bus", "because events are put on no other region's"),
        (
            "catalog.certificate",
            config.catalog_certificate,
            "acm",
            "a certificate",
            "because a balancer takes no other",
        ),
    )
    for name, arn, service, noun, reason in services:
        yield (
            region and arn.startswith("arn:") and f":{service}:{region}:" not in arn,
            f"{name} is {noun} in {region}, the stack's region, {reason}",
        )
    keys = [key for key in (config.kms_key, *config.kms_upload_keys) if key.startswith("arn:")]
    yield (
        region and any(f":kms:{region}:" not in key for key in keys),
        f"kms.key and kms.upload_keys are keys in {region}, the stack's region, because S3 takes no other",
    )
    yield (
        region and config.spark_image and f".ecr.{region}." not in config.spark_image,
        f"spark.image is an image in {region}, the stack's region, because EMR takes none of another region",
    )


def _beside_a_nessie(config: Config) -> Rows:
    yield not config.nessie_uri, "give nessie.uri, the address of a Nessie of yours or of the catalog stack"
    idle = _names(config, *ONLY_OF_THE_STACK)
    yield idle, f"give catalog.image, Nessie's, for a catalog stack, which {', '.join(idle)} would be for"
    yield (
        config.nessie_uri and not (config.network_subnets or config.network_security_groups or config.ephemeral),
        "give network.subnets and network.security_groups with a way to nessie.uri: without, jobs reach only AWS",
    )
    yield (
        bool(config.network_subnets) != bool(config.network_security_groups),
        "network.subnets and network.security_groups are given together",
    )


def _of_the_catalog_stack(config: Config) -> Rows:
    absences = _names(config, "network_vpc", *(() if config.token_endpoint else ("token_audience",)), is_set=False)
    yield absences, f"leave out catalog.image, or give what a catalog stack needs as well: {', '.join(absences)}"
    yield (
        config.token_endpoint and not (config.token_issuer and config.token_claim),
        "token.endpoint needs token.issuer and token.claim for a catalog stack",
    )
    yield (
        not re.fullmatch(HOST, config.catalog_host),
        "nessie.uri is https:// and a host's name in small letters, https://nessie.example.com, for a catalog stack",
    )
    if config.creates_vpc:
        workers = workers_in_subnet(config)
        yield (
            config.spark_vcpus // WORKER_CORES > workers,
            f"network.vpc has room for {workers} workers of Spark in a subnet: take a wider range for spark.vcpus",
        )
        yield (
            config.network_subnets or config.network_security_groups,
            "give nessie.uri for network.subnets and network.security_groups: network.vpc = create makes its own",
        )
    elif config.network_vpc:
        yield (
            not len(config.network_subnets) == len(config.network_zones) > 1,
            "network.vpc needs network.subnets, private ones with a NAT gateway, and network.zones, the subnets' own",
        )
