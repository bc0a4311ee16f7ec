"""Causes for which rows of text do not parse, found in the rows of a sample, and the advice that goes with each."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakegate.audit.advice import Advice, setting
from lakegate.audit.evaluation import samples
from lakegate.audit.evaluation.advice import put_aside
from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.evaluation.verdicts import malformed_checks
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Plan, Severity, TableColumn, Trait
from lakegate.audit.model.report import CheckResult
from lakegate.audit.schema import lines
from lakegate.audit.schema.faults import type_text
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.kinds import of_format
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import MOST_DIGITS, Atom, canonical, digits, parse
from lakegate.audit.text.fields import header_names
from lakegate.audit.text.objects import HALF_PAIR, NO_OBJECT
from lakegate.audit.text.scan import row_faults, value_fault
from lakegate.audit.text.values import NULLS
from lakegate.counts import count

_MOST_CAUSES = 3  # causes of a file in one advice
_LINE_ENDS = setting("multiLine", "true")
_SERVER = "at the contract's landing server"
_WHOLE, _NUMBER = re.compile("[+-]?[0-9]{1,40}"), re.compile("[+-]?[0-9]{1,30}([.][0-9]{1,30})?")

Rows = Sequence[Mapping[str, Any]]


def with_causes(
    plan: Plan, results: Mapping[str, tuple[CheckResult, ...]], inspections: Iterable[Inspection], *, is_new: bool
) -> dict[str, tuple[CheckResult, ...]]:
    """Return the results, with advice by cause at the check that rows parse. Types of a table that `is_new` may still
    change.
    """
    layouts, malformed_ids = {inspection.id: inspection.layout for inspection in inspections}, malformed_checks(plan)

    def with_advice(file: str, result: CheckResult) -> CheckResult:
        if result.check not in malformed_ids or not result.advice or not result.sample:
            return result
        layout = _Layout(plan=plan, layout=layouts.get(file, ()), is_new=is_new)
        return replace(result, advice=_join_causes(layout, result, list(layout.causes(result.sample))))

    return {
        file: tuple(with_advice(file, result_of_check) for result_of_check in checks)
        for file, checks in results.items()
    }


def _join_causes(layout: "_Layout", result: CheckResult, causes: Sequence[Advice]) -> Advice | None:
    """Return one advice for all causes. A contract's lines mend one cause alone; for several, the rows go aside."""
    if not causes:
        return result.advice
    causes = [cause for cause in causes if cause.lines == _LINE_ENDS] or causes  # they break the rows around, too
    requests = list(dict.fromkeys(cause.vendor for cause in causes))
    ways = {(cause.contract, cause.lines) for cause in causes}
    [way] = ways if len(ways) == 1 else [("", "")]
    advice = Advice(vendor=", and to ".join(requests[:_MOST_CAUSES]), contract=way[0], lines=way[1])
    if way[0] or result.severity is Severity.QUARANTINE:
        return advice
    return Advice(vendor=advice.vendor, **put_aside(layout.plan))


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """A file's contract and layout, by which the causes of its rows are named."""

    plan: Plan
    layout: Sequence[str]
    is_new: bool

    @property
    def form(self) -> FileFormat:
        return self.plan.files

    def causes(self, rows: Rows) -> Iterator[Advice]:
        """Yield the advice for each cause, in the order of the causes' first rows."""
        width = len(self.layout) or len(self.plan.columns)
        strange, bad_quotes, _ = row_faults(self.form, width)
        of_rows = {strange: self._encoding, bad_quotes: self._quotes, NO_OBJECT: _object, HALF_PAIR: _halves}
        for reason in dict.fromkeys(str(row.get("why", "")) for row in rows):
            alike = [row for row in rows if row.get("why") == reason]
            if reason in of_rows:
                yield of_rows[reason](alike)
            elif columns := [
                column for column in self.plan.columns if value_fault(column.name, canonical(column.type)) in reason
            ]:
                yield from (self._value(column, _of(rows, column)) for column in columns[:_MOST_CAUSES])
            elif self.form.kind is FileKind.CSV:
                yield self._width(width, alike)

    def _encoding(self, _rows: Rows) -> Advice:
        other = {"UTF-8": "windows-1252", "US-ASCII": "UTF-8"}.get(self.form.encoding, "ISO-8859-1")
        change = f"say their encoding, {_SERVER}, if all files of the table are written so"
        return Advice(vendor=f"write each letter as {self.form.encoding}", contract=change, lines=f"encoding: {other}")

    def _quotes(self, rows: Rows) -> Advice:
        vendor = f"put {self.form.quote} around whole values alone, and to double it within one"
        texts = [str(row.get("text", "")) for row in rows]
        if any(f"\\{self.form.quote}" in text for text in texts) and self.form.escape != "\\":
            change, lines_of = "say which sign escapes a quote", setting("escape", '"\\\\"')
        elif any(text.count(self.form.quote) % 2 for text in texts) and not self.form.multiline:
            vendor += ", and to end no line within quotes"
            change, lines_of = "let values in quotes hold line ends", _LINE_ENDS
        else:
            change, lines_of = "take quotes as signs of the values", setting("quote", '""')
        return Advice(vendor=vendor, contract=f"{change}, {_SERVER}", lines=lines_of)

    def _width(self, width: int, rows: Rows) -> Advice:
        sign = "a tab" if self.form.delimiter == "\t" else self.form.delimiter
        vendor = f"write {count(width, 'field')} in each row"
        if self.form.quote:
            return Advice(vendor=f"{vendor}, and to quote values that hold {sign} by {self.form.quote}")
        if any('"' in str(row.get("text", "")) for row in rows):
            return Advice(vendor=vendor, contract=f"say its quotes, {_SERVER}", lines=setting("quote", "'\"'"))
        return Advice(vendor=f"{vendor}, with {sign} in no value")

    def _value(self, column: TableColumn, rows: Rows) -> Advice:
        name, spelling = display_name(column.name), self.form.patterns.get(column.name, "")
        pattern = f", spelled as {spelling}" if spelling else ""
        values = [value for row in rows if (value := self._value_text(column.name, row)) is not None]
        vendor = f"write column {name} as {type_text(parse(column.type))}{pattern}"
        return Advice(vendor=vendor, **self._value_change(column, values))

    def _value_text(self, name: str, row: Mapping[str, Any]) -> str | None:
        """Return a row's value of a column as text; None if the sample does not show it."""
        text = str(row.get("text", ""))
        try:
            if self.form.kind is FileKind.JSON:
                return json.dumps(json.loads(text)[name])
            fields = header_names(replace(self.form, multiline=False), text)
            is_whole = len(fields) == len(self.layout) and len(text) < samples.TEXT
            return fields[self.layout.index(name)] if is_whole else None
        except (ValueError, KeyError, TypeError, csv.Error, RecursionError):
            return None

    def _value_change(self, column: TableColumn, values: Sequence[str]) -> dict[str, str]:
        """Return the contract's part: texts of no value, or a type that holds these values, where one is sure to do."""
        name, texts = display_name(column.name), list(dict.fromkeys(value.strip(" ") for value in values))
        if not texts:
            return {}
        if self.form.kind is FileKind.CSV and all(text in NULLS for text in texts):
            nulls = ", ".join(map(lines.quote, dict.fromkeys([*self.form.nulls_of(column.name), *texts])))
            change = f"say which texts stand for no value, at column {name} of the contract"
            return {"contract": change, "lines": setting("nullValues", f"[{nulls}]")}
        kind = _wider(Atom(canonical(column.type)), texts) or (Atom("string") if self.is_new else None)
        if kind is None or self._is_bound(column.name):
            return {}
        change = f"write a type of {name} that holds its values"
        return {"contract": change, "lines": lines.column(column.name, kind)}

    def _is_bound(self, name: str) -> bool:
        """Return True if more of the contract hangs on the column's type."""
        metrics = (metric for metric in self.plan.metrics if not metric.has(Trait.REQUIRED))
        parts = any(name in transform for transform in self.plan.partitions)
        return parts or name in self.plan.key or any(name in metric.columns or name in metric.sql for metric in metrics)


def _of(rows: Rows, column: TableColumn) -> Rows:
    """Return the rows in which the column has no value of its type."""
    fault = value_fault(column.name, canonical(column.type))
    return [row for row in rows if fault in str(row.get("why", ""))]


def _wider(kind: Atom, texts: Sequence[str]) -> Atom | None:
    """Return a wider type that a column can come to have in a table that is there, if it holds these texts."""
    if kind == Atom("int") and all(_WHOLE.fullmatch(text) and -(2**63) <= int(text) < 2**63 for text in texts):
        return Atom("bigint")
    if (size := digits(kind)) and all(_NUMBER.fullmatch(text) for text in texts):
        parts = [text.lstrip("+-").partition(".") for text in texts]
        before, places = max(len(whole.lstrip("0")) for whole, _, _ in parts), size[1]
        if all(len(after.rstrip("0")) <= places for _, _, after in parts) and before + places <= MOST_DIGITS:
            return Atom(f"decimal({max(before + places, size[0])},{places})")
    return None


def _object(rows: Rows) -> Advice:
    vendor = "write one whole JSON object in each line, and nothing beside it"
    texts = [str(row.get("text", MASK)).strip() for row in rows]
    if MASK in texts or any(not text or text[0] in '{[]}"' for text in texts):
        return Advice(vendor=vendor)
    return of_format(FileKind.CSV, vendor)


def _halves(_rows: Rows) -> Advice:
    return Advice(vendor="write whole letters, as both halves of a surrogate pair or as UTF-8")
