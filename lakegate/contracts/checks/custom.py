"""Checks that ODCS has no word for, `type: custom` with `engine: lakegate`: a table from a word to its rule.

It does not compare their metrics with a threshold.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lakegate.audit.model.plan import Drift, Metric, Unit
from lakegate.contracts.checks import custom_rules, drifts
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.columns.types import TEMPORAL
from lakegate.contracts.metrics import aggregates
from lakegate.contracts.metrics.rows import in_future
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.vocabulary import OPERATORS, OWN_VENDOR, Answer, Word, check_words

COLUMN, TABLE = "a column", "the table"
COUNTS = (Unit.ROWS, Unit.PERCENT)
_LIBRARY_WORDS = ("metric", "arguments", *OPERATORS)


@dataclass(frozen=True, kw_only=True)
class CustomRule:
    """A word of `implementation`, on a column (its one field) or on the table (all of them).

    `metric` returns None, and notes a fault, if it cannot be made of the word's value. `percent` is the same in
    percent, if that is not the share of the file's rows. A rule that counts failing rows needs no operator: none may
    fail. It is asked in one of its `units`, the first by default; NUMBER is no unit. `sentence`, of {word}, {value} and
    {column}, is the name of a check. With `drift`, the check compares how far the metric is off, and not the metric
    itself.
    """

    remark: str
    metric: Callable[[Fields, Item], Metric | None]
    percent: Callable[[Fields, Item], Metric | None] | None = None
    counts_rows: bool = True
    units: tuple[Unit, ...] = COUNTS
    sentence: str = "{word} of {column}"
    drift: Callable[[Item], Drift | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """An entry's chosen rule in `quality`, the value that it gives the rule, and its `implementation`."""

    rule: CustomRule
    value: Item
    implementation: Item


def _not_in_future(fields: Fields, value: Item) -> Metric | None:
    (field,) = fields
    if value.value is not True:
        value.fault("write notInFuture: true, or leave it out")
    elif field.type.kind not in TEMPORAL:
        value.fault(f"the column {field.label!r} is {field.type.name}: only a date or a timestamp has a future")
    else:
        return in_future(field)
    return None


def _number(remark: str, metric: Callable[[Field], Metric]) -> CustomRule:
    return CustomRule(remark=remark, metric=custom_rules.statistic(metric), counts_rows=False, units=(Unit.NUMBER,))


CUSTOM = {
    ("notInFuture", COLUMN): CustomRule(
        remark="`true`: rows whose date or timestamp is later than the audit, in UTC; nulls don't count",
        metric=_not_in_future,
    ),
    ("row", TABLE): CustomRule(
        remark="a condition in SQL: rows that it is false for; where it is null it holds",
        metric=custom_rules.row,
        sentence="{value}",
    ),
    ("atLeastOneOf", TABLE): CustomRule(
        remark="a list of columns: rows that are null in all of them",
        metric=custom_rules.at_least_one_of,
        sentence="at least one of {value}",
    ),
    ("mean", COLUMN): _number("`true`: the mean", aggregates.mean),
    ("median", COLUMN): _number("`true`: the median, exact", aggregates.median),
    ("quantile", COLUMN): CustomRule(
        remark="a number from 0 to 1: that quantile, exact, between two values in proportion",
        metric=custom_rules.quantile,
        counts_rows=False,
        units=(Unit.NUMBER,),
        sentence="quantile {value} of {column}",
    ),
    ("standardDeviation", COLUMN): _number(
        "`true`: the standard deviation, of a sample", aggregates.standard_deviation
    ),
    ("sum", COLUMN): _number("`true`: the sum", aggregates.total),
    ("minimum", COLUMN): _number("`true`: the least value", aggregates.least),
    ("maximum", COLUMN): _number("`true`: the greatest value", aggregates.greatest),
    ("distinctValues", COLUMN): CustomRule(
        remark="`true`: how many different values; with `unit: percent`, of a hundred that are not null",
        metric=custom_rules.statistic(aggregates.distinct, of_numbers=False),
        percent=custom_rules.statistic(aggregates.distinct_percent, of_numbers=False),
        counts_rows=False,
    ),
    ("share", COLUMN): CustomRule(
        remark="a value or a list of them: rows that have one of these, in percent of all; with `unit: rows`, how many",
        metric=custom_rules.share(aggregates.count_of_values),
        percent=custom_rules.share(aggregates.having_percent),
        counts_rows=False,
        units=(Unit.PERCENT, Unit.ROWS),
        sentence="share of {value} in {column}",
    ),
    ("drift", TABLE): CustomRule(
        remark="`{of: rowCount}`: how far the file's rows are off the mean of the files published last",
        metric=drifts.of_table,
        drift=drifts.drift,
        counts_rows=False,
    ),
    ("drift", COLUMN): CustomRule(
        remark=f"`{{of: …}}`, one of {', '.join(f'`{name}`' for name in drifts.OF_COLUMN)}: how far that is off",
        metric=drifts.of_column,
        drift=drifts.drift,
        counts_rows=False,
    ),
}


def choose(item: Item, level: str) -> Choice | None:
    """Return the one rule that the entry names; return None, and note a fault, if there is none."""
    for word in _LIBRARY_WORDS:
        if entry := item.get(word):
            entry.fault(f"{word!r} does not belong to a custom check: an operator goes into its 'implementation'")
    engine, implementation = item.get("engine"), item.get("implementation")
    if engine and engine.value != OWN_VENDOR:
        engine.fault(
            f"the engine {engine.value!r} does not run here: custom checks are those with engine: {OWN_VENDOR}"
        )
        return None
    if engine is None or implementation is None:
        return None
    if not isinstance(implementation.value, dict):
        implementation.fault("a mapping with the one word that names the check, such as {notInFuture: true}")
        return None
    return _rule_by_name(implementation, level)


def _rule_by_name(implementation: Item, level: str) -> Choice | None:
    words = {word for word, _ in CUSTOM}
    check_words(
        implementation,
        {word: Word(answer=Answer.RULE) for word in (*words, *OPERATORS)},
        vocabulary=f"{OWN_VENDOR}'s checks",
    )
    rule_words = [word for word in implementation.value if word in words]
    if len(rule_words) != 1:
        if rule_words or all(word in OPERATORS for word in implementation.value):
            implementation.fault(
                f"one word names the check, and there are {len(rule_words)}: {', '.join(rule_words or words)}"
            )
        return None
    value = implementation.get(rule_words[0])
    if (rule := CUSTOM.get((rule_words[0], level))) is None:
        places = " and ".join(place for word, place in CUSTOM if word == rule_words[0])
        implementation.fault(f"{rule_words[0]} belongs to {places}")
        return None
    return Choice(rule=rule, value=value, implementation=implementation) if value else None
