"""Cost that 1,000, 100,000 and 1,000,000 decided files add to the next: look-up, branch and claim, publish, status.

Each size is an installation of its own on a real Nessie and an emulated S3, as the sweep leaves it, with the receipts
of the last days on main and all others in the archive. A smaller one has all receipts on main.
"""

import argparse
import contextlib
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.ports import MAIN, DecidedFile, Record, Ref
from lakegate.publishing.nessie import NessieCatalog
from lakegate.testing import (
    MemoryClock,
    MemoryDeadLetters,
    MemoryJobRunner,
    MemoryLake,
    MemoryLanding,
    MemoryNotifier,
    MemoryTables,
    MemoryTelemetry,
)
from lakegate.testing.store import MemoryStore
from lakegate.workflow.ledger.archive import archive
from lakegate.workflow.ledger.receipts import main_receipts, receipts_at
from lakegate.workflow.service import Service
from lakegate.workflow.status import status
from tests.support.nessie import ROOT, running

SIZES = (1_000, 100_000, 1_000_000)
ON_MAIN = 1_000  # receipts of the last days
UNCOMPACTED = 10_000  # receipts on main; with ten times as many, a commit of 500 files takes a second
A_COMMIT, A_BATCH = 500, 20  # files
WARM, ROUNDS = 5, 25  # Java compiles in the first rounds
TABLE = "nyc.flights"
FIGURES = ROOT / "bench/figures/receipts.json"
START = datetime(2013, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Medians in milliseconds for a batch of 20 new files."""

    receipts: int
    on_main: int
    look_up: float
    branch_and_claim: float
    publish: float
    status: float


class Bucket(MemoryStore):
    """A store with its archive in a dictionary. S3's time for an object does not depend on the number of objects, and a
    million of them do not fit into an emulator.
    """

    def __init__(self) -> None:
        super().__init__()
        self.archive: dict[str, bytes] = {}

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: self.archive[name] for name in names if name in self.archive}

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        self.archive.update(bodies)


@dataclass(kw_only=True)
class Installation:
    """A service on a real Nessie."""

    catalog: NessieCatalog
    files: int = 0
    store: Bucket = field(default_factory=Bucket)

    def __post_init__(self) -> None:
        clock, lake = MemoryClock(), MemoryLake()
        self.service = Service(
            branches=self.catalog,
            ledger=self.catalog,
            publisher=self.catalog,
            tables=MemoryTables(lake=lake),
            runner=MemoryJobRunner(self.store),
            landing=MemoryLanding(clock),
            store=self.store,
            notifier=MemoryNotifier(),
            telemetry=MemoryTelemetry(),
            dead_letters=MemoryDeadLetters(),
            clock=clock,
            catalog=NO_CATALOG,
        )

    def new(self, count: int) -> list[FileVersion]:
        first, self.files = self.files, self.files + count
        return [the_file(number) for number in range(first, self.files)]

    def archived(self, count: int) -> None:
        archive(self.service, receipts_of(self.new(count), _attempt(self.files)))

    def decided(self, count: int) -> None:
        """Put the receipts of this many files on main, in large batches."""
        for _ in range(0, count, A_COMMIT):
            attempt, files = _attempt(self.files), self.new(min(A_COMMIT, count))
            head, _ = main_receipts(self.service, [])
            self.catalog.commit_receipts(MAIN, head, receipts_of(files, attempt), _note(attempt, files))


def the_file(number: int) -> FileVersion:
    return FileVersion(
        bucket="landing",
        key=f"nyc/flights/2013/{number:08d}.parquet",
        version_id=f"v{number:08d}",
        size=1_000_000,
        landed_at=START + timedelta(seconds=number),
        checksum=f"SHA256:{number:064x}",
    )


def _attempt(number: int) -> Attempt:
    return Attempt(table=TABLE, batch=f"20130101T0000-{number:08x}", number=1)


def receipts_of(files: Iterable[FileVersion], attempt: Attempt) -> list[Receipt]:
    made = ((file, Entry.of(file, Decision.PUBLISHED, attempt)) for file in files)
    return [Receipt(bucket=file.bucket, key=file.key).with_decision(entry) for file, entry in made]


def _note(attempt: Attempt, files: Iterable[FileVersion]) -> Record:
    named = tuple(DecidedFile(key=file.key, version_id=file.version_id, rows=1) for file in files)
    return Record(decision=Decision.PUBLISHED, table=TABLE, batch=attempt.batch, attempt=1, files=named[:A_BATCH])


def _one_batch(made: Installation) -> Iterator[tuple[str, float]]:
    catalog, service = made.catalog, made.service
    attempt, files = _attempt(made.files), made.new(A_BATCH)
    yield "look_up", _timed(lambda: main_receipts(service, files))
    base = catalog.head(MAIN) or ""
    yield "branch_and_claim", _timed(lambda: _claim(service, attempt, base, files))
    yield "publish", _timed(lambda: _publish(service, attempt, base, files))
    catalog.delete_branch(attempt.branch)
    yield "status", _timed(lambda: status(service))


def _claim(service: Service, attempt: Attempt, base: str, files: list[FileVersion]) -> None:
    service.branches.create_branch(attempt.branch, base)
    receipts_at(service, Ref(MAIN, base), [file.key for file in files])
    service.ledger.commit_receipts(attempt.branch, base, receipts_of(files, attempt))


def _publish(service: Service, attempt: Attempt, base: str, files: list[FileVersion]) -> None:
    """Make a publish's catalog calls: head, receipts, the branch's changes, the merge."""
    head = service.branches.head(attempt.branch) or ""
    main_receipts(service, files)
    service.branches.changes(base, head)
    service.publisher.merge(attempt.branch, head, _note(attempt, files))


def _timed(step: Callable[[], object]) -> float:
    began = time.perf_counter()
    step()
    return time.perf_counter() - began


Times = dict[tuple[int, int], list[dict[str, float]]]
"""Seconds of each step, round by round, by the number of receipts and the number on main."""


def run(sizes: Iterable[tuple[int, int]]) -> Times:
    """Measure all installations at once, in turn, so that other load on the machine slows each alike."""
    with contextlib.ExitStack() as stack:
        made = {size: stack.enter_context(_installation(*size)) for size in sizes}
        gc.freeze()  # otherwise Python's collector visits a million objects again and again
        times: Times = {size: [] for size in made}
        for turn in range(WARM + ROUNDS):
            for size in _rotated(list(made), turn):
                found = dict(_one_batch(made[size]))
                times[size] += [found] if turn >= WARM else []
        return times


def figures(times: Times) -> Iterator[Figure]:
    for (receipts, on_main), rounds in times.items():
        medians = {name: round(1000 * statistics.median(each[name] for each in rounds), 1) for name in rounds[0]}
        yield Figure(receipts=receipts, on_main=on_main, **medians)


def ratios(small: list[dict[str, float]], large: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the quartiles of the larger installation's times divided by the smaller's, round by round."""
    found = {name: [its[name] / other[name] for its, other in zip(large, small, strict=True)] for name in small[0]}
    quarters = {name: statistics.quantiles(each, n=4) for name, each in found.items()}
    return {
        name: {"low": round(low, 2), "median": round(median, 2), "high": round(high, 2)}
        for name, (low, median, high) in quarters.items()
    }


def _rotated(sizes: list[tuple[int, int]], turn: int) -> list[tuple[int, int]]:
    """Return the sizes rotated, so that each goes first equally often."""
    first = turn % len(sizes)
    return sizes[first:] + sizes[:first]


@contextlib.contextmanager
def _installation(receipts: int, on_main: int) -> Iterator[Installation]:
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as lake:
        catalog = NessieCatalog(lake.nessie_uri)
        catalog.create_branch("wap-first", catalog.head(MAIN) or "")  # main's first commit
        catalog.delete_branch("wap-first")
        made = Installation(catalog=catalog)
        made.archived(receipts - on_main)
        made.decided(on_main)
        yield made


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.receipts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without the installations that keep all on main")
    chosen = parser.parse_args(arguments)
    sizes = [(size, min(size, ON_MAIN)) for size in SIZES]
    times = run([*sizes, *([] if chosen.quick else [(UNCOMPACTED, UNCOMPACTED)])])
    print(f"{'receipts':>10} {'on main':>10} {'look-up':>9} {'claim':>9} {'publish':>9} {'status':>9}   ms")
    for figure in figures(times):
        print(
            f"{figure.receipts:>10,} {figure.on_main:>10,} {figure.look_up:>9} {figure.branch_and_claim:>9} "
            f"{figure.publish:>9} {figure.status:>9}"
        )
    ends = ratios(times[sizes[0]], times[sizes[-1]])
    print(f"{sizes[-1][0]:,} against {sizes[0][0]:,}: {ends}")
    told = {"at": f"{datetime.now(UTC):%Y-%m-%d}", "rounds": ROUNDS, "figures": [vars(it) for it in figures(times)]}
    FIGURES.write_text(json.dumps(told | {"ratios": ends}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
