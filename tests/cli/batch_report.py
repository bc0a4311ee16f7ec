"""A batch at the desk whose report is of real rows: judged by DuckDB, sampled, stored as a job stores it.

Files are judged each alone: what repeats another file's key is the Spark tests' matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lakegate.audit.advice import NO_ADVICE, Fault
from lakegate.audit.evaluation.mask import MASK, masked_columns
from lakegate.audit.evaluation.verdicts import verdict
from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Metric, MetricKind
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Report, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.contracts import load
from lakegate.inference.evaluator import Evaluator
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.ports import MAIN
from lakegate.testing.lake import EPOCH
from lakegate.workflow.attempts.job import job_name
from lakegate.workflow.attempts.reports import begun_name, report_name
from tests.cli.desk import Desk
from tests.support.synthetic.evaluator import LakeEvaluator

BATCH = "20130131T0405-1a2b3c4d"


def add_batch(
    desk: Desk,
    contract: str,
    files: Mapping[str, pa.Table],
    faults: Mapping[str, str | Fault] | None = None,
    others: Mapping[str, pa.Table] | None = None,
) -> str:
    """The batch of these files (key → rows), and of those that could not be read (key → why), on a branch where the
    tables that they refer to are `others`.
    """
    plan = load(contract, "contract.yaml").plan
    attempt = Attempt(table=plan.table, batch=BATCH, number=1)
    service, store = desk.world.service, desk.world.store
    base = service.branches.head(MAIN) or ""
    service.branches.create_branch(attempt.branch, base)
    landed = {key: _land(key) for key in (*files, *(faults or {}))}
    claims = [Receipt(bucket="landing", key=key).with_decision(Entry.of(file, Decision.PUBLISHED, attempt))
              for key, file in landed.items()]  # fmt: skip
    head = service.ledger.commit_receipts(attempt.branch, base, claims)
    evaluator = LakeEvaluator(plan, others or {})
    desk.rows.held |= {(attempt.branch, name): table for name, table in (others or {}).items()}
    good = [_file(evaluator, landed[key].id, key, rows) for key, rows in files.items()]
    bad = [FileReport(id=landed[key].id, key=key, verdict=Verdict.FAIL, faults=(why,),
                      advice=(why.advice if isinstance(why, Fault) else NO_ADVICE,))
           for key, why in (faults or {}).items()]  # fmt: skip
    report = Report(
        branch=attempt.branch, batch=BATCH, attempt=1, table=plan.table, base=base, audited=head, plan_hash=plan.hash,
        contract_hash=plan.contract_hash, contract_version=plan.contract_version, started_at=EPOCH, finished_at=EPOCH,
        files=(*good, *bad), timings={"append": 2.5, "measure": 0.75},
        columns=tuple(column.name for column in plan.columns), key=plan.key, masked=masked_columns(plan.columns),
    )  # fmt: skip
    job = Job(
        branch=attempt.branch, batch=BATCH, attempt=1, base=base, catalog=NO_CATALOG,
        report_uri=store.uri(report_name(attempt)), begun_uri=store.uri(begun_name(attempt)), plan=plan,
        files=tuple(JobFile(id=file.id, key=key, uri="s3://service/x", size=1) for key, file in landed.items()),
    )  # fmt: skip
    store.write(report_name(attempt), to_json(report).encode())
    store.write(job_name(attempt), to_json(job).encode())
    stored = [
        rows.append_column(FILE_COLUMN, pa.array([landed[key].id] * rows.num_rows)) for key, rows in files.items()
    ]
    desk.rows.held[attempt.branch, plan.table] = pa.concat_tables(stored)
    return BATCH


def _land(key: str) -> FileVersion:
    return FileVersion(bucket="landing", key=key, version_id="v1", size=1, landed_at=EPOCH, checksum=None)


def _file(evaluator: Evaluator, file: str, key: str, rows: pa.Table) -> FileReport:
    checks = tuple(_with_samples(evaluator, check, rows) for check in evaluator.results(rows))
    data = (DataFile(path=f"s3://lake/{file}.parquet", rows=rows.num_rows),)
    return FileReport(id=file, key=key, verdict=verdict(checks), rows=rows.num_rows, checks=checks, data_files=data)


def _with_samples(evaluator: Evaluator, check: CheckResult, rows: pa.Table) -> CheckResult:
    if not check.failing_rows:
        return check
    found = failing_rows(evaluator, evaluator.plan.metric(check.metric), rows)
    hidden = masked_columns(evaluator.plan.columns)
    shown = [{name: MASK if name in hidden and value is not None else _json(value) for name, value in row.items()}
             for row in found]  # fmt: skip
    return replace(check, sample=tuple(shown[:100]))


def failing_rows(evaluator: Evaluator, metric: Metric, rows: pa.Table) -> list[dict[str, Any]]:
    """The rows that fail a metric, by a way of their own where they repeat a key."""
    if metric.kind is MetricKind.DUPLICATES:
        keys = [tuple(row[name] for name in metric.columns) for row in rows.to_pylist()]
        return [row for row, key in zip(rows.to_pylist(), keys, strict=True)
                if None not in key and keys.count(key) > 1]  # fmt: skip
    marks = evaluator.marks(rows, [metric])
    return [row for row, (mark,) in zip(rows.to_pylist(), marks, strict=True) if mark]


def _json(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
