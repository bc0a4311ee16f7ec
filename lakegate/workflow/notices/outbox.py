"""Outbox: each message is noted before it is sent, and marked as sent afterwards.

So no message is lost, and a redelivered event sends none again. A crash between sending and marking may repeat a
message, with the same batch. It formats nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable, foreseen
from lakegate.landing.chunks import rotated
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Message, MessageKind, Signal
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.service import Service

log = structlog.get_logger()
T = TypeVar("T")
OUTBOX = "notes/outbox/"
SENT = "notes/sent/"
LATE = timedelta(hours=1)
NEVER = timedelta(hours=1)  # by then no worker is about to record the decision of a noted message
OWN = "~"  # in the outbox, between a message's name and the worker that noted it before its decision
UNANSWERED = 3  # messages, each of which may take as long as Slack's client waits


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message in the outbox, and since when."""

    message: Message
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Sent:
    """Time when a message was sent."""

    at: datetime


def notify(service: Service, name: str, message: Message) -> None:
    """Send a message, unless one of this name was or is being sent. If it cannot be sent now, the sweep sends it."""
    if prepare(service, name, message):
        send(service, name, message)


def prepare(service: Service, name: str, message: Message) -> bool:
    """Put a message in the outbox, so that no crash loses it. Return False if one of this name was sent or is being
    sent.
    """
    if not _note(service, name, message):
        return False
    # Read after the outbox: another worker marks a message as sent before it takes it out.
    if service.store.read(_sent(name)) is None:
        return True
    forget(service, name)
    return False


def prepare_undecided(service: Service, name: str, message: Message) -> str:
    """Put a message in the outbox before its decision is recorded. Return the name that it has there, which is this
    worker's own: a sweep forgets an old message without a decision, and no other worker may rely on that one.
    """
    own = f"{name}{OWN}{service.clock.nonce()}"
    _note(service, own, message)
    return own


def _note(service: Service, name: str, message: Message) -> bool:
    outgoing = Outgoing(message=message, since=service.clock.now())
    return service.store.create(OUTBOX + name, to_json(outgoing).encode())


def forget(service: Service, name: str) -> None:
    """Take a message out of the outbox."""
    service.store.delete(OUTBOX + name)


def resend(service: Service) -> None:
    """Send the messages that a crash or an unreachable Slack left in the outbox for longer than the grace. A message
    that fails in any way stops no other. If several go unanswered, the rest waits for the next sweep.

    Raise the error of a message that was refused, and Retryable for one that has waited for an hour: Slack cannot show
    these.
    """
    errors, unsent, oldest = list[Exception](), 0, timedelta()
    for path in rotated(service.store.names(OUTBOX), service.clock.now()):
        name = path.removeprefix(OUTBOX)
        try:
            waits = _resend(service, name)
        except Exception as error:  # noqa: BLE001 (one message)
            log.warning("not_resent", message=name, error=str(error), kind=type(error).__name__)
            errors.append(error)
            continue
        oldest = max(oldest, waits or oldest)
        if waits and waits > LATE:
            errors.append(Retryable(f"message {name} has waited for {waits}. Check that the functions reach Slack"))
        unsent += waits is not None
        if unsent == UNANSWERED:
            break
    service.telemetry.emit({Signal.OLDEST_MESSAGE: oldest.total_seconds()})
    for why in foreseen(errors):
        raise why


def _resend(service: Service, name: str) -> timedelta | None:
    """Send one message. Return how long it has waited if it went unanswered, or None."""
    body = service.store.read(OUTBOX + name)
    if body is None:
        return None
    outgoing = _read(Outgoing, OUTBOX + name, body)
    waits = service.clock.now() - outgoing.since
    if service.store.read(_sent(name)) is not None:
        forget(service, name)
    elif waits > service.grace:
        return _send_late(service, name, outgoing, waits)
    return None


def _send_late(service: Service, name: str, outgoing: Outgoing, waits: timedelta) -> timedelta | None:
    message = _as_decided(service, outgoing.message)
    if message is None:
        if waits > NEVER:
            forget(service, name)
        return None
    try:
        service.notifier.notify(message)
    except (Retryable, OutcomeUnknown) as error:
        log.warning("not_notified", message=name, batch=message.batch, error=str(error))
        return waits
    _mark_sent(service, name)
    return None


def _as_decided(service: Service, message: Message) -> Message | None:
    """Return the message with the files that main's log confirms, or None if it confirms none.

    Only a rejection without a branch needs that. It was noted before its decision, by a worker that may have died, and
    another may have decided otherwise.
    """
    if message.kind is not MessageKind.REJECTED or message.branch:
        return message
    decisions = service.ledger.decisions(DECISIONS, batch=message.batch)
    notes = [decided.note for decided in decisions if decided.note.decision is Decision.REJECTED]
    named, more = {file.key for note in notes for file in note.files}, any(note.more for note in notes)
    files = tuple(file for file in message.files if more or file.key in named)
    return replace(message, files=files) if notes and files else None


def send(service: Service, name: str, message: Message) -> None:
    """Send the message that is in the outbox under this name. If that fails it stays there, because its decision
    stands: the sweep sends it, or raises the error.
    """
    try:
        service.notifier.notify(message)
    except LakegateError as error:
        log.warning("not_notified", message=name, batch=message.batch, error=str(error))
    else:
        _mark_sent(service, name)


def _mark_sent(service: Service, name: str) -> None:
    _mark(service, name)
    forget(service, name)


def _mark(service: Service, name: str) -> bool:
    return service.store.create(_sent(name), to_json(Sent(at=service.clock.now())).encode())


def withhold(service: Service, name: str) -> bool:
    """Mark a message as sent that need not be sent. Return False if it was sent, or if another worker, which judged by
    another contract, may be about to send it.
    """
    # Read after the mark: whoever sends puts the message in the outbox before looking for the mark.
    return _mark(service, name) and service.store.read(OUTBOX + name) is None


def notified_at(service: Service, name: str) -> datetime | None:
    """Return when the message of this name was sent, or None if it was not. Raise Misconfigured if the note of that
    cannot be read.
    """
    body = service.store.read(_sent(name))
    return None if body is None else _read(Sent, _sent(name), body).at


def _sent(name: str) -> str:
    return SENT + name.partition(OWN)[0]


def _read(kind: type[T], name: str, body: bytes) -> T:
    try:
        return from_json(kind, body)
    except BROKEN as error:
        raise Misconfigured(
            f"the note {name} can't be read: {error!r}. Find out what it said, then delete it"
        ) from error
