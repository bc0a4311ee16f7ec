"""Random values of a kind, by its type hints: small, and of every shape that the codec knows."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from lakegate.landing.routes import Route

TEXT = st.text(max_size=5)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(),
    bool: st.booleans(),
    float: st.floats(allow_nan=False),
    datetime: st.datetimes(timezones=st.just(UTC)),
    types.NoneType: st.none(),
    Any: st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    Route: st.builds(Route, table=TEXT, pattern=st.sampled_from(["a/*", "b/**.csv", "c"])),
}


def values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 (one line for each shape)
    if kind in PLAIN:
        return PLAIN[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values, inner))
    if origin is tuple and inner[-1] is ...:
        return st.lists(values(inner[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, inner))
    if origin in (dict, Mapping):
        return st.dictionaries(TEXT, values(inner[1]), max_size=2)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        members = {it.name: values(hints[it.name]) for it in fields(kind) if it.name != "format"}
        return st.builds(kind, **members)
    assert issubclass(kind, Enum), kind
    return st.sampled_from(kind)
