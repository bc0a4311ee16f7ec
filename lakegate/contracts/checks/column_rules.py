"""Checks from a column's own words: a table of rules, so that the next check is a row.

It does not say what is wrong with a row: `metrics` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lakegate.audit.advice import setting as setting_lines
from lakegate.audit.model.plan import Metric, Scope, Severity
from lakegate.audit.schema.names import display_name
from lakegate.contracts.checks.check import NOT_LOOSENED, CheckWithMetric, WarningLines, check_of, severest, value_of
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import WIDER_TYPE_HINT, Comparable
from lakegate.contracts.metrics.arrays import fewer, with_more_items, with_repeats
from lakegate.contracts.metrics.metric import NothingToCheck, with_scope
from lakegate.contracts.metrics.rows import BOUNDS, BoundWord, beyond_limit, duplicates, no_multiple, not_among, nulls
from lakegate.contracts.metrics.texts import (
    DESCRIBING,
    FORMATS,
    longer,
    not_of_format,
    proved_by_pattern,
    shorter,
    whole,
    without_pattern,
)
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import SCOPE, scope, setting
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.contracts.regex.prefilter import lengths

_SHORT = 80  # letters of a check that a person reads
LARGEST = 2**31 - 1
"""Characters of a text or items of an array: no more can be counted."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A column's word that no row may fail. `metric` returns None, and notes a fault, if it cannot be made."""

    word: str
    sentence: str  # of {column} and {value}
    metric: Callable[[Field, Item], Metric | None]


def _bound_rule(bound_word: BoundWord) -> Callable[[Field, Item], Metric | None]:
    def metric(field: Field, item: Item) -> Metric | None:
        limit = value_of(field, item)
        return None if limit is None else beyond_limit(field, bound_word, limit)

    return metric


def _size(build: Callable[[Field, int], Metric]) -> Callable[[Field, Item], Metric | None]:
    def metric(field: Field, item: Item) -> Metric | None:
        if not 0 <= item.value <= LARGEST or item.value != int(item.value):
            item.fault(f"{item.value!r} is no size: a whole number from 0 to {LARGEST:,}")
            return None
        return build(field, int(item.value))

    return metric


def _enum(field: Field, item: Item) -> Metric | None:
    values = [value_of(field, value_entry) for entry in item.members() if (value_entry := entry.get("value"))]
    return None if None in values or not values else not_among(field, values)


def _multiple(field: Field, item: Item) -> Metric | None:
    if field.type.widens:
        item.fault(f"multipleOf is judged by other digits {WIDER_TYPE_HINT}")
        return None
    of = value_of(field, item)
    if of == 0:
        item.fault(f"{item.value!r} is 0 as a {field.type.name}, which has no multiples")
    return no_multiple(field, of) if of else None


def pattern_metric(
    field: Field, item: Item, count_rows: Callable[[Field, str], Metric] = without_pattern
) -> Metric | None:
    """Count the rows that `count_rows` finds by a pattern, by default those that lack it. Return None, and note a
    fault, if the pattern cannot be used.
    """
    try:
        return count_rows(field, str(item.value))
    except ValueError as error:
        item.fault(f"the pattern {item.value!r}: {error}")
        return None


def _format(field: Field, item: Item) -> Metric | None:
    """Count the texts that are not of the format; the format of a number is its width."""
    if field.type.kind != "string" or item.value in DESCRIBING:
        return None
    if item.value not in FORMATS:
        item.fault(f"{item.value!r} is no format here{hint(item.value, FORMATS)}; there are {', '.join(FORMATS)}")
        return None
    return not_of_format(field, item.value)


def _unique_items(field: Field, item: Item) -> Metric | None:
    if "map<" in field.type.name:
        item.fault("maps cannot be compared: an array with maps in it has no uniqueItems")
        return None
    return with_repeats(field)


COLUMN_RULES = (
    Rule(word="required", sentence="{column} required", metric=lambda field, _: nulls(field)),
    Rule(word="enum", sentence="{column} one of {value}", metric=_enum),
)
OPTION_RULES = (
    *(
        Rule(word=word, sentence=f"{{column}} {bound_word.sign} {{value}}", metric=_bound_rule(bound_word))
        for word, bound_word in BOUNDS.items()
    ),
    Rule(word="multipleOf", sentence="{column} a multiple of {value}", metric=_multiple),
    Rule(word="minLength", sentence="{column} of {value} characters or more", metric=_size(shorter)),
    Rule(word="maxLength", sentence="{column} of {value} characters or fewer", metric=_size(longer)),
    Rule(word="pattern", sentence="{column} like {value}", metric=pattern_metric),
    Rule(word="format", sentence="{column} of the format {value}", metric=_format),
    Rule(word="minItems", sentence="{column} of {value} items or more", metric=_size(fewer)),
    Rule(word="maxItems", sentence="{column} of {value} items or fewer", metric=_size(with_more_items)),
    Rule(word="uniqueItems", sentence="{column} without an item twice", metric=_unique_items),
)


def column_checks(field: Field, column: Item, severity: Severity = Severity.ERROR) -> list[CheckWithMetric]:
    """Return the checks of a column's own words and of its bounds."""
    options = column.get("logicalTypeOptions")
    checks = [_zero(rule, field, column, severity) for rule in (*COLUMN_RULES, _unique(column))]
    if options is not None and not _empty_range(field, options) and not _empty_sizes(options):
        checks += _of_options(field, options, severity)
    return [check for check in checks if check]


def _of_options(field: Field, options: Item, severity: Severity) -> list[CheckWithMetric | None]:
    checks_by_word = {rule.word: _zero(rule, field, options, severity) for rule in OPTION_RULES}
    for word in ("pattern", "format"):
        if form_check := checks_by_word[word]:
            text = options.plain(word)
            least, greatest = lengths(text if word == "pattern" else whole(text))
            if (short := checks_by_word["minLength"]) and least >= options.plain("minLength"):
                checks_by_word["minLength"] = short[0], proved_by_pattern(short[1], form_check[1])
            if (
                (long := checks_by_word["maxLength"])
                and greatest is not None
                and greatest <= options.plain("maxLength")
            ):
                checks_by_word["maxLength"] = long[0], proved_by_pattern(long[1], form_check[1])
    return list(checks_by_word.values())


def _unique(column: Item) -> Rule:
    scope_of_column = scope(column)
    if (entry := setting(column, SCOPE)) and column.plain("unique") is not True:
        entry.fault(f"{SCOPE} without unique: true")
    sentence = "{column} unique" + _in_table(scope_of_column)
    return Rule(
        word="unique", sentence=sentence, metric=lambda field, _: with_scope(duplicates((field,)), scope_of_column)
    )


def _in_table(scope_of_key: Scope) -> str:
    return " in the table" if scope_of_key is Scope.TABLE else ""


def primary_key_checks(key: Sequence[tuple[Field, int, Severity]], table: Item) -> list[CheckWithMetric]:
    """Return the checks of a primary key, each column with its line and severity: unique together, and no nulls.

    The key is as severe as the severest of its columns.
    """
    scope_of_table = scope(table)
    if (entry := setting(table, SCOPE)) and not key:
        entry.fault(f"{SCOPE} without a primary key: it goes to each check that it is meant for")
    if not key:
        return []
    names = ", ".join(field.label for field, _, _ in key)
    metric = with_scope(duplicates([field for field, _, _ in key]), scope_of_table)
    line, severity = min(line for _, line, _ in key), severest(severity_of_column for _, _, severity_of_column in key)
    sentence = f"primary key {names} unique{_in_table(scope_of_table)}"
    unique = check_of(sentence, metric, line, severity=severity)
    return [
        unique,
        *(
            check_of(f"{field.label} required (primary key)", nulls(field), line, severity=severity)
            for field, line, severity in key
        ),
    ]


def _zero(rule: Rule, field: Field, owner: Item, severity: Severity) -> CheckWithMetric | None:
    item = owner.get(rule.word)
    if item is None or item.value is False:
        return None
    sentence = rule.sentence.format(column=field.label, value=_display(item.value))
    try:
        metric = rule.metric(field, item)
    except NothingToCheck as error:
        item.fault(f"{sentence if len(sentence) < _SHORT else rule.word}: {error}")
        return None
    if metric is None:
        return None
    return check_of(sentence, metric, item.line, severity=severity, warning_lines=_warning_lines(rule.word, field))


def _warning_lines(word: str, field: Field) -> WarningLines:
    """Return the lines that let through what fails a word of a column. A part of one has no severity of its own."""
    if word in ("required", "unique"):
        return WarningLines(place=f"the column {display_name(field.label)}", lines=f"{word}: false")
    return warning_lines_of(field)


def warning_lines_of(*fields: Field) -> WarningLines:
    """Return the lines that make failures of a column's own words warnings. A check of several columns is as severe as
    the severest of them, so that no one place has it.
    """
    field, *further = fields
    lines = setting_lines("severity", Severity.WARNING)
    return NOT_LOOSENED if further else WarningLines(place=f"the column {display_name(field.name)}", lines=lines)


def _empty_range(field: Field, options: Item) -> bool:
    """Return True if the bounds leave no value at all, and note a fault at the upper one."""
    bounds = {
        word: (item, value)
        for word in BOUNDS
        if (item := options.get(word)) and (value := _quiet(field, item)) is not None
    }
    for low, (_, bottom) in ((word, pair) for word, pair in bounds.items() if BOUNDS[word].lower):
        for high, (item, top) in ((word, pair) for word, pair in bounds.items() if not BOUNDS[word].lower):
            if bottom > top or (bottom == top and (BOUNDS[low].exclusive or BOUNDS[high].exclusive)):
                item.fault(f"no value is left: {low} is {bottom} and {high} is {top}")
                return True
    return False


def _empty_sizes(options: Item) -> bool:
    """Return True if a text or an array cannot be both so long and so short, and note a fault."""
    for low, high, noun in (("minLength", "maxLength", "text"), ("minItems", "maxItems", "array")):
        shortest, longest = options.get(low), options.get(high)
        if shortest and longest and shortest.value > longest.value:
            longest.fault(f"no {noun} is left: {low} is {shortest.value} and {high} is {longest.value}")
            return True
    return False


def _quiet(field: Field, item: Item) -> Comparable | None:
    try:
        return field.type.parse(item.value)
    except ValueError:
        return None  # the fault is recorded where the check is made


def _display(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(entry.get("value")) for entry in value if isinstance(entry, dict))
    return str(value)
