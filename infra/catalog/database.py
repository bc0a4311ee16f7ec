"""A PostgreSQL database, which holds everything that Nessie knows."""

from typing import cast

from aws_cdk import CfnParameter, Duration, Stack, aws_ec2, aws_rds
from constructs import Construct

from infra.catalog.network import CatalogNetwork
from infra.catalog.settings import DATABASE
from infra.catalog.sizes import Size
from infra.config import Config
from infra.keys import Keys
from infra.removal import removal_policy
from infra.waivers import waive
from lakegate.deployment.assembly import DATABASE_PROTECTION

GIGABYTES, MOST_GIGABYTES = 20, 200  # RDS adds storage by itself


class Database(Construct):
    """A database in private subnets. Secrets Manager makes its password, and nobody else has it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        keys: Keys,
        size: Size,
        network: CatalogNetwork,
    ) -> None:
        super().__init__(scope, construct_id)
        keep = removal_policy(config)
        self.group = aws_ec2.SecurityGroup(
            self, "Group", vpc=network.vpc, description="Database of the catalog", allow_all_outbound=False
        )
        subnets = aws_rds.SubnetGroup(
            self,
            "Subnets",
            vpc=network.vpc,
            vpc_subnets=network.subnets,
            description="Database of the catalog",
            removal_policy=keep,
        )
        self.secret = aws_rds.DatabaseSecret(self, "Password", username=DATABASE, encryption_key=keys.key(self))
        self.instance = aws_rds.DatabaseInstance(
            self,
            "Instance",
            engine=aws_rds.DatabaseInstanceEngine.postgres(version=aws_rds.PostgresEngineVersion.VER_17),
            instance_type=aws_ec2.InstanceType(size.database),
            database_name=DATABASE,
            credentials=aws_rds.Credentials.from_secret(self.secret),
            vpc=network.vpc,
            subnet_group=subnets,
            security_groups=[self.group],
            publicly_accessible=False,
            multi_az=size.is_in_two_zones,
            storage_type=aws_rds.StorageType.GP3,
            storage_encrypted=True,  # with RDS's key: another one would replace the database by an empty one
            allocated_storage=GIGABYTES,
            max_allocated_storage=MOST_GIGABYTES,
            backup_retention=Duration.days(size.backup_days),
            copy_tags_to_snapshot=True,
            deletion_protection=not config.ephemeral,
            removal_policy=keep,
        )
        if not config.ephemeral:
            self._protect()
        # What the database cannot be without: its network and its password.
        for part in (self.group, self.secret):
            part.apply_removal_policy(keep)
        self.port = 5432
        self._waive(config, size)

    def _protect(self) -> None:
        """Protect the database, unless its first deployment is still to succeed: RDS would refuse to take it back."""
        protection = CfnParameter(
            Stack.of(self),
            DATABASE_PROTECTION,
            default="true",
            allowed_values=["true", "false"],
            description="Is the database protected from deletion? lakegate deploy says false until all stacks are made",
        )
        cast("aws_rds.CfnDBInstance", self.instance.node.default_child).add_property_override(
            "DeletionProtection", protection.value_as_string
        )

    def _waive(self, config: Config, size: Size) -> None:
        waive(
            self.secret,
            rule="SMG4",
            reason="Tasks read the password when they start, so a rotation by the clock would cut Nessie off. "
            "docs/how-to/catalog.md says how to change it.",
        )
        waive(self.instance, rule="RDS11", reason="The port is open to Nessie's tasks alone.")
        if not size.is_in_two_zones:
            waive(self.instance, rule="RDS3", reason="The size `dev` is in one zone; `prod` is in two.")
        if config.ephemeral:
            waive(self.instance, rule="RDS10", reason="An ephemeral installation is deleted with all that it knows.")
