"""What is in flight, unrouted, rejected and published: read from branches, notes and main's log. It changes nothing.

What has landed and nobody works on yet is told as the last sweep saw it, unless the bucket is small: no status takes
the minutes that listing a large one takes.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from lakegate.errors import Conflict, LakegateError, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision, State, state_of
from lakegate.landing.standing import is_open
from lakegate.ports import MAIN, Branch, Decided, DecidedFile, JobState, Note, Ref
from lakegate.workflow.attempts.claims import files_claimed_at, files_claimed_on, list_open_branches
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reports import has_begun, report_name
from lakegate.workflow.backlog import seen_unclaimed, still_unrouted
from lakegate.workflow.ledger.receipts import receipts_at, receipts_of
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.ledger.unrouted import Unrouted
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.queue import with_predecessor
from lakegate.workflow.settlement.reader import crash_of, end_of, observe
from lakegate.workflow.settlement.rules import Wait, settlement

DECISIONS = 1000  # as far back as main's log is read
AT_ONCE = 10  # branches that are looked at: as many connections as clients keep
EXPLAINED = 20  # batches that say what they wait for
UNREAD = "can't be read"
AUDITED = "audited"
ENDED = "job "  # a state that begins so is that of a job which has ended badly


@dataclass(frozen=True, kw_only=True)
class Line:
    """Files of one batch that are in the same state. `versions` are parallel to `files`; `attempt` is 0 where none was
    needed. `quarantined` rows are not among its `rows`, which took the place of so many that were `replaced`. In
    flight, a batch that waits says what it `waits_for`, and until when, if that is known.
    """

    batch: str
    table: str
    branch: str
    files: tuple[str, ...]
    versions: tuple[str, ...]
    state: str
    rows: int
    reasons: tuple[str, ...]
    since: datetime
    attempt: int = 0
    quarantined: int = 0
    replaced: int = 0
    waits_for: str = ""
    waits_until: datetime | None = None

    @property
    def waits(self) -> str:
        """The same in words; empty where it waits for nothing but its job, or was not asked."""
        until = f" (until {self.waits_until:%Y-%m-%d %H:%M:%S} UTC at the latest)" if self.waits_until else ""
        return f"{self.waits_for}{until}"


@dataclass(frozen=True, kw_only=True)
class Status:
    """The four lists that `lakegate status` shows, newest first. Where main's log goes back further than it was read,
    `of_last` is how many decisions were, and `older` are the batches that were rejected before and are still kept.
    A rejected file is `superseded` once its key's other versions decide it. Where the bucket is too large to be listed
    each time, what has landed is as it was `seen_at`.
    """

    in_flight: tuple[Line, ...]
    unrouted: tuple[Line, ...]
    rejected: tuple[Line, ...]
    published: tuple[Line, ...]
    discarded: tuple[Line, ...] = ()
    superseded: tuple[Line, ...] = ()
    of_last: int | None = None
    older: tuple[str, ...] = ()
    seen_at: datetime | None = None


def status(service: Service, settled: set[Branch] | None = None) -> Status:
    """The state of this installation. `settled` are branches on which an earlier look found all decided: they are not
    looked at again, and those that this one finds join them.
    """
    settled = set() if settled is None else settled
    attempts = list_open_branches(service.branches)
    flights = _in_flight(service, attempts, settled)
    claimed = {version for line in flights for version in line.versions}
    seen = seen_unclaimed(service)
    landed = [file for file in seen.files if file.version_id not in claimed]
    noted = still_unrouted(service)
    registry = Registry.read(service.store) if landed or noted else Registry(contracts=())
    landed += [each.file for each in noted if registry.route(each.file.key)]  # the next sweep takes them up
    decisions = list(service.ledger.decisions(DECISIONS))
    is_cut = len(decisions) >= DECISIONS
    decided = _decided(decisions, {branch.name for branch in attempts}, _superseded(service, decisions))
    kept = {attempt.batch for branch, attempt in attempts.items() if branch in settled}
    older = kept - {line.batch for line in decided if line.state in {State.REJECTED, State.SUPERSEDED}}
    return Status(
        in_flight=_explained(service, _newest_first([*flights, *_landed(registry, landed)])),
        unrouted=_newest_first(_unrouted(each) for each in noted if not registry.route(each.file.key)),
        rejected=tuple(line for line in decided if line.state == State.REJECTED),
        published=tuple(line for line in decided if line.state == State.PUBLISHED),
        discarded=tuple(line for line in decided if line.state == State.DISCARDED),
        superseded=tuple(line for line in decided if line.state == State.SUPERSEDED),
        of_last=DECISIONS if is_cut else None,
        older=tuple(sorted(older)) if is_cut else (),
        seen_at=seen.at,
    )


def _newest_first(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: line.since, reverse=True))


def _in_flight(service: Service, attempts: Mapping[Branch, Attempt], settled: set[Branch]) -> list[Line]:
    looked_at = [branch for branch in attempts if branch not in settled]
    main = Ref(MAIN, service.branches.head(MAIN) or "")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda branch: _claims(service, attempts[branch], branch.head, main), looked_at)
        looks = dict(zip(looked_at, found, strict=True))
    claims = {branch: look for branch, look in looks.items() if not isinstance(look, Exception)}
    unread = {branch: look for branch, look in looks.items() if isinstance(look, Exception)}
    settled.update(branch for branch, (claimed, files) in claims.items() if claimed and not files)
    flights = [_flight(service, attempts[branch], files) for branch, (_, files) in claims.items() if files]
    return [*flights, *(_unread(service, attempts[branch], error) for branch, error in unread.items())]


def _explained(service: Service, lines: Sequence[Line]) -> tuple[Line, ...]:
    """The same, of which the first whose jobs have ended say what they wait for. Each costs some twenty requests."""
    asked = [line for line in lines if line.state == AUDITED or line.state.startswith(ENDED)][:EXPLAINED]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waits = dict(zip(map(id, asked), pool.map(partial(_wait, service), asked), strict=True))
    return tuple(_waits(line, waits.get(id(line))) for line in lines)


def _wait(service: Service, line: Line) -> Wait | None:
    """What settling the batch would wait for now. Nothing is noted; what can't be settled says why."""
    attempt = Attempt(table=line.table, batch=line.batch, number=line.attempt)
    try:
        job = job_of(service.store, attempt)
        ended = end_of(service, attempt, job) if job else None
        claims = files_claimed_on(service, attempt, job) if ended else []
        if job is None or ended is None or not claims:
            return None
        return settlement(with_predecessor(service, observe(service, attempt, job, claims, ended))).wait
    except Retryable:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt, of which is told what is wrong with it)
        return Wait(why=_said(error), files=())


def _waits(line: Line, wait: Wait | None) -> Line:
    return replace(line, waits_for=wait.why, waits_until=wait.until) if wait else line


def _unread(service: Service, attempt: Attempt, error: Exception) -> Line:
    """An attempt of which nobody can tell the files."""
    return Line(
        batch=attempt.batch,
        table=attempt.table,
        branch=attempt.branch,
        files=(),
        versions=(),
        state=UNREAD,
        rows=0,
        reasons=(_said(error),),
        since=service.clock.now(),
        attempt=attempt.number,
    )


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, LakegateError) else f"{type(error).__name__}: {error}"


def _claims(
    service: Service, attempt: Attempt, head: str, main: Ref
) -> tuple[list[FileVersion], list[FileVersion]] | Exception:
    """What a branch claims, and which of it is not decided at this commit of main; nothing where it is gone by now."""
    try:
        claimed = files_claimed_at(service, attempt, head)
        receipts = receipts_of(service, main, claimed)
        return claimed, [file for file in claimed if is_open(receipts, file, attempt)]
    except Conflict:
        return [], []
    except Retryable:
        raise
    except Exception as error:  # noqa: BLE001 (one branch, of which is told what is wrong with it)
        return error


def _flight(service: Service, attempt: Attempt, files: Sequence[FileVersion]) -> Line:
    try:
        state, reasons = _stage(service, attempt)
    except Retryable:
        raise
    except Exception as error:  # noqa: BLE001 (one attempt, of which is told what is wrong with it)
        state, reasons = UNREAD, (_said(error),)
    return Line(
        batch=attempt.batch,
        table=attempt.table,
        branch=attempt.branch,
        files=tuple(file.key for file in files),
        versions=tuple(file.version_id for file in files),
        state=state,
        rows=0,
        reasons=reasons,
        since=min(file.landed_at for file in files),
        attempt=attempt.number,
    )


def _stage(service: Service, attempt: Attempt) -> tuple[str, tuple[str, ...]]:
    """How far an attempt is, in words; and why, where its job has ended badly."""
    if service.store.read(report_name(attempt)) is not None:
        return AUDITED, ()
    run = service.runner.find(attempt.branch)
    if run is None:
        return "claimed", ()
    job = job_of(service.store, attempt)
    if run.state is JobState.RUNNING:
        began = job is None or has_begun(service.store, attempt, job)
        return "appending and auditing" if began else "waits for its job to begin", ()
    crashed = crash_of(service, attempt, job, run) if job else None
    reasons = (run.reason,) if run.reason else ()
    if crashed is None or crashed.is_last:
        return f"{ENDED}{run.state}", reasons
    what = f"{ENDED}{run.state}" if crashed.began else f"{ENDED}did not get through"
    return f"{what}, attempt {attempt.number + 1} begins after {crashed.due:%Y-%m-%d %H:%M:%S} UTC", reasons


def _landed(registry: Registry, files: Iterable[FileVersion]) -> list[Line]:
    """Files that have landed and are not claimed yet, a line each."""
    routes = ((file, registry.route(file.key)) for file in files)
    return [_waiting(file, contract.table if contract else "", State.QUEUED) for file, contract in routes]


def _unrouted(file: Unrouted) -> Line:
    return _waiting(file.file, "", State.UNROUTED, (file.reason,))


def _waiting(file: FileVersion, table: str, state: str, reasons: tuple[str, ...] = ()) -> Line:
    return Line(
        batch="",
        table=table,
        branch="",
        files=(file.key,),
        versions=(file.version_id,),
        state=state,
        rows=0,
        reasons=reasons,
        since=file.landed_at,
    )


def _superseded(service: Service, decisions: Iterable[Decided]) -> set[tuple[str, str]]:
    """The keys and version ids of rejected files that are superseded. Of keys alone of which something else was decided
    besides: others' receipts need not be read.
    """
    rejected, other = set[str](), set[str]()
    for decided in decisions:
        keys = rejected if decided.note.decision is Decision.REJECTED else other
        keys.update(file.key for file in decided.note.files)
    return {
        (file.key, file.version_id)
        for file in superseded_files(service, receipts_at(service, Ref(MAIN), rejected & other))
    }


def _decided(decisions: Iterable[Decided], open_branches: set[str], gone: set[tuple[str, str]]) -> list[Line]:
    """Decisions newest first; a file version counts where it was decided last, and no more once it was replaced. Those
    that are `gone` are superseded.
    """
    seen: set[tuple[str, str]] = set()
    lines: list[Line] = []
    for decided in decisions:
        files = [file for file in decided.note.files if (file.key, file.version_id) not in seen]
        seen.update((file.key, version) for file in files for version in (file.version_id, *file.replaces))
        by_state: dict[str, list[DecidedFile]] = {}
        for file in files:
            state = state_of(decided.note.decision, superseded=(file.key, file.version_id) in gone)
            by_state.setdefault(state, []).append(file)
        lines += [_line(decided.note, some, state, decided.at, open_branches) for state, some in by_state.items()]
    return lines


def _line(note: Note, files: list[DecidedFile], state: str, at: datetime, open_branches: set[str]) -> Line:
    branch = Attempt(table=note.table, batch=note.batch, number=note.attempt).branch
    return Line(
        batch=note.batch,
        table=note.table,
        branch=branch if branch in open_branches else "",
        files=tuple(file.key for file in files),
        versions=tuple(file.version_id for file in files),
        state=state,
        rows=sum(file.rows for file in files),
        reasons=_reasons(files) or ((note.why,) if note.why else ()),
        since=at,
        attempt=note.attempt,
        quarantined=sum(file.quarantined for file in files),
        replaced=sum(file.replaced for file in files),
    )


def _reasons(files: list[DecidedFile]) -> tuple[str, ...]:
    """Once where all files have the same, each with its file's name where they differ."""
    kinds = {file.reasons for file in files}
    if len(kinds) == 1:
        return files[0].reasons
    return tuple(f"{file.key}: {reason}" for file in files for reason in file.reasons)
