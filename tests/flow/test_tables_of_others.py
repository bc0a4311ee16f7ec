"""A contract for a table that somebody else has made: his rows stay, and count where the whole table does."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType
from pyspark.sql import SparkSession

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.retry import retry
from spark_jobs.jvm.session import open_catalog
from tests.flow.conftest import Installation
from tests.support.spark import reaching
from tests.support.tables import rows_of

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

SCOPE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
LONG = "logicalType: integer, logicalTypeOptions: {format: i64}"
ID = f"name: id, {LONG}, unique: true, {SCOPE}"
AT = "name: at, logicalType: object, properties: [{name: zip, logicalType: string}]"
TAGS = "name: tags, logicalType: array, items: {logicalType: string}"
SHARES = f"name: per cent, logicalType: map, map: {{key: {{logicalType: string}}, value: {{{LONG}}}}}"
ASIDE = "customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
B = f"name: b, logicalType: integer, logicalTypeOptions: {{format: i64, minimum: 0}}, {ASIDE}"
STRICT = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "at", StructType(NestedField(3, "zip", StringType(), required=True))),
    NestedField(4, "tags", ListType(5, StringType(), element_required=True)),
    NestedField(6, "per cent", MapType(7, StringType(), 8, LongType(), value_required=True)),
)
BUDGET = "{property: quarantineBudget, vendor: lakegate, value: {rows: 5}}"


def on_main(installation: Installation) -> RefCatalog:
    lake = installation.lake
    return RefCatalog(lake.nessie_uri, lake.warehouse, Ref("main"), storage())


def rows(installation: Installation) -> list[tuple[object, object]]:
    return sorted((row["id"], row["b"]) for row in installation.rows())


def test_files_are_published_into_a_table_of_somebody_elses(installation: Installation) -> None:
    theirs = pa.table({"id": pa.array([1, 2]), "b": pa.array([-1, 2])})
    on_main(installation).create_namespace(installation.table.rpartition(".")[0])
    on_main(installation).create_table(installation.table, schema=theirs.schema).append(theirs)
    installation.push(ID, B, settings=BUDGET)

    old = installation.drop({"id": [3, 4], "b": [3, -1]})
    taken = installation.drop({"id": [2], "b": [5]})
    installation.publish(old, taken)
    assert rows(installation) == [(1, -1), (2, 2), (3, 3)]
    assert len(rows_of(installation.lake, "main", quarantine_of(installation.table))) == 1
    told = {file.key: file.reasons for message in installation.notifier.messages for file in message.files}
    assert told[taken.key] == ("id unique in the table: 1 of 1 row, expected none; the first: id 2",)

    table = on_main(installation).load_table(installation.table)
    table.overwrite(table.scan().to_arrow())  # his rows and ours are in one data file
    installation.publish(installation.drop({"id": [3, 5], "b": [7, 8]}, key=old.key))
    assert rows(installation) == [(1, -1), (2, 2), (3, 7), (5, 8)]


@pytest.mark.extended
def test_a_null_that_their_table_does_not_take_is_its_files_fault_alone(
    installation: Installation, cluster: SparkSession
) -> None:
    on_main(installation).create_namespace(installation.table.rpartition(".")[0])
    on_main(installation).create_table(installation.table, schema=STRICT)
    installation.push(f"name: id, {LONG}, required: true", AT, TAGS, SHARES)
    shares = pa.map_(pa.string(), pa.int64())
    full = {
        "id": pa.array([1, 2]),
        "at": pa.array([{"zip": "x"}, None]),
        "tags": pa.array([["x"], None]),
        "per cent": pa.array([[("a", 1)], None], shares),
    }
    nulls = {
        "id": pa.array([3, None]),
        "at": pa.array([{"zip": None}, {"zip": "y"}]),
        "tags": pa.array([["x", None], []]),
        "per cent": pa.array([[], [("a", 1), ("b", None)]], shares),
    }
    wrong = {name: installation.drop({**full, name: values}) for name, values in nulls.items()}

    attempt = installation.attempt(installation.drop(full), *wrong.values())
    installation.runner.submit_all()
    installation.settle(attempt)
    assert [row["id"] for row in installation.rows()] == [1, 2]
    told = {file.key: file for message in installation.notifier.messages for file in message.files}
    for name, label in {"id": "id", "at": "at.zip", "tags": "tags[]", "per cent": "per cent.value"}.items():
        [said] = told[wrong[name].key].reasons
        assert said.startswith(f'it has nulls in column "{label}", where the table takes none')

    frozen, owner = job_of(installation.service.store, attempt), reaching(cluster, installation.lake)
    assert frozen is not None
    open_catalog(owner, "theirs", frozen.catalog, Ref(MAIN))
    for [advice] in (told[file.key].advice for file in wrong.values()):
        [statement] = re.findall("ALTER TABLE .* DROP NOT NULL", advice.operator)
        owner.sql(statement.replace("TABLE ", "TABLE theirs."))
    again = retry(installation.service, attempt.batch).attempts[0]
    installation.runner.submit_all()
    installation.settle(again)
    assert sorted(row["id"] for row in installation.rows()) == [1, 1, 1, 1, 2, 2, 2, 2]
