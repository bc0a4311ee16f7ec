"""An inbox: every object that lands becomes a message, and a call has those that are there. Reminders of files that
wait come by the same way.

It does not read the events, because the handler decides about each file, and what waits for others.
"""

from aws_cdk import Duration, aws_events, aws_s3, aws_sqs
from aws_cdk.aws_events_targets import SqsQueue
from constructs import Construct

from infra.alarms import alarm
from infra.config import Config
from infra.ingest.dead_letters import RETENTION, DeadLetters
from infra.ingest.function import Function
from infra.keys import DECRYPT, ENCRYPT, SQS, Keys

BATCH_SIZE = 10  # messages of a call, Lambda's most where it does not wait for more
MAX_RECEIVES = 5
# Lambda's minimum: with fewer readers on the queue, fewer look at a quiet table at the same time.
READERS = 2
REMIND = "sqs:SendMessage"
TAKE = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")  # as Lambda for the function


class Inbox(Construct):
    """Landing bucket → EventBridge → queue, with a dead-letter queue behind both steps."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        keys: Keys,
        bucket: aws_s3.IBucket,
        timeout: Duration,
    ) -> None:
        super().__init__(scope, construct_id)
        self._keys = keys
        self.dead_letters = DeadLetters(self, "DeadLetters", of="ingest", config=config, keys=keys)
        self.dead_letters.alarm()
        visibility = Duration.seconds(6 * timeout.to_seconds())  # Lambda's rule
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            queue_name=f"{config.name}-ingest",
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            visibility_timeout=visibility,
            retention_period=RETENTION,
            dead_letter_queue=aws_sqs.DeadLetterQueue(queue=self.dead_letters.queue, max_receive_count=MAX_RECEIVES),
        )
        keys.encrypt(self.queue)
        self._watch(config, threshold=2 * visibility.to_seconds())
        detail: dict[str, object] = {"bucket": {"name": [bucket.bucket_name]}}
        if config.landing_prefixes:
            detail["object"] = {"key": [{"prefix": prefix} for prefix in config.landing_prefixes]}
        pattern = aws_events.EventPattern(source=["aws.s3"], detail_type=["Object Created"], detail=detail)
        rule = aws_events.Rule(self, "Landed", description="An object has landed", event_pattern=pattern)
        rule.add_target(SqsQueue(self.queue, dead_letter_queue=self.dead_letters.queue))

    def _watch(self, config: Config, *, threshold: float) -> None:
        """Create an alarm on the oldest message's age. An older message was received twice without being handled, or is
        not received at all.
        """
        alarm(
            self,
            "Waiting",
            self.queue.metric_approximate_age_of_oldest_message(period=Duration.minutes(1)),
            config=config,
            page="ingest-waiting",
            text="Events of files are over an hour old, and ingest has not handled them.",
            threshold=threshold,
        )

    def feed(self, function: Function) -> None:
        """Call the function with messages as they come. Those that it reports as failed are delivered again."""
        self.queue.grant(function.role, *TAKE)
        self._keys.lend(function.role, SQS, DECRYPT, self.queue.queue_arn)
        function.function.add_event_source_mapping(
            "Inbox",
            event_source_arn=self.queue.queue_arn,
            batch_size=BATCH_SIZE,
            max_batching_window=Duration.seconds(0),  # not left out, lest a window of an earlier release stay
            report_batch_item_failures=True,
            max_concurrency=READERS,
        )

    def remind(self, function: Function) -> None:
        """Allow a function to put reminders here."""
        self.queue.grant(function.role, REMIND)
        self._keys.lend(function.role, SQS, ENCRYPT, self.queue.queue_arn)
