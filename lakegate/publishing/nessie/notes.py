"""A decision's note as the properties of a commit, and back. It keeps properties small; receipts hold everything."""

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
from lakegate.ports import Decided, DecidedFile, Note
from lakegate.visibility import code_point, visible

PREFIX = "lakegate."
LINE = 2000  # characters per line of a commit's message; its properties and receipts hold the whole text
LIMIT = 200_000  # bytes of the files' property; some stores that a catalog can use hold no commit over 400 kB
NO_NOTE = (*PARSE_ERRORS, zlib.error)


def message(note: Note) -> str:
    """Return the commit message of a decision, for a person who reads the log."""
    attempt = Attempt(table=note.table, batch=note.batch, number=note.attempt)
    files, rows = len(note.files) + note.more, sum(file.rows for file in note.files)
    replaced = sum(file.replaced for file in note.files)
    instead = f" in place of {replaced:,}" if replaced else ""
    said = f"{note.decision} {note.table}: {count(files, 'file')}, {count(rows, 'row')}{instead}"
    told = [said, "", attempt.branch]
    reasons = [f"{file.key}: {reason}" for file in note.files[:20] for reason in file.reasons]
    return "\n".join([*told, *map(_line, [*([note.why] if note.why else []), *reasons[:20]])])


def _line(text: str) -> str:
    """Return a stranger's text as one line, so that it cannot imitate a line of ours."""
    rest = len(text) - LINE
    return visible(text[:LINE], code_point) + (f"… and {count(rest, 'more character')}" if rest > 0 else "")


def properties(note: Note) -> dict[str, str]:
    """Return the note as properties. All values are text."""
    files, more = _fitting(note)
    told = {
        **files,
        "decision": str(note.decision),
        "table": note.table,
        "batch": note.batch,
        "attempt": str(note.attempt),
        "more": str(more) if more else "",
        "why": note.why,
        "by": note.by,
        "lane": note.lane,
    }
    return {PREFIX + name: value for name, value in told.items() if value}


def having(wanted: Mapping[str, str | None]) -> str:
    """Return Nessie's filter for decisions with these properties. It tests for a property before it reads it, because a
    commit without the property must not be asked for it.
    """
    named = {PREFIX + name: json.dumps(value) for name, value in wanted.items() if value}
    tests = (f"'{name}' in commit.properties && commit.properties['{name}'] == {it}" for name, it in named.items())
    return " && ".join(tests)


def before(moment: datetime) -> str:
    """Return Nessie's filter for commits older than the moment."""
    return f"timestamp(commit.commitTime) < timestamp('{moment.isoformat()}')"


def _fitting(note: Note) -> tuple[dict[str, str], int]:
    """Return as many of the files as fit, and how many are left out. A long list is compressed, so that all files of a
    batch with usual keys are named. If it is still too long, reasons are dropped first: receipts hold them too.
    """
    files = to_json(note.files)
    if len(files.encode()) <= LIMIT:
        return {"files": files}, note.more
    named, packed = next((named, packed) for named, packed in _packings(note.files) if len(packed) <= LIMIT)
    return {"packed": packed}, note.more + len(note.files) - named


def _packings(files: tuple[DecidedFile, ...]) -> Iterator[tuple[int, str]]:
    """Yield the number of files named and their packed text, with fewer and fewer files."""
    yield len(files), _pack(files)
    files = tuple(replace(file, reasons=()) for file in files)
    while True:
        yield len(files), (packed := _pack(files))
        files = files[: len(files) * LIMIT // (len(packed) + 1)]


def _pack(files: tuple[DecidedFile, ...]) -> str:
    return b64encode(zlib.compress(to_json(files).encode())).decode()


def _files(told: Mapping[str, str]) -> Iterator[DecidedFile]:
    """Read the files that a commit names. Raise KeyError, ValueError or zlib.error if there are none."""
    packed = told.get(f"{PREFIX}packed")
    text = zlib.decompress(b64decode(packed)) if packed else told[f"{PREFIX}files"]
    return (from_plain(DecidedFile, file) for file in json.loads(text))


def single(meta: Mapping[str, Any]) -> dict[str, str]:
    """Return the properties in a commit's metadata, each with its one value."""
    return {name: values[0] for name, values in (meta.get("allProperties") or {}).items() if values}


def decided(meta: Mapping[str, Any]) -> Decided | None:
    """Return the decision in a commit's metadata, or None for a commit that is no decision."""
    told = single(meta)
    if f"{PREFIX}decision" not in told:
        return None
    try:
        note = Note(
            decision=Decision(told[f"{PREFIX}decision"]),
            table=told[f"{PREFIX}table"],
            batch=told[f"{PREFIX}batch"],
            attempt=int(told[f"{PREFIX}attempt"]),
            files=tuple(_files(told)),
            more=int(told.get(f"{PREFIX}more", "0")),
            why=told.get(f"{PREFIX}why", ""),
            by=told.get(f"{PREFIX}by", ""),
            lane=told.get(f"{PREFIX}lane", ""),
        )
    except NO_NOTE:  # another client's commit, with a property that looks like ours
        return None
    return Decided(note=note, commit=meta["hash"], at=committed_at(meta))


def committed_at(meta: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(meta["commitTime"])
