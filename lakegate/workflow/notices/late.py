"""Late: the sweep sends what a crash, or a service out of reach, left in the outbox for longer than the grace."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import structlog

from lakegate.errors import OutcomeUnknown, Refused, Retryable, foreseen
from lakegate.landing.attempts import Attempt
from lakegate.landing.chunks import rotate
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Message, MessageKind, Signal
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.notices.events import channel_of, record_events
from lakegate.workflow.notices.outbox import (
    LATE,
    OUTBOX,
    AddressedEvent,
    Letter,
    deliver,
    forget,
    is_final,
    mark_sent,
    outgoing_of,
    was_sent,
)
from lakegate.workflow.service import Service

log = structlog.get_logger()
FORGET_AFTER = timedelta(hours=1)  # by then no worker is about to record the decision of a recorded message
MOST_UNANSWERED = 3  # for people, and for each channel: each may take as long as its client waits


def resend(service: Service) -> None:
    """Send what is late. What fails in any way stops nothing else. If several messages, or events of one channel, go
    unanswered, the rest of them waits for the next sweep.

    Raise the error of one that was refused, and Retryable for one that has waited for an hour: Slack cannot show these.
    """
    errors, unsent, oldest = list[Exception](), Counter[str](), timedelta()
    for path in rotate(service.store.names(OUTBOX), service.clock.now()):
        name = path.removeprefix(OUTBOX)
        if unsent[channel_of(name)] == MOST_UNANSWERED:
            continue
        try:
            waits = _resend(service, name)
        except Exception as error:  # noqa: BLE001 (one message)
            log.warning("not_resent", message=name, error=str(error), kind=type(error).__name__)
            errors.append(error)
            continue
        oldest = max(oldest, waits or oldest)
        if waits and waits > LATE:
            receiver = channel_of(name) or "Slack"
            errors.append(
                Retryable(f"message {name} has waited for {waits}. Check that the functions reach {receiver}")
            )
        unsent[channel_of(name)] += waits is not None
    service.telemetry.emit({Signal.OLDEST_MESSAGE: oldest.total_seconds()})
    for problem in foreseen(errors):
        raise problem


def _resend(service: Service, name: str) -> timedelta | None:
    """Send one. Return how long it has waited if it went unanswered, or None."""
    outgoing = outgoing_of(service, name)
    if outgoing is None:
        return None
    waits = service.clock.now() - outgoing.since
    if was_sent(service, name):
        forget(service, name)
    elif waits > service.grace and outgoing.letter:
        return _send_late(service, name, outgoing.letter, waits)
    return None


def _send_late(service: Service, name: str, letter: Letter, waits: timedelta) -> timedelta | None:
    confirmed_letter = _as_decided(service, letter)
    if confirmed_letter is None:
        if waits > FORGET_AFTER:
            forget(service, name)
        return None
    if isinstance(confirmed_letter, Message) and _is_untried(confirmed_letter):
        record_events(service, Attempt(table=confirmed_letter.table, batch=confirmed_letter.batch, number=0))
    try:
        deliver(service, confirmed_letter)
    except (Retryable, OutcomeUnknown) as error:
        log.warning("not_notified", message=name, batch=confirmed_letter.batch, error=str(error))
        return waits
    except Refused as error:
        if is_final(confirmed_letter, error):
            mark_sent(service, name)  # the sweep reports it this once
        raise
    mark_sent(service, name)
    return None


def _as_decided(service: Service, letter: Letter) -> Letter | None:
    """Return the message with the files that main's log confirms, or None if it confirms none; an event as it is, or
    None if its channel is no longer there.

    Only a rejection without a branch is asked for. It was recorded before its decision, by a worker that may have died,
    and another may have decided otherwise.
    """
    if isinstance(letter, AddressedEvent):
        return letter if letter.channel in service.channels else None
    if not _is_untried(letter):
        return letter
    decisions = service.ledger.decisions(DECISIONS, batch=letter.batch)
    records = [decision.record for decision in decisions if decision.record.decision is Decision.REJECTED]
    keys, has_more = (
        {file.key for record in records for file in record.files},
        any(record.rest for record in records),
    )
    files = tuple(file for file in letter.files if has_more or file.key in keys)
    return replace(letter, files=files) if records and files else None


def _is_untried(message: Message) -> bool:
    return message.kind is MessageKind.REJECTED and not message.branch
