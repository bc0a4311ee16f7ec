"""Each catalog keeps its promises to publishing, whatever its scope: in memory, Nessie, and Iceberg's own branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, Branch, Changes, FileChanges, Record, Ref
from lakegate.publishing.iceberg.branches import IcebergBranches
from lakegate.publishing.iceberg.refs import NO_COMMIT
from lakegate.publishing.port import Branches, Publisher, Tables
from tests.ports.conftest import BATCH, SCHEMA, MemoryPlace, note


class Catalog(Branches, Publisher[Record], Protocol): ...


class Place(Protocol):
    """A catalog and its tables, a job's hands on them, and a reader's."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def tables(self) -> Tables: ...

    def write(self, branch: str, table: str, rows: int) -> str: ...

    def rewrite(self, branch: str, table: str) -> None: ...

    def rows(self, ref: str, table: str) -> int: ...


@dataclass
class IcebergPlace:
    """One table of a catalog in a folder, with branches of its own."""

    folder: Path
    table: str
    vendor: SqlCatalog = field(init=False)

    def __post_init__(self) -> None:
        self.vendor = SqlCatalog("here", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}")
        self.catalog = self.tables = IcebergBranches(catalog=self.vendor, table=self.table)

    def write(self, branch: str, table: str, rows: int) -> str:
        if not self.vendor.table_exists(table):
            self.vendor.create_namespace_if_not_exists(table.rpartition(".")[0])
            self.vendor.create_table(table, schema=SCHEMA)
        if self.catalog.head(branch) is None:  # it had nothing to be a branch of
            self.catalog.create_branch(branch, NO_COMMIT)
        before = Ref(branch, head_of(self, branch))
        data = pa.Table.from_pylist([{"a": n, "b": {"c": str(n)}} for n in range(rows)], schema=SCHEMA)
        self.vendor.load_table(table).append(data, branch=branch)
        [path] = self.tables.compare(table, before, Ref(branch)).adds
        return path

    def rewrite(self, branch: str, table: str) -> None:
        there = self.catalog.at(Ref(branch))
        assert there
        most = max(there.scan().to_arrow().column("a").to_pylist())
        self.vendor.load_table(table).delete(f"a = {most}", branch=branch)

    def rows(self, ref: str, table: str) -> int:
        there = self.catalog.at(Ref(ref)) if table == self.table else None
        return len(there.scan().to_arrow()) if there else 0


@pytest.fixture(params=["memory", "iceberg", pytest.param("nessie", marks=pytest.mark.nessie)])
def place(request: pytest.FixtureRequest, tmp_path: Path, table: str) -> Iterator[Place]:
    if request.param == "iceberg":
        own = IcebergPlace(tmp_path, table)
        yield own
        own.vendor.close()
    else:
        yield MemoryPlace() if request.param == "memory" else request.getfixturevalue("nessie_place")


def head_of(place: Place, branch: str) -> str:
    head = place.catalog.head(branch)
    assert head
    return head


def branch_of_main(place: Place, table: str, number: int) -> str:
    name = Attempt(table=table, batch=BATCH, number=number).branch
    place.catalog.create_branch(name, head_of(place, MAIN))
    return name


def merge(place: Place, branch: str, table: str) -> None:
    place.catalog.merge(branch, head_of(place, branch), note(Attempt(table=table, batch=BATCH, number=1), []))


@pytest.fixture
def made(place: Place, table: str) -> str:
    """A table with two rows on main."""
    first = branch_of_main(place, table, 1)
    place.write(first, table, 2)
    merge(place, first, table)
    place.catalog.delete_branch(first)
    return table


def test_a_new_branch_is_where_it_was_made_and_is_listed(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    assert head_of(place, branch) == place.catalog.base(branch) == head_of(place, MAIN)
    assert Branch(name=branch, head=head_of(place, branch)) in place.catalog.list_branches()
    place.catalog.create_branch(other := f"feature-{made}", head_of(place, MAIN))
    assert other not in {it.name for it in place.catalog.list_branches()}


def test_a_branch_that_was_never_made_has_neither_head_nor_base_nor_table(place: Place, made: str) -> None:
    assert place.catalog.head("wap-never-made") is None
    with pytest.raises(Conflict):
        place.catalog.base("wap-never-made")
    with pytest.raises(Conflict):
        place.tables.identity(Ref("wap-never-made"), made)


def test_a_branch_is_made_once(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    with pytest.raises(Conflict, match="exists"):
        place.catalog.create_branch(branch, head_of(place, MAIN))


def test_what_is_on_a_branch_is_there_alone(place: Place, made: str) -> None:
    one, other = branch_of_main(place, made, 2), branch_of_main(place, made, 3)
    place.write(one, made, 4)
    place.write(other, made, 8)
    assert [place.rows(ref, made) for ref in (one, other, MAIN)] == [6, 10, 2]


def test_a_branch_is_deleted_whatever_its_head_or_if_it_is_as_it_was(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    before = head_of(place, branch)
    place.write(branch, made, 4)
    place.catalog.delete_branch(branch, before)
    assert head_of(place, branch) != before
    place.catalog.delete_branch(branch, head_of(place, branch))
    assert place.catalog.head(branch) is None
    place.catalog.delete_branch(branch)


def test_changes_are_those_from_a_commit_to_one_that_was_made_from_it(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    base = head_of(place, branch)
    assert place.catalog.changes(base, base) == Changes()
    place.write(branch, made, 4)
    head = head_of(place, branch)
    assert place.catalog.changes(base, head) == Changes(tables=frozenset({made}))
    assert place.catalog.changed_tables(base, head, [made, f"{made}2"]) == {made}
    assert place.catalog.changed_tables(base, base, [made]) == set()
    with pytest.raises(Refused, match="was not made from"):
        place.catalog.changes(head, base)


def test_the_base_is_where_the_branch_was_made_whatever_happens_on_main(place: Place, made: str) -> None:
    branch, other = branch_of_main(place, made, 2), branch_of_main(place, made, 3)
    base = head_of(place, MAIN)
    place.write(branch, made, 4)
    place.write(other, made, 8)
    merge(place, other, made)
    assert (place.catalog.base(branch), head_of(place, MAIN) != base) == (base, True)


def test_a_first_table_is_merged_and_is_one_and_the_same_on_branches_of_main(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    identities = {place.tables.identity(ref, made) for ref in (Ref(MAIN), Ref(branch), Ref("", head_of(place, MAIN)))}
    assert (place.rows(MAIN, made), len(identities), None in identities) == (2, 1, False)
    assert place.tables.identity(Ref(MAIN), f"{made}2") is None


def test_a_merge_brings_exactly_the_branch_and_may_be_repeated(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    place.write(branch, made, 4)
    head, its = head_of(place, branch), note(Attempt(table=made, batch=BATCH, number=2), [])
    place.catalog.merge(branch, head, its)
    merged = head_of(place, MAIN)
    if place.catalog.head(branch):  # a catalog may delete the branch by the merge
        place.catalog.merge(branch, head, its)
    assert (place.rows(MAIN, made), head_of(place, MAIN)) == (6, merged)


def test_a_branch_of_what_main_was_before_is_not_merged(place: Place, made: str) -> None:
    left, right = branch_of_main(place, made, 2), branch_of_main(place, made, 3)
    place.write(left, made, 4)
    place.write(right, made, 8)
    merge(place, left, made)
    with pytest.raises(Conflict):
        merge(place, right, made)
    assert (place.rows(MAIN, made), place.rows(right, made)) == (6, 10)


def test_a_branch_that_is_gone_is_not_merged(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    place.write(branch, made, 4)
    head = head_of(place, branch)
    place.catalog.delete_branch(branch)
    with pytest.raises(Conflict):
        place.catalog.merge(branch, head, note(Attempt(table=made, batch=BATCH, number=2), []))
    assert place.rows(MAIN, made) == 2


def test_data_files_come_to_another_branch_by_metadata_and_are_merged(place: Place, made: str) -> None:
    here, there = branch_of_main(place, made, 2), branch_of_main(place, made, 3)
    place.write(here, made, 4)
    paths = [place.write(there, made, rows) for rows in (8, 16, 32)]
    before, source = Ref(here, head_of(place, here)), Ref(there, head_of(place, there))
    place.tables.append(made, here, source, frozenset(paths[:2]))
    assert place.tables.compare(made, before, Ref(here)) == FileChanges(adds=frozenset(paths[:2]))
    merge(place, here, made)
    assert place.rows(MAIN, made) == 2 + 4 + 8 + 16


def test_data_files_that_the_source_lacks_or_the_branch_has_are_not_appended(place: Place, made: str) -> None:
    here, there = branch_of_main(place, made, 2), branch_of_main(place, made, 3)
    path = place.write(there, made, 4)
    before = head_of(place, here)
    with pytest.raises(Refused, match="no data file"):
        place.tables.append(made, here, Ref(there), frozenset({path, "s3://lake/other.parquet"}))
    assert head_of(place, here) == before
    place.tables.append(made, here, Ref(there), frozenset({path}))
    with pytest.raises(Refused, match="data file"):
        place.tables.append(made, here, Ref(there), frozenset({path}))
    assert place.rows(here, made) == 2 + 4


def test_two_commits_of_a_table_are_compared(place: Place, made: str) -> None:
    branch = branch_of_main(place, made, 2)
    base = Ref(MAIN, head_of(place, branch))
    assert place.tables.compare(made, base, Ref(branch)) == FileChanges()
    path = place.write(branch, made, 4)
    assert place.tables.compare(made, base, Ref(branch)) == FileChanges(adds=frozenset({path}))
    assert place.tables.compare(made, Ref(branch), base) == FileChanges(removes=frozenset({path}))
    place.rewrite(branch, made)
    changes = place.tables.compare(made, base, Ref(branch))
    assert (len(changes.adds), path in changes.adds, changes.deletes) == (1, False, frozenset())
