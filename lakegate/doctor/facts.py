"""Facts of an installation's surroundings, and of an account, as the adapters read them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class LandingBucket:
    """A landing bucket as its owner has set it. `key` is the ARN of its default key in KMS, or ""."""

    region: str
    is_versioned: bool
    sends_events: bool
    key: str


@dataclass(frozen=True, kw_only=True)
class HostedZone:
    """A zone of Route 53, by the domain whose names it has."""

    name: str
    is_private: bool


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate in ACM, with ACM's own word for its status. A name may begin with `*.`."""

    names: tuple[str, ...]
    status: str


@dataclass(frozen=True, kw_only=True)
class Subnet:
    """A subnet of the functions and jobs: its zone, where the default route goes ("" for nowhere), and whether S3 has a
    gateway endpoint in its route table.
    """

    id: str
    zone: str  # the zone's id, which is the same in every account
    way_out: str
    reaches_s3: bool
