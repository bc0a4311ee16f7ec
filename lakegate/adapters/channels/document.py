"""An event as a JSON document, which docs/reference/event.schema.json describes.

A stranger's text stays what it is, and is escaped as JSON: whoever shows it escapes it for where it is shown.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lakegate.ports import Event, EventFile, EventKind
from lakegate.settings import Settings

LARGEST = 200_000  # bytes of a document: EventBridge takes 256 KiB with all that is around it
REASONS, REASON = 10, 500  # of a file, and characters of each
TYPES = {kind: f"lakegate.{kind}" for kind in EventKind}

Json = dict[str, Any]


def document(event: Event, settings: Settings) -> Json:
    """Return the document, with as many of the files as fit."""
    return shorten(event, lambda part: _document(part, settings), LARGEST)


def shorten(event: Event, build: Callable[[Event], Json], largest: int) -> Json:
    """Return what is made of the event, with fewer files if it is larger than so many bytes."""
    while len(json.dumps(result := build(event))) > largest and event.files:
        files = event.files[: len(event.files) // 2]
        event = replace(event, files=files, more=event.more + len(event.files) - len(files))
    return result


def _document(event: Event, settings: Settings) -> Json:
    return {
        "id": event.id,
        "installation": settings.name,
        "table": event.table,
        "batch": event.batch,
        "attempt": event.attempt,
        "commit": event.commit,
        "decided_at": event.at.isoformat(),
        "contract": {"id": event.contract_id, "version": event.contract_version, "hash": event.contract_hash},
        "rows": event.rows,
        "quarantined_rows": event.quarantined_rows,
        "replaced_rows": event.replaced_rows,
        "bucket": settings.landing_bucket,
        "files": [_file(file) for file in event.files],
        "more_files": event.more,
        "lane": event.lane,
        "branch": event.branch,
        "by": event.by,
        "why": event.why[:REASON],
    }


def _file(file: EventFile) -> Json:
    return {
        "key": file.key,
        "version_id": file.version_id,
        "rows": file.rows,
        "quarantined_rows": file.quarantined_rows,
        "replaced_rows": file.replaced_rows,
        "verdict": file.verdict,
        "reasons": [reason[:REASON] for reason in file.reasons[:REASONS]],
        "more_reasons": max(0, len(file.reasons) - REASONS),
    }
