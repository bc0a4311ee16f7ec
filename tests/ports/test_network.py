"""Tests of what the adapters make of a network that delivers a commit twice, or lets another writer be first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from pyiceberg.exceptions import TableAlreadyExistsError

from lakegate.errors import Conflict, LakegateError, Refused
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, FileChanges, Ref
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from tests.ports.conftest import NessiePlace, Work, landed, main, note, receipt
from tests.support.proxy import Answer, Fault, Proxy, Request, proxy

pytestmark = pytest.mark.nessie


@pytest.fixture
def network(nessie_place: NessiePlace) -> Iterator[Proxy]:
    """It passes everything on until a test says otherwise."""
    with proxy(nessie_place.lake.nessie_uri, lambda _: (Fault.NONE, 0)) as found:
        yield found


@pytest.fixture(params=[Fault.TWICE, Fault.AGAIN])
def twice(network: Proxy, request: pytest.FixtureRequest) -> Proxy:
    """Return what changes anything is delivered twice: at once, or the second one before the next request."""
    network.decide = lambda its: (Fault.NONE if its.reads else request.param, 0)
    return network


def tables_over(network: Proxy, place: NessiePlace) -> NessieTables:
    return NessieTables(network.uri, place.lake.warehouse)


def done(network: Proxy, *operations: Callable[[], object]) -> None:
    """Each was delivered twice; which answer came back is not the point here."""
    for operation in operations:
        with suppress(LakegateError, TableAlreadyExistsError):
            operation()
        network.deliver_late()
    assert len(network.met) >= len(operations)


def test_claims_that_are_delivered_twice_are_made_once(nessie_place: NessiePlace, table: str, twice: Proxy) -> None:
    work = Work(nessie_place, table, [landed()])
    [file] = work.files
    claim = receipt(file, work.attempt)
    done(twice, lambda: NessieCatalog(twice.uri).commit_receipts(work.branch, work.base, [claim]))
    assert nessie_place.catalog.receipts(Ref(work.branch), [file.key]) == {file.key: claim}
    assert nessie_place.lake.commits(work.base, work.branch) == 1


def test_a_decision_that_is_delivered_twice_is_in_the_log_once(
    nessie_place: NessiePlace, table: str, twice: Proxy
) -> None:
    work = Work(nessie_place, table, [landed()])
    its = note(work.attempt, work.files, Decision.REJECTED)
    rejected = receipt(work.files[0], work.attempt, Decision.REJECTED)
    done(twice, lambda: NessieCatalog(twice.uri).commit_receipts(MAIN, main(nessie_place), [rejected], its))
    assert [found.record for found in nessie_place.catalog.decisions(5, table=table)] == [its]


def test_a_branch_whose_making_and_end_are_delivered_twice_is_made_and_ended_once(
    nessie_place: NessiePlace, table: str, twice: Proxy
) -> None:
    catalog, name, base = NessieCatalog(twice.uri), f"wap-{table}", main(nessie_place)
    done(twice, lambda: catalog.create_branch(name, base))
    assert nessie_place.catalog.head(name) == base
    done(twice, lambda: catalog.delete_branch(name))
    assert nessie_place.catalog.head(name) is None


def test_a_merge_that_is_delivered_twice_brings_its_rows_once(
    nessie_place: NessiePlace, table: str, twice: Proxy
) -> None:
    work = Work(nessie_place, table, [landed()])
    work.claim()
    nessie_place.write(work.branch, table, 3)
    head = nessie_place.catalog.head(work.branch) or ""
    done(twice, lambda: NessieCatalog(twice.uri).merge(work.branch, head, note(work.attempt, work.files)))
    assert nessie_place.rows(MAIN, table) == 3
    assert len(list(nessie_place.catalog.decisions(5, table=table))) == 1


def test_a_rebase_whose_commits_are_delivered_twice_has_each_data_file_once(
    nessie_place: NessiePlace, table: str, twice: Proxy
) -> None:
    first = Work(nessie_place, table, [])
    old = nessie_place.write(first.branch, table, 2)
    first.merge()
    source, own = (Work(nessie_place, table, [], number=number) for number in (2, 3))
    new = nessie_place.write(source.branch, table, 3)
    tables = tables_over(twice, nessie_place)
    done(
        twice,
        lambda: tables.append(table, own.branch, Ref(source.branch), frozenset([new])),
        lambda: tables.remove(table, own.branch, frozenset([old])),
    )
    changes = nessie_place.tables.compare(table, Ref(MAIN, own.base), Ref(own.branch))
    assert changes == FileChanges(adds=frozenset([new]), removes=frozenset([old]))
    assert nessie_place.rows(own.branch, table) == 3
    own.merge()
    assert nessie_place.rows(MAIN, table) == 3


def test_a_jobs_commits_that_are_delivered_twice_end_in_a_table_that_can_be_read(
    nessie_place: NessiePlace, table: str, twice: Proxy
) -> None:
    """The table's making, the first append to it, whose state no requirement of Iceberg's protects, and one more."""
    work, rows = Work(nessie_place, table, []), []
    there = NessiePlace(nessie_place.lake, uri=twice.uri)
    for number in (1, 2, 3):
        done(twice, lambda: there.write(work.branch, table, number))  # noqa: B023 - done at once
        rows.append(nessie_place.rows(work.branch, table))
    its = [0, 2, 5] if Fault.TWICE in {fault for fault, _ in twice.met} else [1, 3, 6]
    assert rows == its  # who hears that the table is there already ends


def test_data_files_are_not_appended_beside_those_of_another_worker_who_was_first(
    nessie_place: NessiePlace, table: str, network: Proxy
) -> None:
    first = Work(nessie_place, table, [])
    nessie_place.write(first.branch, table, 2)
    first.merge()
    source, own = (Work(nessie_place, table, [], number=number) for number in (2, 3))
    paths = frozenset([nessie_place.write(source.branch, table, 3)])
    append = (table, own.branch, Ref(source.branch), paths)

    def another_is_first(request: Request) -> tuple[Fault, int]:
        if (
            request.commits_a_table
            and not nessie_place.tables.compare(table, Ref(MAIN, own.base), Ref(own.branch)).adds
        ):
            nessie_place.tables.append(*append)
        return Fault.NONE, 0

    network.decide = another_is_first
    with pytest.raises((Conflict, Refused)):
        tables_over(network, nessie_place).append(*append)
    assert nessie_place.tables.compare(table, Ref(MAIN, own.base), Ref(own.branch)) == FileChanges(adds=paths)
    assert nessie_place.rows(own.branch, table) == 5


@pytest.fixture
def answered_with_a_conflict(nessie_place: NessiePlace, network: Proxy, table: str) -> tuple[NessieTables, Work, Work]:
    """The first commit to a table is made; then another makes one, and the answer is that of a second delivery. With
    the branch for it, and one that has more.
    """
    place = nessie_place
    delivered: list[Answer] = []
    place.write(MAIN, table, 1)
    own, more = (Work(place, table, [], number=number) for number in (2, 3))

    def again_after_another(request: Request) -> tuple[Fault, int]:
        if request.commits_a_table and not delivered:
            delivered.append(network.deliver(request))
            place.write(own.branch, table, 16)
        return Fault.NONE, 0

    network.decide = again_after_another
    return tables_over(network, place), own, more


def test_an_append_that_was_made_and_is_answered_with_a_conflict_leaves_a_table_that_can_be_read(
    nessie_place: NessiePlace, table: str, answered_with_a_conflict: tuple[NessieTables, Work, Work]
) -> None:
    tables, own, more = answered_with_a_conflict
    new = nessie_place.write(more.branch, table, 2)
    with suppress(LakegateError):  # which answer it is is not the point here
        tables.append(table, own.branch, Ref(more.branch), frozenset([new]))
    assert nessie_place.rows(own.branch, table) == 1 + 2 + 16


def test_a_removal_that_was_made_and_is_answered_with_a_conflict_leaves_a_table_that_can_be_read(
    nessie_place: NessiePlace, table: str, answered_with_a_conflict: tuple[NessieTables, Work, Work]
) -> None:
    tables, own, more = answered_with_a_conflict
    new = [nessie_place.write(more.branch, table, rows) for rows in (2, 4)]
    nessie_place.tables.append(
        table, own.branch, Ref(more.branch), frozenset(new)
    )  # in one manifest, to be written anew
    with suppress(LakegateError):  # which answer it is is not the point here
        tables.remove(table, own.branch, frozenset(new[:1]))
    assert nessie_place.rows(own.branch, table) == 1 + 4 + 16


def test_a_table_whose_registering_is_delivered_twice_is_there_with_the_data_files_that_are_wanted(
    nessie_place: NessiePlace, table: str, twice: Proxy
) -> None:
    source, own = Work(nessie_place, table, []), Work(nessie_place, table, [], number=2)
    wanted, _ = (nessie_place.write(source.branch, table, rows) for rows in (2, 3))
    tables_over(twice, nessie_place).register(table, own.branch, Ref(source.branch), frozenset([wanted]))
    twice.deliver_late()
    assert any(request.path.endswith("/register") for _, request in twice.met)
    assert nessie_place.tables.paths(Ref(own.branch), table) == {wanted}
    assert nessie_place.rows(own.branch, table) == 2
    own.merge()
    assert nessie_place.rows(MAIN, table) == 2


def test_a_table_is_not_registered_over_another(nessie_place: NessiePlace, table: str, network: Proxy) -> None:
    source, own = Work(nessie_place, table, []), Work(nessie_place, table, [], number=2)
    path = nessie_place.write(source.branch, table, 2)
    theirs: list[str] = []

    def another_is_first(request: Request) -> tuple[Fault, int]:
        if request.path.endswith("/register") and not theirs:
            theirs.append(nessie_place.write(own.branch, table, 3))
        return Fault.NONE, 0

    network.decide = another_is_first
    with pytest.raises((Conflict, Refused)):
        tables_over(network, nessie_place).register(table, own.branch, Ref(source.branch), frozenset([path]))
    assert nessie_place.tables.paths(Ref(own.branch), table) == set(theirs)
