"""Each deliberate breakage of the workflow is seen within some hundred schedules; so the simulation can see at all."""

import pytest

from tests.simulation.mutations import MUTATIONS, Edit, Gone, Mutation
from tests.simulation.volume import pool_of, run_some

ENOUGH = 1000  # schedules in which a breakage must be seen
PROCESSES = 2


def test_every_mutation_is_caught() -> None:
    with pool_of(PROCESSES) as pool:
        caught = list(pool.map(_is_caught, range(len(MUTATIONS))))
    assert [mutation.says for mutation, was in zip(MUTATIONS, caught, strict=True) if not was] == []


def _is_caught(number: int) -> bool:
    mutation = MUTATIONS[number]
    with mutation.applied():
        seeds = range(mutation.seeds_from, mutation.seeds_from + ENOUGH)
        return any(run_some([seed]).failed for seed in seeds)


def test_a_mutation_whose_line_is_gone_fails_loudly() -> None:
    stale = Mutation(says="stale", edits=(Edit(function=run_some, old="no such line", new=""),))
    with pytest.raises(Gone, match="no such line"), stale.applied():
        pass


def test_the_code_is_whole_again_after_a_mutation() -> None:
    for mutation in MUTATIONS:
        with mutation.applied():
            pass
    assert not run_some(range(3)).failed
