"""Tests of what every `Tables` promises."""

from __future__ import annotations

import pytest

from lakegate.errors import Conflict, Refused
from lakegate.ports import MAIN, FileChanges, Ref
from tests.ports.conftest import Place, Work


def head(place: Place, branch: str) -> str:
    return place.catalog.head(branch) or ""


@pytest.fixture
def known(place: Place, table: str) -> Work:
    """A branch whose table has three data files, of 1, 2 and 4 rows."""
    work = Work(place, table, [])
    for rows in (1, 2, 4):
        place.write(work.branch, table, rows)
    return work


def test_a_table_that_is_not_there_has_neither_identity_nor_data_files(place: Place, table: str) -> None:
    work = Work(place, table, [])
    assert place.tables.identity(Ref(work.branch), table) is None
    assert place.tables.paths(Ref(work.branch), table) == frozenset()


def test_an_identity_says_what_must_be_the_same_on_both_sides(place: Place, known: Work) -> None:
    identity = place.tables.identity(Ref(known.branch), known.table)
    assert identity is not None
    assert [(number, name) for number, name, _ in identity.fields] == [(1, "a"), (2, "b"), (3, "b.c")]
    assert [kind for _, _, kind in identity.fields] == ["int", "struct<3: c: optional string>", "string"]
    assert identity.contract_hash == "h1"
    assert identity.uuid
    assert identity.partitions == "[]"


def test_an_identity_survives_appends_and_is_the_tables_own(place: Place, known: Work, table: str) -> None:
    before = place.tables.identity(Ref(known.branch), table)
    place.write(known.branch, table, 3)
    assert place.tables.identity(Ref(known.branch), table) == before
    other = Work(place, table, [], number=2)
    place.write(other.branch, table, 3)
    assert place.tables.identity(Ref(other.branch), table) != before


def test_a_table_is_read_at_a_commit(place: Place, known: Work, table: str) -> None:
    old, paths = head(place, known.branch), place.tables.paths(Ref(known.branch), table)
    new = place.write(known.branch, table, 8)
    assert place.tables.paths(Ref(known.branch, old), table) == paths
    assert place.tables.paths(Ref(known.branch), table) == paths | {new}
    place.catalog.delete_branch(known.branch)
    assert place.tables.paths(Ref(known.branch, old), table) == paths


def test_reading_a_branch_that_is_gone_is_a_conflict(place: Place, table: str) -> None:
    with pytest.raises(Conflict):
        place.tables.paths(Ref("wap-gone"), table)


@pytest.fixture
def both(place: Place, known: Work, table: str) -> tuple[Work, Work, list[str]]:
    """Two branches of one table from the same base, and the data files that the second has added."""
    known.merge()
    here, there = Work(place, table, [], number=2), Work(place, table, [], number=3)
    place.write(here.branch, table, 8)
    return here, there, [place.write(there.branch, table, rows) for rows in (16, 32, 64)]


def test_appending_to_a_table_that_is_not_there_is_refused(place: Place, known: Work, table: str) -> None:
    empty = Work(place, table, [], number=2)
    with pytest.raises(Refused, match="no table"):
        place.tables.append(table, empty.branch, Ref(known.branch), place.tables.paths(Ref(known.branch), table))


def test_two_commits_of_a_table_are_compared(place: Place, both: tuple[Work, Work, list[str]], table: str) -> None:
    here, there, added = both
    base, ahead = head(place, here.branch), head(place, there.branch)
    assert place.tables.compare(table, Ref(MAIN, base), Ref(MAIN, base)) == FileChanges()
    assert place.tables.compare(table, Ref(MAIN, base), Ref(there.branch, ahead)).adds >= set(added)
    assert place.tables.compare(table, Ref(there.branch, ahead), Ref(MAIN, base)).removes >= set(added)
    place.tables.append(table, here.branch, Ref(there.branch), frozenset(added[:2]))
    assert place.tables.compare(table, Ref(MAIN, base), Ref(here.branch)) == FileChanges(adds=frozenset(added[:2]))
    place.tables.remove(table, here.branch, frozenset(added[:1]))
    assert place.tables.compare(table, Ref(MAIN, base), Ref(here.branch)) == FileChanges(adds=frozenset(added[1:2]))
    now = head(place, here.branch)
    assert place.tables.compare(table, Ref(here.branch, now), Ref(MAIN, base)) == FileChanges(
        removes=frozenset(added[1:2])
    )


def test_a_table_is_compared_with_none(place: Place, known: Work, table: str) -> None:
    paths = place.tables.paths(Ref(known.branch), table)
    assert place.tables.compare(table, Ref(MAIN, known.base), Ref(known.branch)) == FileChanges(adds=paths)
    assert place.tables.compare(table, Ref(known.branch), Ref(MAIN, known.base)) == FileChanges(removes=paths)
    assert place.tables.compare(table, Ref(MAIN, known.base), Ref(MAIN, known.base)) == FileChanges()


def test_rows_that_are_deleted_by_a_rewrite_are_seen_by_the_data_files(place: Place, known: Work, table: str) -> None:
    before, paths = head(place, known.branch), place.tables.paths(Ref(known.branch), table)
    place.rewrite(known.branch, table)
    changes = place.tables.compare(table, Ref(known.branch, before), Ref(known.branch))
    assert place.rows(known.branch, table) == 6
    assert (len(changes.removes), len(changes.adds), changes.deletes) == (1, 1, frozenset())
    assert changes.removes < paths


def test_rows_that_are_deleted_by_a_delete_file_are_seen_by_that(place: Place, known: Work, table: str) -> None:
    before, paths = head(place, known.branch), place.tables.paths(Ref(known.branch), table)
    made = place.delete_rows(known.branch, table, min(paths))
    assert place.tables.paths(Ref(known.branch), table) == paths
    assert place.tables.compare(table, Ref(known.branch, before), Ref(known.branch)) == FileChanges(
        deletes=frozenset({made})
    )
    assert place.tables.compare(table, Ref(known.branch), Ref(known.branch, before)) == FileChanges(
        deletes=frozenset({made})
    )
    deleted = head(place, known.branch)
    new = place.write(known.branch, table, 8)
    assert place.tables.compare(table, Ref(known.branch, deleted), Ref(known.branch)) == FileChanges(
        adds=frozenset({new})
    )
    second = place.delete_rows(known.branch, table, new)
    assert place.tables.compare(table, Ref(known.branch, deleted), Ref(known.branch)).deletes == {second}


def test_a_table_that_was_dropped_and_made_again_is_another(place: Place, known: Work, table: str) -> None:
    before, was = head(place, known.branch), place.tables.identity(Ref(known.branch), table)
    paths = place.tables.paths(Ref(known.branch), table)
    place.drop(known.branch, table)
    assert place.tables.identity(Ref(known.branch), table) is None
    new = place.write(known.branch, table, 8)
    now = place.tables.identity(Ref(known.branch), table)
    assert was
    assert now
    assert was.uuid != now.uuid
    assert place.tables.compare(table, Ref(known.branch, before), Ref(known.branch)) == FileChanges(
        adds=frozenset({new}), removes=paths
    )


def test_data_files_are_removed_by_metadata(place: Place, both: tuple[Work, Work, list[str]], table: str) -> None:
    _, there, added = both
    rest = place.tables.paths(Ref(there.branch), table) - set(added[1:])
    place.tables.remove(table, there.branch, frozenset(added[1:]))
    assert place.tables.paths(Ref(there.branch), table) == rest
    assert place.rows(there.branch, table) == 7 + 16


def test_some_files_of_one_manifest_are_removed(place: Place, both: tuple[Work, Work, list[str]], table: str) -> None:
    here, there, added = both
    place.tables.append(table, here.branch, Ref(there.branch), frozenset(added))
    place.tables.remove(table, here.branch, frozenset({added[1]}))
    assert place.rows(here.branch, table) == 7 + 8 + 16 + 64
    place.tables.remove(table, here.branch, frozenset({added[0]}))
    assert place.rows(here.branch, table) == 7 + 8 + 64
    assert place.write(here.branch, table, 128) in place.tables.paths(Ref(here.branch), table)
    assert place.rows(here.branch, table) == 7 + 8 + 64 + 128


def test_a_table_may_lose_its_last_data_file(place: Place, known: Work, table: str) -> None:
    place.tables.remove(table, known.branch, place.tables.paths(Ref(known.branch), table))
    assert place.tables.paths(Ref(known.branch), table) == frozenset()
    assert place.rows(known.branch, table) == 0


def test_removing_what_is_not_there_is_refused(place: Place, known: Work, table: str) -> None:
    before = head(place, known.branch)
    with pytest.raises(Refused, match="no data file"):
        place.tables.remove(table, known.branch, frozenset({"s3://lake/other.parquet"}))
    assert head(place, known.branch) == before


def test_a_table_is_registered_where_there_is_none_with_just_the_data_files_that_are_wanted(
    place: Place, known: Work, table: str
) -> None:
    source = Ref(known.branch, head(place, known.branch))
    paths = place.tables.paths(source, table)
    some, new = frozenset(sorted(paths)[:2]), Work(place, table, [], number=2)
    place.tables.register(table, new.branch, source, some)
    assert place.tables.paths(Ref(new.branch), table) == some
    assert place.tables.identity(Ref(new.branch), table) == place.tables.identity(source, table)
    new.merge()
    assert place.tables.paths(Ref(MAIN), table) == some
    assert place.rows(MAIN, table) in {1 + 2, 1 + 4, 2 + 4}
    with pytest.raises(Refused):
        place.tables.register(table, new.branch, source, paths)


def test_of_a_table_whose_data_files_are_not_there_nothing_is_registered(place: Place, known: Work, table: str) -> None:
    new = Work(place, table, [], number=2)
    with pytest.raises(Refused, match="no data file"):
        place.tables.register(table, new.branch, Ref(known.branch), frozenset({"s3://lake/other.parquet"}))
    assert place.tables.identity(Ref(new.branch), table) is None


def test_a_table_grows_by_the_columns_of_another_commit_under_the_same_field_ids(
    place: Place, both: tuple[Work, Work, list[str]], table: str
) -> None:
    here, there, _ = both
    base = Ref(MAIN, here.base)
    place.add_column(there.branch, table, "d")
    place.sign(there.branch, table, "h2")
    new = place.write(there.branch, table, 128)
    source = Ref(there.branch, head(place, there.branch))
    assert place.tables.identity(Ref(here.branch), table) != place.tables.identity(source, table)
    place.tables.evolve(table, here.branch, base, source)
    place.tables.append(table, here.branch, source, frozenset({new}))
    assert place.tables.identity(Ref(here.branch), table) == place.tables.identity(source, table)
    assert place.rows(here.branch, table) == 7 + 8 + 128
    here.merge()
    assert place.rows(MAIN, table) == 7 + 8 + 128
    identity = place.tables.identity(Ref(MAIN), table)
    assert identity is not None
    assert [name for _, name, _ in identity.fields] == ["a", "b", "b.c", "d"]
    assert identity.contract_hash == "h2"


def test_a_table_grows_by_a_contracts_hash_alone(place: Place, both: tuple[Work, Work, list[str]], table: str) -> None:
    here, there, _ = both
    place.sign(there.branch, table, "h2")
    place.tables.evolve(table, here.branch, Ref(MAIN, here.base), Ref(there.branch))
    assert place.tables.identity(Ref(here.branch), table) == place.tables.identity(Ref(there.branch), table)


def test_a_table_that_is_not_what_it_was_does_not_grow(
    place: Place, both: tuple[Work, Work, list[str]], table: str
) -> None:
    here, there, _ = both
    place.add_column(there.branch, table, "d")
    place.add_column(here.branch, table, "e")
    before = head(place, here.branch)
    with pytest.raises(Refused, match="not what it was"):
        place.tables.evolve(table, here.branch, Ref(MAIN, here.base), Ref(there.branch))
    assert head(place, here.branch) == before


def test_a_column_that_came_and_went_is_seen_for_its_id_is_not_given_again(
    place: Place, both: tuple[Work, Work, list[str]], table: str
) -> None:
    here, _, _ = both
    place.add_column(here.branch, table, "d")
    grown = place.tables.identity(Ref(here.branch), table)
    place.drop_column(here.branch, table, "d")
    now = place.tables.identity(Ref(here.branch), table)
    place.add_column(here.branch, table, "d")
    again = place.tables.identity(Ref(here.branch), table)
    assert grown
    assert now
    assert again
    assert (now.last_id, again.last_id) == (grown.last_id, grown.last_id + 1)
    assert now.fields == grown.fields[:-1]


def metadata(place: Place, work: Work, since: str = "") -> list[str]:
    """The metadata files of a work's table at its branch's commits, or at its head alone."""
    last = head(place, work.branch)
    return [it.uri for it in place.catalog.metadata_files(last, since or last) if it.table == work.table]


def test_all_that_a_table_at_a_commit_reads_is_reached_from_its_metadata_file(
    place: Place, known: Work, table: str
) -> None:
    paths = place.tables.paths(Ref(known.branch), table)
    [uri] = metadata(place, known)
    assert {uri, *paths} <= set(place.tables.readable_files([uri], ()))
    deletes = place.delete_rows(known.branch, table, min(paths))
    [after] = metadata(place, known)
    found = set(place.tables.readable_files([after], ()))
    assert {after, deletes, *paths} <= found
    assert uri not in found


def test_what_was_taken_off_a_table_is_reached_from_where_it_was_there(place: Place, known: Work, table: str) -> None:
    before, paths = metadata(place, known), place.tables.paths(Ref(known.branch), table)
    gone = min(paths)
    place.tables.remove(table, known.branch, frozenset({gone}))
    assert gone in set(place.tables.readable_files(before, ()))
    assert gone not in set(place.tables.readable_files(metadata(place, known), ()))
    assert set(place.tables.readable_files(metadata(place, known, known.base), ())) >= {*before, *paths}


def test_what_is_known_is_not_opened_again(place: Place, known: Work, table: str) -> None:
    found: set[str] = set()
    found |= set(place.tables.readable_files(metadata(place, known, known.base), found))
    assert list(place.tables.readable_files(metadata(place, known, known.base), found)) == []
    new = place.write(known.branch, table, 8)
    more = set(place.tables.readable_files(metadata(place, known), found)) - found
    assert {new, *metadata(place, known)} <= more
    assert not more & place.tables.paths(Ref(known.branch), table) - {new}


def test_new_tables_are_made_below_the_warehouse_s_location(place: Place) -> None:
    assert place.tables.location() == "s3://lake/warehouse"
