"""A dashboard of one installation: its alarms, and below them files, jobs, sweeps and functions, a row each."""

from collections.abc import Iterable

from aws_cdk import Duration, aws_cloudwatch
from aws_cdk.aws_cloudwatch import Alarm, AlarmStatusWidget, CfnAlarm, GraphWidget, IAlarm, IWidget
from constructs import Construct

from infra.config import Config
from infra.ingest.function import Function
from infra.ingest.inbox import Inbox
from infra.ingest.signals import metric
from lakegate.ports import Signal

PERIOD, WIDTH, HEIGHT = Duration.minutes(5), 24, 6
SUM, MAXIMUM = "Sum", "Maximum"
ROWS: tuple[tuple[tuple[str, str, tuple[Signal, ...]], ...], ...] = (
    (
        ("Files", SUM, (Signal.FILES_RECEIVED, Signal.FILES_PUBLISHED, Signal.FILES_REJECTED)),
        ("Files that wait", MAXIMUM, (Signal.FILES_QUEUED, Signal.FILES_UNROUTED)),
        ("Age of the oldest undecided file", MAXIMUM, (Signal.OLDEST_UNDECIDED,)),
    ),
    (
        ("Batches and branches", MAXIMUM, (Signal.UNDECIDED_BATCHES, Signal.OPEN_BRANCHES)),
        (
            "Jobs that crashed, files handed over to Spark, merges that were tried again",
            SUM,
            (Signal.JOBS_FAILED, Signal.FILES_HANDED_OVER, Signal.PUBLISH_CONFLICTS),
        ),
        ("Seconds of jobs", SUM, (Signal.JOB_SECONDS,)),
        ("Billed", SUM, (Signal.VCPU_HOURS, Signal.MEMORY_GB_HOURS, Signal.STORAGE_GB_HOURS)),
    ),
    (
        ("Nessie does not answer", MAXIMUM, (Signal.CATALOG_UNREACHABLE,)),
        ("Versions in the landing bucket", MAXIMUM, (Signal.VERSIONS_LISTED,)),
        ("Seconds to list them", MAXIMUM, (Signal.LISTING_SECONDS,)),
        ("Age of the oldest message to people", MAXIMUM, (Signal.OLDEST_MESSAGE,)),
    ),
)


class Dashboard(Construct):
    """The dashboard. It is made after everything else, because it shows every alarm of the app."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, functions: Iterable[Function], inbox: Inbox
    ) -> None:
        super().__init__(scope, construct_id)
        signals = [[self._signals(config, *graph, len(row)) for graph in row] for row in ROWS]
        aws_cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=config.name,
            widgets=[
                [AlarmStatusWidget(alarms=self._alarms(), width=WIDTH)],
                *signals,
                _functions([*functions], inbox),
            ],
        )

    def _alarms(self) -> list[IAlarm]:
        """Return the alarms by their names: the catalog's stack exports none, so it can be changed alone."""
        alarms = [construct for construct in self.node.root.node.find_all() if isinstance(construct, CfnAlarm)]
        return [
            Alarm.from_alarm_name(self, alarm_construct.alarm_name, alarm_construct.alarm_name)
            for alarm_construct in alarms
            if alarm_construct.alarm_name
        ]

    def _signals(self, config: Config, title: str, statistic: str, signals: tuple[Signal, ...], count: int) -> IWidget:
        lines = [metric(config, signal, PERIOD, statistic) for signal in signals]
        return GraphWidget(title=title, left=lines, width=WIDTH // count, height=HEIGHT)


def _functions(functions: list[Function], inbox: Inbox) -> list[IWidget]:
    """Return the row of what AWS measures itself: functions, and the queue before the first of them."""
    named_functions = [(function.name, function.function) for function in functions]
    calls = [function.metric_invocations(period=PERIOD, label=name) for name, function in named_functions]
    faults = [function.metric_errors(period=PERIOD, label=f"{name} fails") for name, function in named_functions]
    faults += [
        function.metric_throttles(period=PERIOD, label=f"{name} is throttled") for name, function in named_functions
    ]
    times = [
        function.metric_duration(period=PERIOD, statistic=MAXIMUM, label=name) for name, function in named_functions
    ]
    waits = [inbox.queue.metric_approximate_age_of_oldest_message(period=PERIOD, label="seconds in the queue")]
    graphs = {"Calls": calls, "Calls that failed": faults, "Milliseconds of a call": times, "Events that wait": waits}
    return [
        GraphWidget(title=title, left=lines, width=WIDTH // len(graphs), height=HEIGHT)
        for title, lines in graphs.items()
    ]
