"""Telling people, once for each decision: the message is noted before it is sent and marked afterwards.

A crash between sending and marking may repeat a message, with the same batch; none is lost. It formats nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

import structlog

from lakegate.audit.codec import BROKEN, from_json, to_json
from lakegate.audit.quarantine import quarantine_of
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable, foreseen
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import Kind, Message, Note, ToldFile
from lakegate.workflow.history import DECISIONS
from lakegate.workflow.rotation import rotated
from lakegate.workflow.service import Service

log = structlog.get_logger()
T = TypeVar("T")
OUTBOX = "notes/outbox/"
TOLD = "notes/told/"
QUERIED = 3  # files that a command in a message names
LATE = timedelta(hours=1)
NEVER = timedelta(hours=1)  # by then nobody is about to decide what was noted
UNANSWERED = 3  # messages, one of which may take as long as Slack's client waits
_NONE: Mapping[str, int] = {}


@dataclass(frozen=True, kw_only=True)
class Outgoing:
    """A message on its way, and since when."""

    message: Message
    since: datetime


@dataclass(frozen=True, kw_only=True)
class Told:
    """When a message was sent."""

    at: datetime


def tell(service: Service, name: str, message: Message) -> None:
    """Send a message unless one of this name was sent or is being sent. If it can't be sent now, reconcile sends it."""
    if prepare(service, name, message):
        send(service, name, message)


def prepare(service: Service, name: str, message: Message) -> bool:
    """Put it in the outbox, so that no crash loses it; False where one of this name was sent or is being sent."""
    outgoing = Outgoing(message=message, since=service.clock.now())
    if not service.store.create(OUTBOX + name, to_json(outgoing).encode()):
        return False
    # Looked at after the outbox: whoever told it before marked it as told before leaving the outbox.
    if service.store.read(TOLD + name) is None:
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
    if service.store.read(TOLD + name) is not None:
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
        log.warning("not_told", message=name, batch=message.batch, error=str(error))
        return waits
    _mark_told(service, name)
    return None


def _as_decided(service: Service, message: Message) -> Message | None:
    """What is true of a message. A rejection without a branch was noted before it was decided, by a worker that may
    have died, and another may have decided otherwise: it is as main's log has it, or None where nothing was decided so.
    """
    if message.kind is not Kind.REJECTED or message.branch:
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
        log.warning("not_told", message=name, batch=message.batch, error=str(error))
    else:
        _mark_told(service, name)


def _mark_told(service: Service, name: str) -> None:
    service.store.create(TOLD + name, to_json(Told(at=service.clock.now())).encode())
    forget(service, name)


def told_at(service: Service, name: str) -> datetime | None:
    """When the message of this name was sent; None where it was not (yet)."""
    body = service.store.read(TOLD + name)
    return None if body is None else _read(Told, TOLD + name, body).at


def _read(kind: type[T], name: str, body: bytes) -> T:
    try:
        return from_json(kind, body)
    except BROKEN as error:
        raise Misconfigured(
            f"the note {name} can't be read: {error!r}. Delete it once it is known what it said"
        ) from error


def rejection(attempt: Attempt) -> str:
    """The name of the message that files of this attempt were rejected."""
    return f"{attempt.branch}-rejected"


def rejected_message(
    attempt: Attempt,
    files: Iterable[ToldFile],
    *,
    branch: str,
    why: str = "",
    appended: Sequence[str] = (),
    published_files: int = 0,
    published_rows: int = 0,
) -> Message:
    """Why files of a batch did not reach main, and what to run next. `branch` is empty where none was kept; `appended`
    are the ids of those files that have rows there. What was rejected without an attempt can be retried only once its
    contract says otherwise, which is in the reasons.
    """
    batch = attempt.batch
    again = [f"lakegate retry {batch}"] if attempt.number else []
    approve = [f'lakegate approve {batch} --why "…"'] if branch and appended else []
    return Message(
        kind=Kind.REJECTED,
        batch=batch,
        table=attempt.table,
        branch=branch,
        files=tuple(files),
        why=why,
        published_files=published_files,
        published_rows=published_rows,
        commands=(
            f"lakegate show {batch}",
            *(rows_query(attempt.table, branch, appended) if branch else []),
            *again,
            *approve,
            f'lakegate discard {batch} --why "…"',
        ),
    )


def rows_query(table: str, branch: str, appended: Sequence[str]) -> list[str]:
    """The command that shows rows of these files (by id) on their branch; none where none was appended."""
    if not appended:
        return []
    # It imports sqlglot, which takes longer than all else that a function imports of ours; few messages need it.
    from lakegate.duckdb.dialect import addressed  # noqa: PLC0415

    files = ", ".join(f"'{file}'" for file in appended[:QUERIED])
    name = addressed(table).replace('"', r"\"")  # within the shell's quotes
    sql = f"SELECT * FROM {name} WHERE _lakegate_file IN ({files}) LIMIT 20"  # noqa: S608 (for a person to run)
    return [f'lakegate query "{sql}"' + (f" --ref {branch}" if branch else "")]


def warned_message(
    attempt: Attempt, files: Iterable[ToldFile], rows: int, *, quarantined: Mapping[str, int] = _NONE, replaced: int = 0
) -> Message:
    """Published, but with warnings; `quarantined` are the files (by id) that left rows in quarantine, and how many."""
    told = tuple(files)
    look = rows_query(quarantine_of(attempt.table), "", list(quarantined))
    return Message(
        kind=Kind.WARNED,
        batch=attempt.batch,
        table=attempt.table,
        branch="",
        files=told,
        published_rows=rows,
        quarantined_rows=sum(quarantined.values()),
        replaced_rows=replaced,
        commands=(f"lakegate show {attempt.batch}", *look),
    )


def expiring_message(attempt: Attempt, files: Iterable[ToldFile], ends: datetime, *, has_rows: bool) -> Message:
    """The branch of a rejected batch is deleted soon; what can be done until then, and after."""
    batch = attempt.batch
    until = "Until then approve publishes its rows as they were audited; after that, " if has_rows else "After that, "
    approve = [f'lakegate approve {batch} --why "…"'] if has_rows else []
    return Message(
        kind=Kind.EXPIRING,
        batch=batch,
        table=attempt.table,
        branch=attempt.branch,
        files=tuple(files),
        why=f"Its branch is deleted on {ends:%d %B %Y at %H:%M} UTC. {until}retry appends the files anew. They stay "
        "rejected.",
        commands=(f"lakegate show {batch}", f"lakegate retry {batch}", *approve, f'lakegate discard {batch} --why "…"'),
    )


def approved_message(note: Note) -> Message:
    """Published though they were rejected, because a person said so."""
    return Message(
        kind=Kind.APPROVED,
        batch=note.batch,
        table=note.table,
        branch="",
        files=tuple(ToldFile(key=file.key, reasons=file.reasons, rows=file.rows) for file in note.files),
        published_rows=sum(file.rows for file in note.files),
        quarantined_rows=sum(file.quarantined for file in note.files),
        replaced_rows=sum(file.replaced for file in note.files),
        why=f"{note.by}: {note.why}",
        commands=(f"lakegate show {note.batch}",),
    )


def waiting_message(attempt: Attempt, files: Iterable[FileVersion], why: str) -> Message:
    """No job gets through to files of a table, and why the last one did not."""
    return Message(
        kind=Kind.WAITING,
        batch=attempt.batch,
        table=attempt.table,
        branch="",
        files=tuple(ToldFile(key=file.key, reasons=()) for file in files),
        why="Nothing is lost: they are tried again, at least every hour, until a job gets through. Other batches of "
        f"the table may wait as well; this is told once a day. The last try: {why}",
        commands=("lakegate status", f"lakegate show {attempt.batch}"),
    )


def held_message(files: Iterable[ToldFile]) -> Message:
    """Files that wait for a contract."""
    return Message(
        kind=Kind.HELD,
        batch="",
        table="",
        branch="",
        files=tuple(files),
        commands=("lakegate status", "lakegate contract push CONTRACT"),
    )
