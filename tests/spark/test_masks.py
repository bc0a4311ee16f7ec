"""No value of a masked column is in a job's report, whatever its files are and whatever check fails on them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import orc

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.report import Report
from lakegate.contracts import load
from tests.support.jobs import parquet, stage
from tests.support.nessie import Lake, unique

pytestmark = [pytest.mark.spark, pytest.mark.nessie]
Run = Callable[[Job], Report]
CONTRACT = r"""
apiVersion: v3.2.0
kind: DataContract
id: shop-people
version: 1.0.0
status: active
servers:
  - {server: landing, type: s3, location: "s3://landing/shop/people/*.FORMAT", format: FORMAT}
schema:
  - name: people
    physicalName: TABLE
    properties:
      - name: id
        logicalType: integer
        logicalTypeOptions: {format: i64, minimum: 1}
        required: true
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
      - name: email
        logicalType: string
        classification: restricted
        logicalTypeOptions: {pattern: '\d.*\d.*x', maxLength: 5}
        enum: [{value: a}]
        unique: true
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
        quality:
          - {metric: nullValues, mustBe: 0, severity: warning}
          - {metric: invalidValues, arguments: {validValues: [a]}, mustBe: 0, severity: warning}
          - {type: custom, engine: lakegate, implementation: {distinctValues: true, mustBe: 99}, severity: warning}
      - name: salary
        logicalType: number
        physicalType: decimal(12,2)
        classification: restricted
        logicalTypeOptions: {minimum: 99999999, multipleOf: 7}
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
        quality:
          - {type: sql, query: "SELECT COUNT(*) FROM {object} WHERE {property} > 5", mustBe: 0, severity: warning}
      - name: born
        logicalType: date
        classification: restricted
        logicalTypeOptions: {minimum: '2020-01-01'}
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
      - name: seen
        logicalType: timestamp
        classification: restricted
        logicalTypeOptions: {minimum: '2090-01-01T00:00:00Z'}
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
      - name: rate
        logicalType: number
        physicalType: double
        classification: restricted
        logicalTypeOptions: {minimum: 99999999}
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
      - name: n
        logicalType: integer
        classification: restricted
        logicalTypeOptions: {format: i32, minimum: 0}
        customProperties: [{property: severity, vendor: lakegate, value: warning}]
    quality:
      - {type: custom, engine: lakegate, implementation: {row: "email = 'x'"}, severity: warning}
      - {type: custom, engine: lakegate, implementation: {row: "salary + n < 0"}, severity: warning}
      - {type: custom, engine: lakegate, implementation: {row: "CAST(email AS INT) > 0"}, severity: warning}
      - {type: custom, engine: lakegate, implementation: {row: "CAST(email AS DATE) > born"}, severity: warning}
      - {type: custom, engine: lakegate, implementation: {row: "n * 2000000000 * 2000000000 > 0"}, severity: warning}
      - {type: sql, query: "SELECT SUM(CAST(email AS INT)) FROM {object}", mustBe: 0, severity: warning}
"""
ROUND = datetime(2000, 1, 1, tzinfo=UTC)
SECRETS = ("jane", "4711", "1984", "0815", "7777")
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 2, None], pa.int64()),
        "email": ["jane@example.com", "jane@example.com", "jane", None],
        "salary": pa.array([Decimal("4711.00"), Decimal("47110.11"), None, Decimal("4711.5")], pa.decimal128(12, 2)),
        "born": pa.array([date(1984, 4, 7), date(1984, 5, 8), None, date(1984, 4, 7)]),
        "seen": pa.array([datetime(1984, 4, 7, 8, 15, tzinfo=UTC)] * 4, pa.timestamp("us", "UTC")),
        "rate": [4711.25, 0.4711, float("nan"), None],
        "n": pa.array([-4711, 4711, None, 7777], pa.int32()),
    }
)


# Spark reads no instants from ORC, but clocks, which it takes for UTC.
LOCAL = ROWS.set_column(4, "seen", pa.array([datetime(1984, 4, 7, 8, 15)] * 4, pa.timestamp("us")))  # noqa: DTZ001


def orc_of(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    orc.write_table(table, sink)
    return sink.getvalue()


def csv_of(*lines: str) -> bytes:
    return "\n".join(lines).encode() + b"\n"


HEADER = "id,email,salary,born,seen,rate,n"
GOOD = "1,jane@example.com,4711.00,1984-04-07,1984-04-07T08:15:00Z,4711.25,4711"
BODIES: dict[str, list[bytes]] = {
    "parquet": [
        parquet(ROWS),
        parquet(ROWS.set_column(2, "salary", pa.array(["4711"] * 4))),
        parquet(ROWS.set_column(6, "n", pa.array([4711_4711_4711] * 4))),
        parquet(ROWS.set_column(2, "salary", pa.array([Decimal("4711471147114711.12")] * 4, pa.decimal128(30, 2)))),
        parquet(ROWS.set_column(4, "seen", pa.array([datetime(1984, 4, 7, tzinfo=UTC)] * 4, pa.timestamp("ns")))),
        parquet(ROWS.set_column(1, "email", pa.array([b"jane\xff"] * 4, pa.binary()))),
    ],
    "orc": [orc_of(LOCAL), orc_of(LOCAL.set_column(2, "salary", pa.array(["4711"] * 4)))],
    "csv": [
        csv_of(HEADER, GOOD, GOOD.replace("4711.00", "x4711"), GOOD.replace("1984-04", "1984-13"), "jane"),
        csv_of(GOOD, GOOD),
        csv_of(HEADER, '1,"jane'),
        csv_of(HEADER, GOOD + ",jane", GOOD.replace("4711.25", "4711e9999")),
        csv_of("id," + GOOD[2:], GOOD),
    ],
    "json": [
        csv_of(json.dumps(dict(zip(HEADER.split(","), GOOD.split(","), strict=True)))),
        csv_of(
            '{"id":1,"email":"jane","n":4711.5,"born":"1984-99-01"}',
            '{"id":1,"jane"',
            '["jane"]',
            '{"email":{"jane":1}}',
        ),
        csv_of('{"jane@example.com":1}'),
        csv_of('{"id":1,"id":2,"email":"jane"}'),
    ],
}


RANDOM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{10,}")
"""Names of data files, commits and branches, which may have any four digits by chance."""


def without_random_digits(report: Report) -> str:
    known = replace(report, started_at=ROUND, finished_at=ROUND, timings={})
    return RANDOM.sub("", to_json(known))


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in ("parquet", "csv") else pytest.mark.extended) for kind in BODIES]
)
def test_nothing_that_is_masked_is_in_a_report(run: Run, lake: Lake, kind: str) -> None:
    by = load(CONTRACT.replace("FORMAT", kind).replace("TABLE", f"{unique('shop')}.people"), "people.yaml").plan
    branch = unique("wap-people")
    files = {f"{number:020x}": body for number, body in enumerate(BODIES[kind], 1)}
    report = run(stage(lake, by, branch, lake.branch(branch), files).job)
    said = without_random_digits(report)
    assert not report.error
    assert any(check.sample for file in report.files for check in file.checks)
    assert [secret for secret in SECRETS if secret in said] == []
