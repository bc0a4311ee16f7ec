"""Short schedules over a real Nessie, always the same ones, and breakages that only they can see.

`make simulate-nessie` runs others, or one step by step.
"""

from collections.abc import Iterator

import pytest

from tests.simulation.mutations import OVER_HTTP, Mutation
from tests.simulation.over_http import FAULTS, HttpSchedule, network
from tests.simulation.schedule import run
from tests.simulation.volume import run_some

pytestmark = pytest.mark.http

SCHEDULES, GATES_SHARE = 150, range(30, 60)  # half a second to a second each
ENOUGH = 60  # schedules in which a breakage must be seen
COVERED = (
    *(f"request: {fault}" for fault in FAULTS),
    "call: the worker dies before it",
    "call: the worker dies after it",
    "job: given up, goes on as a zombie",
    "main: merge of what is published",
    "main: commit of what is rejected",
    "stranger: commits another table to main",
)


@pytest.fixture(scope="module", autouse=True)
def _network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One Nessie for all schedules, in memory, and the network in front of it."""
    with network(tmp_path_factory.mktemp("nessie")) as HttpSchedule.network:
        yield


def test_schedules_of_faults_keep_every_promise_on_a_real_nessie(*, extended: bool) -> None:
    tally = run_some(range(SCHEDULES) if extended else GATES_SHARE, HttpSchedule)
    assert not tally.failed, f"{tally}\none of them again: make simulate-nessie SEED=…"
    assert [what for what in COVERED if not tally.counted[what]] == []


def test_the_same_seed_does_the_same_over_http() -> None:
    once, again = (run(9, kind=HttpSchedule).world.counted for _ in range(2))
    assert once == again


@pytest.mark.parametrize("mutation", OVER_HTTP, ids=lambda mutation: mutation.says)
def test_a_broken_adapter_is_seen(mutation: Mutation) -> None:
    with mutation.applied():
        seeds = range(mutation.seeds_from, mutation.seeds_from + ENOUGH)
        assert any(run_some([seed], HttpSchedule).failed for seed in seeds)
