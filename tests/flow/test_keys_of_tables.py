"""Keys against main, with real Spark jobs on a real Nessie: a key that is taken, or missing, is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.flow.conftest import Installation

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

SCOPE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
ID = f"name: id, logicalType: integer, logicalTypeOptions: {{format: i64}}, required: true, unique: true, {SCOPE}"


def of_planes(installation: Installation) -> Installation:
    """The table that the installation's own refers to: its namespace is the same, its route another."""
    table = installation.table.replace(".things", ".planes")
    return replace(installation, table=table, prefix=f"{installation.prefix}/planes")


def ids(installation: Installation) -> list[object]:
    return sorted(row["id"] for row in installation.rows())


def reasons(installation: Installation) -> list[str]:
    return [file.reasons[0] for message in installation.notifier.messages for file in message.files]


def test_a_key_that_is_taken_and_one_that_refers_to_nothing_are_refused(installation: Installation) -> None:
    planes = of_planes(installation)
    planes.push("name: tail, logicalType: string, required: true")
    installation.push(ID, f"name: plane, logicalType: string, relationships: [{{to: {planes.table}.tail}}]")
    planes.publish(planes.drop({"tail": ["N1", "N2"]}))
    good, orphan = (installation.drop({"id": [n], "plane": [tail]}) for n, tail in ((1, "N2"), (2, "N3")))
    one = installation.attempt(good, orphan)
    two = installation.attempt(installation.drop({"id": [1, 3], "plane": ["N1", None]}))
    assert len(installation.runner.submit_all()) == 2
    installation.settle(one, two)
    assert ids(installation) == [1]
    assert installation.runner.submit_all() == [two.next().branch]  # it was good beside what main held before
    installation.settle(two.next())
    assert ids(installation) == [1]
    assert reasons(installation) == [
        f"plane refers to {planes.table}.tail: 1 of 1 rows, expected none",
        "id unique in the table: 1 of 2 rows, expected none",
    ]
