"""Log lines: the decisions in main's log, by batch and state."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision, state_of
from lakegate.ports import MAIN, DecidedFile, LogEntry, Record, Ref
from lakegate.workflow.ledger.receipts import receipts_at
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.overview.line import Line
from lakegate.workflow.service import Service


def decided_lines(service: Service, decisions: Iterable[LogEntry], open_branches: set[str]) -> list[Line]:
    """Return the lines of these decisions, which are newest first. A file version counts by its last decision, and not
    at all once another version has replaced it. A branch that is not open any more is left out of its line.
    """
    decisions = list(decisions)
    superseded, versions = _superseded(service, decisions), set[tuple[str, str]]()
    lines: list[Line] = []
    for decision in decisions:
        files = [file for file in decision.record.files if (file.key, file.version_id) not in versions]
        versions.update((file.key, version) for file in files for version in (file.version_id, *file.replaces))
        by_state: dict[str, list[DecidedFile]] = {}
        for file in files:
            state = state_of(decision.record.decision, superseded=(file.key, file.version_id) in superseded)
            by_state.setdefault(state, []).append(file)
        lines += [_line(decision.record, group, state, decision.at, open_branches) for state, group in by_state.items()]
    return lines


def with_superseded(service: Service, decisions: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Return the decisions, each with those of its rejected files that other versions of their keys decide by now."""
    decisions = tuple(decisions)
    keys = {
        file.key
        for decision in decisions
        if decision.record.decision is Decision.REJECTED
        for file in decision.record.files
    }
    if not keys:
        return decisions
    superseded_versions = {
        (file.key, file.version_id) for file in superseded_files(service, receipts_at(service, Ref(MAIN), keys))
    }
    return tuple(
        replace(
            decision,
            superseded=tuple(
                file.key for file in decision.record.files if (file.key, file.version_id) in superseded_versions
            ),
        )
        if decision.record.decision is Decision.REJECTED
        else decision
        for decision in decisions
    )


def _superseded(service: Service, decisions: Iterable[LogEntry]) -> set[tuple[str, str]]:
    """Return the keys and version ids of the superseded files. Only receipts of keys with another decision beside the
    rejection are read, because other rejected files cannot be superseded.
    """
    rejected, other = set[str](), set[str]()
    for decision in decisions:
        keys = rejected if decision.record.decision is Decision.REJECTED else other
        keys.update(file.key for file in decision.record.files)
    receipts = receipts_at(service, Ref(MAIN), rejected & other)
    return {(file.key, file.version_id) for file in superseded_files(service, receipts)}


def _line(record: Record, files: list[DecidedFile], state: str, at: datetime, open_branches: set[str]) -> Line:
    branch = Attempt(table=record.table, batch=record.batch, number=record.attempt).branch
    return Line(
        batch=record.batch,
        table=record.table,
        branch=branch if branch in open_branches else "",
        files=tuple(file.key for file in files),
        versions=tuple(file.version_id for file in files),
        state=state,
        rows=sum(file.rows for file in files),
        reasons=_reasons(files) or ((record.reason,) if record.reason else ()),
        since=at,
        attempt=record.attempt,
        lane=record.lane,
        quarantined=sum(file.quarantined for file in files),
        replaced=sum(file.replaced for file in files),
        would_reject=sum(file.would_reject for file in files),
        would_quarantine=sum(file.would_quarantine for file in files),
    )


def _reasons(files: list[DecidedFile]) -> tuple[str, ...]:
    """Return the reasons once if all files have the same, or else each with its file's name."""
    if len({file.reasons for file in files}) == 1:
        return files[0].reasons
    return tuple(f"{file.key}: {reason}" for file in files for reason in file.reasons)
