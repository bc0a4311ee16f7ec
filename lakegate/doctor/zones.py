"""Zones of a region in which EMR Serverless is, by their ids, which are the same in every account.

The service says them nowhere but on AWS's page "Endpoints and quotas for EMR Serverless", read in November 2026.
"""

from collections.abc import Iterable

NUMBERS = {  # at the end of the ids of its zones, in regions that differ from the others
    "us-east-1": (1, 2, 4, 5, 6),
    "us-west-1": (1, 3),
    "us-west-2": (1, 2, 3, 4),
    "ap-northeast-1": (1, 2, 4),
    "ap-northeast-2": (1, 2, 3, 4),
    "ca-central-1": (1, 2, 4),
    "cn-north-1": (1, 2),
}
USUAL = (1, 2, 3)
SUBNETS = 2  # zones that a load balancer and a database need at least


def alternatives(zone: str, region: str) -> list[str]:
    """Return the region's zones in which EMR Serverless is. The zone is any of the region."""
    return [f"{zone.rpartition('-az')[0]}-az{number}" for number in NUMBERS.get(region, USUAL)]


def choose(zones: Iterable[str], region: str) -> tuple[str, ...]:
    """Return the zones for a new network, of those that an account has: always the same, and fewer if it has fewer."""
    return tuple(sorted(zone for zone in zones if zone in alternatives(zone, region))[:SUBNETS])
