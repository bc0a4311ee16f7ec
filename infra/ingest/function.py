"""A Lambda function with its role and its log group. It has no rights until the stack grants some."""

from dataclasses import replace
from typing import Any

from aws_cdk import Duration, Size, aws_events, aws_iam, aws_lambda, aws_logs
from aws_cdk.aws_events_targets import LambdaFunction
from constructs import Construct

from infra.alarms import alarm
from infra.config import PYTHON, Config
from infra.ingest.dead_letters import DeadLetters
from infra.ingest.destination import Destination
from infra.keys import ENCRYPT, SQS, Keys
from infra.logs import log_group
from infra.network import Network
from infra.waivers import waive
from lakegate.counts import count
from lakegate.settings import CA_FILE, Settings

MEMORY = 1769  # MB, from which on Lambda gives a whole core; a cold start spends its time on imports
INTERVALS, FAILURES = 3, 2  # an alarm goes off after 3 intervals of a schedule without a call, or with 2 failures
QUARTER = Duration.minutes(15)
THROTTLES_LIMIT = 5  # calls in a quarter of an hour
LATEST = Duration.minutes(10)  # a scheduled call that is later is dropped, because the next one does its work
NETWORK_ACTIONS = (
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
)


class Function(Construct):
    """A function with a handler of the functions' zip, `<id in lower case>.handler` unless one is given."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        keys: Keys,
        network: Network,
        settings: Settings,
        code: aws_lambda.Code,
        timeout: Duration,
        handler: str = "",
        memory: int = MEMORY,
        scratch: Size | None = None,
        loops: bool = False,
    ) -> None:
        """`loops` marks a function that others call in a cycle on purpose. Lambda ends other cycles after 16 rounds."""
        super().__init__(scope, construct_id)
        self._config, self._keys, self.timeout = config, keys, timeout
        self._label = construct_id.lower()
        self.name = f"{config.name}-{self._label}"
        self.role = aws_iam.Role(self, "Role", assumed_by=aws_iam.ServicePrincipal("lambda.amazonaws.com"))
        self.function = aws_lambda.Function(
            self,
            "Function",
            function_name=self.name,
            runtime=aws_lambda.Runtime(f"python{PYTHON}", aws_lambda.RuntimeFamily.PYTHON),
            architecture=aws_lambda.Architecture.custom(config.architecture),
            handler=f"handlers.{handler or self._label + '.handler'}",
            code=code,
            environment=_environment(settings),
            memory_size=memory,
            ephemeral_storage_size=scratch,
            timeout=timeout,
            role=self.role,
            log_group=self._log_group(),
            recursive_loop=aws_lambda.RecursiveLoop.ALLOW if loops else None,
        )
        waive(
            self.function,
            rule="L1",
            reason="The zip's wheels and byte code, and the tests of the functions, are of one version of Python.",
        )
        self._join(network)

    def url(self) -> str:
        """Return a URL at which people whom AWS has authenticated call the function. No browser page may."""
        url: str = self.function.add_function_url(auth_type=aws_lambda.FunctionUrlAuthType.AWS_IAM).url
        return url

    def call_on(self, rule: aws_events.Rule, dead_letters: DeadLetters, **limits: Any) -> None:
        """Call the function on a rule's events. Undeliverable and failed ones go to the dead letters. `limits` are of
        retries, and CDK's own by default.
        """
        rule.add_target(LambdaFunction(self.function, dead_letter_queue=dead_letters.queue, **limits))
        self.function.configure_async_invoke(
            on_failure=Destination(dead_letters.queue.queue_arn, "sqs:SendMessage"), **limits
        )
        self._keys.lend(self.role, SQS, ENCRYPT, dead_letters.queue.queue_arn)

    def call_every(self, interval: Duration, rule: aws_events.Rule) -> DeadLetters:
        """Call the function on a rule's schedule. A failed call is not retried, because the next one comes anyway. Its
        dead letters hold the error, and its alarms end by themselves once calls succeed.
        """
        dead_letters = DeadLetters(self, "DeadLetters", of=self._label, config=self._config, keys=self._keys)
        self.call_on(rule, dead_letters, retry_attempts=0, max_event_age=LATEST)
        self._watch(Duration.minutes(INTERVALS * interval.to_minutes() + self.timeout.to_minutes()))
        return dead_letters

    def _watch(self, period: Duration) -> None:
        """Create alarms on the function's calls. Lambda dates a call by its beginning, but counts it only once it has
        ended.
        """
        minutes = count(round(period.to_minutes()), "minute")
        alarm(
            self,
            "Missed",
            self.function.metric_invocations(period=period),
            config=self._config,
            page=f"{self._label}-missed",
            text=f"{self.name} has not run for {minutes}.",
            low=True,
        )
        self.watch_errors(period)

    def watch_calls(self) -> None:
        """Create alarms on calls that fail, and on calls that Lambda refuses, of a function that a queue calls."""
        self.watch_errors()
        alarm(
            self,
            "Throttled",
            self.function.metric_throttles(period=QUARTER),
            config=self._config,
            page=f"{self._label}-throttled",
            text=f"Lambda refused {THROTTLES_LIMIT} calls of {self.name} in a quarter of an hour.",
            threshold=THROTTLES_LIMIT,
        )

    def watch_errors(self, period: Duration = QUARTER) -> None:
        """Create an alarm on calls that fail."""
        minutes = count(round(period.to_minutes()), "minute")
        alarm(
            self,
            "Errors",
            self.function.metric_errors(period=period),
            config=self._config,
            page=f"{self._label}-errors",
            text=f"{self.name} failed {FAILURES} times in {minutes}. Its log is /aws/lambda/{self.name}.",
            threshold=FAILURES,
        )

    def _log_group(self) -> aws_logs.LogGroup:
        group = log_group(self, "Log", self._keys, f"/aws/lambda/{self.name}")
        group.grant_write(self.role)
        return group

    def _join(self, network: Network) -> None:
        """Put the function into subnets by their ids, because looking up their VPC would need an account at synth."""
        resource = self.function.node.default_child
        if not network.subnets or not isinstance(resource, aws_lambda.CfnFunction):
            return
        resource.vpc_config = aws_lambda.CfnFunction.VpcConfigProperty(
            subnet_ids=list(network.subnets), security_group_ids=list(network.security_groups)
        )
        self.role.add_to_policy(aws_iam.PolicyStatement(actions=list(NETWORK_ACTIONS), resources=["*"]))
        waive(
            self.role,
            rule="IAM5[Resource::*]",
            reason="Lambda makes and removes its network interfaces with this role; the actions take no resource.",
        )


def _environment(settings: Settings) -> dict[str, str]:
    """Return the settings; authorities by the name of their file in the zip, which has more room."""
    return replace(settings, nessie_ca=CA_FILE if settings.nessie_ca else "").to_env()
