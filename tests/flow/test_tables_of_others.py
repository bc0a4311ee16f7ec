"""A contract for a table that somebody else has made: his rows stay, and count where the whole table does."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakegate.adapters.iceberg import Catalog
from lakegate.adapters.lake import storage
from lakegate.audit.quarantine import quarantine_of
from tests.flow.conftest import Installation
from tests.support.tables import rows_of

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

SCOPE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
ID = f"name: id, logicalType: integer, logicalTypeOptions: {{format: i64}}, unique: true, {SCOPE}"
ASIDE = "customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
B = f"name: b, logicalType: integer, logicalTypeOptions: {{format: i64, minimum: 0}}, {ASIDE}"
BUDGET = "{property: quarantineBudget, vendor: lakegate, value: {rows: 5}}"


def on_main(installation: Installation) -> Catalog:
    lake = installation.lake
    return Catalog(lake.nessie_uri, lake.warehouse, "main", storage())


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
    assert told[taken.key] == ("id unique in the table: 1 of 1 rows, expected none",)

    table = on_main(installation).load_table(installation.table)
    table.overwrite(table.scan().to_arrow())  # his rows and ours are in one data file
    installation.publish(installation.drop({"id": [3, 5], "b": [7, 8]}, key=old.key))
    assert rows(installation) == [(1, -1), (2, 2), (3, 7), (5, 8)]
