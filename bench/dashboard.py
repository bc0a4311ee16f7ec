"""Time that each page of the dashboard takes with ten thousand batches of history, on a real Nessie: what it asks, and
all of it as Streamlit runs it.

Reports are in memory here; on AWS each is an object of S3, ten of which are read at a time. A browser's drawing is not
in these numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from bench.receipts import START, Installation, receipts_of, the_file
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.plan import Severity
from lakegate.audit.model.report import CheckResult, FileReport, Report, Source, Verdict
from lakegate.cli.installation import Installation as Connected
from lakegate.dashboard import session
from lakegate.dashboard.serving import MAIN as SCRIPT
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.operations.operation import Direct
from lakegate.operations.questions import PAGE, ListDecisions
from lakegate.ports import MAIN, DecidedFile, Record
from lakegate.publishing.nessie import NessieCatalog
from lakegate.workflow.attempts.reports import report_name
from lakegate.workflow.ledger.receipts import main_receipts
from tests.support.nessie import ROOT, running

BATCHES, KEPT = 10_000, 50
CHECKS = 20  # of a report
EVERY, RARE = 10, 2_000  # one in so many batches is rejected, and one in so many is of another table
ON_MAIN = 500  # receipts, as a sweep leaves main
READ = 1_000  # batches at most whose reports a page may read
ROUNDS = 5
TABLES = ("nyc.flights", "nyc.planes")
FIGURES = ROOT / "bench/figures/dashboard.json"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.dashboard", description=__doc__)
    parser.add_argument("--batches", type=int, default=BATCHES)
    batches = parser.parse_args(arguments).batches
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), _on_disk(folder)) as lake:
        made = Installation(catalog=NessieCatalog(lake.nessie_uri))
        newest = _history(made, batches)
        found = {name: _median(look) for name, look in _looks(made, newest).items()}
    for name, seconds in found.items():
        print(f"{name:32} {seconds:6.2f} s")
    told = {"at": f"{datetime.now(UTC):%Y-%m-%d}", "batches": batches, "rounds": ROUNDS, "seconds": found}
    FIGURES.write_text(json.dumps(told, indent=1) + "\n")
    return 0


def _on_disk(folder: str) -> dict[str, str]:
    """Return settings of a Nessie that keeps its history on disk: in memory it would not fit."""
    path = {"nessie.version.store.persist.rocks.database-path": f"{folder}/nessie"}
    return {"nessie.version.store.type": "ROCKSDB", **path}


def _history(made: Installation, batches: int) -> Attempt:
    """Decide so many batches of one file each, and return the newest rejected one. The newest rejected branches are
    kept, as after a month.
    """
    head, _ = main_receipts(made.service, [])
    kept = []
    for number in range(batches):
        table = TABLES[number % RARE == 0]
        attempt = Attempt(table=table, batch=f"{START + timedelta(minutes=number):%Y%m%dT%H%M}-{number:08x}", number=1)
        is_rejected = number % EVERY == 0
        if is_rejected and batches - number <= KEPT * EVERY:
            made.catalog.create_branch(attempt.branch, head)
            made.catalog.commit_receipts(attempt.branch, head, receipts_of([the_file(number)], attempt))
            kept.append(attempt)
        receipts = receipts_of([the_file(number % ON_MAIN)], attempt)
        head = made.catalog.commit_receipts(MAIN, head, receipts, _note(attempt, number))
        if batches - number <= READ or table != TABLES[0]:
            made.store.write(report_name(attempt), to_json(_report(attempt, number)).encode())
    return kept[-1]


def _note(attempt: Attempt, number: int) -> Record:
    decision = Decision.PUBLISHED if number % EVERY else Decision.REJECTED
    its = the_file(number)
    file = DecidedFile(key=its.key, version_id=its.version_id, rows=1000, reasons=() if number % EVERY else ("odd",))
    return Record(decision=decision, table=attempt.table, batch=attempt.batch, attempt=1, files=(file,))


def _report(attempt: Attempt, number: int) -> Report:
    verdict = Verdict.PASS if number % EVERY else Verdict.FAIL
    checks = tuple(
        CheckResult(
            check=f"nulls-{at}", name=f"column_{at} required", columns=(f"column_{at}",), severity=Severity.ERROR,
            verdict=verdict if at == 0 else Verdict.PASS, value=float(number % 97), expected="0", failing_rows=0,
            rows=1000, source=Source.AGGREGATE, low=0.0, high=100.0,
        )
        for at in range(CHECKS)
    )  # fmt: skip
    file = FileReport(id=the_file(number).id, key=the_file(number).key, verdict=verdict, rows=1000, checks=checks)
    at = START + timedelta(minutes=number)
    return Report(
        branch=attempt.branch, batch=attempt.batch, attempt=1, table=attempt.table, base="", audited="", plan_hash="",
        contract_hash="", contract_version="1.0.0", started_at=at, finished_at=at, files=(file,),
    )  # fmt: skip


def _looks(made: Installation, newest: Attempt) -> dict[str, Callable[[], float]]:
    """Return what opens each page once, and tells its seconds."""
    service = made.service
    unused: Any = None
    operations = Direct(service=service, by="bench", sweep=lambda: None, reading=unused)
    connected = Connected(
        operations=operations, landing=service.landing, lake=unused, branches=service.branches, clock=service.clock,
        clean=unused, verify=unused, place=unused, token=unused,
    )  # fmt: skip
    session.installation = lambda: connected  # type: ignore[assignment]
    last = _last_page(operations)
    return {
        "overview": lambda: _opened("overview"),
        "batch": lambda: _opened("batch", batch=newest.batch),
        "table": lambda: _opened("table", table=TABLES[0]),
        "table of few batches": lambda: _opened("table", table=TABLES[1]),
        "history, first page": lambda: _opened("history"),
        "history, a page deep in the log": lambda: _timed(lambda: operations.run(ListDecisions(before=last))),
    }


def _last_page(operations: Direct) -> str:
    """Return the commit after which the last page of the log begins."""
    before = ""
    while len(page := operations.run(ListDecisions(before=before))) == PAGE:
        before = page[-1].commit
    return before


def _opened(page: str, **asked: str) -> float:
    """Open a page of which nothing is known, and return the seconds that Streamlit takes to run it."""
    at = AppTest.from_file(SCRIPT, default_timeout=600)
    at.run()
    at.switch_page(f"pages/{page}.py")
    for name, value in asked.items():
        at.query_params[name] = value
    session.forget()
    return _timed(at.run)


def _timed(look: Callable[[], object]) -> float:
    began = time.perf_counter()
    look()
    return time.perf_counter() - began


def _median(look: Callable[[], float]) -> float:
    return round(statistics.median(look() for _ in range(ROUNDS)), 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
