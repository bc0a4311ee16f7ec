"""Text files as samples: their encoding, and their rows as the job reads them by a plan (`lakegate.reading`)."""

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from lakegate.audit.advice import Fault
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.inspection import NO_ROWS, fit_all
from lakegate.audit.schema.types import Type
from lakegate.audit.text.dialect import wide_letters
from lakegate.audit.text.first_bytes import compression, fault_of_ends
from lakegate.inference.sample import unfit
from lakegate.reading.lines import lines
from lakegate.reading.source import BrokenFile, Source
from lakegate.reading.text import Malformed, Part, inspect, parts

_ENCODINGS = {"utf-8": "UTF-8", "cp1252": "windows-1252"}
_FALLBACK = "ISO-8859-1"
UNTOLD = "it cannot be told how the job reads it"


def source(path: Path) -> Source:
    """Return a file's content, which is compressed as its name says. Raise NoContract if it is not, or is no text."""
    content = Source(content=path, suffix=compression(path.name))
    if not path.stat().st_size:
        raise unfit(path.name, NO_ROWS)
    if fault := fault_of_ends(content.suffix, *content.ends()):
        message = "it is not compressed as its name says" if content.suffix else in_words(fault)
        raise unfit(path.name, message)
    return content


def in_words(fault: Fault) -> str:
    """Return a fault with what is to be written."""
    return f"{fault}: {fault.advice.vendor}" if fault.advice.vendor else str(fault)


def form_of(path: Path, kind: FileKind) -> FileFormat:
    """Return a file's format with its encoding. Raise NoContract if it is not compressed as its name says."""
    content = source(path)
    try:
        encoding = next((name for word, name in _ENCODINGS.items() if _is(content, word)), _FALLBACK)
        start = next(content.blocks(), b"")[:10_000]
        odd = _odd_line(content) if encoding != "UTF-8" else 0
    except BrokenFile:
        raise unfit(path.name, "what it is compressed of breaks off: it is not whole") from None
    if odd:
        message = f"line {odd:,} is not UTF-8, and other lines are: write all of them as UTF-8"
        raise unfit(path.name, message)
    if wide := wide_letters(start.count(0), len(start)):
        raise unfit(path.name, in_words(wide))
    return replace(FileFormat(kind=kind), encoding=encoding)


def _is(content: Source, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in content.blocks():
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def with_encodings_agreed(forms: Sequence[tuple[Path, FileFormat]]) -> list[tuple[Path, FileFormat]]:
    """Return the formats, those of files of ASCII alone with the encoding of the others: it is the same in each."""
    if len({form.encoding for _, form in forms}) == 1:
        return list(forms)
    ascii_alone = {path for path, form in forms if form.encoding == "UTF-8" and _is(source(path), "ascii")}
    encodings = [form.encoding for path, form in forms if path not in ascii_alone]
    return [
        (path, replace(form, encoding=encodings[0]) if encodings and path in ascii_alone else form)
        for path, form in forms
    ]


def _odd_line(content: Source) -> int:
    """Return the first line that is not UTF-8 if there are letters of UTF-8 in others; 0 if none is."""
    first, has_letters = 0, False
    for line in lines(content.blocks(), FileFormat(kind=FileKind.CSV)):
        first = first or (0 if line.sound else line.number)
        has_letters = has_letters or (line.sound and not line.text.isascii())
    return first if has_letters else 0


def plan_of(form: FileFormat, kinds: Mapping[str, Type]) -> Plan:
    """Return a plan without checks, by which a file is read as these columns."""
    columns = tuple(TableColumn(name=name, type=str(kind)) for name, kind in kinds.items())
    return Plan(table="raw.sample", contract_id="", contract_version="", contract_hash="", columns=columns, files=form)


def read(path: Path, plan: Plan) -> Iterator[Part]:
    """Yield a file's rows. Raise NoContract, with the reason, if the job takes no row of it."""
    file = JobFile(id=path.name, key=path.name, uri="", size=path.stat().st_size)
    try:
        _, [inspection] = fit_all(plan, None, [inspect(plan, file, path)])
        if inspection.faults:
            raise unfit(path.name, "; ".join(map(in_words, inspection.faults)))
        yield from parts(plan, inspection, path, approximate=True)
    except HandedOver as error:
        raise unfit(path.name, f"{UNTOLD}: {error.reason}") from None


def rows(path: Path, plan: Plan) -> pa.Table:
    """Return a file's rows. Raise NoContract at the first one that does not parse."""
    batches = list[pa.RecordBatch]()
    for part in read(path, plan):
        for row in part.malformed[:1]:
            raise unfit(path.name, f"{place_of(plan.files, row)}: {row.reason}")
        batches.append(part.rows)
    return pa.Table.from_batches(batches)


def place_of(form: FileFormat, row: Malformed) -> str:
    """Return where a row is that does not parse."""
    return f"{'row' if form.multiline else 'line'} {row.number:,}"
