"""Signals as CloudWatch's metrics, and the alarms on what the functions emit."""

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from infra.alarms import MissingData, alarm
from infra.config import SWEEP_MINUTES, Config
from infra.ingest.function import Function
from lakegate.adapters.emf import INSTALLATION, NAMESPACE, TABLE
from lakegate.landing import canary
from lakegate.ports import Signal

HOUR = Duration.hours(1)
CRASHES = 3  # in an hour; one alone is tried again
UNREACHABLE_SWEEPS = 2  # sweeps in a row
UNDECIDED_TIMEOUTS = 4  # the time of so many jobs that take too long
REJECTED_PERCENT, REJECTED_OF = 50, 20  # files decided in an hour, at least; one bad file alone is no alarm
CANARY_MINUTES = 60  # for a canary to reach main


def metric(
    config: Config, signal: Signal, period: Duration, statistic: str = "Sum", table: str = ""
) -> aws_cloudwatch.Metric:
    """Return the metric of an installation's signal; that of one table if the functions emit it by table."""
    return aws_cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=str(signal),
        dimensions_map={INSTALLATION: config.name, **({TABLE: table} if table else {})},
        period=period,
        statistic=statistic,
    )


class Signals(Construct):
    """Alarms on an installation's signals. Those on what a sweep finds keep their state in a period without a sweep,
    because another alarm is about missing sweeps.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: Config, sweep: Function) -> None:
        super().__init__(scope, construct_id)
        self._config, self._interval = config, Duration.minutes(SWEEP_MINUTES[config.ephemeral])
        self._watch_files()
        self._watch_jobs()
        self._watch_sweeps(sweep.timeout)
        if config.alarm_canary_hours:
            self._watch_canary()

    def _watch_files(self) -> None:
        config = self._config
        minutes = UNDECIDED_TIMEOUTS * config.spark_timeout_minutes
        alarm(
            self,
            "Undecided",
            metric(config, Signal.OLDEST_UNDECIDED, self._interval, "Maximum"),
            config=config,
            page="undecided",
            text=f"A file landed over {minutes} minutes ago and is neither published nor rejected.",
            threshold=minutes * 60,
            gaps=MissingData.IGNORE,
        )
        alarm(
            self,
            "Rejections",
            rejected_share(config),
            config=config,
            page="rejections",
            text=f"Of {REJECTED_OF} files or more, decided in the last hour, {REJECTED_PERCENT} % were rejected.",
            threshold=REJECTED_PERCENT,
        )

    def _watch_jobs(self) -> None:
        alarm(
            self,
            "Jobs",
            metric(self._config, Signal.JOBS_FAILED, HOUR),
            config=self._config,
            page="jobs-failed",
            text=f"{CRASHES} Spark jobs crashed within an hour.",
            threshold=CRASHES,
        )

    def _watch_sweeps(self, time: Duration) -> None:
        alarm(
            self,
            "Catalog",
            metric(self._config, Signal.CATALOG_UNREACHABLE, self._interval, "Minimum"),
            config=self._config,
            page="catalog-unreachable",
            text=f"Nessie did not answer {UNREACHABLE_SWEEPS} sweeps in a row. Nothing is published meanwhile.",
            periods=UNREACHABLE_SWEEPS,
            gaps=MissingData.IGNORE,
        )
        alarm(
            self,
            "Listing",
            metric(self._config, Signal.LISTING_SECONDS, self._interval, "Maximum"),
            config=self._config,
            page="listing-slow",
            text="Listing the landing bucket takes half of the time that a sweep has.",
            threshold=time.to_seconds() / 2,
            gaps=MissingData.IGNORE,
        )

    def _watch_canary(self) -> None:
        hours = self._config.alarm_canary_hours
        period = Duration.minutes(hours * 60 + CANARY_MINUTES)
        alarm(
            self,
            "Canary",
            metric(self._config, Signal.FILES_PUBLISHED, period, table=canary.TABLE),
            config=self._config,
            page="canary",
            text=f"No canary has reached main for {hours} hours and {CANARY_MINUTES} minutes.",
            low=True,
        )


def rejected_share(config: Config) -> aws_cloudwatch.MathExpression:
    """Return the percentage of the files decided in an hour that were rejected, or 0 of a few files."""
    files = {"rejected": Signal.FILES_REJECTED, "published": Signal.FILES_PUBLISHED}
    total = "FILL(rejected, 0) + FILL(published, 0)"
    return aws_cloudwatch.MathExpression(
        expression=f"IF({total} >= {REJECTED_OF}, 100 * FILL(rejected, 0) / ({total}), 0)",
        using_metrics={name: metric(config, signal, HOUR) for name, signal in files.items()},
        label="rejected, percent",
        period=HOUR,
    )
