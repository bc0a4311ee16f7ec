"""Nessie's tasks: Fargate on ARM64, the image by its digest, and rights on the warehouse alone."""

import re
from collections.abc import Mapping

from aws_cdk import Aws, Duration, aws_ec2, aws_ecr, aws_ecs, aws_iam
from constructs import Construct

from infra.catalog.database import Database
from infra.catalog.network import CatalogNetwork
from infra.catalog.settings import HEALTH_PORT, PASSWORD, PORT, USER
from infra.catalog.sizes import Size
from infra.keys import DECRYPT, SECRETS, Keys
from infra.logs import log_group
from infra.waivers import waive

_ECR = re.compile(r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.[^/]+/([^@:]+)[^@]*@(.+)")
START = Duration.minutes(3)  # for which a new task need not answer health checks
TASKS = "ecs-tasks.amazonaws.com"


class Server(Construct):
    """A service of as many tasks as the size says. Its role has no rights until the stack grants some."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        image: str,
        size: Size,
        keys: Keys,
        network: CatalogNetwork,
        database: Database,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self._keys = keys
        self.role = aws_iam.Role(self, "Role", assumed_by=_ecs())
        self.starter = aws_iam.Role(self, "Starter", assumed_by=_ecs())
        keys.lend(self.starter, SECRETS, DECRYPT, database.secret.secret_arn)
        self.group = aws_ec2.SecurityGroup(self, "Group", vpc=network.vpc, description="Tasks of the catalog")
        database.group.add_ingress_rule(self.group, aws_ec2.Port.tcp(database.port), "Tasks of the catalog")
        cluster = aws_ecs.Cluster(self, "Cluster", vpc=network.vpc)
        waive(
            cluster,
            rule="ECS4",
            reason="Metrics of the service and of its balancer are there without Container Insights, which costs more.",
        )
        self.service = aws_ecs.FargateService(
            self,
            "Service",
            cluster=cluster,
            task_definition=self._task(image, size, database, environment),
            desired_count=size.tasks,
            min_healthy_percent=100,
            max_healthy_percent=200,
            circuit_breaker=aws_ecs.DeploymentCircuitBreaker(rollback=True),
            health_check_grace_period=START,
            security_groups=[self.group],
            vpc_subnets=network.subnets,
            assign_public_ip=False,
        )
        # ECS gives a deployment up after three tasks that fail, so the first one starts once its way is open.
        self.service.node.add_dependency(network, database, self.role, self.starter, self.group)

    def _task(
        self, image: str, size: Size, database: Database, environment: Mapping[str, str]
    ) -> aws_ecs.FargateTaskDefinition:
        task = aws_ecs.FargateTaskDefinition(
            self,
            "Task",
            cpu=size.cpu,
            memory_limit_mib=size.memory,
            runtime_platform=aws_ecs.RuntimePlatform(
                cpu_architecture=aws_ecs.CpuArchitecture.ARM64,
                operating_system_family=aws_ecs.OperatingSystemFamily.LINUX,
            ),
            task_role=self.role,
            execution_role=self.starter,
        )
        secret = aws_ecs.Secret.from_secrets_manager
        task.add_container(
            "Nessie",
            image=self._image(image),
            environment=dict(environment),
            secrets={USER: secret(database.secret, "username"), PASSWORD: secret(database.secret, "password")},
            port_mappings=[aws_ecs.PortMapping(container_port=port) for port in (PORT, HEALTH_PORT)],
            logging=aws_ecs.LogDrivers.aws_logs(stream_prefix="nessie", log_group=log_group(self, "Log", self._keys)),
        )
        waive(task, rule="ECS2", reason="The environment is Nessie's settings. User and password are secrets.")
        return task

    def _image(self, name: str) -> aws_ecs.ContainerImage:
        """Return the image. An image in Amazon ECR needs the right to pull it."""
        match = _ECR.fullmatch(name)
        if not match:
            return aws_ecs.ContainerImage.from_registry(name)
        account, region, repository, digest = match.groups()
        waive(
            self.starter,
            rule="IAM5[Resource::*]",
            reason="ecr:GetAuthorizationToken takes no resource; the image's repository is named.",
        )
        return aws_ecs.ContainerImage.from_ecr_repository(
            aws_ecr.Repository.from_repository_attributes(
                self,
                "Repository",
                repository_arn=f"arn:{Aws.PARTITION}:ecr:{region}:{account}:repository/{repository}",
                repository_name=repository,
            ),
            digest,
        )


def _ecs() -> aws_iam.ServicePrincipal:
    """Return ECS as it acts for tasks of this account."""
    conditions = {
        "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
        "ArnLike": {"aws:SourceArn": f"arn:{Aws.PARTITION}:ecs:{Aws.REGION}:{Aws.ACCOUNT_ID}:*"},
    }
    return aws_iam.ServicePrincipal(TASKS, conditions=conditions)
