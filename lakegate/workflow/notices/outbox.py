"""The outbox: people are notified once of each decision. A message is noted before it is sent and marked afterwards.

A crash between sending and marking may repeat a message, with the same batch; none is lost. It formats nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable, foreseen
from lakegate.landing.chunks import rotated
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Message, MessageKind
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.service import Service

log = structlog.get_logger()
T = TypeVar("T")
OUTBOX = "notes/outbox/"
SENT = "notes/sent/"
LATE = timedelta(hours=1)
NEVER = timedelta(hours=1)  # by then nobody is about to decide what was noted
UNANSWERED = 3  # messages, one of which may take as long as Slack's client waits


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message on its way, and since when."""

    message: Message
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Sent:
    """When a message was sent."""

    at: datetime


def notify(service: Service, name: str, message: Message) -> None:
    """Send a message unless one of this name was sent or is being sent. If it can't be sent now, reconcile sends it."""
    if prepare(service, name, message):
        send(service, name, message)


def prepare(service: Service, name: str, message: Message) -> bool:
    """Put it in the outbox, so that no crash loses it; False where one of this name was sent or is being sent."""
    outgoing = Outgoing(message=message, since=service.clock.now())
    if not service.store.create(OUTBOX + name, to_json(outgoing).encode()):
        return False
    # Looked at after the outbox: whoever sent it before marked it as sent before leaving the outbox.
    if service.store.read(SENT + name) is None:
        return True
    forget(service, name)
    return False


def forget(service: Service, name: str) -> None:
    """Take it out of the outbox."""
    service.store.delete(OUTBOX + name)


def resend(service: Service) -> None:
    """Send what a crash or an unreachable Slack left in the outbox for longer than the grace. A message that is
    refused, or fails in whatever way, keeps no other from being sent; where nobody answers, the rest waits for the next
    sweep. Raises what kept a message from being sent, if it was refused or waits for an hour by now: Slack can't tell
    that.
    """
    errors, unsent = list[Exception](), 0
    for path in rotated(service.store.names(OUTBOX), service.clock.now()):
        name = path.removeprefix(OUTBOX)
        try:
            waits = _resend(service, name)
        except Exception as error:  # noqa: BLE001 (one message)
            log.warning("not_resent", message=name, error=str(error), kind=type(error).__name__)
            errors.append(error)
            continue
        if waits and waits > LATE:
            errors.append(Retryable(f"message {name} can't be sent since {waits}: can the functions reach Slack?"))
        unsent += waits is not None
        if unsent == UNANSWERED:
            break
    for why in foreseen(errors):
        raise why


def _resend(service: Service, name: str) -> timedelta | None:
    """For how long it has waited, if nobody answered now."""
    body = service.store.read(OUTBOX + name)
    if body is None:
        return None
    outgoing = _read(Outgoing, OUTBOX + name, body)
    waits = service.clock.now() - outgoing.since
    if service.store.read(SENT + name) is not None:
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
    """What is true of a message. A rejection without a branch was noted before it was decided, by a worker that may
    have died, and another may have decided otherwise: it is as main's log has it, or None where nothing was decided so.
    """
    if message.kind is not MessageKind.REJECTED or message.branch:
        return message
    decisions = service.ledger.decisions(DECISIONS, batch=message.batch)
    notes = [decided.note for decided in decisions if decided.note.decision is Decision.REJECTED]
    named, more = {file.key for note in notes for file in note.files}, any(note.more for note in notes)
    files = tuple(file for file in message.files if more or file.key in named)
    return replace(message, files=files) if notes and files else None


def send(service: Service, name: str, message: Message) -> None:
    """Send what is in the outbox under this name. What could not be sent, or was refused, stays there: what was decided
    is decided, and the sweep sends it, or says what keeps it from being sent.
    """
    try:
        service.notifier.notify(message)
    except LakegateError as error:
        log.warning("not_notified", message=name, batch=message.batch, error=str(error))
    else:
        _mark_sent(service, name)


def _mark_sent(service: Service, name: str) -> None:
    service.store.create(SENT + name, to_json(Sent(at=service.clock.now())).encode())
    forget(service, name)


def notified_at(service: Service, name: str) -> datetime | None:
    """When the message of this name was sent; None where it was not (yet)."""
    body = service.store.read(SENT + name)
    return None if body is None else _read(Sent, SENT + name, body).at


def _read(kind: type[T], name: str, body: bytes) -> T:
    try:
        return from_json(kind, body)
    except BROKEN as error:
        raise Misconfigured(
            f"the note {name} can't be read: {error!r}. Delete it once it is known what it said"
        ) from error
