"""A worker: one process that runs the workflow's own code, stopped before each of its calls to the world.

Whoever holds it lets it make one call after the other, and says what becomes of each. It decides nothing itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from types import GeneratorType
from typing import Any, NamedTuple, cast

from greenlet import getcurrent, greenlet

from lakegate.adapters.immutable_cache import ImmutableCache
from lakegate.errors import LakegateError, OutcomeUnknown, Retryable
from lakegate.ports import Channel
from lakegate.ports.landing import Descriptions, Version
from lakegate.testing.landing import describe_each
from lakegate.workflow.service import Service

PORTS = ("branches", "ledger", "publisher", "tables", "runner", "landing", "store", "notifier", "reminders")
CHANNEL = "channel"
# Of what else fails in between, an adapter knows that doing it again is safe.
OUTCOME_MATTERS = {
    "append",
    "commit_receipts",
    "create",
    "create_branch",
    "evolve",
    "merge",
    "notify",
    "register",
    "remove",
    "replay",
    "restore_receipts",
    "send",
}


class Fate(StrEnum):
    """The fate of one call."""

    DONE = "done"
    THROTTLED = "throttled"
    LOST = "its request is lost"
    UNANSWERED = "its answer is lost"
    CRASH_BEFORE = "the worker dies before it"
    CRASH_AFTER = "the worker dies after it"

    @property
    def happens(self) -> bool:
        return self is Fate.DONE or self is Fate.UNANSWERED or self is Fate.CRASH_AFTER


class Crash(BaseException):
    """The process is gone. No handler of the product may catch it."""


class Call(NamedTuple):
    """A call that a worker is about to make."""

    port: str
    method: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.port}.{self.method}({', '.join(_short(it) for it in self.arguments)})"

    def failed(self, fate: Fate) -> LakegateError:
        unknown = fate is not Fate.THROTTLED and self.method in OUTCOME_MATTERS
        return (OutcomeUnknown if unknown else Retryable)(f"{self}: {fate}")


def _short(argument: Any) -> str:
    text = argument if isinstance(argument, str) else type(argument).__name__
    return text if len(text) <= 70 else f"{text[:8]}…"


def stops() -> bool:
    return False


class Worker:
    """Runs one operation on a service that is `stopping`. `patient` workers are people's commands, which may live for
    hours; others die with their function's time-out.
    """

    def __init__(
        self,
        name: str,
        whole: Service,
        operation: Callable[[Service], object],
        *,
        patient: bool = False,
        on_end: Callable[["Worker"], None] = lambda _: None,
    ) -> None:
        self.name, self.patient, self.on_end = name, patient, on_end
        self.since: datetime = whole.clock.now()
        self.waiting: Call | None = None
        self.ended = self.died = False
        self.result: object = None
        self.error: Exception | None = None
        self._operation = operation
        self._service = replace(whole, store=ImmutableCache(whole.store))  # as bootstrap wires it
        self._goes_on = stops
        self._green = Strand(self)
        self.step()  # up to its first call

    def step(self, fate: Fate = Fate.DONE, goes_on: Callable[[], bool] = stops) -> None:
        """Make the call that it waits for, and go on up to the next one, or to the end. Before the next one it asks
        whether it `goes_on`: then that one is done, too, without a word from whoever holds it.
        """
        self._goes_on = goes_on
        self._green.switch(fate)
        if self.ended:
            self.on_end(self)

    @property
    def has_express(self) -> bool:
        """Return True if the installation had the lane when it began."""
        return self._service.express is not None

    def kill(self) -> None:
        """Its time is up."""
        self.step(Fate.CRASH_BEFORE)

    def call(self, method: Callable[..., Any], call: Call, *arguments: Any, **named: Any) -> Any:
        """Return what the workflow meets instead of its ports."""
        if self.died:
            raise Crash  # what `finally` would do is not done by a process that is gone
        self.waiting = call
        fate: Fate = Fate.DONE if self._goes_on() else self._green.parent.switch()
        if fate is Fate.DONE:
            result = method(*arguments, **named)
            return list(result) if isinstance(result, GeneratorType) else result
        self.died = fate is Fate.CRASH_BEFORE
        if self.died:
            raise Crash
        if fate.happens:
            method(*arguments, **named)
        self.died = fate is Fate.CRASH_AFTER
        if self.died:
            raise Crash
        raise call.failed(fate)

    def run(self, _: Fate) -> None:
        """Do the operation, from the first step on."""
        try:
            self.result = self._operation(self._service)
        except Crash:
            pass
        except Exception as error:  # noqa: BLE001 (whoever started it looks whether it is one of the product's own)
            self.error = error
        self.ended = True


class Strand(greenlet):  # type: ignore[misc]  # it has no types
    """A greenlet that knows its worker, and is forgotten with it."""

    def __init__(self, worker: Worker) -> None:
        super().__init__(worker.run)
        self.worker = worker


def working() -> Worker | None:
    """Return whose code it is that runs now."""
    strand = getcurrent()
    return strand.worker if isinstance(strand, Strand) else None


def stopping(whole: Service, ports: Iterable[str] = PORTS) -> Service:
    """The service as workers reach it: whoever calls one of these ports is stopped before."""
    before: dict[str, Any] = {
        name: (_Landing if name == "landing" else _Port)(name, getattr(whole, name)) for name in ports
    }
    return replace(whole, **before)


def stopping_at(channel: Channel) -> Channel:
    """The channel as workers reach it."""
    reached: Any = _Port(CHANNEL, channel)
    return cast(Channel, reached)


class _Port:
    """Stands before a port, for all workers."""

    def __init__(self, name: str, port: object) -> None:
        self._name, self._port = name, port

    def __getattr__(self, method: str) -> Callable[..., Any]:
        name, real = self._name, getattr(self._port, method)

        def called(*arguments: Any, **named: Any) -> Any:
            worker: Worker = getcurrent().worker
            return worker.call(real, Call(name, method, (*arguments, *named.values())), *arguments, **named)

        setattr(self, method, called)  # found at once from now on
        return called


class _Landing(_Port):
    """Many versions are described by calls that come to nothing each for itself."""

    def describe_all(self, versions: Iterable[Version]) -> Descriptions:
        return describe_each(self.describe, versions)
