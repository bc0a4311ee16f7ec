"""Registered files as Spark reads them: by the names of their columns, with the file version from the partition."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.plan import Plan, SchemaPolicy, Stance
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.express.job import Outcome, run_job
from lakegate.express.process import Process
from lakegate.ports import Ref
from lakegate.publishing.nessie import NessieTables
from spark_jobs.jvm.session import open_catalog
from tests.support.jobs import stage
from tests.support.lanes import for_express, handed_over
from tests.support.nessie import Lake, unique
from tests.support.plans import nulls, plan
from tests.support.registered_files import register
from tests.support.tables import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.nessie]
COLUMNS = {"id": "bigint", "a name": "string", "good": "boolean", "price": "decimal(9,2)", "at": "timestamp"}
ONE, TWO, THREE, FOUR, FIVE = (f"{number:020x}" for number in range(1, 6))


def rows(*ids: int, month: int = 1) -> pa.Table:
    columns = {
        "at": pa.array([datetime(2013, month, 28, 5, tzinfo=UTC)] * len(ids), pa.timestamp("us", "UTC")),
        "id": pa.array(ids, pa.int64()),
        "good": [number % 2 == 0 for number in ids],
        "a name": [f"flight {number}" for number in ids],
        "price": pa.array(ids, pa.int64()).cast(pa.decimal128(21, 2)).cast(pa.decimal128(9, 2)),
    }
    return pa.table(columns)


def written(table: pa.Table, **how: Any) -> bytes:
    pq.write_table(table, target := BytesIO(), **how)
    return target.getvalue()


FILES = {
    ONE: written(rows(1, 2, 3)),
    TWO: written(
        rows(4, 5, month=3).drop_columns("good"), data_page_version="2.0", use_dictionary=False, compression="zstd"
    ),
    THREE: written(rows(6, 7, 8), row_group_size=2, store_decimal_as_integer=True, write_page_index=True),
    FOUR: written(rows(9).drop_columns("a name"), write_statistics=False),
    FIVE: written(pa.concat_tables([rows(10), rows(11, month=2)])),
}


def with_registered(lake: Lake, by: Plan) -> str:
    """A branch whose table has rows of one file that was appended, and the other files as they are."""
    branch = unique("wap-flights")
    staged = stage(lake, by, branch, lake.branch(branch), {FIVE: FILES[FIVE]})
    job = for_express(lake, staged.job)
    key = staged.uri.removeprefix(f"s3://{lake.bucket}/")
    lake.s3().put_object(Bucket=lake.bucket, Key=key, Body=to_json(job).encode())
    assert run_job(staged.uri, Process()) is Outcome.REPORTED, handed_over(lake, job)
    register(lake, branch, by.table, {file: body for file, body in FILES.items() if file != FIVE})
    return branch


def test_spark_reads_registered_files_as_what_they_are_and_compacts_them_with_all_others(
    lake: Lake, on_nessie: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    lenient = SchemaPolicy(missing_columns=Stance.ALLOW)
    by = replace(plan(f"{unique('nyc')}.flights", COLUMNS, [nulls("id")], ["months(`at`)"]), policy=lenient)
    branch = with_registered(lake, by)
    [job] = [stage(lake, by, branch, lake.head(branch), {}).job]
    catalog = unique("theirs")
    open_catalog(on_nessie, catalog, job.catalog, Ref(branch))
    name = f"{catalog}.{by.table}"

    def found(where: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in on_nessie.sql(f"SELECT {chosen} FROM {name} WHERE {where} ORDER BY id").collect()]

    chosen = f"id, `a name`, good, cast(price AS int), month(at), {FILE_COLUMN}"
    whose = {1: ONE, 2: ONE, 3: ONE, 4: TWO, 5: TWO, 6: THREE, 7: THREE, 8: THREE, 9: FOUR, 10: FIVE, 11: FIVE}
    months = {4: 3, 5: 3, 11: 2}
    everything = [
        (
            number,
            None if file == FOUR else f"flight {number}",
            None if file == TWO else number % 2 == 0,
            number,
            months.get(number, 1),
            file,
        )
        for number, file in whose.items()
    ]
    assert found("true") == everything
    assert found(f"{FILE_COLUMN} = '{TWO}'") == everything[3:5]
    assert found("id = 8 OR `a name` = 'flight 2'") == [everything[1], everything[7]]
    on_nessie.sql(
        f"CALL {catalog}.system.rewrite_data_files(table => '{by.table}', options => map('rewrite-all', 'true'))"
    )
    assert found("true") == everything
    paths = NessieTables(lake.nessie_uri, lake.warehouse).paths(Ref(branch), by.table)
    assert all("/data/at_month=" in path for path in paths)  # in the table's own layout
    assert len(paths) < len(FILES)
    assert len(rows_of(lake, branch, by.table)) == len(everything)
