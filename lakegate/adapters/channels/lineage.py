"""`Channel` on OpenLineage: the run of an attempt, as a START event and a COMPLETE or FAIL one, by its HTTP transport.

The files are the run's inputs, each with the assertions that it passed or failed, and the table is its output, with its
schema and the files' columns that its own come from. OpenLineage's client takes a second to import, so the events are
written here, and a test proves them by the client's classes.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from lakegate.adapters.channels.document import REASON, Json, shorten
from lakegate.adapters.channels.posting import post, tried_twice
from lakegate.adapters.secrets import secret_text
from lakegate.audit.model.plan import Severity
from lakegate.audit.model.report import Verdict
from lakegate.errors import Refused
from lakegate.ports import Event, EventCheck, EventFile, EventKind
from lakegate.settings import Settings

PATH = "api/v1/lineage"
PRODUCER = "urn:lakegate"
SPEC = "https://openlineage.io/spec"
LARGEST = 1_000_000  # bytes of an event; receivers have limits of their own
SMALLER = 100_000  # for a receiver that takes no event of that size
ABOUT = 400  # bytes of a column, an assertion or a field of lineage, beside its names and texts
FILE = 1_000  # bytes of a file, likewise
SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warn"}
RUNS = uuid.UUID("5f0c7f6a-6a43-5d0c-9d0a-6c616b656761")  # the name space of runs' ids
LINEAGE, SCHEMA = "columnLineage", "schema"
FACETS = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "dataQualityAssertions": "1-1-0/DataQualityAssertionsDatasetFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "schema": "1-2-0/SchemaDatasetFacet",
    "storage": "1-0-1/StorageDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
}


class Lineage:
    """A receiver of OpenLineage's events, by its address."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _key(self) -> str:
        return secret_text(self._settings.lineage_secret) if self._settings.lineage_secret else ""

    def send(self, event: Event) -> None:
        try:
            self._send_run(event, LARGEST)
        except Refused:
            self._send_run(event, SMALLER)

    def _send_run(self, event: Event, largest: int) -> None:
        for run_event in run_events(event, self._settings, largest):
            self._post(event.id, json.dumps(run_event).encode())

    def probe(self) -> None:
        """Read the key, if there is one. It sends nothing."""
        _ = self._key

    def _post(self, id_: str, body: bytes) -> None:
        tried_twice(lambda: self._post_with_token(id_, body), lambda: delattr(self, "_key"))

    def _post_with_token(self, id_: str, body: bytes) -> None:
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        post(f"sending the lineage of {id_}", f"{self._settings.lineage_url.rstrip('/')}/{PATH}", body, headers)


def run_events(event: Event, settings: Settings, largest: int = LARGEST) -> list[Json]:
    """Return the events of a run: its beginning, and its end with what is known of it, as far as that fits."""
    event, facets = _shorten_event(event, largest)
    start_event = {
        "eventType": "START",
        "eventTime": (event.began or event.at).isoformat(),
        "run": {"runId": run_id(event), "facets": {}},
        "job": _job(event, settings),
        "inputs": [],
        "outputs": [],
        "producer": PRODUCER,
        "schemaURL": f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
    }
    return [start_event, shorten(event, lambda part: start_event | _end(part, settings, facets), largest)]


def _shorten_event(event: Event, largest: int) -> tuple[Event, frozenset[str]]:
    """Return the event and the facets that fit, by their sizes before they are made. Left out first is columnLineage,
    which has each column of each file; then checks that passed, all checks, the schema, and files by halves.
    """
    facets, steps = (
        frozenset({LINEAGE, SCHEMA}),
        iter((_without_lineage, _without_passing_checks, _without_checks, _without_schema)),
    )
    while _size(event, facets) > largest:
        if step := next(steps, None):
            event, facets = step(event, facets)
        elif event.files:
            files = event.files[: len(event.files) // 2]
            event = replace(event, files=files, more=event.more + len(event.files) - len(files))
        else:
            break
    return event, facets


def _without_lineage(event: Event, facets: frozenset[str]) -> tuple[Event, frozenset[str]]:
    return event, facets - {LINEAGE}


def _without_schema(event: Event, facets: frozenset[str]) -> tuple[Event, frozenset[str]]:
    return event, facets - {SCHEMA}


def _without_passing_checks(event: Event, facets: frozenset[str]) -> tuple[Event, frozenset[str]]:
    return _with_checks(event, lambda check: check.verdict != Verdict.PASS), facets


def _with_checks(event: Event, is_kept: Callable[[EventCheck], bool]) -> Event:
    return replace(
        event, files=tuple(replace(file, checks=tuple(filter(is_kept, file.checks))) for file in event.files)
    )


def _without_checks(event: Event, facets: frozenset[str]) -> tuple[Event, frozenset[str]]:
    return _with_checks(event, lambda _: False), facets


def _size(event: Event, facets: frozenset[str]) -> int:
    """Return about how many bytes an event has: never fewer, but for the braces around it."""
    keys, names = sum(_long(file.key) for file in event.files), sum(_long(column.name) for column in event.columns)
    checks = [check for file in event.files for check in file.checks]
    files, columns = len(event.files), len(event.columns)
    sizes = {
        LINEAGE: columns * keys + files * names + files * columns * ABOUT,
        SCHEMA: names + sum(_long(column.type) + _long(column.doc) for column in event.columns) + columns * ABOUT,
    }
    check_texts = sum(
        _long(text) for check in checks for text in (check.name, check.expected, check.found, *check.columns)
    )
    return sum(sizes[facet] for facet in facets) + keys + check_texts + files * FILE + len(checks) * ABOUT


def _long(text: str) -> int:
    """Return at least how long the text is as JSON, which spells a letter in six signs, or a rare one in twelve."""
    return len(text) if text.isascii() and text.isprintable() else 12 * len(text)


def run_id(event: Event) -> str:
    """Return the run's id, which the same event has again."""
    return str(uuid.uuid5(RUNS, event.id))


def _end(event: Event, settings: Settings, facets: frozenset[str]) -> Json:
    is_published = event.kind is EventKind.PUBLISHED
    return {
        "eventType": "COMPLETE" if is_published else "FAIL",
        "eventTime": event.at.isoformat(),
        "run": {"runId": run_id(event), "facets": _run_facets(event)},
        "inputs": [_input(file, settings) for file in event.files],
        "outputs": [_output(event, settings, facets)] if is_published else [],
    }


def _job(event: Event, settings: Settings) -> Json:
    kind = _facet("jobType", processingType="BATCH", integration="LAKEGATE", jobType="INGESTION")
    return {"namespace": settings.name, "name": event.table, "facets": {"jobType": kind}}


def _run_facets(event: Event) -> Json:
    facets = {"processing_engine": _facet("processing_engine", name="lakegate", version=_release())}
    if event.kind is EventKind.REJECTED:
        reasons = [f"{file.key}: {reason}" for file in event.files for reason in file.reasons[:1]]
        message = "\n".join(reasons[:10])[: 4 * REASON] or "rejected"
        facets["errorMessage"] = _facet("errorMessage", message=message, programmingLanguage="PYTHON")
    return facets


def _release() -> str:
    try:
        return version("lakegate")
    except PackageNotFoundError:  # a function's zip has no metadata of ours
        return "unknown"


def _input(file: EventFile, settings: Settings) -> Json:
    """Return a file as OpenLineage names an object in S3, with its version and its assertions."""
    facets = {"version": _facet("version", datasetVersion=file.version_id)}
    assertions = _facet("dataQualityAssertions", assertions=[_assertion(check) for check in file.checks])
    return {**_name_of(file, settings), "facets": facets, "inputFacets": {"dataQualityAssertions": assertions}}


def _name_of(file: EventFile, settings: Settings) -> Json:
    return {"namespace": f"s3://{settings.landing_bucket}", "name": file.key}


def _assertion(check: EventCheck) -> Json:
    column = {"column": check.columns[0]} if len(check.columns) == 1 else {}
    return {
        "assertion": check.name,
        "success": check.verdict == Verdict.PASS,
        **column,
        "severity": SEVERITIES.get(Severity(check.severity), check.severity),
        "expected": check.expected,
        "actual": check.found,
    }


def _output(event: Event, settings: Settings, names: frozenset[str]) -> Json:
    """Return the table on main, by the catalog that it is in, with those of its facets that are told."""
    facets = {
        "storage": _facet("storage", storageLayer="iceberg", fileFormat="parquet"),
        "version": _facet("version", datasetVersion=event.commit),
    }
    if SCHEMA in names and not event.more_columns:
        facets[SCHEMA] = _facet(SCHEMA, fields=list(_fields(event)))
    if LINEAGE in names:
        files = [file for file in event.files if file.rows]
        facets[LINEAGE] = _facet(LINEAGE, fields=_lineage(event, files, settings))
    statistics = _facet("outputStatistics", rowCount=event.rows, fileCount=len(event.files) + event.more)
    return {
        "namespace": settings.nessie_uri,
        "name": event.table,
        "facets": facets,
        "outputFacets": {"outputStatistics": statistics},
    }


def _fields(event: Event) -> Iterator[Json]:
    for position, column in enumerate(event.columns, start=1):
        members = {"type": column.type, "description": column.doc}
        yield {
            "name": column.name,
            **{name: value for name, value in members.items() if value},
            "ordinal_position": position,
        }


def _lineage(event: Event, files: Sequence[EventFile], settings: Settings) -> Json:
    """Return, for each column of the table, the files' columns of its name."""
    as_it_is = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    return {
        column.name: {
            "inputFields": [
                {**_name_of(file, settings), "field": column.name, "transformations": as_it_is} for file in files
            ]
        }
        for column in event.columns
    }


def _facet(name: str, /, **members: Any) -> Json:
    """Return a facet with what every one has."""
    path = FACETS[name]
    schema = f"{SPEC}/facets/{path}.json#/$defs/{path.rpartition('/')[2]}"
    return {"_producer": PRODUCER, "_schemaURL": schema, **members}
