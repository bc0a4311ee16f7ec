"""Policies for people: one to ask the installation, and one to act on it. A role may have both."""

from collections.abc import Mapping

from aws_cdk import Stack, aws_iam
from constructs import Construct

from infra.ingest.function import Function


class People(Construct):
    """Policies to attach to people's roles. The stack itself attaches them to none."""

    def __init__(self, scope: Construct, construct_id: str, *, read: Function, act: Function) -> None:
        super().__init__(scope, construct_id)
        self.read_url, self.act_url = read.url(), act.url()
        self.read = self._policy("Read", f"Ask {Stack.of(self).stack_name} what it has and does", read)
        self.act = self._policy("Act", f"Have {Stack.of(self).stack_name} retry, approve, discard and push", act)

    def _policy(self, construct_id: str, description: str, function: Function) -> aws_iam.ManagedPolicy:
        """Return the policy to call a function at its URL, and there alone: whoever invokes it otherwise writes the
        event, and in it the name of the caller. The command line finds the URL in the stack's outputs.
        """
        arn = function.function.function_arn
        at_url = {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}
        by_url = {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}
        statements = [
            _allow("lambda:InvokeFunctionUrl", arn, at_url),
            _allow("lambda:InvokeFunction", arn, by_url),
            _allow("cloudformation:DescribeStacks", Stack.of(self).stack_id, {}),
        ]
        return aws_iam.ManagedPolicy(self, construct_id, description=description, statements=statements)


def _allow(action: str, resource: str, conditions: Mapping[str, object]) -> aws_iam.PolicyStatement:
    return aws_iam.PolicyStatement(actions=[action], resources=[resource], conditions=conditions)
