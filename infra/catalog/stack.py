"""A stack of Nessie, with all that it needs but the warehouse's bucket."""

from aws_cdk import Aws, CfnOutput, Stack
from constructs import Construct

from infra.assets import synthesizer
from infra.catalog.database import Database
from infra.catalog.front import Front
from infra.catalog.network import CatalogNetwork
from infra.catalog.server import Server
from infra.catalog.settings import environment
from infra.catalog.sizes import SIZES
from infra.catalog.watch import Watch
from infra.config import Config
from infra.data.stack import DataStack
from lakegate.access import nessie_settings
from lakegate.clients import ids_by_role


class CatalogStack(Stack):
    """One installation's catalog. CloudFormation refuses to delete the stack until somebody ends its protection."""

    def __init__(self, scope: Construct, *, config: Config, data: DataStack) -> None:
        super().__init__(
            scope,
            f"{config.name}-catalog",
            description="lakegate: the catalog, Nessie on Fargate over PostgreSQL",
            synthesizer=synthesizer(scope, config.name),
            termination_protection=not config.ephemeral,
        )
        size = SIZES[config.catalog_size]
        keys = data.storage.keys
        network = CatalogNetwork(self, "Network", config=config, keys=keys, size=size)
        database = Database(self, "Database", config=config, keys=keys, size=size, network=network)
        server = Server(
            self,
            "Server",
            image=config.catalog_image,
            size=size,
            keys=keys,
            network=network,
            database=database,
            environment=environment(
                bucket=data.storage.lake.bucket_name,
                region=Aws.REGION,
                database_host=database.instance.db_instance_endpoint_address,
                database_port=str(database.port),
                callers=_callers(config),
            ),
        )
        data.storage.write_warehouse(server.role)
        front = Front(self, "Front", config=config, network=network, server=server)
        Watch(self, "Watch", config=config, size=size, front=front, database=database)
        self.network = network.of_clients
        CfnOutput(self, "ClientsSecurityGroup", value=network.clients.security_group_id)


def _callers(config: Config) -> dict[str, str]:
    """Return the settings by which Nessie knows its callers: IAM roles by their tags, or an OIDC issuer's clients."""
    issuer, audience = config.token_issuer, config.token_audience
    if not config.token_endpoint:
        return nessie_settings(issuer, audience)
    return nessie_settings(issuer, audience, config.token_claim, ids_by_role(config.token_clients))
