"""Calls of functions that AWS refuses and LocalStack takes: too large a payload, and a chain of calls without an end.

A chain goes on through calls that a function makes and through destinations. AWS follows it through queues, too.
"""

from functools import partial
from typing import Any

from localstack.aws.api.lambda_ import InvocationType, RecursiveInvocationException, RecursiveLoop
from localstack.aws.api.lambda_ import RequestTooLargeException as TooLarge
from localstack.aws.connect import connect_to
from localstack.services.lambda_.invocation.lambda_service import LambdaService
from localstack.services.lambda_.invocation.models import lambda_stores
from localstack.services.lambda_.resource_providers.aws_lambda_function import LambdaFunctionProvider
from localstack.utils.patch import patch
from localstack.utils.xray.trace_header import TraceHeader

from lakegate_localstack.chains import Chains

DROPPED = "RecursiveInvocationsDropped"
MEGABYTE = 2**20
MOST = {InvocationType.RequestResponse: 6 * MEGABYTE, InvocationType.Event: MEGABYTE}


def apply() -> None:
    patch(LambdaService.invoke)(partial(_invoke, Chains()))
    patch(LambdaFunctionProvider.create)(_with_loop)
    patch(LambdaFunctionProvider.update)(_with_loop)


def _invoke(chains: Chains, original: Any, service: Any, *, payload: bytes | None = None, **given: Any) -> Any:
    kind = given.get("invocation_type") or InvocationType.RequestResponse
    most = MOST.get(kind, MOST[InvocationType.RequestResponse])
    if payload and len(payload) > most:
        raise TooLarge(f"Request must be smaller than {most} bytes for the InvokeFunction operation", Type="User")
    trace = (given.get("trace_context") or {}).get("aws_trace_header") or TraceHeader().ensure_root_exists()
    root = chains.root(payload or b"", trace.root)
    given["trace_context"] = {"aws_trace_header": TraceHeader(root=root, parent=trace.parent, sampled=trace.sampled)}
    name = given["function_name"]
    place = {"aws_access_key_id": given["account_id"], "region_name": given["region"]}
    if not chains.go_on(root, name, given["request_id"]) and not _may_loop(given["account_id"], given["region"], name):
        dimension = {"Name": "FunctionName", "Value": name}
        connect_to(**place).cloudwatch.put_metric_data(
            Namespace="AWS/Lambda", MetricData=[{"MetricName": DROPPED, "Dimensions": [dimension], "Value": 1}]
        )
        if kind == InvocationType.Event:
            return None  # taken, and dropped
        raise RecursiveInvocationException(f"{name} is called in a recursive loop", Type="User")
    return original(service, payload=payload, **given)


def _may_loop(account: str, region: str, name: str) -> bool:
    function = lambda_stores[account][region].functions.get(name)
    return function is None or function.recursive_loop == RecursiveLoop.Allow


def _with_loop(original: Any, provider: Any, request: Any) -> Any:
    """Set RecursiveLoop of a template, which LocalStack ignores."""
    answer = original(provider, request)
    functions, wanted = request.aws_client_factory.lambda_, request.desired_state.get("RecursiveLoop")
    if wanted:
        functions.put_function_recursion_config(
            FunctionName=request.desired_state["FunctionName"], RecursiveLoop=wanted
        )
    return answer
