"""Tests of how many batches each table opens: a pure function, over facts that are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.model.lane import Lane
from lakegate.workflow.receiving import shares as of_lanes
from lakegate.workflow.receiving.company import Company, WaitingBatch
from lakegate.workflow.receiving.shares import JobsUnderWay, why_queued

SPARK, EXPRESS = Lane.SPARK, Lane.EXPRESS
TABLES = st.sampled_from("abcdef")
JOBS = st.dictionaries(TABLES, st.integers(0, 4))
QUEUED = st.dictionaries(TABLES, st.integers(0, 9))
SLOTS = st.integers(1, 12)
LANES = st.lists(st.sampled_from(Lane), max_size=9)
NOW = datetime(2013, 1, 31, 4, 5, tzinfo=UTC)
COMPANY = Company(now=NOW, window=timedelta(seconds=20))


def shares(slots: int, under_way: Mapping[str, int], queued: Mapping[str, int]) -> dict[str, int]:
    """Of an installation with one lane."""
    lanes = {table: [SPARK] * batches for table, batches in queued.items()}
    return of_lanes.shares({SPARK: slots, EXPRESS: 0}, JobsUnderWay(jobs={SPARK: under_way}), lanes)


def waiting(seconds: int, lane: Lane = SPARK) -> WaitingBatch:
    """Files of which the first landed so long ago."""
    return WaitingBatch(lane=lane, start=NOW - timedelta(seconds=seconds))


def test_a_table_without_a_job_opens_one_batch_though_no_slot_is_free() -> None:
    assert shares(2, {"a": 5}, {"b": 1, "a": 1}) == {"b": 1, "a": 0}


def test_free_slots_go_to_the_table_that_has_the_fewest_jobs() -> None:
    assert shares(4, {"a": 2}, {"a": 9, "b": 9}) == {"a": 0, "b": 2}


def test_equally_busy_tables_share_the_free_slots_and_the_one_named_first_gets_the_odd_one() -> None:
    assert shares(3, {}, {"a": 9, "b": 9}) == {"a": 2, "b": 1}


def test_one_table_may_have_every_slot_that_no_other_wants() -> None:
    assert shares(4, {"a": 1}, {"a": 9, "b": 1}) == {"a": 2, "b": 1}


def why(jobs: Mapping[Lane, Mapping[str, int]], first: WaitingBatch) -> tuple[str, datetime | None]:
    """The reason for which files of the table `a` wait, with two slots for Spark and one for the express lane."""
    branches = {table: f"wap-{table}" for its in jobs.values() for table in its}
    return why_queued({SPARK: 2, EXPRESS: 1}, JobsUnderWay(jobs=jobs, branches=branches), COMPANY, "a", first)


def test_a_queued_file_says_how_many_jobs_it_waits_for() -> None:
    said = "a job of its table: 1 of 2 under way are its own, and 2 run at a time", None
    assert why({SPARK: {"a": 1, "b": 1}}, waiting(20)) == said
    assert why({SPARK: {"a": 1}}, waiting(20)) == ("", None)
    assert why({SPARK: {"b": 9}}, waiting(20)) == ("", None)


def test_a_file_that_waits_for_company_says_for_whose_attempt_and_until_when() -> None:
    until = NOW + timedelta(seconds=1)
    for lane in Lane:
        assert why({EXPRESS: {"a": 1}}, waiting(19, lane)) == ("the attempt of wap-a, which is under way", until)
    assert why({}, waiting(19)) == ("company, because their batch goes to Spark", until)
    assert why({}, waiting(0, EXPRESS)) == ("", None)


def test_each_lane_has_its_own_slots_and_a_table_is_busy_by_either() -> None:
    under_way = JobsUnderWay(jobs={SPARK: {"a": 2}, EXPRESS: {"b": 1}})
    queued = {"a": [EXPRESS, EXPRESS], "b": [SPARK], "c": [EXPRESS]}
    assert of_lanes.shares({SPARK: 2, EXPRESS: 3}, under_way, queued) == {"a": 1, "b": 0, "c": 1}


@given(SLOTS, SLOTS, st.dictionaries(TABLES, LANES), JOBS, JOBS)
def test_batches_are_opened_in_their_order_and_as_long_as_their_lane_has_a_slot(
    spark: int,
    express: int,
    queued: Mapping[str, Sequence[Lane]],
    of_spark: Mapping[str, int],
    of_express: Mapping[str, int],
) -> None:
    slots, under_way = {SPARK: spark, EXPRESS: express}, JobsUnderWay(jobs={SPARK: of_spark, EXPRESS: of_express})
    opened = of_lanes.shares(slots, under_way, queued)
    taken = [lane for table, number in opened.items() for lane in queued[table][:number]]
    for lane in Lane:
        total = under_way.of_lane(lane) + taken.count(lane)
        left = [table for table, number in opened.items() if list(queued[table][number : number + 1]) == [lane]]
        assert total >= slots[lane] or not left
    for table, lanes in queued.items():
        assert not lanes or opened[table] or under_way.of_table(table)


def test_the_first_small_file_of_a_quiet_table_waits_for_no_company_and_others_up_to_the_window() -> None:
    assert COMPANY.ready([waiting(0, EXPRESS), waiting(0, EXPRESS)], is_quiet=True) == [EXPRESS]
    assert COMPANY.ready([waiting(19, EXPRESS)], is_quiet=False) == []
    assert COMPANY.ready([waiting(19)], is_quiet=True) == []
    assert COMPANY.ready([waiting(20), waiting(21, EXPRESS), waiting(3)], is_quiet=False) == [SPARK, EXPRESS]


def test_a_full_batch_waits_for_no_company() -> None:
    full = replace(waiting(0), is_full=True)
    assert COMPANY.ready([full, full, waiting(0)], is_quiet=False) == [SPARK, SPARK]


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
