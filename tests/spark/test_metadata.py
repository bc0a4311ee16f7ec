"""Data files that Spark wrote, moved between branches by metadata alone: Spark must read them as if it had done it."""

from __future__ import annotations

import pytest
from pyspark.sql import Row, SparkSession

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Record, Ref
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from spark_jobs.jvm.session import open_catalog
from tests.support.jobs import stage
from tests.support.nessie import Lake, unique
from tests.support.plans import plan


class Branches:
    """A table on main, and two branches from there, each a catalog of its own in Spark."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self.spark, self.lake, self.table = spark, lake, f"{unique('nyc')}.flights"
        self.catalog, self.tables = NessieCatalog(lake.nessie_uri), NessieTables(lake.nessie_uri, lake.warehouse)
        self.views = 0
        self.job = stage(lake, plan(self.table, {"id": "int"}), unique("wap"), "", {}).job
        first = self.branch(1, lake.head())
        spark.sql(f"CREATE NAMESPACE {self.at(first)[: -len('.flights')]}")
        spark.sql(
            f"CREATE TABLE {self.at(first)} (id INT, name STRING, when TIMESTAMP) USING iceberg "
            "PARTITIONED BY (months(when))"
        )
        self.append(first, "known", 1)
        head = self.catalog.head(first) or ""
        note = Record(decision=Decision.PUBLISHED, table=self.table, batch="b", attempt=1, files=())
        self.catalog.merge(first, head, note)
        self.here, self.there = (self.branch(number, lake.head()) for number in (2, 3))

    def branch(self, number: int, at: str) -> str:
        name = Attempt(table=self.table, batch="20130131T0405-1a2b3c4d", number=number).branch
        self.catalog.create_branch(name, at)
        return name

    def at(self, ref: str) -> str:
        """The table's name in Spark, in a catalog that was never used before: Spark keeps what it has loaded."""
        self.views += 1
        open_catalog(self.spark, f"view{self.views}", self.job.catalog, Ref(ref))
        return f"view{self.views}.{self.table}"

    def append(self, ref: str, name: str, first: int) -> frozenset[str]:
        """Two rows in each of two months, in a data file each; returns the paths that came."""
        before = self.tables.paths(Ref(ref), self.table)
        rows = ", ".join(
            f"({first + 2 * month + number}, '{name}', TIMESTAMP '2013-0{month + 1}-0{number + 1} 00:00:00')"
            for month in (0, 1)
            for number in (0, 1)
        )
        self.spark.sql(f"INSERT INTO {self.at(ref)} VALUES {rows}")
        return self.tables.paths(Ref(ref), self.table) - before

    def query(self, ref: str, what: str, suffix: str = "", where: str = "true") -> list[Row]:
        return self.spark.sql(f"SELECT {what} FROM {self.at(ref)}{suffix} WHERE {where} ORDER BY 1").collect()

    def ids(self, ref: str, where: str = "true") -> list[int]:
        return [row.id for row in self.query(ref, "id", where=where)]


@pytest.fixture
def branches(on_nessie: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Branches:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    return Branches(on_nessie, lake)


@pytest.mark.spark
@pytest.mark.nessie
def test_spark_reads_what_was_moved_and_removed_by_metadata(branches: Branches) -> None:
    own = branches.append(branches.here, "own", 11)
    moved, left = branches.append(branches.there, "moved", 21), branches.append(branches.there, "left", 31)
    source = Ref(branches.there, branches.catalog.head(branches.there) or "")
    branches.tables.append(branches.table, branches.here, source, moved)
    assert branches.ids(branches.here) == [*range(1, 5), *range(11, 15), *range(21, 25)]
    assert branches.ids(branches.here, "when >= TIMESTAMP '2013-02-01'") == [3, 4, 13, 14, 23, 24]
    assert branches.ids(branches.here, "name = 'moved' AND id > 22") == [23, 24]

    branches.tables.remove(branches.table, branches.here, frozenset(sorted(moved)[:1]) | own)
    assert len(branches.ids(branches.here)) == 6
    newer = branches.append(branches.here, "newer", 41)
    assert len(branches.ids(branches.here)) == 10
    assert branches.tables.paths(Ref(branches.here), branches.table) >= newer
    assert not left & branches.tables.paths(Ref(branches.here), branches.table)


@pytest.mark.spark
@pytest.mark.nessie
def test_moved_data_files_keep_their_statistics_and_partitions(branches: Branches) -> None:
    moved = branches.append(branches.there, "moved", 21)
    branches.tables.append(branches.table, branches.here, Ref(branches.there), moved)
    what = (
        "file_path, partition, record_count, file_size_in_bytes, column_sizes, value_counts, null_value_counts, "
        "lower_bounds, upper_bounds, split_offsets, sort_order_id, spec_id"
    )
    wanted = ", ".join(f"'{path}'" for path in moved)
    there = branches.query(branches.there, what, ".files", f"file_path IN ({wanted})")
    assert len(there) == 2
    assert branches.query(branches.here, what, ".files", f"file_path IN ({wanted})") == there


@pytest.mark.spark
@pytest.mark.nessie
def test_a_moved_data_file_is_as_young_as_its_move(branches: Branches) -> None:
    """Else a delete that Spark wrote in between would apply to it."""
    moved = branches.append(branches.there, "moved", 21)
    branches.append(branches.here, "own", 11)
    branches.tables.append(branches.table, branches.here, Ref(branches.there), moved)
    entries = branches.query(branches.here, "sequence_number, data_file.file_path AS path", ".entries", "status < 2")
    by_path = {row.path: row.sequence_number for row in entries}
    others = [number for path, number in by_path.items() if path not in moved]
    assert {by_path[path] for path in moved} == {max(others) + 1}


@pytest.mark.spark
@pytest.mark.nessie
def test_a_manifest_that_only_spark_can_read_is_told_with_its_table(branches: Branches) -> None:
    """It defines a type of two partitions once, and calls it by name afterwards."""
    spark, table = branches.spark, branches.table.replace("flights", "fares")
    name = branches.at(branches.here).replace(branches.table, table)
    spark.sql(f"CREATE TABLE {name} (a DECIMAL(9,2), b DECIMAL(9,2)) USING iceberg PARTITIONED BY (a, truncate(5, b))")
    spark.sql(f"INSERT INTO {name} VALUES (1.25, 2.25)")
    with pytest.raises(Refused, match=rf"{table} at .*\.avro cannot be read"):
        branches.tables.paths(Ref(branches.here), table)
