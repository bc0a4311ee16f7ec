"""The JSON schema of `lakegate show --json`, made from the dataclasses; `python -m tests.support.schemas` writes it.

A stored report is its `$defs/Report`. Members that are not in it are errors, so that nothing is undocumented.
"""

from __future__ import annotations

import inspect
import json
import types
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from lakegate.audit.model.report import Report
from lakegate.operations.batch import BatchView

PAGE = Path(__file__).parents[2] / "docs/reference/report.schema.json"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    # JSON has no word for these, so they are text.
    float: {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]},
    datetime: {"type": "string", "format": "date-time"},
    Any: {"type": ["string", "number", "boolean", "null"]},
}


def schema() -> dict[str, Any]:
    """Of what the command prints."""
    known: dict[str, Any] = {}
    root = _of(BatchView, known)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What lakegate show --json prints",
        **root,
        "$defs": dict(sorted(known.items())),
    }


def of_report() -> dict[str, Any]:
    """Of a report as a job stores it."""
    return {**schema(), **_of(Report, {})}


def _of(kind: Any, known: dict[str, Any]) -> dict[str, Any]:
    origin = get_origin(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if origin in (Union, types.UnionType):
        members = [_of(member, known) for member in get_args(kind) if member is not type(None)]
        return {"anyOf": [*members, {"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _of(get_args(kind)[0], known)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of(get_args(kind)[1], known)}
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    assert is_dataclass(kind), kind
    assert isinstance(kind, type)
    if kind.__name__ not in known:
        known[kind.__name__] = {}  # lest it holds itself
        known[kind.__name__] = _object(kind, known)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _object(kind: type[Any], known: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {
        "type": "object",
        "description": " ".join((inspect.getdoc(kind) or "").split()),
        "properties": {field.name: _of(hints[field.name], known) for field in fields(kind)},
        "required": [field.name for field in fields(kind) if _is_required(field)],
        "additionalProperties": False,
    }


def _is_required(field: Field[Any]) -> bool:
    """Return what came with a later format has a default, and older reports lack it."""
    return field.default is MISSING and field.default_factory is MISSING


def written() -> str:
    return PAGE.read_text(encoding="utf-8")


def text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
