"""Dead letters: where events go that could not be handled, and the alarm that says so.

Nothing delivers them again by itself: somebody looks first. The installation's topic hears of the alarm, if it has one.
"""

from aws_cdk import Duration, RemovalPolicy, aws_cloudwatch, aws_sns, aws_sqs
from aws_cdk.aws_cloudwatch_actions import SnsAction
from constructs import Construct

from infra.config import Config
from infra.waivers import waive

KEPT = Duration.days(14)  # the longest that a queue keeps anything


class DeadLetters(Construct):
    """A dead-letter queue with an alarm on its first message."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            queue_name=name,
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=KEPT,
            removal_policy=RemovalPolicy.DESTROY,
        )
        waive(self.queue, rule="SQS3", reason="It is itself a dead-letter queue; nothing consumes it by itself.")
        alarm = self.queue.metric_approximate_number_of_messages_visible(period=Duration.minutes(1)).create_alarm(
            self,
            "Alarm",
            alarm_name=name,
            alarm_description=f"{name} holds events that could not be handled; see the function's log",
            threshold=1,
            evaluation_periods=1,
            treat_missing_data=aws_cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        if config.alarm_topic:
            topic = SnsAction(aws_sns.Topic.from_topic_arn(self, "Topic", config.alarm_topic))
            alarm.add_alarm_action(topic)
            alarm.add_ok_action(topic)
