"""A text file as its lines show it, before a value is parsed: a second engine of what the job scans by a query."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Plan
from lakegate.audit.text.fields import atomic, left_open
from lakegate.audit.text.scan import Scan
from lakegate.reading import objects
from lakegate.reading.lines import lines
from lakegate.reading.records import records
from lakegate.reading.source import Source


@dataclass(kw_only=True)
class BoundedSource:
    """A file that ends where it has unpacked to more than the limit."""

    source: Source
    limit: int
    is_beyond: bool = False

    def blocks(self) -> Iterator[bytes]:
        size = 0
        for block in self.source.blocks():
            size += len(block)
            if size > self.limit and self.source.suffix:
                self.is_beyond = True
                return
            yield block


def scan_file(plan: Plan, source: BoundedSource) -> Scan:
    if plan.files.kind is FileKind.JSON:
        return _scan_objects(plan.files, source)
    of_lines = _scan_lines(plan.files, source)
    if not plan.files.multiline or not (of_lines.rows or of_lines.header):
        return of_lines
    return _scan_records(plan.files, source, of_lines)


def _scan_lines(form: FileFormat, source: BoundedSource) -> Scan:
    header, rows, longest, sound = "", 0, 0, True
    for line in lines(source.blocks(), form):
        size = _size(line.text)
        longest, sound = max(longest, size), sound and line.sound
        if form.header and line.number == 1:
            header = line.text if size <= form.limits.line else ""
        elif line.text:
            rows += 1
    return Scan(rows=rows, header=header, longest=longest, sound=form.multiline and sound)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _scan_records(form: FileFormat, source: BoundedSource, of_lines: Scan) -> Scan:
    rows, longest, is_open, skips = 0, of_lines.longest, False, form.header
    for record in records(source.blocks(), form, 1):
        rows, longest = rows + (not skips), max(longest, _size(record.text))
        is_open = record.left_open and not skips
        skips = False
        if is_open and not re.fullmatch(left_open(form, atomic), record.text):
            raise HandedOver("Only Spark can say where a quote ends that is never closed.")
    return Scan(rows=rows, header=of_lines.header, longest=longest, sound=of_lines.sound, left_open=is_open)


def _scan_objects(form: FileFormat, source: BoundedSource) -> Scan:
    keys, rows, widest, longest, is_repeated = dict[str, None](), 0, 0, 0, False
    limit = form.limits.columns
    for line in lines(source.blocks(), form):
        if not line.text.strip(" "):
            continue
        rows, longest = rows + 1, max(longest, _size(line.text))
        line_keys = objects.found_in(line, form).keys
        widest, is_repeated = max(widest, len(line_keys)), is_repeated or len(set(line_keys)) < len(line_keys)
        if len(keys) <= limit:
            keys |= dict.fromkeys(line_keys)
    first_keys = tuple(sorted(keys)[: limit + 1])
    return Scan(rows=rows, keys=first_keys, repeats=is_repeated, widest=widest, longest=longest)
