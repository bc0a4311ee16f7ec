"""Messages: the facts and the next commands of each kind of notice. It sends nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lakegate.audit.advice import Advice
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import Message, MessageFile, MessageKind, Record

FILES_IN_QUERY = 3  # files that a command in a message names
_NO_ROWS: Mapping[str, int] = {}


def rejection(attempt: Attempt) -> str:
    """Return the name of the message that this attempt rejected files."""
    return f"{attempt.branch}-rejected"


def rejected_message(
    attempt: Attempt,
    files: Iterable[MessageFile],
    *,
    branch: str,
    reason: str = "",
    advice: Sequence[Advice] = (),
    file_ids: Sequence[str] = (),
    published_files: int = 0,
    published_rows: int = 0,
) -> Message:
    """Return the message that files of a batch were rejected, with the reasons. `branch` is empty if none is kept, and
    `file_ids` are the ids of the files that have rows there.

    Files that were rejected without an attempt can be retried only by another contract, as their reasons say.
    """
    batch = attempt.batch
    retries = [f"lakegate retry {batch}"] if attempt.number else []
    approve = [f'lakegate approve {batch} --why "…"'] if branch and file_ids else []
    return Message(
        kind=MessageKind.REJECTED,
        batch=batch,
        table=attempt.table,
        branch=branch,
        files=tuple(files),
        why=reason,
        advice=tuple(advice),
        published_files=published_files,
        published_rows=published_rows,
        commands=(
            f"lakegate show {batch}",
            *(rows_query(attempt.table, branch, file_ids) if branch else []),
            *retries,
            *approve,
            f'lakegate discard {batch} --why "…"',
        ),
    )


def rows_query(table: str, branch: str, file_ids: Sequence[str]) -> list[str]:
    """Return the command that shows rows of the appended files (by id) on their branch; none without such files."""
    if not file_ids:
        return []
    # It imports sqlglot, which takes longer to import than all of a function's own code; few messages need it.
    from lakegate.duckdb.dialect import address  # noqa: PLC0415

    files = ", ".join(f"'{file}'" for file in file_ids[:FILES_IN_QUERY])
    name = address(table).replace('"', r"\"")  # within the shell's quotes
    sql = f"SELECT * FROM {name} WHERE _lakegate_file IN ({files}) LIMIT 20"  # noqa: S608 (for a person to run)
    return [f'lakegate query "{sql}"' + (f" --ref {branch}" if branch else "")]


def warned_message(
    attempt: Attempt,
    files: Iterable[MessageFile],
    rows: int,
    *,
    rows_by_file: Mapping[str, int] = _NO_ROWS,
    distinct: bool = False,
    old_rows: int = 0,
) -> Message:
    """Return the message that files were published with warnings. `rows` were published, and `rows_by_file` are the
    quarantined rows of files, by id, in the quarantine of the `distinct` name or the plain.
    """
    commands = rows_query(quarantine_of(attempt.table, distinct=distinct), "", list(rows_by_file))
    return Message(
        kind=MessageKind.WARNING,
        batch=attempt.batch,
        table=attempt.table,
        branch="",
        files=tuple(files),
        published_rows=rows,
        quarantined_rows=sum(rows_by_file.values()),
        replaced_rows=old_rows,
        commands=(f"lakegate show {attempt.batch}", *commands),
    )


def published_message(attempt: Attempt, files: Iterable[MessageFile], rows: int, *, old_rows: int = 0) -> Message:
    """Return the message that files were published. `rows` were published, in place of `old_rows`."""
    return Message(
        kind=MessageKind.PUBLISHED,
        batch=attempt.batch,
        table=attempt.table,
        branch="",
        files=tuple(files),
        published_rows=rows,
        replaced_rows=old_rows,
        commands=(f"lakegate show {attempt.batch}",),
    )


def observed_message(message: Message, *, would_reject: int, would_quarantine: int) -> Message:
    """Return a message that files were published with warnings, as one of files whose contract observes: enforcing
    would reject so many of them, and quarantine so many rows.
    """
    return replace(
        message,
        kind=MessageKind.OBSERVE,
        why="The contract observes, so all of this is published, and there is nothing to approve or to retry. With "
        "mode: enforce in it, files and rows as these stay off main.",
        would_reject=would_reject,
        would_quarantine=would_quarantine,
    )


def expiring_message(attempt: Attempt, files: Iterable[MessageFile], ends: datetime, *, has_rows: bool) -> Message:
    """Return the message that a rejected batch's branch is deleted soon, with what is possible before and after."""
    batch = attempt.batch
    remark = (
        "Until then, lakegate approve publishes its rows as they were audited. Afterwards, "
        if has_rows
        else "Afterwards, "
    )
    approve = [f'lakegate approve {batch} --why "…"'] if has_rows else []
    return Message(
        kind=MessageKind.EXPIRING,
        batch=batch,
        table=attempt.table,
        branch=attempt.branch,
        files=tuple(files),
        why=f"Its branch is deleted on {ends:%d %B %Y at %H:%M} UTC. {remark}"
        "lakegate retry appends the files again. The files stay rejected.",
        commands=(f"lakegate show {batch}", f"lakegate retry {batch}", *approve, f'lakegate discard {batch} --why "…"'),
    )


def approved_message(record: Record) -> Message:
    """Return the message that a person had rejected files published."""
    return Message(
        kind=MessageKind.APPROVAL,
        batch=record.batch,
        table=record.table,
        branch="",
        files=tuple(MessageFile(key=file.key, reasons=file.reasons, rows=file.rows) for file in record.files),
        published_rows=sum(file.rows for file in record.files),
        quarantined_rows=sum(file.quarantined for file in record.files),
        replaced_rows=sum(file.replaced for file in record.files),
        why=f"{record.by}: {record.reason}",
        commands=(f"lakegate show {record.batch}",),
    )


def waiting_message(attempt: Attempt, files: Iterable[FileVersion], reason: str) -> Message:
    """Return the message that no job gets through to files of a table, with the reason of the last one."""
    return Message(
        kind=MessageKind.DELAY,
        batch=attempt.batch,
        table=attempt.table,
        branch="",
        files=tuple(MessageFile(key=file.key, reasons=()) for file in files),
        why="No file is lost: a new attempt starts at least every hour until a job reaches the files. Other batches of "
        f"the table may wait as well. This message comes once a day. The last attempt: {reason}",
        commands=("lakegate status", f"lakegate show {attempt.batch}"),
    )


def unrouted_message(files: Iterable[MessageFile]) -> Message:
    """Return the message that files wait for a contract."""
    return Message(
        kind=MessageKind.UNROUTED,
        batch="",
        table="",
        branch="",
        files=tuple(files),
        commands=("lakegate status", "lakegate contract push CONTRACT"),
    )
