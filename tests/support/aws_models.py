"""AWS's own models of its requests: what a request breaks of their lengths, ranges, patterns and enumerations.

AWS refuses such a request. botocore checks types and minima alone before it sends one, and emulators take nearly all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import regex
from botocore.handlers import BUILTIN_HANDLERS, REGISTER_LAST
from botocore.model import ListShape, MapShape, OperationModel, Shape, StringShape, StructureShape

BROKEN: list[str] = []


def hold_requests() -> None:
    """Hold every request of this process to its model from now on, and keep what it breaks in BROKEN."""
    BUILTIN_HANDLERS.append(("before-parameter-build", _hold, REGISTER_LAST))


def _hold(params: Any, model: OperationModel, **_: Any) -> None:
    BROKEN.extend(f"{model.service_model.service_name}:{model.name} {it}" for it in broken(params, model.input_shape))


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
    if pattern and isinstance(value, str) and not regex.fullmatch(pattern, value):
        yield f"{path}: {value!r} does not match {pattern}"
    if isinstance(shape, StringShape) and shape.enum and value not in shape.enum:
        yield f"{path}: {value!r} is none of {', '.join(shape.enum)}"
