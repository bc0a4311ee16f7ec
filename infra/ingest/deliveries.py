"""Alarms on what AWS drops on its way to the functions, which no function and no dead letter can report."""

from collections.abc import Iterable

from aws_cdk import Duration, Stack, aws_cloudwatch, aws_events
from constructs import Construct

from infra.alarms import alarm
from infra.config import Config
from infra.ingest.function import Function

QUARTER = Duration.minutes(15)
FAILURES = ("FailedInvocations", "InvocationsFailedToBeSentToDlq")  # the second where both queues refuse


class Deliveries(Construct):
    """An alarm on events that reach neither their target nor its dead letters, and one on calls that Lambda takes for
    an endless loop. CloudWatch has no data where nothing is dropped.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: Config, functions: Iterable[Function]) -> None:
        super().__init__(scope, construct_id)
        rules = [rule for rule in Stack.of(self).node.find_all() if isinstance(rule, aws_events.Rule)]
        alarm(
            self,
            "Undelivered",
            _sum(_metric("Events", name, RuleName=rule.rule_name) for rule in rules for name in FAILURES),
            config=config,
            page="events-undelivered",
            text=f"EventBridge could not deliver an event of {config.name}, to no queue of dead letters either.",
        )
        names = [function.function.function_name for function in functions]
        alarm(
            self,
            "Dropped",
            _sum(_metric("Lambda", "RecursiveInvocationsDropped", FunctionName=name) for name in names),
            config=config,
            page="calls-dropped",
            text=f"Lambda dropped a call of {config.name} that it took for a part of an endless loop.",
        )


def _metric(service: str, name: str, **dimensions: str) -> aws_cloudwatch.Metric:
    return aws_cloudwatch.Metric(
        namespace=f"AWS/{service}", metric_name=name, dimensions_map=dimensions, period=QUARTER, statistic="Sum"
    )


def _sum(metrics: Iterable[aws_cloudwatch.Metric]) -> aws_cloudwatch.MathExpression:
    by_id = {f"m{number}": metric for number, metric in enumerate(metrics)}
    return aws_cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in by_id), using_metrics=by_id, period=QUARTER
    )
