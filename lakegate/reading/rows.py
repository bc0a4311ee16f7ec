"""Rows of a text file: the values of a plan's columns, or why there are none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.types import canonical
from lakegate.audit.text.scan import row_faults, value_fault
from lakegate.reading import fields, objects
from lakegate.reading.lines import REPLACEMENT, lines
from lakegate.reading.records import records
from lakegate.reading.source import Source
from lakegate.reading.values import reader

Row = tuple[int, str, Sequence[Any] | str]
"""A row's number, its text, and the values of the plan's columns, or why it has none."""


def rows_of_fields(plan: Plan, found: Source, layout: Sequence[str], *, sound: bool) -> Iterator[Row]:
    form, at = plan.files, {name: place for place, name in enumerate(layout) if name}
    places = [at.get(column.name) for column in plan.columns]
    texts = [fields.text_of(form, column) for column in plan.columns]
    readers = [_reader(form, column) for column in plan.columns]
    faults = [value_fault(column.name, canonical(column.type)) for column in plan.columns]

    def typed(number: int, text: str, own: fields.Fields) -> Row:
        said = [None if place is None else of(own[place]) for place, of in zip(places, texts, strict=True)]
        values = [None if each is None else read(each) for each, read in zip(said, readers, strict=True)]
        wrong = [
            fault for each, value, fault in zip(said, values, faults, strict=True) if value is None and each is not None
        ]
        return number, text, "; ".join(wrong) if wrong else values

    width, of_lines = len(layout), not form.multiline
    split = _of_lines(form, found, width) if of_lines else _of_records(form, found, width, sound=sound)
    for number, text, own in split:
        yield (number, text, own) if isinstance(own, str) else typed(number, text, own)


def _reader(form: FileFormat, column: TableColumn) -> Callable[[str], Any]:
    return reader(column.type, form.patterns.get(column.name, ""))


def _of_lines(form: FileFormat, found: Source, width: int) -> Iterator[tuple[int, str, fields.Fields | str]]:
    split = fields.splitter(form, width)
    for line in lines(found.blocks(), form):
        if line.text and not (form.header and line.number == 1):
            own = split(line)
            yield line.number, line.text, own.why if isinstance(own, fields.Broken) else own


def _of_records(
    form: FileFormat, found: Source, width: int, *, sound: bool
) -> Iterator[tuple[int, str, fields.Fields | str]]:
    strange, _, unequal = row_faults(form, width)
    for number, record in enumerate(islice(records(found.blocks(), form, width), int(form.header), None), 1):
        text = record.text if len(record.fields) != width else _joined(form, record.fields)
        if not sound and REPLACEMENT in text:
            yield number, text, strange
        else:
            yield number, text, record.fields if len(record.fields) == width else unequal


def _joined(form: FileFormat, own: fields.Fields) -> str:
    return form.delimiter.join(field for field in own if field is not None)


def rows_of_objects(plan: Plan, found: Source, names: set[str], *, approximate: bool) -> Iterator[Row]:
    form = plan.files
    asked = [column for column in plan.columns if column.name in names]
    if not asked:
        raise HandedOver("Only Spark reads objects with none of the contract's keys.")
    readers = {c.name: objects.value_reader(c, form.patterns.get(c.name, ""), approximate=approximate) for c in asked}
    faults = {column.name: value_fault(column.name, canonical(column.type)) for column in plan.columns}
    for line in lines(found.blocks(), form):
        if line.text.strip(" "):
            own = objects.found_in(line, form)
            yield line.number, line.text, own.why or _typed(plan, own, readers, faults)


def _typed(
    plan: Plan, own: objects.Found, readers: Mapping[str, objects.Read], faults: Mapping[str, str]
) -> Sequence[Any] | str:
    given = {key: value for key, value in own.values or () if value is not None}
    values = {key: read(given[key]) for key, read in readers.items() if key in given}
    wrong = [faults[column.name] for column in plan.columns if column.name in given and values[column.name] is None]
    return "; ".join(wrong) if wrong else [values.get(column.name) for column in plan.columns]
