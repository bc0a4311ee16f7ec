"""How many batches each table opens: a pure function, over facts that are drawn."""

from collections.abc import Mapping
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lakegate.workflow.receiving.shares import shares, why_queued

TABLES = st.sampled_from("abcdef")
JOBS = st.dictionaries(TABLES, st.integers(0, 4))
QUEUED = st.dictionaries(TABLES, st.integers(0, 9))
SLOTS = st.integers(1, 12)


def test_a_table_without_a_job_opens_one_batch_though_no_slot_is_free() -> None:
    assert shares(2, {"a": 5}, {"b": 1, "a": 1}) == {"b": 1, "a": 0}


def test_free_slots_go_to_the_table_that_has_the_fewest_jobs() -> None:
    assert shares(4, {"a": 2}, {"a": 9, "b": 9}) == {"a": 0, "b": 2}


def test_equally_busy_tables_share_the_free_slots_and_the_one_named_first_gets_the_odd_one() -> None:
    assert shares(3, {}, {"a": 9, "b": 9}) == {"a": 2, "b": 1}


def test_one_table_may_have_every_slot_that_no_other_wants() -> None:
    assert shares(4, {"a": 1}, {"a": 9, "b": 1}) == {"a": 2, "b": 1}


def test_a_queued_file_says_how_many_jobs_it_waits_for() -> None:
    assert (
        why_queued(2, {"a": 1, "b": 1}, "a") == "a job of its table: 1 of 2 under way are its own, and 2 run at a time"
    )
    assert why_queued(2, {"a": 1}, "a") == ""
    assert why_queued(2, {"b": 9}, "a") == ""


@given(SLOTS, JOBS, QUEUED)
def test_no_table_starves_and_none_opens_more_than_it_has(
    slots: int, jobs: Mapping[str, int], queued: Mapping[str, int]
) -> None:
    opened = shares(slots, jobs, queued)
    assert opened.keys() == queued.keys()
    for table, batches in queued.items():
        assert min(batches, 1 - min(jobs.get(table, 0), 1)) <= opened[table] <= batches


@given(SLOTS, JOBS, QUEUED)
def test_no_slot_stays_free_while_a_batch_is_queued_and_no_other_is_taken(
    slots: int, jobs: Mapping[str, int], queued: Mapping[str, int]
) -> None:
    opened = shares(slots, jobs, queued)
    first = sum(1 for table in opened if opened[table] and not jobs.get(table))
    total = sum(jobs.values()) + sum(opened.values())
    assert total <= max(slots, sum(jobs.values()) + first)
    assert total >= slots or opened == queued


@given(SLOTS, JOBS, QUEUED)
def test_a_table_that_opens_a_second_batch_has_no_more_jobs_than_one_that_still_waits(
    slots: int, jobs: Mapping[str, int], queued: Mapping[str, int]
) -> None:
    opened = shares(slots, jobs, queued)
    has = {table: jobs.get(table, 0) + opened[table] for table in queued}
    for table, number in opened.items():
        if number > 1 or (number and jobs.get(table)):
            assert all(has[table] <= has[other] + 1 for other in queued if opened[other] < queued[other])


@given(SLOTS, st.integers(0, 2**32))
def test_there_are_never_more_jobs_than_slots_and_tables(slots: int, seed: int) -> None:
    chance, jobs, queued = Random(seed), dict.fromkeys("abcdef", 0), dict.fromkeys("abcdef", 0)
    for _ in range(100):
        table = chance.choice("abcdef")
        if chance.random() < 0.5:
            queued[table] += chance.randrange(9)
        elif jobs[table]:
            jobs[table] -= 1
        looks = dict.fromkeys(chance.sample("abcdef", chance.randint(1, 6)), 0)
        for its, number in shares(slots, jobs, {its: queued[its] for its in looks}).items():
            jobs[its] += number
            queued[its] -= number
        assert sum(jobs.values()) < slots + len(jobs)
