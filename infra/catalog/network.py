"""A network: a VPC, made or named by ids, and the security groups of those who meet in it."""

import re
from collections.abc import Collection
from typing import cast

from aws_cdk import aws_ec2
from constructs import Construct

from infra.catalog.sizes import Size
from infra.config import Config
from infra.keys import Keys
from infra.logs import log_group
from infra.network import Network
from lakegate.doctor.zones import SUBNETS

ZONE_ID = re.compile(r"[a-z0-9]+-az[0-9]+")  # such as use1-az4; a zone's name, such as us-east-1a, is an account's own


class CatalogNetwork(Construct):
    """The VPC, and the group `clients`: its members alone may call Nessie."""

    def __init__(self, scope: Construct, construct_id: str, *, config: Config, keys: Keys, size: Size) -> None:
        super().__init__(scope, construct_id)
        self._keys = keys
        self.vpc = self._create(config, size) if config.creates_vpc else self._vpc_by_name(config)
        self.subnets = aws_ec2.SubnetSelection(subnets=self.vpc.private_subnets)
        self.clients = aws_ec2.SecurityGroup(
            self, "Clients", vpc=self.vpc, description="Who may call the catalog: functions, jobs and readers"
        )
        self._groups = config.network_security_groups

    @property
    def of_clients(self) -> Network:
        """Return where functions and jobs run."""
        return Network(
            subnets=tuple(subnet.subnet_id for subnet in self.vpc.private_subnets),
            security_groups=(self.clients.security_group_id, *self._groups),
        )

    @staticmethod
    def _name_zones_by_id(vpc: aws_ec2.Vpc, zones: Collection[str]) -> None:
        """Have subnets say their zones by ids, which CDK takes for names, where the settings give ids."""
        for subnet in (*vpc.public_subnets, *vpc.private_subnets):
            resource, zone = cast("aws_ec2.CfnSubnet", subnet.node.default_child), subnet.availability_zone
            if zone in zones and ZONE_ID.fullmatch(zone):
                resource.availability_zone, resource.availability_zone_id = None, zone

    def _create(self, config: Config, size: Size) -> aws_ec2.Vpc:
        kinds = aws_ec2.SubnetType
        vpc = aws_ec2.Vpc(
            self,
            "Vpc",
            **({"availability_zones": list(config.network_zones)} if config.network_zones else {"max_azs": SUBNETS}),
            ip_addresses=aws_ec2.IpAddresses.cidr(str(config.vpc_range)),
            nat_gateways=size.nat_gateways,
            restrict_default_security_group=False,  # by a custom resource; nothing is in that group
            subnet_configuration=[
                aws_ec2.SubnetConfiguration(name="Public", subnet_type=kinds.PUBLIC, map_public_ip_on_launch=False),
                aws_ec2.SubnetConfiguration(name="Private", subnet_type=kinds.PRIVATE_WITH_EGRESS),
            ],
            # Free, and without it every byte of data pays for the NAT gateway.
            gateway_endpoints={
                "S3": aws_ec2.GatewayVpcEndpointOptions(service=aws_ec2.GatewayVpcEndpointAwsService.S3)
            },
        )
        self._name_zones_by_id(vpc, config.network_zones)
        log = log_group(self, "FlowLog", self._keys)
        vpc.add_flow_log("Flows", destination=aws_ec2.FlowLogDestination.to_cloud_watch_logs(log))
        return vpc

    def _vpc_by_name(self, config: Config) -> aws_ec2.IVpc:
        """Return a VPC of which nothing is looked up, because that would need an account at synth."""
        return aws_ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=config.network_vpc,
            availability_zones=list(config.network_zones),
            private_subnet_ids=list(config.network_subnets),
        )
