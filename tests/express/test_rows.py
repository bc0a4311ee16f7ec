"""Rows of a staged file as the table will hold them, and those that are Spark's alone to read."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import DEFAULTS, Limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import fit_all
from lakegate.express import footer
from lakegate.express.creating import schema_of
from lakegate.express.rows import rows_of
from tests.support.plans import plan

ENOUGH = 10**9
FIVE = datetime(2013, 1, 1, 5, tzinfo=UTC)


def read(by: Plan, table: pa.Table, most: int = ENOUGH) -> pa.Table:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    body = sink.getvalue()
    found = footer.inspect(JobFile(id="f1", key="landed/f1", uri="", size=len(body)), body, DEFAULTS)
    _, [fitted] = fit_all(by, None, [found])
    assert fitted.faults == ()
    return rows_of(by, fitted, body, schema_to_pyarrow(schema_of(by.columns), include_field_ids=False), most)


def values(by: Plan, kind: pa.DataType, *given: Any) -> list[Any]:
    return list(read(by, pa.table({"x": pa.array(given, kind)})).column("x").to_pylist())


def of(spelled: str) -> Plan:
    return plan("nyc.t", {"x": spelled})


def test_every_row_has_its_file_and_the_tables_own_columns_in_their_order() -> None:
    by = plan("nyc.t", {"b": "bigint", "a": "string"})
    found = read(by, pa.table({"a": ["x", None], "b": pa.array([1, 2], pa.int64())}))
    assert found.to_pylist() == [{"b": 1, "a": "x", FILE_COLUMN: "f1"}, {"b": 2, "a": None, FILE_COLUMN: "f1"}]


@pytest.mark.parametrize(
    ("spelled", "kind", "given", "kept"),
    [
        ("bigint", pa.int32(), 7, 7),
        ("int", pa.int8(), -7, -7),
        ("double", pa.float32(), 0.1, 0.10000000149011612),
        ("decimal(10,4)", pa.decimal128(5, 2), Decimal("1.10"), Decimal("1.1000")),
        ("timestamp", pa.timestamp("ms", "America/New_York"), FIVE, FIVE),
        ("string", pa.dictionary(pa.int32(), pa.string()), "é", "é"),
        ("bigint", pa.null(), None, None),
    ],
)  # fmt: skip
def test_a_narrower_value_is_the_same_in_the_tables_type(
    spelled: str, kind: pa.DataType, given: Any, kept: Any
) -> None:
    assert values(of(spelled), kind, given) == [kept]


@pytest.mark.parametrize(
    ("spelled", "kind", "number"),
    [
        ("date", pa.date32(), (date(1, 1, 1) - date(1970, 1, 1)).days - 1),
        ("date", pa.date32(), (date(9999, 12, 31) - date(1970, 1, 1)).days + 1),
        ("timestamp", pa.timestamp("us", "UTC"), 2**62),
        ("timestamp_ntz", pa.timestamp("us"), -(2**62)),
    ],
)
def test_days_of_a_far_off_year_are_handed_over(spelled: str, kind: pa.DataType, number: int) -> None:
    far = pa.array([number], pa.int32() if spelled == "date" else pa.int64()).cast(kind)
    with pytest.raises(HandedOver, match="far-off year"):
        read(of(spelled), pa.table({"x": far}))


def test_the_first_and_the_last_day_are_taken() -> None:
    assert values(of("date"), pa.date32(), date(1, 1, 1), date(9999, 12, 31)) == [date(1, 1, 1), date(9999, 12, 31)]


def test_rows_that_take_more_memory_than_there_is_are_handed_over_before_all_are_decoded() -> None:
    repeated = pa.table({"x": ["a" * 1000] * 100_000})
    with pytest.raises(HandedOver, match="more memory"):
        read(of("string"), repeated, 10**6)


def test_more_text_than_the_contract_takes_is_handed_over() -> None:
    """A value that stands once in the file may stand in many rows."""
    by = replace(of("string"), files=FileFormat(limits=Limits(uncompressed=1000)))
    with pytest.raises(HandedOver, match="more bytes of text"):
        read(by, pa.table({"x": ["a" * 100] * 11}))
    assert read(by, pa.table({"x": ["a" * 100] * 10})).num_rows == 10
