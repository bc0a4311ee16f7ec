"""A decision's record as the properties of a commit, and back. It keeps properties small; receipts hold everything."""

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from lakegate.audit.model.codec import PARSE_ERRORS, from_plain, to_json
from lakegate.counts import count
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import DecidedFile, LogEntry, Record
from lakegate.visibility import code_point, visible

PREFIX = "lakegate."
LINE = 2000  # characters per line of a commit's message; its properties and receipts hold the whole text
LIMIT = 200_000  # bytes of the files' property; some stores that a catalog can use hold no commit over 400 kB
READ_ERRORS = (*PARSE_ERRORS, zlib.error)


def message(record: Record) -> str:
    """Return the commit message of a decision, for a person who reads the log."""
    attempt = Attempt(table=record.table, batch=record.batch, number=record.attempt)
    files, rows = len(record.files) + record.rest, sum(file.rows for file in record.files)
    suffix = f" in place of {record.replaced_rows:,}" if record.replaced_rows else ""
    title = f"{record.decision} {record.table}: {count(files, 'file')}, {count(rows, 'row')}{suffix}"
    lines = [title, "", attempt.branch]
    reasons = [f"{file.key}: {reason}" for file in record.files[:20] for reason in file.reasons]
    return "\n".join([*lines, *map(_line, [*([record.reason] if record.reason else []), *reasons[:20]])])


def _line(text: str) -> str:
    """Return a stranger's text as one line, so that it cannot imitate a line of ours."""
    rest = len(text) - LINE
    return visible(text[:LINE], code_point) + (f"… and {count(rest, 'more character')}" if rest > 0 else "")


def properties(record: Record) -> dict[str, str]:
    """Return the record as properties. All values are text."""
    files, rest = _fit(record)
    values = {
        **files,
        "decision": str(record.decision),
        "table": record.table,
        "batch": record.batch,
        "attempt": str(record.attempt),
        "more": str(rest) if rest else "",
        "why": record.reason,
        "by": record.by,
        "lane": record.lane,
    }
    return {PREFIX + name: value for name, value in values.items() if value}


def filter_by(values: Mapping[str, str | None]) -> str:
    """Return Nessie's filter for decisions with these properties. It tests for a property before it reads it, because a
    commit without the property must not be asked for it.
    """
    literals = {PREFIX + name: json.dumps(value) for name, value in values.items() if value}
    tests = (f"'{key}' in commit.properties && commit.properties['{key}'] == {text}" for key, text in literals.items())
    return " && ".join(tests)


def before(moment: datetime) -> str:
    """Return Nessie's filter for commits older than the moment."""
    return f"timestamp(commit.commitTime) < timestamp('{moment.isoformat()}')"


def _fit(record: Record) -> tuple[dict[str, str], int]:
    """Return as many of the files as fit, and how many are left out. A long list is compressed, so that all files of a
    batch with usual keys are named. If it is still too long, reasons are dropped first: receipts hold them too.
    """
    files = to_json(record.files)
    if len(files.encode()) <= LIMIT:
        return {"files": files}, record.rest
    number, text = next((number, text) for number, text in _packings(record.files) if len(text) <= LIMIT)
    return {"packed": text}, record.rest + len(record.files) - number


def _packings(files: tuple[DecidedFile, ...]) -> Iterator[tuple[int, str]]:
    """Yield the number of files named and their packed text, with fewer and fewer files."""
    yield len(files), _pack(files)
    files = tuple(replace(file, reasons=()) for file in files)
    while True:
        yield len(files), (text := _pack(files))
        files = files[: len(files) * LIMIT // (len(text) + 1)]


def _pack(files: tuple[DecidedFile, ...]) -> str:
    return b64encode(zlib.compress(to_json(files).encode())).decode()


def _files(values: Mapping[str, str]) -> Iterator[DecidedFile]:
    """Read the files that a commit names. Raise KeyError, ValueError or zlib.error if there are none."""
    archive = values.get(f"{PREFIX}packed")
    text = zlib.decompress(b64decode(archive)) if archive else values[f"{PREFIX}files"]
    return (from_plain(DecidedFile, file) for file in json.loads(text))


def single(meta: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties in a commit's metadata, each with its one value."""
    return {name: values[0] for name, values in (meta.get("allProperties") or {}).items() if values}


def entry_of(meta: Mapping[str, Any]) -> LogEntry | None:
    """Return the decision in a commit's metadata, or None for a commit that is no decision."""
    values = single(meta)
    if f"{PREFIX}decision" not in values:
        return None
    try:
        record = Record(
            decision=Decision(values[f"{PREFIX}decision"]),
            table=values[f"{PREFIX}table"],
            batch=values[f"{PREFIX}batch"],
            attempt=int(values[f"{PREFIX}attempt"]),
            files=tuple(_files(values)),
            rest=int(values.get(f"{PREFIX}more", "0")),
            reason=values.get(f"{PREFIX}why", ""),
            by=values.get(f"{PREFIX}by", ""),
            lane=values.get(f"{PREFIX}lane", ""),
        )
    except READ_ERRORS:  # another client's commit, with a property that looks like ours
        return None
    return LogEntry(record=record, commit=meta["hash"], at=committed_at(meta))


def committed_at(meta: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(meta["commitTime"])
