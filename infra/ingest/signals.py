"""Signals as CloudWatch's metrics, and the alarms on what the functions emit."""

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from infra.config import Config
from infra.ingest.alarms import Missing, alarm
from infra.ingest.function import Function
from lakegate.adapters.emf import INSTALLATION, NAMESPACE
from lakegate.ports import Signal

HOUR = Duration.hours(1)
CRASHES = 3  # in an hour; one alone is tried again
UNREACHED = 2  # sweeps in a row


def metric(
    config: Config, signal: Signal, period: Duration, statistic: str = "Sum", label: str = ""
) -> aws_cloudwatch.Metric:
    """Return the metric of an installation's signal."""
    return aws_cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=str(signal),
        dimensions_map={INSTALLATION: config.name},
        period=period,
        statistic=statistic,
        label=label or None,
    )


class Signals(Construct):
    """Alarms on an installation's signals. Those on what a sweep finds keep their state in a period without a sweep,
    because another alarm tells of sweeps that are missing.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: Config, sweep: Function) -> None:
        super().__init__(scope, construct_id)
        self._config, self._interval = config, Duration.minutes(config.reconcile_minutes)
        self._watch_files()
        self._watch_jobs()
        self._watch_sweeps(sweep.timeout)

    def _watch_files(self) -> None:
        config = self._config
        alarm(
            self,
            "Undecided",
            metric(config, Signal.OLDEST_UNDECIDED, self._interval, "Maximum"),
            config=config,
            page="undecided",
            says=f"A file landed over {config.undecided_minutes} minutes ago and is neither published nor rejected.",
            threshold=config.undecided_minutes * 60,
            missing=Missing.IGNORE,
        )
        if config.rejected_percent:
            alarm(
                self,
                "Rejections",
                rejected_share(config),
                config=config,
                page="rejections",
                says=f"Of the files that were decided in the last hour, {config.rejected_percent} % were rejected.",
                threshold=config.rejected_percent,
            )

    def _watch_jobs(self) -> None:
        alarm(
            self,
            "Jobs",
            metric(self._config, Signal.JOBS_FAILED, HOUR),
            config=self._config,
            page="jobs-failed",
            says=f"{CRASHES} Spark jobs crashed within an hour.",
            threshold=CRASHES,
        )

    def _watch_sweeps(self, time: Duration) -> None:
        alarm(
            self,
            "Catalog",
            metric(self._config, Signal.CATALOG_UNREACHABLE, self._interval, "Minimum"),
            config=self._config,
            page="catalog-unreachable",
            says=f"Nessie did not answer {UNREACHED} sweeps in a row. Nothing is published meanwhile.",
            periods=UNREACHED,
            missing=Missing.IGNORE,
        )
        alarm(
            self,
            "Listing",
            metric(self._config, Signal.LISTING_SECONDS, self._interval, "Maximum"),
            config=self._config,
            page="listing-slow",
            says="Listing the landing bucket takes half of the time that a sweep has.",
            threshold=time.to_seconds() / 2,
            missing=Missing.IGNORE,
        )


def rejected_share(config: Config) -> aws_cloudwatch.MathExpression:
    """Return the percentage of the files decided in an hour that were rejected; without any, there is none."""
    files = {"rejected": Signal.FILES_REJECTED, "published": Signal.FILES_PUBLISHED}
    return aws_cloudwatch.MathExpression(
        expression="100 * FILL(rejected, 0) / (FILL(rejected, 0) + FILL(published, 0))",
        using_metrics={name: metric(config, signal, HOUR) for name, signal in files.items()},
        label="rejected, percent",
        period=HOUR,
    )
