"""Two tables of one plain name, call by call: each gets a quarantine and audits of its own; schedules ask it, too."""

import pytest

from lakegate.ports import MAIN
from lakegate.workflow.ledger.names import PREFIX
from tests.simulation.installation import NAMESAKES, Terms
from tests.simulation.invariants import AUDITS, QUARANTINES, table_at, tables_in
from tests.simulation.simulation import Simulation
from tests.simulation.worker import Fate, Worker
from tests.world.stories import Story, file_of, files_of

FIRST, SECOND = (table.partition(".")[2] for table in NAMESAKES)
STEPS_OF_NAMING = {"read", "create"}


class World(Simulation):
    """An installation whose audits become rows, with contracts of tables of one plain name. Promises are asked after
    each call.
    """

    def __init__(self) -> None:
        super().__init__(Terms())
        self.world.append_audits()
        self.world.have_namesakes()
        self.push_contract()

    def land(self, prefix: str) -> Worker:
        """The worker that gets the event of a table's first file, some rows of which go to quarantine."""
        self.world.upload(f"{prefix}/1", prefix.encode(), Story(rows=2, aside=1))
        self.world.deliver([it for it in self.world.queue if it.key.startswith(f"{prefix}/")], again=False)
        return self.world.workers[-1]

    def owners(self, namespace: str) -> list[set[str]]:
        """Return whose rows each table of a namespace has on main."""
        head = self.world.lake.head(MAIN)
        tables = [files_of(table_at(head, name)) for name in tables_in(head, namespace)]
        return sorted(({self.world.prefix_of(file_of(path)) for path in files} for files in tables), key=min)


def names_a_table(worker: Worker) -> bool:
    """Return True if the next call is about the note that says whom a plain name is for."""
    call = worker.waiting
    return bool(call and call.method in STEPS_OF_NAMING and str(call.arguments[0]).startswith(PREFIX))


@pytest.mark.parametrize("fate", [Fate.CRASH_BEFORE, Fate.CRASH_AFTER, Fate.LOST, Fate.UNANSWERED])
def test_a_worker_that_dies_at_any_call_leaves_each_table_names_of_its_own(fate: Fate) -> None:
    """Between the note and the quarantine, too; the other table's first batch comes before anybody goes on with it."""
    calls, died_naming = 0, 0
    while True:
        world = World()
        worker = world.land(FIRST)
        for _ in range(calls):
            if worker in world.world.workers:
                world.let(worker)
        if worker not in world.world.workers:
            break
        died_naming += names_a_table(worker)
        world.let(worker, fate)
        world.land(SECOND)
        world.come_to_an_end()
        assert world.owners(QUARANTINES) == world.owners(AUDITS) == [{FIRST}, {SECOND}], calls
        calls += 1
    assert died_naming == 3  # it looks for the note, makes it, and reads whose it is


@pytest.mark.parametrize("ahead", range(8))
def test_two_first_batches_that_meet_get_names_of_their_own(ahead: int) -> None:
    """The one goes on alone to where it is about to look whom the name is for, or so many calls further."""
    world = World()
    one, other = world.land(FIRST), world.land(SECOND)
    for worker in (one, other):
        while not names_a_table(worker):
            world.let(worker)
    for _ in range(ahead):
        world.let(one)
    while world.world.workers:
        for worker in list(world.world.workers):
            world.let(worker)
    world.come_to_an_end()
    assert world.owners(QUARANTINES) == world.owners(AUDITS) == [{FIRST}, {SECOND}]
