"""Which parquet files become data files as they are, and why others do not: readers must find just what was audited."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from lakegate.adapters.iceberg.specs import NAMES, spec_of_registered
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import SchemaPolicy, Stance
from lakegate.audit.schema.inspection import fit_all
from lakegate.express import footer
from lakegate.express.creating import schema_of, spec_of
from lakegate.express.field_ids import field_ids
from lakegate.express.registering import Unregistered, data_file
from lakegate.express.rows import rows_of
from lakegate.express.tables import statistics
from tests.support.plans import plan

FILE, PATH = f"{7:020x}", "s3://lake/warehouse/nyc/flights/data/registered.parquet"
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "x": "double",
    "at": "timestamp",
    "day": "date",
    "price": "decimal(9,2)",
    "long": "decimal(38,2)",
    "good": "boolean",
    "seats": "int",
    "raw": "binary",
}
LENIENT = SchemaPolicy(missing_columns=Stance.ALLOW, new_columns=Stance.DISCARD)
BY = replace(plan("nyc.flights", COLUMNS, (), ("months(`at`)",)), policy=LENIENT)
ROWS = pa.table(
    {
        "id": pa.array([1, 2, None, 4], pa.int64()),
        "name": ["a", "b\u00e9", None, "z" * 40],
        "x": [1.0, -0.0, 2.5, None],
        "at": pa.array([datetime(2013, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4)], pa.timestamp("us", "UTC")),
        "day": pa.array([date(2020, 1, 1), None, date(1960, 1, 1), date(2021, 1, 1)]),
        "price": pa.array([Decimal("1.10"), Decimal("-1.10"), None, Decimal(0)], pa.decimal128(9, 2)),
        "long": pa.array([Decimal(f"{sign}{'9' * 35}.01") for sign in ("-", "", "", "")], pa.decimal128(38, 2)),
        "good": [True, False, None, True],
        "seats": pa.array([1, 2, 3, 4], pa.int32()),
        "raw": pa.array([b"x", b"\xff\x00", None, b""]),
    }
)


def table(**properties: str) -> Table:
    schema = schema_of(BY.columns)
    metadata = new_table_metadata(schema, spec_of(BY, schema), UNSORTED_SORT_ORDER, "s3://lake/warehouse", properties)
    return Table(("nyc", "flights"), metadata, "s3://lake/warehouse/metadata.json", cast(Any, None), cast(Any, None))


def written(rows: pa.Table = ROWS, **how: Any) -> bytes:
    pq.write_table(rows, target := BytesIO(), **how)
    return target.getvalue()


def having(**columns: Any) -> pa.Table:
    return pa.table({**{name: ROWS.column(name) for name in ROWS.column_names}, **columns})


def registered(body: bytes, there: Table | None = None) -> DataFile:
    """The entry of a file, by the engine's own steps before it."""
    there = there or table()
    found = footer.inspect(JobFile(id=FILE, key="f", uri="", size=len(body)), body, BY.files.limits)
    _, [fitted] = fit_all(BY, None, [found])
    assert not fitted.faults
    rows = rows_of(BY, fitted, body, schema_to_pyarrow(there.schema(), include_field_ids=False), 10**9)
    return data_file(there, spec_of_registered(there), PATH, body, rows, FILE)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"row_group_size": 2},
        {"store_decimal_as_integer": True},
        {"compression": "zstd", "use_dictionary": False},
        {"version": "1.0", "compression": "gzip"},
        {"write_page_index": True},
    ],
)
def test_a_file_in_the_tables_own_types_is_registered_with_what_its_footer_says(how: dict[str, Any]) -> None:
    entry = registered(written(**how))
    told = statistics(entry)
    ids = {field.name: field.field_id for field in table().schema().fields}
    assert (entry.record_count, entry.partition[0], entry.partition[1]) == (4, 516, FILE)
    assert {name: told.nulls[ids[name]] for name in COLUMNS} == {name: ROWS.column(name).null_count for name in COLUMNS}
    assert bytes.fromhex(told.upper[ids["name"]]) == b"z" * 15 + b"{"
    assert bytes.fromhex(told.lower[ids["price"]]) == b"\x92"
    assert (told.lower[ids["_lakegate_file"]], told.nulls[ids["_lakegate_file"]]) == (FILE.encode().hex(), 0)


def test_a_file_without_statistics_is_registered_and_proves_nothing() -> None:
    told = statistics(registered(written(write_statistics=False)))
    assert (set(told.nulls), set(told.lower)) == ({11}, {11})


def test_a_file_that_lacks_a_column_is_registered() -> None:
    assert 2 not in statistics(registered(written(ROWS.drop_columns("name")))).values


def with_ids(*ids: int) -> pa.Table:
    numbers = {name: {"PARQUET:field_id": str(number)} for name, number in zip(ROWS.column_names, ids, strict=False)}
    return ROWS.cast(pa.schema([field.with_metadata(numbers.get(field.name)) for field in ROWS.schema]))


def test_a_file_with_the_tables_own_field_ids_is_registered() -> None:
    assert registered(written(with_ids(*range(1, 11)))).record_count == len(ROWS)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (written(with_ids(2, 1, *range(3, 11))), "its columns have field ids, and they are not the table's"),
        (written(with_ids(1)), "its columns have field ids, and they are not the table's"),
        (written(having(more=[1, 2, 3, 4])), 'its column "more" is not in the table'),
        (written(having(nothing=pa.nulls(4))), 'its column "nothing" is not in the table'),
        (written(having(seats=pa.array([1, 2, 3, 4], pa.int16()))), 'column "seats" is not stored as'),
        (written(having(id=pa.array([1, 2, 3, 4], pa.int32()))), 'column "id" is not stored as the table\'s type long'),
        (written(having(x=pa.array([1, 2, 3, 4], pa.float32()))), 'column "x" is not stored as'),
        (written(having(price=pa.array([1, 2, 3, 4], pa.decimal128(7, 2)))), '"price" is not stored as'),
        (written(having(name=pa.nulls(4))), 'column "name" is not stored as the table\'s type string'),
        (written(data_page_version="2.0"), 'column "good" is encoded as Spark\'s reader of data files cannot'),
        (written(coerce_timestamps="ms"), 'column "at" is not stored as the table\'s type timestamptz'),
        (
            written(having(at=pa.array([datetime(2013, month, 1, tzinfo=UTC) for month in (1, 1, 2, 2)]))),
            "it has rows of several partitions",
        ),
    ],
)  # fmt: skip
def test_what_readers_would_find_otherwise_is_not_registered(body: bytes, says: str) -> None:
    with pytest.raises(Unregistered) as error:
        registered(body)
    assert says in str(error.value)


def other_id(body: bytes) -> bytes:
    """The same file with the field id -1 in its footer in the place of 63."""
    at = body.index(b"\x7e", body.index(b"schema"))  # 63 as Thrift writes it
    return body[:at] + b"\x01" + body[at + 1 :]


def test_a_negative_field_id_is_one_though_arrow_knows_of_none() -> None:
    body = other_id(written(with_ids(63), store_schema=False))
    assert all(not field.metadata for field in pq.read_schema(BytesIO(body)))
    assert field_ids(body) == [-1, *[None] * 9]
    with pytest.raises(Unregistered, match="its columns have field ids, and readers do not agree on them"):
        registered(body)


def test_field_ids_that_only_arrow_s_own_schema_has_are_not_believed() -> None:
    body = other_id(written(with_ids(63)))
    assert pq.read_schema(BytesIO(body)).field("id").metadata == {b"PARQUET:field_id": b"63"}
    with pytest.raises(Unregistered, match="readers do not agree"):
        registered(body)


def test_a_file_with_bloom_filters_is_not_registered() -> None:
    body = written(bloom_filter_options={"id": {"ndv": 4, "fpp": 0.1}})
    with pytest.raises(Unregistered, match="it has Bloom filters, which cannot be checked"):
        registered(body)


def other_footer(honest: bytes, wrong: bytes) -> bytes:
    """The pages of one file under the footer of another, whose pages lie at the same places."""
    size = int.from_bytes(honest[-8:-4], "little")
    liar = wrong[-int.from_bytes(wrong[-8:-4], "little") - 8 :]
    return honest[: -size - 8] + liar


@pytest.mark.parametrize(
    "wrong",
    [
        having(seats=pa.array([1, 2, 3, 9], pa.int32())),
        having(seats=pa.array([0, 2, 3, 4], pa.int32())),
        having(good=[True, False, True, True]),
        having(x=[1.0, -0.5, 2.5, None]),
        having(price=pa.array([Decimal("1.10"), Decimal("-1.11"), None, Decimal(0)], pa.decimal128(9, 2))),
        having(name=["a", "b\u00e9", None, "y" * 40]),
        having(raw=pa.array([b"x", b"\xfe\x00", None, b""])),
        having(good=[True, True, None, True]),
        having(day=pa.array([date(2020, 1, 1), None, date(1961, 1, 1), date(2021, 1, 1)])),
        having(at=pa.array([datetime(2013, 1, day, tzinfo=UTC) for day in (1, 2, 3, 5)], pa.timestamp("us", "UTC"))),
    ],
)
def test_a_file_whose_footer_lies_about_its_rows_is_not_registered(wrong: pa.Table) -> None:
    how: dict[str, Any] = {"use_dictionary": False, "compression": "none"}
    body = other_footer(written(**how), written(wrong, **how))
    with pytest.raises(Unregistered, match=r"its footer has statistics of column .* that are not its rows'"):
        registered(body)


def test_a_table_that_maps_names_in_another_way_takes_no_file_as_it_is() -> None:
    names = '[{"field-id": 1, "names": ["name"]}, {"field-id": 2, "names": ["id"]}]'
    with pytest.raises(Unregistered, match="maps the names of columns"):
        registered(written(ROWS.select(["id", "name", "at"])), table(**{NAMES: names}))


def test_rows_in_a_partition_of_their_own_file_are_the_tables_partitions_and_that() -> None:
    there = table()
    spec = spec_of_registered(there)
    assert [(field.name, str(field.transform), field.field_id) for field in spec.fields] == [
        ("at_month", "month", 1000),
        ("_lakegate_file", "identity", 1001),
    ]
    assert (spec.spec_id, there.spec().spec_id) == (1, 0)


def a_moment() -> bytes:
    return written(having(at=pa.array([1, 2, 3, 4], pa.timestamp("ns", "UTC"))))


def an_int96() -> bytes:
    return written(use_deprecated_int96_timestamps=True)


def dictionaries_of_decimals() -> bytes:
    return written(having(price=ROWS.column("price").dictionary_encode()))


@pytest.mark.parametrize("make", [a_moment, an_int96])
def test_what_only_spark_reads_is_handed_over(make: Callable[[], bytes]) -> None:
    with pytest.raises(HandedOver):
        registered(make())


def test_dictionaries_are_but_an_encoding() -> None:
    assert registered(dictionaries_of_decimals()).record_count == len(ROWS)
