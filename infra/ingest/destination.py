"""A destination of Lambda's messages about the ends of a function's asynchronous calls."""

import jsii
from aws_cdk import aws_iam, aws_lambda
from constructs import Construct


@jsii.implements(aws_lambda.IDestination)
class Destination:
    """A resource by its ARN, with the one right that Lambda asks for there. CDK's own destinations grant more."""

    def __init__(self, arn: str, action: str) -> None:
        self._arn, self._action = arn, action

    def bind(
        self,
        scope: Construct,  # noqa: ARG002
        fn: aws_lambda.IFunction,
        *,
        type: aws_lambda.DestinationType,  # noqa: A002, ARG002 - the names that CDK passes
    ) -> aws_lambda.DestinationConfig:
        fn.add_to_role_policy(aws_iam.PolicyStatement(actions=[self._action], resources=[self._arn]))
        return aws_lambda.DestinationConfig(destination=self._arn)
