"""Decisions by file: of one batch's rejected files a person approves, discards or retries some, and the rest stay."""

import shlex
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.errors import LakegateError, Misconfigured, Refused
from lakegate.landing.lifecycle import Decision
from lakegate.workflow.approve import approve
from lakegate.workflow.ledger.rejected import MOST_NAMES, _keys_like
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import UnderWay, discard, retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.workflow.test_crashes import Crash, Dying
from tests.workflow.test_crashes_of_people import dying_service
from tests.world.world import World

NAMES = "12345678"
WHY, BY = "the vendor said so", "ann"


def rejected(*names: str, good: str = "") -> tuple[World, str]:
    """One batch whose files were rejected, but for the good ones; the batch."""
    world = World()
    for name in (*names, *good):
        world.drop(name, rows=2, bad="" if name in good else "drifts", deliver=False)
    world.drop_together(*names, *good)
    world.run()
    [line] = status(world.service).rejected
    return world, line.batch


def keys(world: World, names: str) -> tuple[str, ...]:
    return tuple(world.key(name) for name in names)


def decide(world: World, batch: str, act: str, names: str) -> None:
    chosen = keys(world, names)
    if act == "approve":
        assert approve(world.service, batch, WHY, BY, chosen).files == len(chosen)
    elif act == "discard":
        assert discard(world.service, batch, WHY, BY, chosen) == len(chosen)
    else:
        for name in names:
            world.mend(name)
        assert retry(world.service, batch, chosen).rest == {}


def decisions(world: World) -> dict[str, Decision]:
    return {name: entry.decision for name, entry in world.entries().items() if entry}


def test_approving_some_files_publishes_exactly_these_and_the_others_stay_on_their_branch() -> None:
    world, batch = rejected(*"123", good="4")
    [branch], jobs = world.branches(), world.job_runs()
    decide(world, batch, "approve", "13")
    assert world.rows_on_main() == {"1": 2, "3": 2, "4": 2}
    assert (world.branches(), world.rows_on(branch)) == ([branch], {"2": 2})
    assert (list(world.rejected()), world.job_runs()) == (["2"], jobs)
    decide(world, batch, "approve", "2")
    assert (world.rows_on_main(), world.branches()) == (dict.fromkeys("1234", 2), [])


def test_discarding_some_files_takes_them_off_the_branch_that_is_kept_for_the_others() -> None:
    world, batch = rejected(*"12")
    [branch] = world.branches()
    decide(world, batch, "discard", "1")
    assert (world.branches(), world.rows_on(branch)) == ([branch], {"2": 2})
    decide(world, batch, "discard", "2")
    assert (world.branches(), world.rejected()) == ([], {})


@given(
    parts=st.lists(
        st.tuples(st.sampled_from(["approve", "discard", "retry"]), st.integers(1, 8), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    order=st.permutations(NAMES),
    good=st.booleans(),
)
def test_whatever_is_asked_of_which_files_in_whatever_order_each_is_decided_so(
    parts: list[tuple[str, int, bool]], order: list[str], *, good: bool
) -> None:
    """A part that is retried may still be under way when the next one is decided."""
    world, batch = rejected(*NAMES, good="9" if good else "")
    left, wanted = "".join(order), dict[str, Decision]()
    for act, number, at_once in parts:
        names, left = left[:number], left[number:]
        if not names:
            break
        decide(world, batch, act, names)
        wanted |= dict.fromkeys(names, Decision.DISCARDED if act == "discard" else Decision.PUBLISHED)
        if not at_once:
            world.run()
            assert reconcile(world.service) == []
    world.come_to_rest()
    wanted |= dict.fromkeys(left, Decision.REJECTED) | ({"9": Decision.PUBLISHED} if good else {})
    assert decisions(world) == wanted
    published = {name for name, decision in wanted.items() if decision is Decision.PUBLISHED}
    assert world.rows_on_main() == dict.fromkeys(published, 2)
    assert world.publications_by_name() == dict.fromkeys(published, 1)
    assert [world.rows_on(branch) for branch in world.branches()] == ([dict.fromkeys(left, 2)] if left else [])


@pytest.mark.parametrize("act", ["approve", "discard", "retry"])
@pytest.mark.parametrize(
    ("chosen", "error", "says"),
    [
        (("nope",), Misconfigured, "has decided no file nope"),
        (("nyc/flights/1", "nope"), Misconfigured, "has decided no file nope"),
        (("",), Misconfigured, "has decided no file "),
        (("nyc/flights/1", "nyc/flights/1"), Misconfigured, "--file nyc/flights/1 is given 2 times"),
        (("nyc/flights/3",), Refused, "nyc/flights/3 is published and not rejected"),
        (("nyc/flights/1", "nyc/flights/3"), Refused, "nyc/flights/3 is published and not rejected"),
        (("nyc/flights/2",), Refused, "nyc/flights/2 is discarded and not rejected"),
    ],
)
def test_a_file_that_cannot_be_decided_is_refused_by_name_and_nothing_is_decided(
    act: str, chosen: tuple[str, ...], error: type[Exception], says: str
) -> None:
    world, batch = rejected(*"12", good="3")
    decide(world, batch, "discard", "2")
    before = (decisions(world), world.branches(), world.job_runs())
    with pytest.raises(error) as raised:
        _act(world, batch, act, chosen)
    assert says in str(raised.value)
    assert batch in str(raised.value)
    assert f"lakegate show {batch}" in str(raised.value)
    assert (decisions(world), world.branches(), world.job_runs()) == before


LANDED = ("orders/2026/january.csv", "orders/2026/february.csv", "orders/2026/march.csv", "other/january.csv")


@pytest.mark.parametrize("act", ["approve", "discard", "retry"])
@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("march.csv", LANDED[2:3]),
        ("s3://landing/orders/2026/february.csv", LANDED[1:2]),
        ("orders/febuary.csv", LANDED[1:2]),
        ("FEBRUARY.CSV", LANDED[1:2]),
        ("january.csv", (LANDED[0], LANDED[3])),
        ("/orders/2026/march.csv", LANDED[2:3]),
    ],
)
def test_a_wrong_key_is_answered_by_the_keys_that_may_be_meant(act: str, key: str, meant: tuple[str, ...]) -> None:
    world, batch = rejected(*LANDED)
    with pytest.raises(Misconfigured) as raised:
        _act(world, batch, act, (key,))
    wanted = " or ".join(f"--file {world.key(name)}" for name in meant)
    assert f"Did you mean {wanted}? " in str(raised.value)


@given(st.text(min_size=1, max_size=30))
def test_a_key_that_is_like_none_is_answered_by_keys_of_the_batch(key: str) -> None:
    names = ("a 'b'.csv", *LANDED)
    told = _keys_like(key, names)
    if told.startswith("Did you mean "):
        assert shlex.split(told.removeprefix("Did you mean ").removesuffix("? "))[1] in names
    else:
        assert told == f"It has {', '.join(names[:MOST_NAMES])} and 2 more. "


def _act(world: World, batch: str, act: str, chosen: tuple[str, ...]) -> object:
    if act == "retry":
        return retry(world.service, batch, chosen)
    return (approve if act == "approve" else discard)(world.service, batch, WHY, BY, chosen)


@pytest.mark.parametrize("act", ["approve", "discard", "retry"])
def test_a_file_that_is_tried_again_already_is_under_way_and_the_others_are_free(act: str) -> None:
    world, batch = rejected(*"12")
    decide(world, batch, "retry", "1")
    with pytest.raises(UnderWay, match=f"lakegate wait {batch}"):
        _act(world, batch, act, keys(world, "1"))
    decide(world, batch, act, "2")
    world.run()
    assert decisions(world) == {
        "1": Decision.PUBLISHED,
        "2": Decision.DISCARDED if act == "discard" else Decision.PUBLISHED,
    }


def test_where_the_verdicts_depend_on_the_table_the_rest_is_retried_once_some_are_approved() -> None:
    world = World()
    world.want_unique_keys()
    for name in "12":
        world.drop(name, rows=2, bad="drifts", deliver=False)
    world.drop_together("1", "2")
    world.run()
    [line] = status(world.service).rejected
    decide(world, line.batch, "approve", "1")
    with pytest.raises(Refused, match=f"lakegate retry {line.batch}"):
        approve(world.service, line.batch, WHY, BY, keys(world, "2"))
    decide(world, line.batch, "retry", "2")
    world.run()
    assert world.rows_on_main() == {"1": 2, "2": 2}


@pytest.mark.parametrize("act", ["approve", "discard", "retry"])
@pytest.mark.parametrize("after", [False, True])
def test_a_command_that_dies_at_any_call_decides_no_other_file_and_can_be_given_again(act: str, *, after: bool) -> None:
    calls, died = 0, True
    while died:
        world, batch = rejected(*"123")
        world.mend("1")
        dying, whole = Dying(calls, after=after), world.service
        world.service = dying_service(whole, dying)
        with suppress(Crash):
            _act(world, batch, act, keys(world, "1"))
        world.service = whole
        with suppress(LakegateError):
            _act(world, batch, act, keys(world, "1"))
        world.come_to_rest()
        wanted = Decision.DISCARDED if act == "discard" else Decision.PUBLISHED
        assert decisions(world) == {"1": wanted, "2": Decision.REJECTED, "3": Decision.REJECTED}
        assert [world.rows_on(branch) for branch in world.branches()] == [{"2": 2, "3": 2}]
        died, calls = dying.died, calls + 3
    assert calls > 10


def test_the_killers_of_a_batch_are_left_out_of_a_retry_of_the_others() -> None:
    world, batch = rejected(*"123")
    decide(world, batch, "retry", "13")
    assert [sorted(world.names[file.id] for file in world.claims(it)) for it in world.attempts() if it.number > 1] == [
        ["1", "3"]
    ]
    world.runner.finish_all()
    for attempt in world.attempts():
        settle(world.service, attempt)
    assert list(world.rejected()) == ["2"]
