"""Follows a world, and raises a Violation as soon as a promise is broken. It says nothing about what may happen."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from lakegate.errors import ContractFaults
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN
from lakegate.testing.lake import Commit
from lakegate.workflow.registry import contract_of
from tests.simulation.installation import Installation, Violation
from tests.simulation.invariants import ALWAYS, AT_THE_END, End, Step, receipts_at
from tests.world.installation import FLIGHTS


class Watch:
    """Looked through after every step; what happened since is checked commit by commit."""

    def __init__(self, world: Installation) -> None:
        self.world = world
        self.ticks = 0
        self.heads: list[tuple[int, Commit]] = [(0, world.lake.head(MAIN))]  # since when each was main's head
        self.contracts: list[tuple[int, str]] = []
        self.rejected: dict[str, None] = {}  # batches of which files were, oldest first
        self.archived = 0  # as many changes of the archive were looked at
        self.receipts = receipts_at(world, self.heads[-1][1])

    def passes(self) -> bool:
        """Return True if a look finds nothing that is not as it was; then that was it."""
        still = self.world.lake.head(MAIN) is self.heads[-1][1] and self.archived == self.world.store.archived
        self.ticks += still
        return still

    def look(self, since: int) -> None:
        """`since`: the tick at which whoever acted began to."""
        if self.passes():
            return
        self.ticks += 1
        head = self.world.lake.head(MAIN)
        last = self.heads[-1][1]
        if head is last:
            self._look_at_the_archive(head)
            return
        new = self.world.lake.line(head.hash)
        for commit in reversed(new[: new.index(last)]):
            before = self.heads[-1][1]
            self._check(before, commit, since)
            self.heads.append((self.ticks, commit))
            if commit.record and commit.record.decision is Decision.REJECTED:
                self.rejected[commit.record.batch] = None

    def _look_at_the_archive(self, head: Commit) -> None:
        """Look at nothing: an object in the archive changes nothing by itself."""
        if receipts_at(self.world, head) != self.receipts:
            raise Violation("the archive gives another receipt than there was")
        self.archived = self.world.store.archived

    def note_contract(self) -> None:
        """The contract of flights as it is from now on."""
        with suppress(ContractFaults):
            self.contracts.append((self.ticks, contract_of(self.world.store, FLIGHTS).plan.contract_hash))
            return
        self.contracts.append((self.ticks, "none that loads"))

    def end(self) -> None:
        """Check the promises of the end, when nothing moves any more."""
        end = End(world=self.world)
        _raise(breach for promise in AT_THE_END for breach in _named(promise, end))

    def _check(self, before: Commit, after: Commit, since: int) -> None:
        kind = "merge" if after.merge_head else "commit"
        what = f"is {after.record.decision}" if after.record else "is not ours"
        self.world.counted[f"main: {kind} of what {'a person lets through' if _by_word(after) else what}"] += 1
        receipts_before, self.receipts = self.receipts, receipts_at(self.world, after)
        step = Step(
            world=self.world,
            before=before,
            after=after,
            receipts_before=receipts_before,
            receipts=self.receipts,
            seen=tuple(_since(self.heads, since)),
            contracts=frozenset(_since(self.contracts, since)),
        )
        _raise(breach for promise in ALWAYS for breach in _named(promise, step))


def _by_word(commit: Commit) -> bool:
    return commit.record is not None and commit.record.decision is Decision.PUBLISHED and bool(commit.record.by)


def _since(dated: list[tuple[int, Any]], tick: int) -> Iterator[Any]:
    """Yield what was so at a tick, or later."""
    for number, (_, what) in enumerate(dated):
        if number + 1 == len(dated) or dated[number + 1][0] >= tick:
            yield what


def _named(promise: Callable[[Any], Iterator[str]], of: Any) -> Iterator[str]:
    yield from (f"{promise.__name__}: {breach}" for breach in promise(of))


def _raise(breaches: Iterator[str]) -> None:
    if found := list(breaches):
        raise Violation("\n".join(found))
