"""A place in a network for functions and jobs."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Network:
    """Ids of subnets and security groups; without any, functions and jobs run outside every VPC."""

    subnets: tuple[str, ...]
    security_groups: tuple[str, ...]
