"""The express lane: a function that runs the job of a small batch. Lambda itself reports its end to settle.

A killed function reports nothing by itself, and the role has the rights of a job, which settles nothing.
"""

from aws_cdk import ArnFormat, Duration, Size, Stack, aws_iam, aws_lambda
from constructs import Construct

from infra.config import Config
from infra.ingest.destination import Destination
from infra.ingest.function import Function
from infra.keys import Keys
from infra.network import Network
from lakegate.adapters.express import LONGEST_WAIT, TIMEOUT
from lakegate.settings import Settings

MEMORY = 3008  # MB, the most that a new account may have; a batch's rows are in memory
SCRATCH = Size.mebibytes(1024)  # the unpacked packages, and what DuckDB spills
INVOKE = "lambda:InvokeFunction"


class Express(Function):
    """The function, by its name `<installation>-express`. Each call is tried once, because an attempt is."""

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
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            config=config,
            keys=keys,
            network=network,
            settings=settings,
            code=code,
            timeout=Duration.seconds(TIMEOUT.total_seconds()),
            memory=MEMORY,
            scratch=SCRATCH,
            loops=True,
        )
        # By its name, because settle may call it, and it settle: neither role can be made before the other function.
        self._arn = Stack.of(self).format_arn(
            service="lambda", resource="function", resource_name=self.name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

    def notify(self, settle: Function) -> None:
        """Have Lambda call settle with the end of each call, good or bad, of a function that was killed as well."""
        destination = Destination(settle.function.function_arn, INVOKE)
        self.function.configure_async_invoke(
            retry_attempts=0,
            max_event_age=Duration.seconds(LONGEST_WAIT.total_seconds()),
            on_success=destination,
            on_failure=destination,
        )

    def run_jobs(self, role: aws_iam.Role) -> None:
        """Allow a role to call the function."""
        role.add_to_policy(aws_iam.PolicyStatement(actions=[INVOKE], resources=[self._arn]))
