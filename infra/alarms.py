"""Alarms, which notify the installation's topic, if it has one, when they go off and when they end.

Each has a page of the runbook, which its name and its description lead to.
"""

from aws_cdk import aws_cloudwatch, aws_sns
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from infra.config import Config

LESS_THAN = aws_cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
RUNBOOK = "docs/runbook"
MissingData = aws_cloudwatch.TreatMissingData


def alarm(
    scope: Construct,
    construct_id: str,
    metric: aws_cloudwatch.IMetric,
    *,
    config: Config,
    page: str,
    text: str,
    threshold: float = 1,
    low: bool = False,
    periods: int = 1,
    gaps: aws_cloudwatch.TreatMissingData | None = None,
) -> None:
    """Create an alarm that goes off when the metric reaches the threshold in each of its last periods, or with `low`,
    falls below it or has no data. `gaps` treats periods without data in another way; by default, an alarm without `low`
    takes it that all is well.
    """
    new_alarm = aws_cloudwatch.Alarm(
        scope,
        construct_id,
        metric=metric,
        alarm_name=f"{config.name}-{page}",
        alarm_description=f"{text} What to do: {RUNBOOK}/{page}.md",
        threshold=threshold,
        evaluation_periods=periods,
        comparison_operator=LESS_THAN if low else None,
        treat_missing_data=gaps or (MissingData.BREACHING if low else MissingData.NOT_BREACHING),
    )
    if config.alarm_topic:
        topic = SnsAction(aws_sns.Topic.from_topic_arn(new_alarm, "Topic", config.alarm_topic))
        new_alarm.add_alarm_action(topic)
        new_alarm.add_ok_action(topic)
