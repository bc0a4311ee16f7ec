"""Dead letters: a queue of events that could not be handled, and its alarm."""

from aws_cdk import Duration, RemovalPolicy, aws_iam, aws_sqs
from constructs import Construct

from infra.alarms import alarm
from infra.config import SWEEP_MINUTES, Config
from infra.keys import DECRYPT, SQS, Keys
from infra.waivers import waive

RETENTION = Duration.days(14)  # the longest retention of a queue
INTERVALS = 3  # in each of which a sweep would have handled an event again


class DeadLetters(Construct):
    """A dead-letter queue."""

    def __init__(self, scope: Construct, construct_id: str, *, of: str, config: Config, keys: Keys) -> None:
        """`of` is the function that the events are for."""
        super().__init__(scope, construct_id)
        self._page, self._config, self._keys = f"{of}-dead-letters", config, keys
        self._name = f"{config.name}-{self._page}"
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            queue_name=self._name,
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=RETENTION,
            removal_policy=RemovalPolicy.DESTROY,
        )
        keys.encrypt(self.queue)
        waive(self.queue, rule="SQS3", reason="It is itself a dead-letter queue, whose own would be read by nobody.")

    def alarm(self) -> None:
        """Create an alarm that goes off with a message that sweeps have not handled either. A sweep that reads messages
        hides them for a minute, so a period has messages if it had some at any time.
        """
        interval = Duration.minutes(SWEEP_MINUTES[self._config.ephemeral])
        alarm(
            self,
            "Alarm",
            self.queue.metric_approximate_number_of_messages_visible(period=interval),
            config=self._config,
            page=self._page,
            text=f"Events in the queue {self._name} could not be handled, and sweeps could not handle them either.",
            periods=INTERVALS,
        )

    def let_drain(self, role: aws_iam.Role) -> None:
        """Allow a role to read the messages and to delete those that it has handled."""
        actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage"]
        role.add_to_policy(aws_iam.PolicyStatement(actions=actions, resources=[self.queue.queue_arn]))
        self._keys.lend(role, SQS, DECRYPT, self.queue.queue_arn)
