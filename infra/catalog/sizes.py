"""Sizes of a catalog. docs/how-to/catalog.md has the price of each."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Size:
    """Resources of a catalog. `cpu` is in thousandths of 1.024 vCPUs and `memory` in MB, a pair that Fargate has."""

    cpu: int
    memory: int
    tasks: int
    database: str
    is_in_two_zones: bool
    backup_days: int
    nat_gateways: int


SIZES = {
    "dev": Size(
        cpu=1024,
        memory=2048,
        tasks=1,
        database="t4g.micro",
        is_in_two_zones=False,
        backup_days=7,
        nat_gateways=1,
    ),
    "prod": Size(
        cpu=1024,
        memory=2048,
        tasks=2,
        database="t4g.small",
        is_in_two_zones=True,
        backup_days=35,  # the longest that RDS keeps
        nat_gateways=2,
    ),
}
