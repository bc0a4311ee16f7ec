"""ODCS's `slaProperties`: promises of the data are checked file by file; promises of people are not."""

import re
from collections.abc import Mapping

from lakegate.audit.model.plan import Operator
from lakegate.contracts.checks.check import CheckWithMetric, check_of
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.columns.types import TEMPORAL
from lakegate.contracts.metrics.rows import age
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.examples import EXAMPLES

SECONDS: Mapping[str, int] = {
    unit_name: seconds
    for seconds, spellings in (
        (1, ("s", "sec", "second", "seconds")),
        (60, ("min", "minute", "minutes")),
        (3_600, ("h", "hr", "hour", "hours")),
        (86_400, ("d", "day", "days")),
        (604_800, ("w", "wk", "week", "weeks")),
    )
    for unit_name in spellings
}
_AGES = ("latency", "freshness")
_OLDEST = 2**31 * SECONDS["d"]  # seconds; a date has 32 bits of days
_NUMBER = re.compile(r"[0-9]{1,38}([.][0-9]{1,38})?([eE][+-]?[0-9]{1,2})?")


def promise_checks(root: Item, table: str, fields: Fields) -> list[CheckWithMetric]:
    """Return the checks of the contract's promises on the table's columns."""
    return [check for promise in root.entries("slaProperties") if (check := _promise(promise, table, fields))]


def _promise(promise: Item, table: str, fields: Fields) -> CheckWithMetric | None:
    name = promise.plain("property")
    word = vocabulary.SLA.get(name) if name is not None else None
    if name is not None and (word is None or word.answer is vocabulary.Answer.ERROR):
        promise.fault(
            f"the promise {name!r} is not enforced{vocabulary.hint(name, vocabulary.SLA) if word is None else ''}"
        )
    return _age(promise, table, fields) if name in _AGES else None


def _age(promise: Item, table: str, fields: Fields) -> CheckWithMetric | None:
    """Return the check that the newest value of a column is so old, and no older, when the file is audited."""
    if entry := promise.get("valueExt"):
        entry.fault(f"valueExt is refused: {promise.plain('property')} has one limit")
    field, limit, seconds = _element(promise, table, fields), _limit(promise), _seconds(promise)
    if field is None or limit is None or seconds is None:
        return None
    if limit * seconds > _OLDEST:
        promise.fault(f"no value is as old as {limit:.15g} {promise.plain('unit')}: write an age that one may have")
        return None
    return check_of(
        f"{promise.plain('property')} of {field.label} in {promise.plain('unit')}",
        age(field, seconds),
        promise.line,
        operator=Operator.LESS_OR_EQUAL,
        threshold=(limit,),
    )


def _element(promise: Item, table: str, fields: Fields) -> Field | None:
    entry = promise.get("element")
    if entry is None:
        if not promise.has("element"):
            message = "'element' is missing: the column whose newest value may not be too old"
            promise.fault(message, EXAMPLES["element"])
        return None
    labels, label = fields.by_label, entry.value
    if label not in labels:
        label = label.removeprefix(f"{table}.")
    if (field := labels.get(label)) is None:
        entry.fault(f"the table has no column {entry.value!r}{vocabulary.hint(label, labels)}")
    elif field.type.kind not in TEMPORAL:
        entry.fault(f"the column {field.label!r} is {field.type.name}: only a date or a timestamp has an age")
        return None
    return field


def _limit(promise: Item) -> float | None:
    entry = promise.get("value")
    if entry is None:
        return None
    if isinstance(entry.value, bool) or not _NUMBER.fullmatch(str(entry.value)):
        entry.fault(f"{entry.value!r} is no number of 0 or more")
        return None
    return float(entry.value)


def _seconds(promise: Item) -> int | None:
    entry = promise.get("unit")
    if entry is None:
        if not promise.has("unit"):
            promise.fault("'unit' is missing, such as d for days", EXAMPLES["unit"])
        return None
    if entry.value not in SECONDS:
        entry.fault(f"the unit {entry.value!r} is none of {', '.join(SECONDS)}{vocabulary.hint(entry.value, SECONDS)}")
    return SECONDS.get(entry.value)
