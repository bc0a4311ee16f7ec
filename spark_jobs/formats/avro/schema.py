"""An Avro schema's size with every named type expanded, computed without expanding it.

A name means its whole definition, so a short schema may mean billions of columns.
"""

from dataclasses import dataclass, field
from typing import Any

from lakegate.audit.advice import Advice
from spark_jobs.formats.footer import Unreadable

_LEAST = {"null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1}
_ITEM_WORDS = {"array": "items", "map": "values"}


@dataclass(frozen=True, kw_only=True)
class Size:
    """Of a type: its columns, nested ones included; the depth of nesting; the least bytes of a value."""

    columns: int = 0
    nesting: int = 0
    least: int = 0


def size(schema: Any) -> Size:
    """Return the size of a schema in Avro's canonical form, which has every name in full.

    Unreadable if it has lists of empty values, or contains itself.
    """
    try:
        return _Sizes().of(schema)
    except RecursionError:
        shallow = Advice(vendor="nest its columns less deep")
        raise Unreadable("its schema cannot be read: it is nested too deep", advice=shallow) from None


@dataclass(kw_only=True)
class _Sizes:
    """Sizes of named types; None while a definition is open."""

    by_name: dict[str, Size | None] = field(default_factory=dict)

    def of(self, schema: Any) -> Size:
        if isinstance(schema, list):
            return self._of_union(schema)
        if isinstance(schema, str):
            return self._of_name(schema)
        kind = schema["type"]
        if kind in _ITEM_WORDS:
            return self._of_list(kind, schema[_ITEM_WORDS[kind]])
        if kind == "record":
            return self._of_record(schema)
        if kind in ("enum", "fixed"):
            size = self.by_name[schema["name"]] = Size(least=1 if kind == "enum" else int(schema["size"]))
            return size
        return self.of(kind)

    def _of_name(self, name: str) -> Size:
        size = self.by_name.get(name, Size(least=_LEAST.get(name, 0)))
        if size is None:
            message = f"its schema cannot be read: {name[:60]!r} is a part of itself"
            raise Unreadable(message, advice=Advice(vendor="write it by a schema that does not contain itself"))
        return size

    def _of_union(self, branches: list[Any]) -> Size:
        sizes = [self.of(branch) for branch in branches]
        return Size(
            columns=sum(size.columns for size in sizes),
            nesting=max((size.nesting for size in sizes), default=0),
            least=1 + min((size.least for size in sizes), default=0),
        )

    def _of_list(self, kind: str, schema: Any) -> Size:
        inner = self.of(schema)
        if kind == "array" and not inner.least:
            message = "its schema has an array of what takes no bytes, of which a few bytes hold any number"
            raise Unreadable(message, advice=Advice(vendor="leave out the array, whose items hold nothing"))
        return Size(columns=inner.columns, nesting=inner.nesting + 1, least=1)

    def _of_record(self, schema: Any) -> Size:
        self.by_name[schema["name"]] = None
        parts = [self.of(field["type"]) for field in schema["fields"]]
        size = self.by_name[schema["name"]] = Size(
            columns=len(parts) + sum(part.columns for part in parts),
            nesting=1 + max((part.nesting for part in parts), default=-1),
            least=sum(part.least for part in parts),
        )
        return size
