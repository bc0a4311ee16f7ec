"""Alarms, which notify the installation's topic, if it has one, when they go off and when they end."""

from aws_cdk import aws_cloudwatch, aws_sns
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from infra.config import Config

BELOW = aws_cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


def alarm(
    scope: Construct,
    construct_id: str,
    metric: aws_cloudwatch.Metric,
    *,
    config: Config,
    name: str,
    description: str,
    threshold: float = 1,
    below: bool = False,
) -> None:
    """Create an alarm that goes off when the metric's last period reaches the threshold, or with `below`, falls below
    it or has no data.
    """
    missing = aws_cloudwatch.TreatMissingData
    made = metric.create_alarm(
        scope,
        construct_id,
        alarm_name=name,
        alarm_description=description,
        threshold=threshold,
        evaluation_periods=1,
        comparison_operator=BELOW if below else None,
        treat_missing_data=missing.BREACHING if below else missing.NOT_BREACHING,
    )
    if config.alarm_topic:
        topic = SnsAction(aws_sns.Topic.from_topic_arn(made, "Topic", config.alarm_topic))
        made.add_alarm_action(topic)
        made.add_ok_action(topic)
