"""A key's next version on a real Nessie: the old rows or the new ones, never both, and never neither."""

from __future__ import annotations

import pytest

from lakegate.audit.quarantine import quarantine_of
from tests.flow.conftest import Installation
from tests.support.tables import rows_of

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

ID = "name: id, logicalType: integer, logicalTypeOptions: {format: i64}"
SCOPE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
B = "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}"
ASIDE = "customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
BUDGET = "{property: quarantineBudget, vendor: lakegate, value: {rows: 5}}"


def ids(installation: Installation, ref: str = "main") -> list[object]:
    return sorted(row["id"] for row in installation.rows(ref))


def test_a_replacement_is_rebased_by_metadata_and_takes_its_rows_in_quarantine_along(
    installation: Installation,
) -> None:
    installation.push(ID, f"{B}, {ASIDE}", settings=BUDGET)
    old = installation.drop({"id": [1, 2], "b": [1, -1]})
    installation.publish(old)
    aside = quarantine_of(installation.table)
    assert (ids(installation), len(rows_of(installation.lake, "main", aside))) == ([1], 1)

    other = installation.attempt(installation.drop({"id": [3], "b": [3]}))
    new = installation.attempt(installation.drop({"id": [1, 2], "b": [1, 2]}, key=old.key))
    assert ids(installation, new.branch) == []
    installation.runner.submit_all()
    installation.settle(other, new)
    assert (ids(installation), rows_of(installation.lake, "main", aside)) == ([1, 2, 3], [])
    assert installation.runner.submit_all() == []
    assert installation.branches() == []


def test_a_replacement_is_judged_as_if_the_old_rows_were_gone_and_leaves_them_where_it_fails(
    installation: Installation,
) -> None:
    installation.push(f"{ID}, unique: true, {SCOPE}")
    old, other = installation.drop({"id": [1, 2]}), installation.drop({"id": [3]})
    installation.publish(old, other)
    installation.publish(installation.drop({"id": [2, 4]}, key=old.key))
    assert ids(installation) == [2, 3, 4]

    installation.publish(installation.drop({"id": [2, 3]}, key=old.key))
    assert ids(installation) == [2, 3, 4]
    (message,) = installation.notifier.messages
    assert "1 of 2 rows" in message.files[0].reasons[0]
