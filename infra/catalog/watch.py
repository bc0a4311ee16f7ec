"""Alarms of the catalog: on calls that fail, on a certificate that ends, on tasks that are missing, and on the
database's storage, processor and connections.
"""

from functools import partial

from aws_cdk import Duration, aws_certificatemanager, aws_cloudwatch
from aws_cdk import aws_elasticloadbalancingv2 as balancing
from constructs import Construct

from infra.alarms import MissingData, alarm
from infra.catalog.database import Database
from infra.catalog.front import Front
from infra.catalog.settings import CONNECTIONS
from infra.catalog.sizes import Size
from infra.config import Config
from lakegate.doctor.checks import LAST_DAYS

PERIOD, PERIODS = Duration.minutes(5), 3  # a quarter of an hour, in which ECS and RDS heal what they can
FAILED_CALLS = 20  # in a quarter of an hour; a refusal by Iceberg REST is one, too
LEAST_GIGABYTES = 1  # RDS adds storage at a tenth of what there is, which is two at first
BUSY_PERCENT = 90


class Watch(Construct):
    """The alarms. Each has a page of the runbook, as those of the service have."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, size: Size, front: Front, database: Database
    ) -> None:
        super().__init__(scope, construct_id)
        self._alarm = partial(alarm, self, config=config)
        self._watch_calls(front)
        self._watch_certificate(front)
        self._watch_tasks(front, size.tasks)
        self._watch_database(database, size)

    def _watch_calls(self, front: Front) -> None:
        self._alarm(
            "Errors",
            failed_calls(front),
            page="catalog-errors",
            text=f"Nessie, or its balancer, failed {FAILED_CALLS} calls in a quarter of an hour.",
            threshold=FAILED_CALLS,
        )

    def _watch_certificate(self, front: Front) -> None:
        """Create an alarm on the certificate's end, of which ACM tells twice a day until it has come."""
        certificate = aws_certificatemanager.Certificate.from_certificate_arn(self, "Certificate", front.certificate)
        self._alarm(
            "Expiry",
            certificate.metric_days_to_expiry(period=Duration.days(1), statistic="Minimum"),
            page="catalog-certificate",
            text=f"Nessie's certificate ends within {LAST_DAYS} days.",
            threshold=LAST_DAYS,
            low=True,
            gaps=MissingData.IGNORE,
        )

    def _watch_tasks(self, front: Front, tasks: int) -> None:
        self._alarm(
            "Tasks",
            front.targets.metrics.healthy_host_count(period=PERIOD, statistic="Minimum"),
            page="catalog-tasks",
            text=f"For a quarter of an hour, not all {tasks} of Nessie's tasks were well."
            if tasks > 1
            else "For a quarter of an hour, Nessie's task was missing or not well.",
            threshold=tasks,
            low=True,
            periods=PERIODS,
        )

    def _watch_database(self, database: Database, size: Size) -> None:
        instance, limit = database.instance, 3 * size.tasks * CONNECTIONS  # a deployment has twice the tasks
        self._alarm(
            "Storage",
            instance.metric_free_storage_space(period=PERIOD, statistic="Minimum"),
            page="database-storage",
            text=f"Nessie's database has less than {LEAST_GIGABYTES} GB of storage left.",
            threshold=LEAST_GIGABYTES * 1024**3,
            low=True,
            periods=PERIODS,
            gaps=MissingData.IGNORE,
        )
        self._alarm(
            "Processor",
            instance.metric_cpu_utilization(period=PERIOD, statistic="Average"),
            page="database-cpu",
            text=f"The processor of Nessie's database was {BUSY_PERCENT} % busy for a quarter of an hour.",
            threshold=BUSY_PERCENT,
            periods=PERIODS,
        )
        self._alarm(
            "Connections",
            instance.metric_database_connections(period=PERIOD, statistic="Maximum"),
            page="database-connections",
            text=f"Nessie's database has {limit} connections or more, which are not all of Nessie's tasks.",
            threshold=limit,
            periods=PERIODS,
        )


def failed_calls(front: Front) -> aws_cloudwatch.MathExpression:
    """Return how many calls failed in a quarter of an hour: in Nessie, or before they came to it."""
    quarter = Duration.minutes(PERIODS * PERIOD.to_minutes())
    metrics = front.balancer.metrics
    return aws_cloudwatch.MathExpression(
        expression="FILL(nessie, 0) + FILL(balancer, 0)",
        using_metrics={
            "nessie": metrics.http_code_target(balancing.HttpCodeTarget.TARGET_5XX_COUNT, period=quarter),
            "balancer": metrics.http_code_elb(balancing.HttpCodeElb.ELB_5XX_COUNT, period=quarter),
        },
        label="failed calls",
        period=quarter,
    )
