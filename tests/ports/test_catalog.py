"""Every implementation of `Branches`, `Ledger` and `Publisher` keeps these promises."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, Changes, Ref
from tests.ports.conftest import Place, Work, head_of, landed, main, note, receipt
from tests.support.nessie import unique


def test_a_branch_can_be_made_at_a_commit_of_another_branch(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    place.catalog.create_branch(f"{work.branch}-r01", head)
    assert place.catalog.head(f"{work.branch}-r01") == head
    assert place.catalog.base(f"{work.branch}-r01") == work.base


def test_a_branch_cannot_be_made_at_a_commit_that_is_not_there(place: Place, table: str) -> None:
    with pytest.raises(Conflict):
        place.catalog.create_branch(f"wap-{table}", "ab" * 32)


def test_a_branch_is_deleted_whatever_its_head_and_only_once_if_twice(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    place.catalog.delete_branch(work.branch)
    place.catalog.delete_branch(work.branch)
    assert place.catalog.head(work.branch) is None


def test_a_branch_that_moved_is_not_deleted_by_whoever_saw_it_before(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    before = place.catalog.base(work.branch)
    work.claim()
    place.catalog.delete_branch(work.branch, before)
    head = place.catalog.head(work.branch)
    assert head not in (None, before)
    place.catalog.delete_branch(work.branch, head)
    assert place.catalog.head(work.branch) is None


def test_a_receipt_is_read_as_it_was_put(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    [file] = work.files
    assert place.catalog.receipts(Ref(work.branch), [file.key]) == {file.key: receipt(file, work.attempt)}


def test_keys_without_a_receipt_are_absent(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    [file] = work.files
    assert list(place.catalog.receipts(Ref(work.branch), [landed().key, file.key])) == [file.key]
    assert place.catalog.receipts(Ref(work.branch), []) == {}


def test_a_claim_is_not_seen_from_main(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    assert place.catalog.receipts(Ref(MAIN), [work.files[0].key]) == {}


def test_many_receipts_are_put_at_once_and_read_at_once(place: Place, table: str) -> None:
    work = Work(place, table, [landed() for _ in range(1200)])
    work.claim()
    assert len(place.catalog.receipts(Ref(work.branch), [file.key for file in work.files])) == 1200


def test_a_commit_is_read_after_its_branch_is_gone(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    place.catalog.delete_branch(work.branch)
    [file] = work.files
    for ref in (Ref("", head), Ref(work.branch, head), Ref(MAIN, head)):
        assert list(place.catalog.receipts(ref, [file.key])) == [file.key]


def test_reading_a_branch_that_is_gone_is_a_conflict(place: Place, table: str) -> None:
    with pytest.raises(Conflict):
        place.catalog.receipts(Ref(f"wap-{table}"), ["any"])


def test_a_receipt_is_replaced(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    again = receipt(work.files[0], work.attempt, Decision.REJECTED)
    new = place.catalog.commit_receipts(work.branch, head, [again])
    assert new == place.catalog.head(work.branch) != head
    assert place.catalog.receipts(Ref(work.branch), [again.key]) == {again.key: again}


def test_a_receipt_that_changed_since_it_was_read_is_a_conflict(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    with pytest.raises(Conflict):
        work.claim()
    again = receipt(work.files[0], work.attempt, Decision.REJECTED)
    before = place.catalog.head(work.branch)
    place.catalog.commit_receipts(work.branch, before or "", [again])
    with pytest.raises(Conflict):
        place.catalog.commit_receipts(work.branch, before or "", [again])


def test_another_receipt_that_changed_meanwhile_is_no_conflict(place: Place, table: str) -> None:
    work, other = Work(place, table, [landed()]), landed()
    work.claim()
    place.catalog.commit_receipts(work.branch, work.base, [receipt(other, work.attempt)])
    assert set(place.catalog.receipts(Ref(work.branch), [other.key, work.files[0].key])) == {
        other.key,
        work.files[0].key,
    }


def test_receipts_on_a_branch_that_is_gone_are_a_conflict(place: Place, table: str) -> None:
    with pytest.raises(Conflict):
        place.catalog.commit_receipts(f"wap-{table}", main(place), [receipt(landed(), Work(place, table, []).attempt)])


def test_receipts_are_put_back_to_what_the_base_has(place: Place, table: str) -> None:
    known, new = landed(), landed()
    first = Work(place, table, [known])
    first.claim()
    first.merge()
    second = Work(place, table, [landed(known.key, "v2"), new], number=2)
    head = second.claim()
    restored = place.catalog.restore_receipts(second.branch, head, [known.key, new.key], second.base)
    assert place.catalog.head(second.branch) == restored
    assert place.catalog.changes(second.base, restored) == Changes()


def test_nothing_to_put_back_is_no_commit(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    assert place.catalog.restore_receipts(work.branch, head, [landed().key], work.base) == head


def test_changes_name_the_table_its_namespace_and_the_receipts(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    place.write(work.branch, table, 2)
    found = place.catalog.changes(work.base, place.catalog.head(work.branch) or "")
    [file] = work.files
    assert found == Changes(
        tables=frozenset({table}),
        namespaces=frozenset({table.rpartition(".")[0]}),
        receipts={file.key: receipt(file, work.attempt)},
    )


def test_changes_name_a_strangers_content(place: Place, table: str) -> None:
    work = Work(place, table, [])
    name = f"view_of_{table.partition('.')[0]}"
    place.meddle(work.branch, name)
    assert place.catalog.changes(work.base, place.catalog.head(work.branch) or "") == Changes(
        other_keys=frozenset({name})
    )


def without_a_receipt_of_main(place: Place, table: str) -> tuple[Work, FileVersion, str]:
    """A branch that lacks a receipt that main has, the file, and the branch's head."""
    known = landed()
    first = Work(place, table, [known])
    first.claim()
    first.merge()
    second = Work(place, table, [landed()], number=2)
    return second, known, place.catalog.restore_receipts(second.branch, second.base, [known.key], first.base)


def test_changes_name_a_receipt_that_is_gone(place: Place, table: str) -> None:
    second, known, restored = without_a_receipt_of_main(place, table)
    assert place.catalog.changes(second.base, restored).receipts == {known.key: None}


def test_changes_are_those_from_a_commit_to_one_that_was_made_from_it(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    with pytest.raises(Refused, match="was not made from"):
        place.catalog.changes(head, work.base)
    assert place.catalog.changes(head, head) == Changes()


def test_many_changes_are_all_named(place: Place, table: str) -> None:
    work = Work(place, table, [landed() for _ in range(600)])
    head = work.claim()
    assert set(place.catalog.changes(work.base, head).receipts) == {file.key for file in work.files}


def test_a_table_has_moved_if_it_was_made_changed_or_dropped_and_others_have_not(place: Place, table: str) -> None:
    kept = Work(place, f"{table}2", [])
    place.write(kept.branch, f"{table}2", 1)
    kept.merge()
    base, changed = main(place), Work(place, table, [])
    place.write(changed.branch, table, 1)
    changed.merge()
    made = main(place)
    tables = (table, f"{table}2", f"{table}3")
    assert place.catalog.changed_tables(base, made, tables) == {table}
    assert place.catalog.changed_tables(made, base, tables) == {table}
    again = Work(place, table, [], number=2)
    place.write(again.branch, table, 1)
    again.merge()
    assert place.catalog.changed_tables(made, main(place), tables) == {table}
    assert place.catalog.changed_tables(base, main(place), ()) == set()


def test_a_table_s_folder_holds_its_files_and_a_table_that_is_not_there_has_none(place: Place, table: str) -> None:
    before, work = main(place), Work(place, table, [])
    path = place.write(work.branch, table, 1)
    head = place.catalog.head(work.branch)
    assert head
    tables = (table, f"{table}2", table.partition(".")[0])
    folders = place.catalog.table_folders(head, tables)
    assert folders.keys() == {table}
    assert path.startswith(f"{folders[table]}/")
    assert place.catalog.table_folders(before, tables) == {}
    assert place.catalog.table_folders(head, ()) == {}


def test_the_base_is_where_the_branch_was_made_whatever_happens_on_main(place: Place, table: str) -> None:
    work, other = Work(place, table, [landed()]), Work(place, f"{table}2", [landed()])
    work.claim()
    other.claim()
    other.merge()
    assert place.catalog.base(work.branch) == work.base
    work.merge()
    assert place.catalog.base(work.branch) == work.base


def test_a_merge_brings_rows_and_receipts_to_main(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    place.write(work.branch, table, 2)
    work.merge()
    assert place.rows(MAIN, table) == 2
    assert list(place.catalog.receipts(Ref(MAIN), [work.files[0].key])) == [work.files[0].key]


def test_a_merge_brings_exactly_the_head_it_names(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    place.write(work.branch, table, 2)
    place.catalog.merge(work.branch, head, note(work.attempt, work.files))
    assert place.tables.identity(Ref(MAIN), table) is None
    assert list(place.catalog.receipts(Ref(MAIN), [work.files[0].key])) == [work.files[0].key]


def test_a_merge_may_be_repeated(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    place.write(work.branch, table, 2)
    work.merge()
    merged = place.catalog.head(MAIN)
    work.merge()
    assert place.catalog.head(MAIN) == merged


def test_two_first_tables_of_a_namespace_are_both_merged(place: Place, table: str) -> None:
    one, other = Work(place, table, [landed()]), Work(place, f"{table}2", [landed()])
    for work in (one, other):
        work.claim()
        place.write(work.branch, work.table, 2)
    one.merge()
    other.merge()
    assert (place.rows(MAIN, table), place.rows(MAIN, f"{table}2")) == (2, 2)


def test_a_merge_onto_a_main_that_moved_elsewhere_is_fine(place: Place, table: str) -> None:
    work, other = Work(place, table, [landed()]), Work(place, f"{table}2", [landed()])
    work.claim()
    other.claim()
    other.merge()
    work.merge()
    assert len(place.catalog.receipts(Ref(MAIN), [work.files[0].key, other.files[0].key])) == 2


def test_two_branches_that_claimed_the_same_key_conflict(place: Place, table: str) -> None:
    file = landed()
    left, right = Work(place, table, [file]), Work(place, table, [file], number=2)
    left.claim()
    right.claim()
    left.merge()
    with pytest.raises(Conflict):
        right.merge()


def test_a_decision_on_main_conflicts_with_a_claim_of_the_same_key(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    rejected = receipt(work.files[0], work.attempt, Decision.REJECTED)
    place.catalog.commit_receipts(MAIN, work.base, [rejected], note(work.attempt, work.files, Decision.REJECTED))
    with pytest.raises(Conflict):
        work.merge()


def test_merging_a_branch_that_is_gone_is_a_conflict(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    head = work.claim()
    place.catalog.delete_branch(work.branch)
    with pytest.raises(Conflict):
        place.catalog.merge(work.branch, head, note(work.attempt, work.files))


def test_decisions_come_back_from_mains_log_newest_first(place: Place, table: str) -> None:
    published, rejected = Work(place, table, [landed()]), Work(place, table, [landed()], number=2)
    published.claim()
    published.merge()
    place.meddle(MAIN, f"view_{table.partition('.')[0]}")
    note_of_rejection = note(rejected.attempt, rejected.files, Decision.REJECTED)
    receipts = [receipt(file, rejected.attempt, Decision.REJECTED) for file in rejected.files]
    commit = place.catalog.commit_receipts(MAIN, main(place), receipts, note_of_rejection)
    newest, older = place.catalog.decisions(2)
    assert (newest.record, newest.commit) == (note_of_rejection, commit)
    assert older.record == note(published.attempt, published.files)
    assert older.at <= newest.at


def test_decisions_are_as_many_as_asked_for(place: Place, table: str) -> None:
    for number in range(1, 4):
        work = Work(place, table, [landed()], number=number)
        work.claim()
        work.merge()
    assert [decided.record.attempt for decided in place.catalog.decisions(2)] == [3, 2]
    assert list(place.catalog.decisions(0)) == []


def test_decisions_go_on_before_a_commit_of_mains(place: Place, table: str) -> None:
    for number in range(1, 4):
        work = Work(place, table, [landed()], number=number)
        work.claim()
        work.merge()
    newest, second, oldest = place.catalog.decisions(3, table=table)
    assert list(place.catalog.decisions(9, table=table, before=newest.commit)) == [second, oldest]
    assert list(place.catalog.decisions(1, before=newest.commit)) == [second]
    assert list(place.catalog.decisions(9, table=table, before=oldest.commit)) == []


def test_decisions_of_one_table_are_found_among_others(place: Place, table: str) -> None:
    other = f"{table}_other"
    for number, where in enumerate((table, other, table), start=1):
        work = Work(place, where, [landed()], number=number)
        work.claim()
        work.merge()
    place.meddle(MAIN, f"view_{table.partition('.')[0]}")
    assert [decided.record.attempt for decided in place.catalog.decisions(9, table=table)] == [3, 1]
    assert [decided.record.attempt for decided in place.catalog.decisions(1, table=other)] == [2]
    assert list(place.catalog.decisions(9, table=f"{table}_none")) == []


def test_decisions_of_one_batch_are_found_however_many_others_came_since(place: Place, table: str) -> None:
    batches = [f"20130131T0405-{secrets.token_hex(4)}" for _ in range(3)]
    for number, batch in enumerate(batches, start=1):
        attempt, file = Attempt(table=table, batch=batch, number=number), landed()
        receipts = [receipt(file, attempt, Decision.REJECTED)]
        place.catalog.commit_receipts(MAIN, main(place), receipts, note(attempt, [file], Decision.REJECTED))
    for number, batch in enumerate(batches, start=1):
        assert [decided.record.attempt for decided in place.catalog.decisions(1, batch=batch)] == [number]
    assert list(place.catalog.decisions(9, table=f"{table}_other", batch=batches[0])) == []
    for strange in ('20130101T0000-00000000" || true', "00010101T0000-00000000", "no batch", "20131399T2561-00000000"):
        assert list(place.catalog.decisions(9, batch=strange)) == []


def test_a_batch_of_this_minute_has_its_decisions_however_many_there_are(place: Place, table: str) -> None:
    batch, file = f"{datetime.now(UTC):%Y%m%dT%H%M}-{secrets.token_hex(4)}", landed()
    for number in range(1, 13):
        its = Attempt(table=table, batch=batch, number=number)
        receipts = [receipt(file, its, Decision.REJECTED)]
        place.catalog.commit_receipts(MAIN, main(place), receipts, note(its, [file], Decision.REJECTED))
    found = [decided.record.attempt for decided in place.catalog.decisions(99, table=table, batch=batch)]
    assert found == list(range(12, 0, -1))


def test_receipts_that_are_archived_leave_main_and_the_watermark_goes_up(place: Place, table: str) -> None:
    work = Work(place, table, [landed(), landed()])
    work.claim()
    work.merge()
    old, young = (file.key for file in work.files)
    mark = datetime(1970, 1, 2, tzinfo=UTC)
    place.catalog.compact(main(place), [old], mark)
    left = {receipt.key for receipt in place.catalog.all_receipts(Ref(MAIN))}
    assert (old in left, young in left) == (False, True)
    assert place.catalog.watermark() == mark
    place.catalog.compact(main(place), [young], mark + timedelta(days=1))
    assert place.catalog.receipts(Ref(MAIN), [old, young]) == {}
    assert place.catalog.watermark() == mark + timedelta(days=1)


def test_a_shorter_receipt_takes_the_place_of_one_on_main_unless_that_changed(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    before = main(place)
    work.merge()
    key = work.files[0].key
    shorter = replace(place.catalog.receipts(Ref(MAIN), [key])[key], truncated=datetime(1970, 1, 2, tzinfo=UTC))
    with pytest.raises(Conflict):
        place.catalog.compact(before, [], None, [shorter])
    place.catalog.compact(main(place), [], None, [shorter])
    assert place.catalog.receipts(Ref(MAIN), [key]) == {key: shorter}


def test_who_merges_a_claim_on_a_receipt_that_was_shortened_meanwhile_is_told(place: Place, table: str) -> None:
    """So nobody who looked before misses what was taken out of it."""
    first = Work(place, table, [landed()])
    first.claim()
    first.merge()
    key = first.files[0].key
    second = Work(place, table, [landed(key, "v2")], number=2)
    second.claim()
    receipt = place.catalog.receipts(Ref(MAIN), [key])[key]
    place.catalog.compact(main(place), [], None, [replace(receipt, truncated=datetime(1970, 1, 2, tzinfo=UTC))])
    with pytest.raises(Conflict):
        second.merge()


def test_a_receipt_that_changed_meanwhile_is_not_archived(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    before = main(place)
    work.merge()
    with pytest.raises(Conflict):
        place.catalog.compact(before, [work.files[0].key], None)
    assert work.files[0].key in {receipt.key for receipt in place.catalog.all_receipts(Ref(MAIN))}


def test_a_receipt_that_came_and_was_archived_since_is_no_conflict(place: Place, table: str) -> None:
    """So nothing is archived that came while a worker may be looking: by conflicts it would not know."""
    work, other = Work(place, table, [landed()]), landed()
    before = main(place)
    work.claim()
    work.merge()
    place.catalog.compact(main(place), [work.files[0].key], None)
    place.catalog.commit_receipts(MAIN, before, [receipt(work.files[0], work.attempt, Decision.REJECTED)])
    second = Work(place, table, [other], number=2, base=before)
    second.claim()
    place.catalog.commit_receipts(MAIN, before, [receipt(other, work.attempt)])
    place.catalog.compact(main(place), [other.key], None)
    second.merge()
    assert set(place.catalog.receipts(Ref(MAIN), [other.key, work.files[0].key])) == {other.key, work.files[0].key}


def test_a_second_merge_of_what_was_made_from_one_commit_takes_off_what_it_leaves_out(place: Place, table: str) -> None:
    """The commit itself is what both sides have in common by then: so nothing is merged from it twice."""
    files = [landed(), landed()]
    work = Work(place, table, files)
    audited = work.claim()
    for number, left in enumerate(files):
        own = f"{work.branch}-r0{number}"
        place.catalog.create_branch(own, audited)
        head = place.catalog.restore_receipts(own, audited, [left.key], work.base)
        place.catalog.merge(own, head, note(work.attempt, [file for file in files if file is not left]))
    assert place.catalog.receipts(Ref(MAIN), [file.key for file in files]) == {}


def test_a_branch_made_from_what_is_merged_already_takes_off_the_rows_that_it_leaves_out(
    place: Place, table: str
) -> None:
    """As with receipts: no table conflicts by itself."""
    files = [landed(), landed()]
    work = Work(place, table, files)
    work.claim()
    place.write(work.branch, table, 2)
    more = place.write(work.branch, table, 3)
    own = f"{work.branch}-r01"
    place.catalog.create_branch(own, head_of(place, work.branch))
    place.tables.remove(table, own, frozenset({more}))
    head = place.catalog.restore_receipts(own, head_of(place, own), [files[1].key], work.base)
    work.merge()
    place.catalog.merge(own, head, note(work.attempt, files[:1]))
    assert place.rows(MAIN, table) == 2
    assert set(place.catalog.receipts(Ref(MAIN), [file.key for file in files])) == {files[0].key}


@pytest.mark.parametrize("new", [True, False])
def test_what_is_replayed_is_what_was_done_but_for_what_is_left_out(place: Place, table: str, *, new: bool) -> None:
    if not new:
        place.write(MAIN, table, 1)
    files = [landed(), landed()]
    work = Work(place, table, files)
    work.claim()
    place.write(work.branch, table, 2)
    audited, own = head_of(place, work.branch), f"{work.branch}-r01"
    place.catalog.create_branch(own, work.base)
    head = place.catalog.replay(own, work.base, audited, [files[1].key])
    left, done = place.catalog.changes(work.base, head), place.catalog.changes(work.base, audited)
    assert left == replace(done, receipts={files[0].key: done.receipts[files[0].key]})
    assert place.tables.identity(Ref(own), table) == place.tables.identity(Ref(work.branch), table)
    assert place.tables.paths(Ref(own), table) == place.tables.paths(Ref(work.branch), table)
    place.catalog.merge(own, head, note(work.attempt, files[:1]))
    place.write(MAIN, table, 4)
    assert place.rows(MAIN, table) == (6 if new else 7)


@pytest.mark.parametrize("part", [True, False])
def test_what_is_replayed_conflicts_with_what_is_merged_of_the_same(place: Place, table: str, *, part: bool) -> None:
    files = [landed(), landed()]
    work = Work(place, table, files)
    audited = work.claim()
    heads = {}
    for own in (f"{work.branch}-r01", f"{work.branch}-r02"):
        place.catalog.create_branch(own, work.base)
        heads[own] = place.catalog.replay(own, work.base, audited, [files[1].key])
    first, second = heads.items()
    place.catalog.merge(*(first if part else (work.branch, audited)), note(work.attempt, files))
    with pytest.raises(Conflict):
        place.catalog.merge(*second, note(work.attempt, files[:1]))


def test_a_receipt_that_was_put_back_is_replayed_as_gone(place: Place, table: str) -> None:
    second, known, head = without_a_receipt_of_main(place, table)
    place.catalog.create_branch(f"{second.branch}-r01", second.base)
    replayed = place.catalog.replay(f"{second.branch}-r01", second.base, head, [])
    assert place.catalog.receipts(Ref(second.branch, replayed), [known.key]) == {}


def test_a_claim_on_a_key_that_was_archived_meanwhile_conflicts(place: Place, table: str) -> None:
    known = landed()
    first = Work(place, table, [known])
    first.claim()
    first.merge()
    second = Work(place, table, [landed(known.key, "v2")], number=2)
    second.claim()
    place.catalog.compact(main(place), [known.key], None)
    with pytest.raises(Conflict):
        second.merge()


def names(place: Place) -> dict[str, tuple[str, str | None]]:
    return {it.name: (it.head, it.base) for it in place.catalog.references()}


def test_every_branch_is_listed_with_the_commit_of_main_that_it_was_made_from(place: Place, table: str) -> None:
    work = Work(place, table, [landed()])
    work.claim()
    place.meddle("main", unique("other"))
    assert names(place)[work.branch] == (head_of(place, work.branch), work.base)
    assert names(place)["main"] == (main(place), None)
    work.merge()
    assert names(place)[work.branch] == (head_of(place, work.branch), work.base)


def test_the_metadata_files_of_a_branch_are_those_at_its_base_and_of_each_commit_since(
    place: Place, table: str
) -> None:
    def files(head: str, since: str | datetime) -> set[str]:
        return {it.uri for it in place.catalog.metadata_files(head, since) if it.table == table}

    first = Work(place, table, [])
    assert files(first.base, first.base) == set()
    place.write(first.branch, table, 1)
    first.merge()
    base = main(place)
    [before] = files(base, base)
    second = Work(place, table, [], number=2)
    heads = []
    for _ in range(2):
        place.write(second.branch, table, 1)
        heads.append(head_of(place, second.branch))
    [one], [two] = (files(head, head) for head in heads)
    assert len({before, one, two}) == 3
    assert files(heads[1], base) == {before, one, two}
    assert files(heads[1], heads[0]) == {one, two}
    place.catalog.delete_branch(second.branch)
    assert files(heads[1], base) == {before, one, two}


def test_since_a_moment_those_count_that_were_current_then_or_came_later(place: Place, table: str) -> None:
    work = Work(place, table, [])
    place.write(work.branch, table, 1)
    head = head_of(place, work.branch)
    place.write(work.branch, table, 1)

    def files(days: int) -> set[str]:
        since = datetime(2013, 1, 1, tzinfo=UTC) + timedelta(days=days)
        found = place.catalog.metadata_files(head_of(place, work.branch), since)
        return {it.uri for it in found if it.table == table}

    [current] = {
        it.uri
        for it in place.catalog.metadata_files(head_of(place, work.branch), head_of(place, work.branch))
        if it.table == table
    }
    [first] = {it.uri for it in place.catalog.metadata_files(head, head) if it.table == table}
    assert files(100_000) == {current}
    assert files(-100) >= {first, current}
