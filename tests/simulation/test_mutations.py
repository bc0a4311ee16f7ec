"""Each deliberate breakage of the workflow is seen within some hundred schedules; so the simulation can see at all."""

import logging

import pytest
import structlog

from lakegate.workflow import reconcile
from tests.simulation.installation import Violation
from tests.simulation.mutations import MUTATIONS, Edit, Gone, Mutation
from tests.simulation.schedule import run
from tests.simulation.volume import pool_of, run_some

ENOUGH = 1000  # schedules in which a breakage must be seen
PROCESSES = 2


def test_every_mutation_is_caught() -> None:
    with pool_of(PROCESSES) as pool:
        caught = list(pool.map(_is_caught, range(len(MUTATIONS))))
    assert [mutation.says for mutation, was in zip(MUTATIONS, caught, strict=True) if not was] == []


def _is_caught(number: int) -> bool:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    mutation = MUTATIONS[number]
    with mutation.applied():
        seeds = range(mutation.seeds_from, mutation.seeds_from + ENOUGH)
        return any(_breaks_a_promise(seed) for seed in seeds)


def _breaks_a_promise(seed: int) -> bool:
    """Not where code alone broke, which a mutation may do that is no longer what it says."""
    try:
        run(seed)
    except Violation as violation:
        return isinstance(_root(violation), Violation)
    return False


def _root(error: BaseException) -> BaseException:
    return _root(error.__cause__) if error.__cause__ else error


def test_a_mutation_that_only_breaks_the_code_is_not_caught() -> None:
    nonsense = Edit(function=reconcile._continue, old="parse(branch.name)", new="parse(None)")
    with nonsense.applied():
        assert "broke" in run_some([0]).failed[0]
        assert not _breaks_a_promise(0)


def test_a_mutation_whose_line_is_gone_fails_loudly() -> None:
    stale = Mutation(says="stale", edits=(Edit(function=run_some, old="no such line", new=""),))
    with pytest.raises(Gone, match="no such line"), stale.applied():
        pass


def test_the_code_is_whole_again_after_a_mutation() -> None:
    for mutation in MUTATIONS:
        with mutation.applied():
            pass
    assert not run_some(range(3)).failed
