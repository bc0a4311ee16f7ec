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


def rows_of_fields(plan: Plan, source: Source, layout: Sequence[str], *, sound: bool) -> Iterator[Row]:
    form, at = plan.files, {name: place for place, name in enumerate(layout) if name}
    places = [at.get(column.name) for column in plan.columns]
    texts = [fields.text_of(form, column) for column in plan.columns]
    readers = [_reader(form, column) for column in plan.columns]
    faults = [value_fault(column.name, canonical(column.type)) for column in plan.columns]

    def convert(number: int, text: str, texts_of_row: fields.Fields) -> Row:
        cells = [None if place is None else of(texts_of_row[place]) for place, of in zip(places, texts, strict=True)]
        values = [None if cell is None else read(cell) for cell, read in zip(cells, readers, strict=True)]
        wrong = [
            fault
            for cell, value, fault in zip(cells, values, faults, strict=True)
            if value is None and cell is not None
        ]
        return number, text, "; ".join(wrong) if wrong else values

    width, of_lines = len(layout), not form.multiline
    split = _of_lines(form, source, width) if of_lines else _of_records(form, source, width, sound=sound)
    for number, text, values in split:
        yield (number, text, values) if isinstance(values, str) else convert(number, text, values)


def _reader(form: FileFormat, column: TableColumn) -> Callable[[str], Any]:
    return reader(column.type, form.patterns.get(column.name, ""))


def _of_lines(form: FileFormat, source: Source, width: int) -> Iterator[tuple[int, str, fields.Fields | str]]:
    split = fields.splitter(form, width)
    for line in lines(source.blocks(), form):
        if line.text and not (form.header and line.number == 1):
            values = split(line)
            yield line.number, line.text, values.reason if isinstance(values, fields.BrokenLine) else values


def _of_records(
    form: FileFormat, source: Source, width: int, *, sound: bool
) -> Iterator[tuple[int, str, fields.Fields | str]]:
    strange, _, unequal = row_faults(form, width)
    for number, record in enumerate(islice(records(source.blocks(), form, width), int(form.header), None), 1):
        text = record.text if len(record.fields) != width else _join(form, record.fields)
        if not sound and REPLACEMENT in text:
            yield number, text, strange
        else:
            yield number, text, record.fields if len(record.fields) == width else unequal


def _join(form: FileFormat, values: fields.Fields) -> str:
    return form.delimiter.join(field for field in values if field is not None)


def rows_of_objects(plan: Plan, source: Source, names: set[str], *, approximate: bool) -> Iterator[Row]:
    form = plan.files
    columns = [column for column in plan.columns if column.name in names]
    if not columns:
        raise HandedOver("Only Spark reads objects with none of the contract's keys.")
    readers = {c.name: objects.value_reader(c, form.patterns.get(c.name, ""), approximate=approximate) for c in columns}
    faults = {column.name: value_fault(column.name, canonical(column.type)) for column in plan.columns}
    for line in lines(source.blocks(), form):
        if line.text.strip(" "):
            line_object = objects.found_in(line, form)
            yield line.number, line.text, line_object.reason or _convert(plan, line_object, readers, faults)


def _convert(
    plan: Plan, line_object: objects.LineObject, readers: Mapping[str, objects.Read], faults: Mapping[str, str]
) -> Sequence[Any] | str:
    members = {key: value for key, value in line_object.values or () if value is not None}
    values = {key: read(members[key]) for key, read in readers.items() if key in members}
    wrong = [faults[column.name] for column in plan.columns if column.name in members and values[column.name] is None]
    return "; ".join(wrong) if wrong else [values.get(column.name) for column in plan.columns]
