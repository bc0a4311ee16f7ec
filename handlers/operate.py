"""Function URLs → operations: `read` answers questions and `act` carries acts out, for a person whom AWS has
authenticated.

AWS decides by function who may call a URL, and not by what is asked. So reading and acting are two functions.
"""

import base64
import gzip
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

import structlog

from handlers.packages import unpack
from handlers.runtime import reading, service
from lakegate.errors import LakegateError, Misconfigured, Refused
from lakegate.operations import wire
from lakegate.operations.acts import ACTS
from lakegate.operations.operation import Direct, Operation
from lakegate.operations.query import Query
from lakegate.operations.questions import QUESTIONS
from lakegate.operations.wire import LARGEST
from lakegate.workflow.reconcile import sweep

log = structlog.get_logger()
Kinds = Sequence[type[Operation[object]]]


def read(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer a question."""
    return _response(event, QUESTIONS, context)


def act(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Carry an act out."""
    return _response(event, ACTS, context)


def _response(event: dict[str, Any], kinds: Kinds, context: Any) -> dict[str, Any]:
    try:
        running_service, by = service(), _caller(event)
        operation = wire.read_request(_body(event), kinds)
        log.info("operation", name=type(operation).__name__, by=by, **_log_fields(operation))
        if isinstance(operation, Query):
            _prepare(context)
        direct = Direct(service=running_service, by=by, sweep=partial(sweep, running_service), reading=reading)
        return _run_operation(direct, operation)
    except LakegateError as error:
        return _http_response(_pack(wire.failure(error)))
    except Exception as error:
        log.exception("operation_failed", kind=type(error).__name__)
        return _http_response(_pack(wire.failure(error)))


def _prepare(context: Any) -> None:
    """Have DuckDB and Arrow at hand, in bounded memory: a query out of it is an error, and kills no function."""
    unpack()
    if context:
        from lakegate.express.process import bound_memory  # noqa: PLC0415 (its packages were packed until now)

        bound_memory(int(context.memory_limit_in_mb))


def _caller(event: dict[str, Any]) -> str:
    """Return the ARN that AWS authenticated. Raise Misconfigured for a call that did not come by the URL."""
    arn = event.get("requestContext", {}).get("authorizer", {}).get("iam", {}).get("userArn")
    if not arn:
        raise Misconfigured("this function is called at its URL alone, where AWS authenticates the caller (AWS_IAM)")
    return str(arn)


def _body(event: dict[str, Any]) -> str:
    body = str(event.get("body", ""))
    return base64.b64decode(body).decode(errors="replace") if event.get("isBase64Encoded") else body


def _log_fields(operation: Operation[object]) -> dict[str, object]:
    """Return the batch that the operation is about, if it is about one."""
    batch = getattr(operation, "batch", None)
    return {"batch": batch} if batch else {}


def _run_operation(installation: Direct, operation: Operation[object]) -> dict[str, Any]:
    """Carry the operation out. Ask for a shorter answer if a function cannot send the whole."""
    next_operation: Operation[object] | None = operation
    while next_operation:
        body = _pack(wire.answer(installation.run(next_operation)))
        if len(body) <= LARGEST:
            return _http_response(body)
        next_operation = next_operation.shorter()
    raise Refused(f"the answer has {len(body):,} bytes, and the limit is {LARGEST:,}: {operation.hint}")


def _pack(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _http_response(body: str) -> dict[str, Any]:
    """Return the response. Its status is 200 for errors, too: others are Lambda's own."""
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    return {"statusCode": HTTPStatus.OK, "headers": headers, "body": body, "isBase64Encoded": True}
