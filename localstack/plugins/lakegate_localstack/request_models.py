"""AWS's own models of its requests: what a request breaks of their lengths, ranges, patterns and enumerations.

AWS refuses such a request. botocore checks types and minima alone before it sends one, and LocalStack takes nearly all.
So the local cloud refuses those of roles; tests hold each request of theirs to its model.
"""
# ruff: noqa: PLC0415 (tests import this without LocalStack)

import re
from collections.abc import Iterator, Sequence
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

try:
    from regex import fullmatch
except ImportError:  # as in LocalStack's environment
    from re import fullmatch

SESSION_KEYS = ("ASIA", "LSIA")


def apply() -> None:
    from localstack.aws.api import CommonServiceException
    from localstack.aws.handlers import serve_custom_service_request_handlers
    from localstack.utils.aws.request_context import extract_access_key_id_from_auth_header

    def refuse(_chain: Any, context: Any, _response: Any) -> None:
        key = extract_access_key_id_from_auth_header(context.request.headers) or ""
        if context.operation and key.startswith(SESSION_KEYS) and not context.is_internal_call:
            faults = "; ".join(broken(context.service_request, context.operation.input_shape))
            if faults:
                raise CommonServiceException("ValidationException", faults, 400, sender_fault=True)

    serve_custom_service_request_handlers.append(refuse)


def broken(value: Any, shape: Shape | None, path: str = "") -> Iterator[str]:
    """Yield each rule of the model that the value breaks, after the member that breaks it."""
    if shape is None or value is None:
        return
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        for name, member in value.items():
            yield from broken(member, shape.members.get(name), f"{path}.{name}")
    elif isinstance(shape, ListShape) and isinstance(value, Sequence):
        yield from _out_of_range(len(value), shape, path)
        for at, member in enumerate(value):
            yield from broken(member, shape.member, f"{path}[{at}]")
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        yield from _out_of_range(len(value), shape, path)
        for name, member in value.items():
            yield from broken(name, shape.key, f"{path}.{name}")
            yield from broken(member, shape.value, f"{path}.{name}")
    elif isinstance(value, str | bytes):
        yield from _out_of_range(len(value), shape, path)
        yield from _misspelled(value, shape, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _out_of_range(value, shape, path)


def _out_of_range(size: float, shape: Shape, path: str) -> Iterator[str]:
    least, most = shape.metadata.get("min", size), shape.metadata.get("max", size)
    if not float(least) <= size <= float(most):
        yield f"{path}: {size} is not from {least} to {most}"


def _misspelled(value: str | bytes, shape: Shape, path: str) -> Iterator[str]:
    pattern = shape.metadata.get("pattern")
    if pattern and isinstance(value, str) and not _matches(pattern, value):
        yield f"{path}: {value!r} does not match {pattern}"
    # The case of a header's word does not count: AWS's own client in C++ writes S3's in another than the model has.
    cased = str.upper if shape.serialization.get("location") == "header" else str
    if isinstance(shape, StringShape) and shape.enum and cased(str(value)) not in map(cased, shape.enum):
        yield f"{path}: {value!r} is none of {', '.join(shape.enum)}"


def _matches(pattern: str, value: str) -> bool:
    try:
        return fullmatch(pattern, value) is not None
    except re.error:  # a class of Unicode's, which the standard library does not know
        return True
