"""Columns as checks and metrics see them, and the steps to the parts of nested ones. It knows no contract."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from sqlglot import exp

from lakegate.contracts.columns.types import Type

T = TypeVar("T")


class Into(StrEnum):
    """A step into a nested column."""

    FIELD = "field"  # of a struct, by its name
    ITEMS = "items"  # any item of an array
    KEYS = "keys"  # any key of a map
    VALUES = "values"  # any value of a map


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step into a nested column."""

    into: Into
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column as checks see it, or the part of one that `steps` lead to. `label` is its name in the contract
    (`address.zip`, `tags[]`), `name` the column's.
    """

    label: str
    name: str
    type: Type
    steps: tuple[Step, ...] = ()

    @property
    def own_name(self) -> str:
        """Name among its like: of a part of an object, the property's."""
        return self.steps[-1].name if self.steps else self.name

    @property
    def value(self) -> exp.Expr:
        """Value in a row; in an array or a map, the value that `anywhere` gives a name to."""
        return self._value_and_arrays()[0]

    @property
    def value_inside(self) -> exp.Expr | None:
        """Object that it is a field of, if it is one."""
        *before, last = self.steps or (None,)
        if last is None or last.into is not Into.FIELD:
            return None
        return replace(self, steps=tuple(before)).value

    def anywhere(self, wrong: exp.Expr) -> exp.Expr:
        """Return the condition that something is wrong in a row, from the one for a single value; in an array or a map,
        that any value is wrong.
        """
        for depth, values in reversed(list(enumerate(self._value_and_arrays()[1]))):
            any_value = exp.Lambda(this=wrong, expressions=[_element_at(depth).this])
            wrong = exp.Anonymous(this="EXISTS", expressions=[values, any_value])
        return wrong

    def _value_and_arrays(self) -> tuple[exp.Expr, list[exp.Expr]]:
        """Return the value, and the arrays on the way to it, outermost first."""
        value: exp.Expr = column(self.name)
        arrays: list[exp.Expr] = []
        for step in self.steps:
            if step.into is Into.FIELD:  # not a dot, which may mean a table's column
                value = exp.Bracket(this=value, expressions=[exp.Literal.string(step.name)])
                continue
            function = {Into.KEYS: "MAP_KEYS", Into.VALUES: "MAP_VALUES"}.get(step.into)
            arrays.append(exp.Anonymous(this=function, expressions=[value]) if function else value)
            value = _element_at(len(arrays) - 1)
        return value, arrays


class Fields(tuple[Field, ...]):  # noqa: SLOT001 - it keeps what it has put in order
    """Columns that many callers look up by name: they are put in order once, however many ask."""

    @cached_property
    def by_label(self) -> Mapping[str, Field]:
        """Columns by their names in the contract."""
        return {field.label: field for field in self}

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """Columns by either name; the name in the contract goes first."""
        return {**{field.name: field for field in self}, **self.by_label}

    def result_of(self, build: "Callable[[Fields], T]") -> T:
        """Return the function's result for these columns, made once."""
        results: dict[Any, Any] = self._results
        if build not in results:
            results[build] = build(self)
        result: T = results[build]
        return result

    @cached_property
    def _results(self) -> dict[Any, Any]:
        return {}


def _element_at(depth: int) -> exp.Column:
    """Return the name of an item of an array within so many others; no column may have such a name."""
    return column(f"_lakegate_{depth}")


def column(name: str) -> exp.Column:
    return exp.Column(this=exp.Identifier(this=name, quoted=True))
