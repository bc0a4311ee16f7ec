"""Metrics from the words of custom checks, or faults if a word's value makes no sense of its columns.

It does not list the words, which `custom` does, nor compare their numbers, which `quality` does.
"""

from collections.abc import Callable, Sequence

from lakegate.audit.model.plan import Metric
from lakegate.contracts.checks.check import value_of
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.columns.types import NUMERIC, Comparable
from lakegate.contracts.metrics import aggregates
from lakegate.contracts.metrics.rows import all_null, breaking
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.contracts.sql.allowlist import NotAllowed
from lakegate.contracts.sql.statements import predicate

MetricBuilder = Callable[[Fields, Item], Metric | None]


def row(fields: Fields, value: Item) -> Metric | None:
    """Count the rows that do not hold to a rule in SQL."""
    if not isinstance(value.value, str):
        value.fault('a rule is text, such as row: "arr_time >= dep_time"')
        return None
    try:
        tree, columns = predicate(value.value, fields)
    except NotAllowed as error:
        value.fault(f"the rule: {error}")
        return None
    return breaking(tree, columns)


def at_least_one_of(fields: Fields, value: Item) -> Metric | None:
    """Count the rows that have none of the columns."""
    if not isinstance(value.value, list) or len(set(map(str, value.value))) < 2:  # noqa: PLR2004 - of one: `required`
        value.fault("atLeastOneOf takes a list of two columns or more: one alone is `required`")
        return None
    null_columns = columns_named(fields, list(value.members()))
    return all_null(null_columns) if null_columns else None


def columns_named(fields: Fields, entries: Sequence[Item]) -> list[Field]:
    """Return the columns that the contract calls so; return none, and note a fault, if one is not there."""
    labels = fields.by_label
    for entry in entries:
        if str(entry.value) not in labels:
            entry.fault(f"the table has no column {str(entry.value)!r}{hint(str(entry.value), labels)}")
    columns = [labels[str(entry.value)] for entry in entries if str(entry.value) in labels]
    return columns if len(columns) == len(entries) else []


def statistic(metric: Callable[[Field], Metric], *, of_numbers: bool = True) -> MetricBuilder:
    """Return a maker of the metric for a word that is true or not there."""

    def build(fields: Fields, value: Item) -> Metric | None:
        if value.value is not True:
            value.fault(f"write {value.path[-1]}: true, or leave it out")
            return None
        return metric(fields[0]) if not of_numbers or numeric(fields[0], value, str(value.path[-1])) else None

    return build


def quantile(fields: Fields, value: Item) -> Metric | None:
    at = value.value
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= 1:
        value.fault(f"{at!r} is no part of the values: a number from 0 to 1, such as 0.95")
        return None
    return aggregates.quantile(fields[0], at) if numeric(fields[0], value, "quantile") else None


def share(metric: Callable[[Field, Sequence[Comparable]], Metric]) -> MetricBuilder:
    """Return a maker of the metric for a value, or a list of them."""

    def build(fields: Fields, value: Item) -> Metric | None:
        if value.value == []:
            value.fault("share takes a value, or a list with something in it")
            return None
        values = [
            value_of(fields[0], entry) for entry in (value.members() if isinstance(value.value, list) else [value])
        ]
        return None if None in values else metric(fields[0], values)

    return build


def numeric(field: Field, value: Item, word: str) -> bool:
    """Return True if the column holds numbers, which the word is of; note a fault if it does not."""
    if field.type.kind not in NUMERIC:
        value.fault(f"{word} is of numbers, and the column {field.label!r} is {field.type.name}")
    return field.type.kind in NUMERIC
