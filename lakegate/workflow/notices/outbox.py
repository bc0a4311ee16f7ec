"""Outbox: each message, and each event for a channel, is recorded before it is sent, and marked as sent afterwards.

So none is lost, and a redelivered call sends none again. A crash between sending and marking may repeat one: a message
with the same batch, an event with the same id. It formats nothing, and `late` sends what stayed here.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self, TypeVar

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.errors import LakegateError, Misconfigured, Refused
from lakegate.ports import Event, Message
from lakegate.workflow.service import Service

log = structlog.get_logger()
T = TypeVar("T")
OUTBOX = "notes/outbox/"
SENT_PREFIX = "notes/sent/"
LATE = timedelta(hours=1)
WORKER_MARK = "~"  # in the outbox, between a message's name and the worker that recorded it before its decision


@dataclass(frozen=True, kw_only=True)
class AddressedEvent:
    """An event for one channel, by its name."""

    channel: str
    event: Event

    @property
    def batch(self) -> str:
        return self.event.batch


Letter = Message | AddressedEvent


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message or an event in the outbox, and since when."""

    since: datetime
    message: Message | None = None
    event: AddressedEvent | None = None

    @classmethod
    def of(cls, letter: Letter, moment: datetime) -> Self:
        return cls(since=moment, message=letter) if isinstance(letter, Message) else cls(since=moment, event=letter)

    @property
    def letter(self) -> Letter | None:
        return self.message or self.event


@dataclass(frozen=True, kw_only=True)
class SentMark:
    """Time when a message was sent."""

    at: datetime


def notify(service: Service, name: str, message: Message) -> None:
    """Send a message, unless one of this name was or is being sent. If it cannot be sent now, the sweep sends it."""
    if prepare(service, name, message):
        send(service, name, message)


def prepare(service: Service, name: str, letter: Letter) -> bool:
    """Put a message or an event in the outbox, so that no crash loses it. Return False if one of this name was sent or
    is being sent.
    """
    if not _store(service, name, letter):
        return False
    # Read after the outbox: another worker marks a message as sent before it takes it out.
    if not was_sent(service, name):
        return True
    forget(service, name)
    return False


def prepare_undecided(service: Service, name: str, message: Message) -> str:
    """Put a message in the outbox before its decision is recorded. Return the name that it has there, which is this
    worker's own: a sweep forgets an old message without a decision, and no other worker may rely on that one.
    """
    own_name = f"{name}{WORKER_MARK}{service.clock.nonce()}"
    _store(service, own_name, message)
    return own_name


def _store(service: Service, name: str, letter: Letter) -> bool:
    outgoing = Outgoing.of(letter, service.clock.now())
    return service.store.create(OUTBOX + name, to_json(outgoing).encode())


def outgoing_of(service: Service, name: str) -> Outgoing | None:
    """Return what is in the outbox under this name, or None. Raise Misconfigured if it cannot be read."""
    body = service.store.read(OUTBOX + name)
    return None if body is None else _read(Outgoing, OUTBOX + name, body)


def forget(service: Service, name: str) -> None:
    """Take a message or an event out of the outbox."""
    service.store.delete(OUTBOX + name)


def send(service: Service, name: str, letter: Letter) -> None:
    """Send what is in the outbox under this name. If that fails it stays there, because its decision stands: the sweep
    sends it, or raises the error.
    """
    try:
        deliver(service, letter)
    except LakegateError as error:
        log.warning("not_notified", message=name, batch=letter.batch, error=str(error))
    else:
        mark_sent(service, name)


def deliver(service: Service, letter: Letter) -> None:
    """Notify people of a message, or a channel of an event."""
    if isinstance(letter, AddressedEvent):
        service.channels[letter.channel].send(letter.event)
    else:
        service.notifier.notify(letter)


def is_final(letter: Letter, error: Exception) -> bool:
    """Return True if the error is the last word on an event: it is as small as it gets, and still refused."""
    return isinstance(letter, AddressedEvent) and isinstance(error, Refused)


def mark_sent(service: Service, name: str) -> None:
    _mark(service, name)
    forget(service, name)


def _mark(service: Service, name: str) -> bool:
    return service.store.create(_sent_name(name), to_json(SentMark(at=service.clock.now())).encode())


def withhold(service: Service, name: str) -> bool:
    """Mark a message as sent that need not be sent. Return False if it was sent, or if another worker, which judged by
    another contract, may be about to send it.
    """
    # Read after the mark: whoever sends puts the message in the outbox before looking for the mark.
    return _mark(service, name) and service.store.read(OUTBOX + name) is None


def was_sent(service: Service, name: str) -> bool:
    return service.store.read(_sent_name(name)) is not None


def notified_at(service: Service, name: str) -> datetime | None:
    """Return when what has this name was sent, or None if it was not. Raise Misconfigured if the note of that
    cannot be read.
    """
    body = service.store.read(_sent_name(name))
    return None if body is None else _read(SentMark, _sent_name(name), body).at


def _sent_name(name: str) -> str:
    return SENT_PREFIX + name.partition(WORKER_MARK)[0]


def _read(kind: type[T], name: str, body: bytes) -> T:
    try:
        return from_json(kind, body)
    except PARSE_ERRORS as error:
        raise Misconfigured(
            f"the note {name} can't be read: {error!r}. Find out what it said, then delete it"
        ) from error
