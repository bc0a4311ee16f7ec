"""Cost of a publish to a table of 10 data files and to one of 10,000, and the publishes a second from one base.

The workflow is the product's own, on a real Nessie and an emulated S3. Commits of data files without rows take the
Spark job's place, because publishing never reads rows.
"""

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import structlog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from lakegate import bootstrap
from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.model import report as reported
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.report import FileReport, Verdict
from lakegate.audit.schema.fit import CONTRACT_HASH, FILE_COLUMN
from lakegate.landing.attempts import Attempt, batch_id
from lakegate.landing.files import FileVersion
from lakegate.ports import MAIN, Ref
from lakegate.testing import MemoryClock, MemoryLanding, MemoryNotifier
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.registry import push
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from tests.flow.conftest import CONTRACT, SubmittedRuns, settings
from tests.support.data_files import data_file
from tests.support.nessie import ROOT, Lake, running, unique
from tests.support.reports import audited_report

SIZES = (10, 10_000)
A_COMMIT = 100  # data files of each batch that fills the table
AT_ONCE, RATES = 32, 3  # batches from one base, and repetitions
WARM, ROUNDS = 3, 15
WAYS = ("merged", "rebased")
FIGURES = ROOT / "bench/figures/publish.json"
SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, FILE_COLUMN, StringType()))
MERGES_NO_MANIFESTS = {"commit.manifest-merge.enabled": "false"}  # as the job makes its tables


@dataclass(frozen=True, kw_only=True)
class Range:
    """Median, least and greatest of several rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Sequence[float]) -> Self:
        return cls(median=round(statistics.median(found), 2), low=round(min(found), 2), high=round(max(found), 2))


@dataclass(frozen=True, kw_only=True)
class Round:
    """Milliseconds to settle a batch of one file: merged onto the main of its audit, and rebased."""

    merged: float
    rebased: float


@dataclass(kw_only=True)
class Place:
    """A table with a service of its own, and batches of one file for it."""

    lake: Lake
    service: Service
    table: str
    clock: MemoryClock = field(default_factory=MemoryClock)

    def __post_init__(self) -> None:
        self.appended: list[str] = []
        self.landing = MemoryLanding(self.clock)
        self.runner = SubmittedRuns(job=self.work)
        self.service = replace(self.service, runner=self.runner, landing=self.landing, notifier=MemoryNotifier())
        text = CONTRACT.format(table=self.table, prefix=self.table, settings="")
        push(self.service.store, [("things.yaml", f"{text}      - {{name: id, logicalType: integer}}\n".encode())])

    def attempt(self) -> Attempt:
        """Return an audited attempt at a new file, from main's present head."""
        self.clock.advance(1)
        file = self.landing.add(f"{self.table}/{unique('file')}.parquet", b"")
        return self.attempt_at(file)

    def attempt_at(self, file: FileVersion) -> Attempt:
        attempt = Attempt(table=self.table, batch=batch_id(self.table, [file]), number=1)
        start_attempt(self.service, attempt, [file])
        self.runner.submit_all()
        return attempt

    def work(self, uri: str) -> None:
        """Do a job's work: append a data file for each file, and report that all passed."""
        job = from_json(Job, self._read(uri))
        paths = {file.id: f"s3://{self.lake.bucket}/{job.branch}/{file.id}.parquet" for file in job.files}
        self.append(job.branch, list(paths.values()), job.plan.contract_hash)
        self.appended += paths.values()
        files = [
            FileReport(id=it.id, key=it.key, verdict=Verdict.PASS, rows=1, data_files=(_one_row(paths[it.id]),))
            for it in job.files
        ]
        report = audited_report(job, self.lake.head(job.branch), files, datetime.now(UTC))
        self._write(job.report_uri, to_json(report))

    def append(self, branch: str, paths: Sequence[str], contract_hash: str = "") -> None:
        catalog = RefCatalog(self.lake.nessie_uri, self.lake.warehouse, Ref(branch))
        catalog.create_namespace_if_not_exists(self.table.rpartition(".")[0])
        said = {**MERGES_NO_MANIFESTS, CONTRACT_HASH: contract_hash}
        target = catalog.create_table_if_not_exists(self.table, SCHEMA, properties=said)
        with target.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for path in paths:
                append.append_data_file(data_file(path, 1))

    def fill(self, data_files: int) -> None:
        """Put data files on main, in commits of large batches."""
        settle(self.service, self.attempt())
        paths = [f"s3://{self.lake.bucket}/{self.table}/{number}.parquet" for number in range(1, data_files)]
        for start in range(0, len(paths), A_COMMIT):
            self.append(MAIN, paths[start : start + A_COMMIT])
        self.appended.clear()

    def round(self) -> Round:
        """Settle two batches from one base, and remove their data files again, so that the table keeps its size."""
        first, second = self.attempt(), self.attempt()
        found = Round(merged=timed(self, first), rebased=timed(self, second))
        self.service.tables.remove(self.table, MAIN, frozenset(self.appended))
        self.appended.clear()
        return found

    def _read(self, uri: str) -> bytes:
        key = uri.removeprefix(f"s3://{self.lake.bucket}/")
        body: bytes = self.lake.s3().get_object(Bucket=self.lake.bucket, Key=key)["Body"].read()
        return body

    def _write(self, uri: str, text: str) -> None:
        key = uri.removeprefix(f"s3://{self.lake.bucket}/")
        self.lake.s3().put_object(Bucket=self.lake.bucket, Key=key, Body=text.encode())


def _one_row(path: str) -> reported.DataFile:
    return reported.DataFile(path=path, rows=1)


def in_turn(places: Mapping[int, Place], rounds: int) -> dict[int, list[Round]]:
    """Return each table's rounds. Tables take turns to go first."""
    found: dict[int, list[Round]] = {size: [] for size in places}
    for turn in range(WARM + rounds):
        for size in sorted(places, reverse=turn % 2 == 1):
            took = places[size].round()
            found[size] += [took] if turn >= WARM else []
    return found


def a_second(place: Place, batches: int) -> float:
    """Return the publishes a second of one worker, for batches from one base."""
    settle(place.service, place.attempt())
    attempts = [place.attempt() for _ in range(batches)]
    before = time.monotonic()
    for attempt in attempts:
        settle(place.service, attempt)
    took = time.monotonic() - before
    left = [branch.name for branch in place.service.branches.list_branches() if place.table in branch.name]
    there = len(place.service.tables.paths(Ref("main"), place.table))
    if left or there != batches + 1:
        raise SystemExit(f"{there} data files on main and {len(left)} branches left: not all have landed")
    return round(batches / took, 1)


def timed(place: Place, attempt: Attempt) -> float:
    before = time.monotonic()
    settle(place.service, attempt)
    return round(1000 * (time.monotonic() - before), 1)


@contextmanager
def installation() -> Iterator[tuple[Lake, Service]]:
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as lake:
        os.environ.update(lake.environment)
        yield lake, bootstrap.service(settings(lake, "landing"))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.publish", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="data files of the table")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    chosen = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with installation() as (lake, service):
        places = {size: Place(lake=lake, service=service, table=f"{unique('bench')}.things") for size in chosen.sizes}
        for size, place in places.items():
            place.fill(size)
        found = in_turn(places, chosen.rounds)
        made = [Place(lake=lake, service=service, table=f"{unique('bench')}.things") for _ in range(RATES)]
        rates = [a_second(place, AT_ONCE) for place in made]
    told = {
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "rounds": chosen.rounds,
        "publishes_a_second": asdict(Range.of(rates)),
        "milliseconds": {
            size: {name: asdict(Range.of(_all(its, name))) for name in WAYS} for size, its in found.items()
        },
        "ratios": {name: asdict(Range.of(_ratios(found, name))) for name in WAYS},
    }
    FIGURES.write_text(json.dumps(told, indent=1) + "\n")
    print(FIGURES.read_text())
    return 0


def _all(rounds: Sequence[Round], way: str) -> list[float]:
    return [getattr(each, way) for each in rounds]


def _ratios(found: Mapping[int, list[Round]], way: str) -> list[float]:
    """Return the largest table's times divided by the smallest's, round by round."""
    small, large = _all(found[min(found)], way), _all(found[max(found)], way)
    return [its / other for its, other in zip(large, small, strict=True)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
