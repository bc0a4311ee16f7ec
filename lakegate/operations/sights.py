"""Sights: file versions as a person who waits for them sees them. It only reads."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lakegate.errors import Misconfigured
from lakegate.landing.lifecycle import Decision, State, state_of
from lakegate.landing.standing import IDENTICAL
from lakegate.ports import MAIN, Branch, Ref
from lakegate.workflow.ledger.receipts import receipts_at, receipts_now, whole_receipt
from lakegate.workflow.ledger.rejected import decisions_of
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.overview.line import Line
from lakegate.workflow.service import Service
from lakegate.workflow.status import Status, status

Version = tuple[str, str]  # landing key, version id
BATCH = re.compile(r"[0-9]{8}T[0-9]{4}-[0-9a-f]{8}")
MARKER = "it has no bytes and a marker's name, so lakegate passes it over"
ALREADY_PUBLISHED, ABSENT, PASSED_OVER = "already published", "gone", "passed over"
ENDS = frozenset(
    {
        State.PUBLISHED,
        ALREADY_PUBLISHED,
        State.DISCARDED,
        PASSED_OVER,
        State.UNROUTED,
        ABSENT,
        State.SUPERSEDED,
        State.REJECTED,
    }
)  # states after which nobody waits


@dataclass(frozen=True, kw_only=True)
class Sight:
    """One file version as it was seen last."""

    file: str
    version: str
    state: str = State.QUEUED
    batch: str = ""
    table: str = ""
    branch: str = ""
    rows: int = 0
    replaced: int = 0
    reasons: tuple[str, ...] = ()
    waits: str = ""

    @property
    def at_end(self) -> bool:
        return self.state in ENDS

    @property
    def pair(self) -> Version:
        return (self.file, self.version)


@dataclass(frozen=True, kw_only=True)
class Sights:
    """Sights of one look. `settled` are branches that need no second look."""

    sights: tuple[Sight, ...]
    settled: tuple[Branch, ...]


def view_sights(
    service: Service,
    pending: Iterable[Sight],
    ends: Iterable[Version],
    branches: Iterable[Branch],
    *,
    all_moving: bool,
) -> Sights:
    """Return the present sight of each version that was `pending`, and of those at their `ends` that are in a list
    now. With `all_moving`, versions that a status shows under way come first. A version that no list shows for a
    moment, between two lists, keeps its sight.
    """
    known_settled = set(branches)
    by_version = sights(status(service, known_settled))
    shown_sights = {pair: sight for pair, sight in by_version.items() if all_moving and not sight.at_end}
    shown_sights |= {pair: by_version[pair] for pair in ends if pair in by_version}
    shown_sights |= {sight.pair: by_version.get(sight.pair) or sight_by_receipt(service, sight) for sight in pending}
    if all(sight.at_end for sight in shown_sights.values()):
        shown_sights |= _final_sights(service, shown_sights)
    return Sights(sights=tuple(shown_sights.values()), settled=tuple(known_settled))


def _final_sights(service: Service, final: Mapping[Version, Sight]) -> dict[Version, Sight]:
    """Return the sights with each file's own rows and reasons, because a list may hold them for several together."""
    sights_by_version: dict[Version, Sight] = {}
    for decision in service.ledger.decisions(1000):
        for file in decision.record.files:
            pair = (file.key, file.version_id)
            if pair in final and pair not in sights_by_version:
                state = final[pair].state
                state = state if state == State.SUPERSEDED else _state_text(decision.record.decision, file.reasons)
                sights_by_version[pair] = replace(
                    final[pair], state=state, rows=file.rows, replaced=file.replaced, reasons=file.reasons
                )
    return sights_by_version


def sights(now: Status) -> dict[Version, Sight]:
    """Return every file version that a status knows; work under way takes precedence over earlier decisions."""
    lines = (*now.discarded, *now.published, *now.superseded, *now.rejected, *now.unrouted, *now.in_flight)
    return {sight.pair: sight for line in lines for sight in _of_line(line)}


def _of_line(line: Line) -> Iterator[Sight]:
    for key, version in zip(line.files, line.versions, strict=True):
        yield Sight(
            file=key,
            version=version,
            state=_state_text(line.state, line.reasons),
            batch=line.batch,
            table=line.table,
            branch=line.branch,
            rows=line.rows if len(line.files) == 1 else 0,
            replaced=line.replaced if len(line.files) == 1 else 0,
            reasons=line.reasons,
            waits=line.waits,
        )


def _state_text(state: str, reasons: tuple[str, ...]) -> str:
    """Return the state to show. Bytes that are on main anyway count as published; ignored or superseded ones do not."""
    is_identical = state == Decision.DISCARDED and any(reason.endswith(IDENTICAL) for reason in reasons)
    return ALREADY_PUBLISHED if is_identical else str(state)


def sight_by_receipt(service: Service, before: Sight) -> Sight:
    """Return the state of a version that no list shows: a marker, decided long ago, gone from the bucket, or on its way
    between two lists.
    """
    before = replace(before, waits="")
    file = service.landing.describe(before.file, before.version)
    if file and file.is_marker:
        return replace(before, state=PASSED_OVER, reasons=(MARKER,))
    receipt = receipts_now(service, [file]).get(file.key) if file else whole_receipt(service, before.file)
    entry = receipt.entry(before.version) if receipt else None
    if entry is not None and receipt is not None:
        superseded_versions = superseded_files(service, {receipt.key: receipt})
        is_gone = any(file.version_id == before.version for file in superseded_versions)
        return replace(
            before,
            state=_state_text(state_of(entry.decision, superseded=is_gone), entry.reasons),
            batch=entry.batch,
            table=entry.table,
            reasons=entry.reasons,
        )
    if file is None:
        return replace(before, state=ABSENT, reasons=("it was deleted from the landing bucket before it was decided",))
    return before


def versions_of(service: Service, now: Status, target: str) -> list[Version]:
    """Return the versions of a batch id or a landing key: all versions of a key under way, or else the one
    decided last.
    """
    if BATCH.fullmatch(target):
        return _of_batch(service, now, target)
    in_flight = _of_key((*now.in_flight, *now.unrouted), target)
    decisions = _of_key((*now.rejected, *now.published, *now.discarded), target)
    if in_flight or decisions:
        return in_flight or decisions[:1]
    receipt = receipts_at(service, Ref(MAIN), [target]).get(target)
    if receipt is None or not receipt.entries:
        raise Misconfigured(
            f"nothing has landed under {target}; drop it: lakegate drop FILE (lakegate status shows all)"
        )
    return [(target, receipt.entries[-1].version_id)]


def _of_batch(service: Service, now: Status, batch: str) -> list[Version]:
    lines = (*now.in_flight, *now.rejected, *now.superseded, *now.published, *now.discarded)
    pairs = [pair for line in lines if line.batch == batch for pair in zip(line.files, line.versions, strict=True)]
    if pairs:
        return pairs
    return [(file.key, file.version_id) for decision in decisions_of(service, batch) for file in decision.record.files]


def _of_key(lines: Iterable[Line], key: str) -> list[Version]:
    newest_first = sorted(lines, key=lambda line: line.since, reverse=True)
    return [pair for line in newest_first for pair in zip(line.files, line.versions, strict=True) if pair[0] == key]
