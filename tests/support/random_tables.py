"""Random tables, with what was published before and another table to refer to, and random contracts over them.

Nothing here knows lakegate, and nothing is judged. Everything follows from the dice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.support import meanings, nested_columns
from tests.support.meanings import Column, Wording, Words

HEAD = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "random", "version": "1.0.0", "status": "active"}
SERVER = {"server": "landing", "type": "s3", "location": "s3://landing/r/*", "format": "parquet"}
NAME, PARENTS = "random.t", "random.parents"
LOGICAL = meanings.LOGICAL
POOLS = {**meanings.POOLS, **nested_columns.POOLS}
_SEVERITIES = ("error", "quarantine", "warning")  # the severest first
_WIDER = {"int": ["int", "bigint"], "bigint": ["bigint", "int"]} | {
    kind: ["decimal(5,2)", "decimal(38,10)"] for kind in ("decimal(5,2)", "decimal(38,10)")
}
_PLAIN = ("select", "a.b", "order", "year", "null", "from", "c.d")  # what the standard lets a relationship name
Row = tuple[Any, ...]
Files = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, kw_only=True)
class Parents:
    """The table that foreign keys refer to: a column of every type that is not nested."""

    columns: Sequence[Column]
    rows: Sequence[Row]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns of every type by awkward names; files of a few rows each, some of them published before.

    `keys` are lists of columns that contracts take their keys from, and `distinct` columns whose values may be asked to
    differ: few, because each costs queries.
    """

    columns: Sequence[Column]
    before: Files
    files: Files
    keys: Sequence[Sequence[Column]]
    distinct: Sequence[Column]
    references: Sequence[tuple[Sequence[Column], Sequence[Column]]]


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A contract's text and the checks that it says; entries of `quality` are called by their places.

    `budget` is how many rows of a file with so many may be put aside, if any check asks for that.
    """

    text: str
    checks: Sequence[Wording]
    budget: Words = field(default_factory=dict)

    def allows(self, failing: int, rows: int) -> bool:
        most = self.budget["rows"] if "rows" in self.budget else self.budget["percent"] * rows / 100
        return failing <= most and failing < rows


def parents(dice: Random) -> Parents:
    columns = [Column(name=f"p{at}", type=kind, duck=f"p{at}") for at, kind in enumerate(meanings.POOLS)]
    return Parents(columns=columns, rows=[_row(dice, columns, POOLS, 0.15) for _ in range(12)])


def table(dice: Random, other: Parents) -> Table:
    names = dice.sample(meanings.NAMES, len(POOLS))
    columns = [
        Column(name=name, type=kind, duck=f"c{at}") for at, (name, kind) in enumerate(zip(names, POOLS, strict=True))
    ]
    pools = {kind: dice.sample(pool, dice.randint(2, len(pool))) for kind, pool in POOLS.items()}
    nulls = {column.type: dice.choice([0, 0, 0.1, 0.3, 1]) for column in columns}
    sizes = [dice.choice([0, 1, 2, 3, 5, 7]) for _ in range(dice.randint(0, 3))] + [dice.randint(1, 7)]
    dice.shuffle(sizes)
    files = {f"f{at}": [_row(dice, columns, pools, nulls) for _ in range(rows)] for at, rows in enumerate(sizes)}
    before = {
        f"b{at}": [_row(dice, columns, pools, nulls) for _ in range(dice.randint(1, 5))]
        for at in range(dice.randint(0, 5))
    }
    flat = [column for column in columns if column.type in meanings.POOLS]
    keys = [dice.sample(flat, size) for size in (1, 2, 2, 3)]
    plain = [column for column in flat if column.name in _PLAIN]
    compound = [dice.sample(plain, 2)] if len(plain) > 1 else []
    referring = [*([column] for column in dice.sample(flat, 3)), *compound]
    references = [(of, [_target(dice, column, other) for column in of]) for of in referring]
    kept = [(of, theirs) for of, theirs in references if len({column.name for column in theirs}) == len(theirs)]
    return Table(columns=columns, before=before, files=files, keys=keys, distinct=dice.sample(flat, 3), references=kept)


def _target(dice: Random, column: Column, other: Parents) -> Column:
    kind = dice.choice(_WIDER.get(column.type, [column.type]))
    return next(column for column in other.columns if column.type == kind)


def _row(dice: Random, columns: Sequence[Column], pools: Mapping[str, Sequence[Any]], nulls: Any) -> Row:
    rates = nulls if isinstance(nulls, Mapping) else {column.type: nulls for column in columns}
    return tuple(None if dice.random() < rates[it.type] else dice.choice(pools[it.type]) for it in columns)


def contract(dice: Random, of: Table, *, quarantines: bool = False) -> Contract:
    """A few of the columns, each with a few words, perhaps keys, and something about the table and the whole."""
    key = dice.choice(of.keys) if dice.random() < 0.25 else []
    foreign = dice.choice(of.references) if dice.random() < 0.25 else ([], [])
    several = dice.choice(of.keys[1:])
    some = [*dice.sample(of.columns, dice.randint(2, 4)), *key, *foreign[0], *several]
    chosen = [column for column in of.columns if column in some]
    wholes = meanings.primary_key(dice, key) if key else []
    wholes += [meanings.foreign_key(*foreign, table=PARENTS)] if foreign[0] else []
    drawing = _Drawing(dice=dice, distinct=of.distinct, wholes=wholes, quarantines=quarantines)
    columns = [drawing.column(column) for column in chosen]
    promised = [meanings.latency(dice, it) for it in chosen if it.type in meanings.MOMENTS and dice.random() < 0.2]
    body = {"name": "t", "physicalName": NAME, "properties": columns, **drawing.table(chosen, several)}
    promises = _listed("slaProperties", [each.promise for each in promised])
    text = as_text({**HEAD, "servers": [SERVER], **promises, "schema": [body]})
    return Contract(text=text, checks=[*drawing.checks, *promised], budget=drawing.budget)


@dataclass(kw_only=True)
class _Drawing:
    """A contract on its way: the checks so far, and the keys that columns have their share of."""

    dice: Random
    distinct: Sequence[Column]
    wholes: Sequence[Wording]
    quarantines: bool
    checks: list[Wording] = field(default_factory=list)
    budget: Words = field(default_factory=dict)
    severities: dict[str, str] = field(default_factory=dict)

    def column(self, column: Column) -> Words:
        """A column with its words: those that are its share of keys, and some more."""
        makers = self._able(meanings.OWN, column)
        some = self.dice.sample(makers, min(len(makers), self.dice.randint(0, 2)))
        made = [each for each in self.wholes if each.column is column] + [make(self.dice, column) for make in some]
        shape: Words = {"logicalType": LOGICAL.get(column.type), "physicalType": column.type}
        if column.type in nested_columns.POOLS:
            shape, parts = nested_columns.nested(self.dice, column)
            made += parts
        around = [each for each in self.wholes if each.column is None and column in _columns(each)]
        severity = self._severity([*made, *around]) if made or around else "error"
        self.severities[column.name] = severity
        self.checks += [each.of_severity(severity) for each in made]
        settings = {name: value for each in made for name, value in each.settings.items()}
        settings |= {} if severity == "error" else {"severity": severity}
        options = {word: value for each in made for word, value in each.options.items()}
        asked = self._able(meanings.QUALITY, column) or [meanings.null_values]
        return {
            "name": column.name,
            **shape,
            **{word: value for each in made for word, value in each.own.items()},
            **({"logicalTypeOptions": options} if options else {}),
            **_listed("customProperties", [meanings.setting(name, value) for name, value in settings.items()]),
            **_listed("relationships", [each.relationship for each in made if each.relationship]),
            **self._quality([make(self.dice, column) for make in self.dice.choices(asked, k=self.dice.randint(0, 2))]),
        }

    def table(self, columns: Sequence[Column], several: Sequence[Column]) -> Words:
        """The words of the table, once its columns have theirs: a key is as severe as the severest of its columns."""
        wholes = [each for each in self.wholes if each.column is None]
        for each in wholes:
            severities = [self.severities[column.name] for column in _columns(each)]
            self.checks.append(each.of_severity(min(severities, key=_SEVERITIES.index)))
        entries = [make(self.dice, columns) for make in self.dice.sample(meanings.TABLE, self.dice.randint(0, 2))]
        entries += [meanings.duplicate_rows(self.dice, several)] * (self.dice.random() < 0.3)
        quality = self._quality(entries)
        if any(check.severity == "quarantine" for check in self.checks):
            percent = {"percent": self.dice.choice([20, 33.5, 50, 100])}
            self.budget = self.dice.choice([{"rows": self.dice.randint(1, 5)}, percent])
        settings = {name: value for each in wholes for name, value in each.settings.items()}
        settings |= {"quarantineBudget": self.budget} if self.budget else {}
        return {
            **_listed("customProperties", [meanings.setting(name, value) for name, value in settings.items()]),
            **_listed("relationships", [each.relationship for each in wholes if each.relationship]),
            **quality,
        }

    def _able(self, makers: meanings.Makers, column: Column) -> meanings.OfColumn:
        costly = () if column in self.distinct else meanings.OF_KEYS
        return [make for make, kinds in makers if column.type in kinds and make not in costly]

    def _quality(self, entries: Sequence[Wording]) -> Words:
        named = [
            replace(each, name=f"check {len(self.checks) + at}").of_severity(self._severity([each]))
            for at, each in enumerate(entries)
        ]
        self.checks += named
        return _listed("quality", [{"name": each.name, **each.quality} for each in named])

    def _severity(self, checks: Sequence[Wording]) -> str:
        able = self.quarantines and all(check.may_quarantine for check in checks)
        return self.dice.choice(["error", "error", "warning", *["quarantine"] * 5 * able])


def _columns(check: Wording) -> Sequence[Column]:
    return check.meaning.columns if isinstance(check.meaning, meanings.Repeats | meanings.Orphans) else []


def _listed(word: str, entries: Sequence[Words]) -> Words:
    return {word: entries} if entries else {}


def as_text(contract: Words) -> str:
    """As JSON, which is YAML too; but what ends a line in YAML alone must not do so."""
    text = json.dumps(contract, indent=1, ensure_ascii=False)
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff]", lambda found: f"\\u{ord(found[0]):04x}", text)
