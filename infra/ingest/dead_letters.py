"""Dead letters: a queue of events that could not be handled, and its alarm.

It delivers none of them again by itself, because a person must look first.
"""

from aws_cdk import Duration, RemovalPolicy, aws_sqs
from constructs import Construct

from infra.config import Config
from infra.ingest.alarms import alarm
from infra.waivers import waive

KEPT = Duration.days(14)  # the longest retention of a queue


class DeadLetters(Construct):
    """A dead-letter queue."""

    def __init__(self, scope: Construct, construct_id: str, *, name: str, config: Config) -> None:
        super().__init__(scope, construct_id)
        self._name, self._config = name, config
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            queue_name=name,
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=KEPT,
            removal_policy=RemovalPolicy.DESTROY,
        )
        waive(self.queue, rule="SQS3", reason="It is itself a dead-letter queue, which nothing consumes by itself.")

    def alarm(self) -> None:
        """Create an alarm that goes off with the first message, and stays on until a person has purged the queue."""
        alarm(
            self,
            "Alarm",
            self.queue.metric_approximate_number_of_messages_visible(period=Duration.minutes(1)),
            config=self._config,
            name=self._name,
            description=f"Events could not be handled and are in the queue {self._name}. Read the function's log.",
        )
