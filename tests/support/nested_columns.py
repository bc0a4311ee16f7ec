"""Nested columns in a contract's words, each rule of a part beside what it means told once more, in plain Python.

Nothing here knows lakegate. A rule of a part is broken by a row in which any value of that part breaks it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.meanings import Column, Each, Wording, Words

LONG, NONE = "a" * 70, {"n": None, "s": None}
POOLS: dict[str, list[Any]] = {
    "struct<n:int,s:string>": [
        {"n": 1, "s": "a"},
        {"n": None, "s": ""},
        {"n": 0, "s": None},
        {"n": 7, "s": LONG},
        NONE,
    ],
    "struct<l:array<int>>": [{"l": []}, {"l": None}, {"l": [0, 7]}, {"l": [None]}, {"l": [7, 7, 1]}],
    "array<string>": [[], ["a"], ["a", "a"], [None], [None, None], ["", "ab"], [LONG, "A", "\n"]],
    "map<string,int>": [{}, {"a": 1}, {"a": None, "b": 7}, {"": -1}, {LONG: 7, "A": 2**31 - 1}],
    "array<struct<n:int,s:string>>": [[], [None], [NONE, NONE], [{"n": 1, "s": "a"}], [{"n": 7, "s": "b"}, NONE]],
}
_SHAPES: dict[str, Any] = {  # an object as its fields, an array as a list of one, a map as a pair
    "struct<n:int,s:string>": {"n": "int", "s": "string"},
    "struct<l:array<int>>": {"l": ["int"]},
    "array<string>": ["string"],
    "map<string,int>": ("string", "int"),
    "array<struct<n:int,s:string>>": [{"n": "int", "s": "string"}],
}
Values = Callable[[Any], list[Any]]
"""The values that a part has in one value of the column: none where what it is a part of is not there."""


@dataclass(frozen=True)
class Rule:
    """A word of a part: what reports call it, and what is wrong with a value that is there."""

    word: str
    value: Any
    says: str
    wrong: Callable[[Any], bool]


def _twice(items: list[Any]) -> bool:
    told = [json.dumps(item, sort_keys=True) for item in items]
    return len(set(told)) < len(told)


_RULES: dict[str, list[Rule]] = {
    "int": [
        Rule("minimum", 1, "≥ 1", lambda number: number < 1),
        Rule("exclusiveMaximum", 7, "< 7", lambda number: number >= 7),
        Rule("multipleOf", 7, "a multiple of 7", lambda number: number % 7 != 0),
    ],
    "string": [
        Rule("minLength", 1, "of 1 characters or more", lambda text: len(text) < 1),
        Rule("maxLength", 2, "of 2 characters or fewer", lambda text: len(text) > 2),
        Rule("pattern", "^a", "like ^a", lambda text: not text.startswith("a")),
    ],
    "array": [
        Rule("minItems", 1, "of 1 items or more", lambda items: len(items) < 1),
        Rule("maxItems", 1, "of 1 items or fewer", lambda items: len(items) > 1),
        Rule("uniqueItems", True, "without an item twice", _twice),  # noqa: FBT003 - a value
    ],
    "map": [],
    "object": [],
}
_ENUMS: dict[str, list[Any]] = {"int": [0, 1, 7], "string": ["a", "ab", ""]}
_LOGICAL: dict[type, str] = {dict: "object", list: "array", tuple: "map"}


def nested(dice: Random, column: Column) -> tuple[Words, list[Wording]]:
    """The words of a nested column, but for its name, and the checks that they are."""
    return _part(dice, column, _SHAPES[column.type], column.name, lambda cell: [cell], is_column=True)


def _part(
    dice: Random, column: Column, shape: Any, label: str, values: Values, *, is_column: bool = False
) -> tuple[Words, list[Wording]]:
    kind = shape if isinstance(shape, str) else _LOGICAL[type(shape)]
    rules = [rule for rule in _RULES[kind] if dice.random() < 0.3]
    words: Words = {"logicalType": {"int": "integer"}.get(kind, kind)}
    if rules:
        words["logicalTypeOptions"] = {rule.word: rule.value for rule in rules}
    checks = [_check(column, f"{label} {rule.says}", values, _there(rule.wrong)) for rule in rules]
    if not is_column and dice.random() < 0.3:
        words["required"] = True
        checks.append(_check(column, f"{label} required", values, lambda value: value is None))
    if kind in _ENUMS and dice.random() < 0.2:
        words["enum"] = [{"value": value} for value in _ENUMS[kind]]
        name = f"{label} one of {', '.join(map(str, _ENUMS[kind]))}"
        checks.append(_check(column, name, values, _there(lambda value: value not in _ENUMS[kind])))
    inside, more = _inside(dice, column, shape, label, values)
    if isinstance(shape, dict) and dice.random() < 0.3:
        words["logicalTypeOptions"] = {"required": [(name := dice.choice(sorted(shape)))]}
        more.append(_check(column, f"{label}.{name} required", _to(values, _field(name)), lambda value: value is None))
    return {**words, **inside}, checks + more


def _inside(dice: Random, column: Column, shape: Any, label: str, values: Values) -> tuple[Words, list[Wording]]:
    """The words of what a part consists of."""
    parts: dict[str, tuple[Any, str, Callable[[Any], Iterable[Any]]]] = {}
    if isinstance(shape, dict):
        parts = {name: (of, f"{label}.{name}", _field(name)) for name, of in shape.items()}
    elif isinstance(shape, list):
        parts = {"items": (shape[0], f"{label}[]", lambda items: items)}
    elif isinstance(shape, tuple):
        parts = {
            "key": (shape[0], f"{label}.key", list),
            "value": (shape[1], f"{label}.value", lambda pairs: list(pairs.values())),
        }
    made = {name: _part(dice, column, of, where, _to(values, step)) for name, (of, where, step) in parts.items()}
    checks = [check for _, found in made.values() for check in found]
    words = {name: each for name, (each, _) in made.items()}
    if isinstance(shape, dict):
        return {"properties": [{"name": name, **each} for name, each in words.items()]}, checks
    return {"map": words} if isinstance(shape, tuple) else words, checks


def _field(name: str) -> Callable[[Any], list[Any]]:
    return lambda fields: [fields[name]]


def _to(values: Values, step: Callable[[Any], Iterable[Any]]) -> Values:
    return lambda cell: [inner for value in values(cell) if value is not None for inner in step(value)]


def _there(wrong: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is not None and wrong(value)


def _check(column: Column, name: str, values: Values, wrong: Callable[[Any], bool]) -> Wording:
    return Wording(column=column, name=name, meaning=Each(column, lambda cell: any(map(wrong, values(cell)))))
