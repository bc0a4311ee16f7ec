"""Faults of an installation's choices about its catalog: a stack of ours, or a Nessie that it brings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from infra.catalog.sizes import SIZES

if TYPE_CHECKING:
    from infra.config import Config

NEEDED = ("vpc", "nessie_image", "catalog_host", "token_issuer")
ONLY_HERE = (
    *("vpc", "azs", "nessie_image", "catalog_host", "catalog_certificate", "catalog_zone"),
    *("token_issuer", "token_claim"),
)
_VPC = re.compile(r"create|vpc-[0-9a-f]+")
_IMAGE = re.compile(r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[\w.-]+)?@sha256:[0-9a-f]{64}")
_HOST = re.compile(r"(?!.{254})([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_CERTIFICATE = re.compile(r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+")
_ZONE = re.compile(r"Z[A-Z0-9]{1,31}")
_ISSUER = re.compile(r"https://[^\s/@]+(/\S*)?")
_WAREHOUSE = re.compile(r"[a-z][a-z0-9]*")


def catalog_faults(config: Config, region: str) -> list[str]:
    """Return what is wrong with these choices together."""
    if config.nessie_uri:
        return [text for is_wrong, text in _beside_a_nessie(config) if is_wrong]
    return [text for is_wrong, text in (*_of_the_stack(config, region), *_of_its_network(config)) if is_wrong]


def _beside_a_nessie(config: Config) -> Iterator[tuple[bool, str]]:
    idle = [f"-c {name}" for name in ONLY_HERE if getattr(config, name)]
    yield bool(idle), f"-c nessie_uri takes the place of the catalog stack, which {', '.join(idle)} would be for"
    yield (
        not (config.subnets or config.security_groups or config.ephemeral),
        "give -c subnets=… and -c security_groups=… with a way to Nessie: without, jobs reach only AWS",
    )
    yield (
        bool(config.subnets) != bool(config.security_groups),
        "-c subnets and -c security_groups are given together",
    )


def _of_the_stack(config: Config, region: str) -> Iterator[tuple[bool, str]]:
    known_by = "token_claim" if config.token_endpoint else "token_audience"
    missing = [f"-c {name}" for name in (*NEEDED, known_by) if not getattr(config, name)]
    yield bool(missing), f"give -c nessie_uri, or what a catalog stack needs as well: {', '.join(missing)}"
    yield config.catalog_size not in SIZES, f"-c catalog_size is one of {', '.join(SIZES)}"
    yield (
        bool(config.nessie_image) and not _IMAGE.fullmatch(config.nessie_image),
        "-c nessie_image is <registry>/<name>@sha256:<digest>: a tag alone may become another image by tomorrow",
    )
    yield (
        bool(config.catalog_host) and not _HOST.fullmatch(config.catalog_host),
        "-c catalog_host is a host's name in small letters, nessie.example.com",
    )
    yield (
        bool(config.catalog_zone) == bool(config.catalog_certificate),
        "give either -c catalog_zone, the id of the host's public zone, or -c catalog_certificate, the host's own",
    )
    yield (
        bool(config.catalog_zone) and not _ZONE.fullmatch(config.catalog_zone),
        "-c catalog_zone is the id of a hosted zone in Route 53, Z…",
    )
    yield (
        bool(config.catalog_certificate) and not _CERTIFICATE.fullmatch(config.catalog_certificate),
        "-c catalog_certificate is the ARN of a certificate in ACM, arn:aws:acm:…",
    )
    yield (
        bool(region and _CERTIFICATE.fullmatch(config.catalog_certificate))
        and f":acm:{region}:" not in config.catalog_certificate,
        f"-c catalog_certificate is a certificate in {region}, the stack's region: a balancer takes no other",
    )
    yield (
        bool(config.token_issuer) and not _ISSUER.fullmatch(config.token_issuer),
        "-c token_issuer is the address of the account's STS issuer, or of the OIDC issuer, https://…",
    )
    yield (
        not _WAREHOUSE.fullmatch(config.warehouse),
        "-c warehouse is small letters and digits: it is a part of a setting's name in the catalog stack",
    )


def _of_its_network(config: Config) -> Iterator[tuple[bool, str]]:
    yield bool(config.vpc) and not _VPC.fullmatch(config.vpc), "-c vpc is create, or the id of a VPC, vpc-…"
    yield (
        bool(config.azs) and len(set(config.azs)) < 2,  # noqa: PLR2004 - a balancer needs two
        "-c azs names two availability zones at least, because a load balancer needs two",
    )
    if config.creates_vpc:
        yield (
            bool(config.subnets or config.security_groups),
            "-c vpc=create makes its own -c subnets and -c security_groups: give none",
        )
    elif _VPC.fullmatch(config.vpc):
        yield (
            not len(config.subnets) == len(config.azs) > 1,
            "-c vpc needs -c subnets, private ones with a NAT gateway, and -c azs, the zone of each, in two at least",
        )
