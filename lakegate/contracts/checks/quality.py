"""ODCS's `quality` entries: a table of the library's metrics, queries, and one comparison for each.

It does not make the checks of a column's own words.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.model.plan import Comparison, Drift, Metric, Operator, Scope, Severity, Trait, Unit
from lakegate.contracts.checks import drifts
from lakegate.contracts.checks.check import CheckWithMetric, WarningLines, check_of, value_of
from lakegate.contracts.checks.column_rules import pattern_metric
from lakegate.contracts.checks.comparisons import refusal
from lakegate.contracts.checks.custom import COLUMN, COUNTS, TABLE, Choice, choose
from lakegate.contracts.checks.custom_rules import columns_named
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.metrics.metric import (
    NothingToCheck,
    aggregate_metric,
    any_of,
    query_metric,
    row_count,
    with_scope,
)
from lakegate.contracts.metrics.rows import among, duplicates, not_among, nulls
from lakegate.contracts.metrics.texts import with_pattern, without_pattern
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.examples import EXAMPLES, OPERATOR
from lakegate.contracts.odcs.settings import SCOPE, scope, setting
from lakegate.contracts.odcs.vocabulary import OPERATORS, Answer, Word, check_words, one_of
from lakegate.contracts.outcomes.values import ANY, ENDLESS, Values
from lakegate.contracts.outcomes.values import COUNTS as NUMBERS_OF_ROWS
from lakegate.contracts.sql.allowlist import NotAllowed
from lakegate.contracts.sql.judging import aggregate_values
from lakegate.contracts.sql.statements import Form, Scalar, scalar

_RANGES = (Operator.IN_RANGE, Operator.OUT_OF_RANGE)
_WHOLE_FILE = 100  # percent
_AS_WARNING = WarningLines(place="the check", lines=f"severity: {Severity.WARNING}")
_SHORT = 80  # letters of a query that a person reads
_WORDS = {
    **dict.fromkeys(("metric", "arguments"), ("library", "custom")),  # custom checks refuse these themselves
    "query": ("sql",),
    **dict.fromkeys(("engine", "implementation"), ("custom",)),
    **dict.fromkeys(OPERATORS, ("library", "sql", "custom")),
}


@dataclass(frozen=True, kw_only=True)
class LibraryRule:
    """A metric of ODCS's library on a column or on the table, with its arguments, at least one of them if any.

    `metric` returns None, and notes a fault, if it cannot be made of them.
    """

    remark: str
    metric: Callable[[Fields, Mapping[str, Item]], Metric | None]
    arguments: tuple[str, ...] = ()
    of_table: bool = False  # whether it may have `scope: table`


def _missing_metric(fields: Fields, arguments: Mapping[str, Item]) -> Metric | None:
    field, metrics = fields[0], []
    if values := arguments.get("missingValues"):
        metrics.append(_listed_as_missing(field, values))
    if pattern := arguments.get("pattern"):
        metrics.append(_by_pattern(field, pattern, with_pattern))
    if metrics == [among(field, [None])]:
        return nulls(field)  # statistics count nulls
    return None if None in metrics else any_of([metric for metric in metrics if metric])


def _listed_as_missing(field: Field, values_entry: Item) -> Metric | None:
    entries = _members(values_entry)
    values = [None if entry.value is None else value_of(field, entry) for entry in entries]
    if not entries or any(
        value is None and entry.value is not None for value, entry in zip(values, entries, strict=True)
    ):
        return None
    return among(field, values)


def _invalid(fields: Fields, arguments: Mapping[str, Item]) -> Metric | None:
    field, metrics = fields[0], []
    if valid := arguments.get("validValues"):
        values = [value_of(field, entry) for entry in _members(valid)]
        metrics.append(None if None in values or not values else not_among(field, values))
    if pattern := arguments.get("pattern"):
        metrics.append(_by_pattern(field, pattern, without_pattern))
    return None if None in metrics else any_of([metric for metric in metrics if metric])


def _by_pattern(field: Field, entry: Item, count_rows: Callable[[Field, str], Metric]) -> Metric | None:
    if field.type.kind == "string" and isinstance(entry.value, str):
        return pattern_metric(field, entry, count_rows)
    entry.fault(f"a pattern is text, of a column of text (the column {field.label!r} is {field.type.name})")
    return None


def _duplicate_metric(fields: Fields, arguments: Mapping[str, Item]) -> Metric | None:
    entries = _members(arguments["properties"])
    key_columns = columns_named(fields, entries)
    if len({field.name for field in key_columns}) < len(key_columns):
        arguments["properties"].fault("a column is in the key twice")
        return None
    return duplicates(key_columns) if key_columns else None


LIBRARY = {
    ("rowCount", TABLE): LibraryRule(
        remark="the file's rows; with `scope: table`, the table's once the file is in it",
        metric=lambda _fields, _: row_count(),
        of_table=True,
    ),
    ("nullValues", COLUMN): LibraryRule(remark="rows with a null", metric=lambda fields, _: nulls(fields[0])),
    ("invalidValues", COLUMN): LibraryRule(
        remark="rows whose value is none of `validValues`, or does not have the `pattern`; nulls don't count",
        arguments=("validValues", "pattern"),
        metric=_invalid,
    ),
    ("missingValues", COLUMN): LibraryRule(
        remark="rows whose value is one of `missingValues`, or has the `pattern`; nulls count if `null` is in the list",
        arguments=("missingValues", "pattern"),
        metric=_missing_metric,
    ),
    ("duplicateValues", COLUMN): LibraryRule(
        remark="rows that repeat an earlier row's value, with `scope: table` also one in the table; nulls don't count",
        metric=lambda fields, _: duplicates(fields),
        of_table=True,
    ),
    ("duplicateValues", TABLE): LibraryRule(
        remark="rows that repeat an earlier row's values in `properties`; rows with a null among them don't count",
        arguments=("properties",),
        metric=_duplicate_metric,
        of_table=True,
    ),
}


@dataclass(frozen=True, kw_only=True)
class QueryContext:
    """A query's surroundings beside its own column: the table's columns, and the names that the table goes by."""

    fields: Fields
    names: Collection[str]


@dataclass(frozen=True, kw_only=True)
class Question:
    """An entry's metric, and the name that people call it by. A `is_count` number is never below 0, and no percentage
    of it is above 100. With `against`, the name is a rule, and the number counts the rows against it. `values` are
    those that a query may give.
    """

    metric: Metric | None
    name: str
    unit: Unit | None
    is_count: bool = True
    against: bool = False
    values: Values | None = None


@dataclass(frozen=True, kw_only=True)
class Demand:
    """An operator with its threshold, and its place."""

    operator: Operator
    threshold: tuple[float, ...]
    item: Item


def quality_checks(owner: Item, level: str, fields: Fields, context: QueryContext) -> list[CheckWithMetric]:
    """Return the checks of `quality`, on a column (its one field) or on the table (all of them)."""
    return [check for item in owner.entries("quality") if (check := _quality(item, level, fields, context))]


def _quality(item: Item, level: str, fields: Fields, context: QueryContext) -> CheckWithMetric | None:
    kind = item.plain("type", "library")
    _check_strays(item, kind)
    match kind:
        case "library":
            return _check_of_question(item, _library(item, level, fields), _comparison(item), fields)
        case "sql":
            return _check_of_question(
                item, _query(item, level, fields, context), _comparison(item, is_count=False), fields
            )
        case "custom":
            return _custom(item, level, fields)
    return None


def _check_strays(item: Item, kind: str) -> None:
    """Note a fault for each word that means nothing to a check of this type."""
    for word in item.value:
        types = _WORDS.get(word, (kind,))
        if kind not in types and item.get(word):
            item.document.close((*item.path, word), f"{word!r} belongs to a check of type {' or '.join(types)}")
    if kind != "library" and (entry := setting(item, SCOPE)):
        entry.fault(f"{SCOPE} is for duplicateValues and rowCount")


def _library(item: Item, level: str, fields: Fields) -> Question:
    metric = _metric(item, level, fields)
    of = f" of {', '.join(metric.columns)}" if metric and metric.columns else ""
    of += " in the table" if metric and metric.scope is Scope.TABLE else ""
    return Question(metric=metric, name=f"{item.plain('metric')}{of}", unit=_unit(item, COUNTS))


def _query(item: Item, level: str, fields: Fields, context: QueryContext) -> Question | None:
    if (entry := item.get("query")) is None:
        return None
    try:
        query = scalar(entry.value, context.fields, context.names, fields[0] if level == COLUMN else None)
    except NotAllowed as error:
        entry.fault(f"the query: {error}")
        return None
    unit = _unit(item, (Unit.NUMBER, *COUNTS))
    if unit is Unit.PERCENT and query.counts:
        item.document.fault(
            (*item.path, "unit"), "the query gives a count, and no percentage: select 100.0 * that / COUNT(*)"
        )
        return None
    return Question(metric=_of(query), name=_short(entry.value), unit=unit, is_count=False, values=query.values)


def _of(query: Scalar) -> Metric:
    match query.form:
        case Form.COUNT:
            return row_count()
        case Form.QUERY:
            return query_metric(query.columns, query.sql)
    return aggregate_metric(query.columns, query.sql, is_alone=query.form is Form.HEAVY)


def _custom(item: Item, level: str, fields: Fields) -> CheckWithMetric | None:
    """Return a check of ours. Without an operator no row may fail."""
    if (selection := choose(item, level)) is None:
        return None
    if selection.rule.drift:
        return _drift_check(item, selection, fields, selection.rule.drift(selection.value))
    rule, unit = selection.rule, _unit(item, selection.rule.units)
    build = rule.percent if rule.percent and unit is Unit.PERCENT else rule.metric
    value_of_rule = selection.value.value
    value = ", ".join(map(str, value_of_rule)) if isinstance(value_of_rule, list) else str(value_of_rule)
    column = ", ".join(field.label for field in fields)
    name = rule.sentence.format(word=selection.value.path[-1], value=_short(value), column=column)
    silent = rule.counts_rows and not any(selection.implementation.has(word) for word in OPERATORS)
    question = Question(
        metric=build(fields, selection.value),
        name=name,
        unit=unit,
        is_count=Unit.NUMBER not in rule.units,
        against=rule.counts_rows and "{word}" not in rule.sentence,
    )
    no_rows = Demand(operator=Operator.MUST_BE, threshold=(0.0,), item=item)
    comparison = no_rows if silent else _comparison(selection.implementation, is_count=question.is_count)
    return _check_of_question(item, question, comparison, fields, name=name if silent and question.against else "")


def _drift_check(item: Item, selection: Choice, fields: Fields, drift: Drift | None) -> CheckWithMetric | None:
    """Return a check of how far a number is off: in percent of what it was, or in a unit of its own."""
    metric, comparison = (
        selection.rule.metric(fields, selection.value),
        _comparison(selection.implementation, is_count=False),
    )
    if _unit(item, (Unit.NUMBER,)) is None or metric is None or drift is None:
        return None
    question = Question(
        metric=metric,
        name=drifts.drift_text(selection.value, metric.columns),
        unit=Unit.PERCENT if drift.comparison is Comparison.RATE else Unit.NUMBER,
        is_count=False,
    )
    return _check_of_question(item, question, comparison, fields, drift=drift)


def _check_of_question(
    item: Item,
    question: Question | None,
    comparison: Demand | None,
    fields: Fields,
    name: str = "",
    drift: Drift | None = None,
) -> CheckWithMetric | None:
    """Return the check of the entry `item`. It has the entry's own name, else `name`, else one that follows from the
    comparison.
    """
    severity = _severity(item)
    if question is None or question.metric is None or question.unit is None or comparison is None or severity is None:
        return None
    operator, threshold = comparison.operator, comparison.threshold
    percent = question.is_count and question.unit is Unit.PERCENT
    if percent and (max(threshold) > _WHOLE_FILE or question.metric.has(Trait.SIZE)):
        item.fault("a percentage of the file's rows is between 0 and 100, and their count is not one of them")
        return None
    if (fault := refusal(operator, threshold, _possible(question, fields, drift))) is not None:
        comparison.item.fault(f"{operator.value}: {fault}")
        return None
    check_name = item.plain("name") or name or _question_text(question, operator, threshold)
    return check_of(
        check_name,
        question.metric,
        item.line,
        operator=operator,
        threshold=threshold,
        unit=question.unit,
        severity=severity,
        drift=drift,
        warning_lines=_AS_WARNING,
    )


def _possible(question: Question, fields: Fields, drift: Drift | None) -> Values:
    """Return the numbers that may be compared."""
    metric = question.metric
    if question.values is not None or metric is None:
        return question.values or ANY
    if drift is None and question.unit is Unit.PERCENT and metric.kind.counts_rows:
        return Values(0, _WHOLE_FILE, null=False)
    values = aggregate_values(metric.sql, fields) if metric.has(Trait.NUMBER) else NUMBERS_OF_ROWS
    if drift is None:
        return values
    return Values(-_WHOLE_FILE, ENDLESS) if drift.comparison is Comparison.RATE and values.low >= 0 else ANY


def _metric(item: Item, level: str, fields: Fields) -> Metric | None:
    name = item.plain("metric")
    if name is None:
        if not item.has("metric") and not item.has("rule") and not item.has("type"):
            item.fault("'metric' is missing", EXAMPLES["metric"])  # with a type, the standard's schema has said so
        return None
    if (rule := LIBRARY.get((name, level))) is None:
        places = " and ".join(place for metric, place in LIBRARY if metric == name)
        item.fault(f"{name} belongs to {places}" if places else f"{name} is not enforced yet")
        return None
    metric_scope, arguments = _scope(item, name, rule), _arguments(item, name, rule.arguments)
    try:
        metric = rule.metric(fields, arguments) if arguments is not None else None
    except NothingToCheck as error:
        item.fault(f"{name}: {error}")
        return None
    return with_scope(metric, metric_scope) if metric else None


def _scope(item: Item, name: str, rule: LibraryRule) -> Scope:
    metric_scope = scope(item)
    if metric_scope is Scope.TABLE and not rule.of_table:
        item.fault(f"{name} is of each file alone: {SCOPE} is for duplicateValues and rowCount")
    return metric_scope


def _arguments(item: Item, name: str, words: Sequence[str]) -> dict[str, Item] | None:
    """Return the arguments by their words; return None, and note a fault, if none is there that must be."""
    arguments = item.get("arguments")
    if arguments:
        check_words(
            arguments, {word: Word(answer=Answer.RULE) for word in words}, vocabulary=f"the arguments of {name}"
        )
    arguments_by_word = {word: argument for word in words if arguments and (argument := arguments.get(word))}
    if words and not arguments_by_word:
        if not item.has("arguments") or (arguments and not any(arguments.has(word) for word in words)):
            item.fault(f"{name} needs the argument {' or '.join(map(repr, words))}")
        return None
    return arguments_by_word


def _members(entry: Item) -> list[Item]:
    """Return the members of a list; return none, and note a fault, if it is no list or empty."""
    if isinstance(entry.value, list) and entry.value:
        return list(entry.members())
    entry.fault(f"{str(entry.path[-1])!r} must be a list with something in it")
    return []


def _comparison(item: Item, *, is_count: bool = True) -> Demand | None:
    words = [word for word in OPERATORS if item.has(word)]
    if len(words) != 1:
        problem = f"one operator a check, and there are {' and '.join(words)}"
        item.fault(problem if words else "an operator is missing, such as mustBe: 0", "" if words else OPERATOR)
        return None
    if (limit := item.get(words[0])) is None:
        return None
    operator, threshold = Operator(words[0]), limit.value if isinstance(limit.value, list) else [limit.value]
    if (wrong := _wrong_threshold(operator, threshold, is_count=is_count)) is not None:
        limit.fault(f"{words[0]}: {wrong}")
        return None
    return Demand(operator=operator, threshold=tuple(threshold), item=limit)


def _wrong_threshold(operator: Operator, threshold: list[object], *, is_count: bool) -> str | None:
    numbers = [number for number in threshold if isinstance(number, int | float) and not isinstance(number, bool)]
    if len(numbers) != len(threshold) or len(numbers) != (2 if operator in _RANGES else 1):
        return "it compares with a number" if operator not in _RANGES else "it compares with two numbers"
    if is_count and min(numbers) < 0:
        return "a count is never below 0"
    if numbers != sorted(numbers):
        return f"the bounds are the wrong way round: {numbers[0]} is above {numbers[1]}"
    return None


def _unit(item: Item, units: Sequence[Unit]) -> Unit | None:
    """Return the unit, one of those that the check can be asked in, the first by default."""
    if not item.has("unit"):
        return units[0]
    if (entry := item.get("unit")) is None:
        return None
    units_with_name = [unit for unit in units if unit is not Unit.NUMBER]
    if not units_with_name:
        entry.fault(f"unit is {entry.value!r}, and its number has none")
    return one_of(entry, units_with_name, "unit") if units_with_name else None


def _severity(item: Item) -> Severity | None:
    if not item.has("severity"):
        return Severity.ERROR
    if (entry := item.get("severity")) is None:
        return None
    return one_of(entry, Severity, "severity")


def _question_text(question: Question, operator: Operator, threshold: tuple[float, ...]) -> str:
    """Return a name such as `nullValues of tailnum must be less than 1.5 percent`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", operator.value).lower()
    numbers = " and ".join(f"{number:.15g}" for number in threshold)
    unit = "" if question.unit in (None, Unit.NUMBER) else f" {question.unit.value}"
    return f"{'rows against ' if question.against else ''}{question.name} {words} {numbers}{unit}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
