"""Every port in memory: controls that a test needs are on the class beside the port's own methods.

They share no state but the lake that catalog and tables are given, and decide nothing by time or chance.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.job import CUT_OFF, Job, parse_job
from lakegate.audit.model.report import Report
from lakegate.errors import Conflict, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.landing.attempts import PREFIX, Attempt
from lakegate.landing.files import FileVersion, as_listed
from lakegate.landing.receipts import Receipt
from lakegate.ports import (
    MAIN,
    Branch,
    Changes,
    Decided,
    FileChanges,
    JobRun,
    JobState,
    Message,
    Note,
    Ref,
    TableIdentity,
)
from lakegate.testing.lake import EPOCH, Content, Key, KeyKind, MemoryLake, TableState

WATERMARK = Key(kind=KeyKind.OTHER, name="_lakegate.watermark")


@dataclass(kw_only=True)
class MemoryCatalog:
    """`Branches`, `Ledger` and `Publisher` on a lake in memory."""

    lake: MemoryLake

    def head(self, branch: str) -> str | None:
        return self.lake.branches.get(branch)

    def list_branches(self) -> list[Branch]:
        found = sorted(self.lake.branches.items())
        return [Branch(name=name, head=head) for name, head in found if name.startswith(PREFIX)]

    def create_branch(self, name: str, at: str) -> None:
        commit = self.lake.at(Ref(name, at))
        if name in self.lake.branches:
            raise Conflict(f"branch {name} exists already")
        self.lake.branches[name] = commit.hash

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        if expected in (None, self.head(name)):
            self.lake.branches.pop(name, None)

    def receipts(self, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        return _receipts(self.lake.at(ref).contents, keys)

    def all_receipts(self, ref: Ref) -> Iterator[Receipt]:
        yield from (content for content in self.lake.at(ref).contents.values() if isinstance(content, Receipt))

    def compact(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        changes: dict[Key, Content | None] = {_receipt_key(key): None for key in keys}
        changes |= _kept(shorter)
        if watermark:
            changes[WATERMARK] = watermark.isoformat()
        self.lake.commit(MAIN, changes, expected=expected)

    def watermark(self) -> datetime | None:
        found = self.lake.at(Ref(MAIN)).contents.get(WATERMARK)
        return datetime.fromisoformat(found) if isinstance(found, str) else None

    def commit_receipts(self, branch: str, expected: str, receipts: Iterable[Receipt], note: Note | None = None) -> str:
        return self.lake.commit(branch, _kept(receipts), expected=expected, note=note).hash

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        before = self.receipts(Ref(MAIN, base), keys := set(keys))
        changes: dict[Key, Content | None] = {
            _receipt_key(key): before.get(key)
            for key in keys
            if before.get(key) != self.lake.commits[expected].contents.get(_receipt_key(key))
        }
        return self.lake.commit(branch, changes, expected=expected).hash if changes else expected

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        left, contents = {_receipt_key(key) for key in without}, self.lake.commits[commit].contents
        changed = self.lake.changed(base, commit) - left
        return self.lake.commit(branch, {key: contents.get(key) for key in changed}, expected=base).hash

    def changes(self, base: str, head: str) -> Changes:
        if base not in {commit.hash for commit in self.lake.line(head)}:
            raise Refused(f"commit {head} was not made from {base}")
        old, new = self.lake.commits[base].contents, self.lake.commits[head].contents
        others = (key for key in old.keys() | new.keys() if old.get(key) is not new.get(key))
        changed = [key for key in others if old.get(key) != new.get(key)]
        names = {kind: frozenset(key.name for key in changed if key.kind is kind) for kind in KeyKind}
        receipts = _receipts(new, names[KeyKind.RECEIPT])
        return Changes(
            tables=names[KeyKind.TABLE],
            namespaces=names[KeyKind.NAMESPACE],
            receipts={key: receipts.get(key) for key in names[KeyKind.RECEIPT]},
            others=names[KeyKind.OTHER],
        )

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        before, now = Ref(MAIN, base), Ref(MAIN, head)
        return frozenset(table for table in tables if self.lake.table(before, table) != self.lake.table(now, table))

    def base(self, branch: str) -> str:
        return self.lake.made_from(self.lake.head(branch).hash)

    def merge(self, branch: str, head: str, note: Note) -> None:
        self.lake.head(branch)
        self.lake.merge(head, note)

    def decisions(self, limit: int, *, table: str | None = None, batch: str | None = None) -> Iterator[Decided]:
        line = self.lake.line(self.lake.branches[MAIN])
        noted = [it for it in line if it.note and table in (None, it.note.table) and batch in (None, it.note.batch)]
        for commit in noted[:limit]:
            if commit.note:
                yield Decided(note=commit.note, commit=commit.hash, at=commit.at)


def _kept(receipts: Iterable[Receipt]) -> dict[Key, Content | None]:
    """Return the receipts as Nessie stores them: without the closed versions that a caller read from the archive."""
    return {_receipt_key(receipt.key): replace(receipt, closed=()) for receipt in receipts}


def _receipt_key(key: str) -> Key:
    return Key(kind=KeyKind.RECEIPT, name=key)


def _receipts(contents: Mapping[Key, Content], keys: Iterable[str]) -> dict[str, Receipt]:
    found = {key: contents.get(_receipt_key(key)) for key in sorted(keys)}
    return {key: receipt for key, receipt in found.items() if isinstance(receipt, Receipt)}


@dataclass(kw_only=True)
class MemoryTables:
    """`Tables` on the same lake as the catalog's."""

    lake: MemoryLake

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        state = self.lake.table(ref, table)
        return state.identity if state else None

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        there = self._state(source, table).files
        here = self._state(Ref(branch), table).files
        _refuse(paths - set(there), f"{source}: table {table} has no data file")
        _refuse(paths & set(here), f"{branch}: table {table} already has data file")
        self._set(branch, table, {**here, **{path: there[path] for path in paths}})

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        there = self._state(source, table)
        _refuse(paths - set(there.files), f"{source}: table {table} has no data file")
        if self.lake.table(Ref(branch), table):
            raise Refused(f"{branch}: there is a table {table} already")
        namespace = table.rpartition(".")[0]
        state = replace(there, files={path: there.files[path] for path in paths})
        self.lake.commit(
            branch,
            {Key(kind=KeyKind.NAMESPACE, name=namespace): namespace, Key(kind=KeyKind.TABLE, name=table): state},
        )

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        here = self._state(Ref(branch), table)
        if here.identity != self._state(base, table).identity:
            raise Refused(f"{branch}: table {table} is not what it was at {base}")
        there = self._state(source, table).identity
        grown = replace(here.identity, fields=there.fields, last_id=there.last_id, contract_hash=there.contract_hash)
        self.lake.commit(branch, {Key(kind=KeyKind.TABLE, name=table): replace(here, identity=grown)})

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        here = self._state(Ref(branch), table).files
        _refuse(paths - set(here), f"{branch}: table {table} has no data file")
        self._set(branch, table, {path: rows for path, rows in here.items() if path not in paths})

    def paths(self, ref: Ref, table: str) -> frozenset[str]:
        state = self.lake.table(ref, table)
        return frozenset(state.files) if state else frozenset()

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        old, new = self.paths(before, table), self.paths(after, table)
        deletes = self._deletes(before, table) ^ self._deletes(after, table)
        return FileChanges(added=new - old, removed=old - new, deletes=deletes)

    def _deletes(self, ref: Ref, table: str) -> frozenset[str]:
        state = self.lake.table(ref, table)
        return state.deletes if state else frozenset()

    def _state(self, ref: Ref, table: str) -> TableState:
        state = self.lake.table(ref, table)
        if state is None:
            raise Refused(f"{ref}: there is no table {table}")
        return state

    def _set(self, branch: str, table: str, files: Mapping[str, int]) -> None:
        state = replace(self._state(Ref(branch), table), files=files)
        self.lake.commit(branch, {Key(kind=KeyKind.TABLE, name=table): state})


def _refuse(paths: Iterable[str], what: str) -> None:
    for path in sorted(paths):
        raise Refused(f"{what} {path}")


class MemoryClock:
    """`Clock` that stands still until a test moves it."""

    def __init__(self, now: datetime = EPOCH) -> None:
        self.time = now
        self.nonces = 0

    def now(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def nonce(self) -> str:
        self.nonces += 1
        return f"{self.nonces:08x}"


def _version_id(number: int) -> str:
    """Return a version id whose sort order tells nothing of age, as with S3's."""
    return f"{hashlib.sha256(str(number).encode()).hexdigest()[:4]}-v{number}"


class MemoryLanding:
    """`Landing` with bodies in memory; `staged` holds the copies by URI."""

    def __init__(self, clock: MemoryClock, bucket: str = "landing", staging: str = "service") -> None:
        self.clock, self.bucket, self.staging = clock, bucket, staging
        self.landed: dict[tuple[str, str], FileVersion] = {}
        self.bodies: dict[tuple[str, str], bytes] = {}
        self.staged: dict[str, bytes] = {}
        self.uploads = 0

    def put(self, key: str, body: bytes, *, checksum: bool = True) -> FileVersion:
        """Upload a body, as any client would."""
        self.uploads += 1
        file = FileVersion(
            bucket=self.bucket,
            key=key,
            version_id=_version_id(self.uploads),
            size=len(body),
            landed_at=self.clock.now(),
            checksum=f"SHA256:{hashlib.sha256(body).hexdigest()}" if checksum else None,
        )
        self.landed[key, file.version_id], self.bodies[key, file.version_id] = file, body
        return file

    def drop(self, key: str, version_id: str) -> None:
        """Delete one version for good."""
        del self.landed[key, version_id], self.bodies[key, version_id]

    def describe(self, key: str, version_id: str) -> FileVersion | None:
        return self.landed.get((key, version_id))

    def versions(self) -> Iterator[FileVersion]:
        files = [replace(file, checksum=None) for file in self.landed.values()]
        files.reverse()  # newest first
        return as_listed(sorted(files, key=lambda file: file.key))

    def stage(self, file: FileVersion, name: str) -> str:
        body = self.bodies.get((file.key, file.version_id))
        if body is None:
            raise Refused(f"{file.key}: version {file.version_id} is gone from {self.bucket}")
        uri = f"s3://{self.staging}/staging/{name}"
        self.staged[uri] = body
        return uri

    def stage_all(self, files: Mapping[str, FileVersion]) -> dict[str, str | Refused]:
        return {name: self._staged(file, name) for name, file in files.items()}

    def _staged(self, file: FileVersion, name: str) -> str | Refused:
        try:
            return self.stage(file, name)
        except Refused as why:
            return why

    def upload(self, source: Path, key: str) -> FileVersion:
        return self.put(key, source.read_bytes())


class MemoryStore:
    """`Store` as a dictionary."""

    def __init__(self, bucket: str = "service") -> None:
        self.bucket = bucket
        self.objects: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.objects.get(name)

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: self.objects[name] for name in names if name in self.objects}

    def write(self, name: str, body: bytes) -> None:
        self.objects[name] = body

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        self.objects.update(bodies)

    def create(self, name: str, body: bytes) -> bool:
        if name in self.objects:
            return False
        self.objects[name] = body
        return True

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self.objects if name.startswith(prefix))

    def uri(self, name: str) -> str:
        return f"s3://{self.bucket}/{name}"

    def name(self, uri: str) -> str:
        """Return the name of an object from its URI, the reverse of `uri`."""
        return uri.removeprefix(f"s3://{self.bucket}/")


class MemoryJobRunner:
    """`JobRunner` whose jobs wait until a test runs or fails them. `work` is the job: its report is stored as a job
    would store it.
    """

    def __init__(
        self, store: MemoryStore, work: Callable[[Job], Report] | None = None, clock: MemoryClock | None = None
    ) -> None:
        self.store, self.work, self.clock = store, work, clock or MemoryClock()
        self.runs: dict[str, JobRun] = {}
        self.jobs: dict[str, str] = {}

    def start(self, attempt: Attempt, job_uri: str) -> str:
        found = self.find(attempt.branch)
        if found:
            return found.id
        run = JobRun(id=f"run-{len(self.runs) + 1:04d}", branch=attempt.branch, state=JobState.RUNNING)
        self.runs[run.id], self.jobs[run.id] = run, job_uri
        return run.id

    def get(self, run_id: str) -> JobRun:
        if run_id not in self.runs:
            raise Misconfigured(f"there is no job run {run_id}")
        return self.runs[run_id]

    def find(self, branch: str) -> JobRun | None:
        return next((run for run in reversed(self.runs.values()) if run.branch == branch), None)

    def cancel(self, run_id: str) -> None:
        """Cancel a run as a person does, by the vendor's own means."""
        if self.get(run_id).state is JobState.RUNNING:
            self._end(run_id, JobState.CANCELLED, "")

    def running(self) -> list[JobRun]:
        """Return the runs that wait for a test."""
        return [run for run in self.runs.values() if run.state is JobState.RUNNING]

    def finish(self, run_id: str) -> Report:
        """Do the run's work as its job says, store the report, and end well."""
        if self.work is None:
            raise Misconfigured("this runner was given no work")
        self._begin(run_id)
        report = self.work(self.job(run_id))
        self.store.create(self.store.name(self.job(run_id).report_uri), to_json(report).encode())
        self._end(run_id, JobState.SUCCEEDED, "")
        return report

    def finish_all(self) -> None:
        """Finish every waiting run, oldest first."""
        for run in self.running():
            self.finish(run.id)

    def fail(self, run_id: str, reason: str, *, never_began: bool = False, cut_off: bool = False) -> None:
        """End a run badly, without a report; if it `never_began`, before it began on its files."""
        if not never_began:
            self._begin(run_id, CUT_OFF if cut_off else b"")
        self._end(run_id, JobState.FAILED, reason)

    def job(self, run_id: str) -> Job:
        return parse_job(self.store.objects[self.store.name(self.jobs[run_id])])

    def _begin(self, run_id: str, note: bytes = b"") -> None:
        self.store.write(self.store.name(self.job(run_id).begun_uri), note)

    def _end(self, run_id: str, state: JobState, reason: str) -> None:
        self.runs[run_id] = replace(self.runs[run_id], state=state, reason=reason, ended_at=self.clock.now())


class MemoryNotifier:
    """`Notifier` that keeps its messages. With `failing` set it keeps none and raises that error."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.failing: Retryable | OutcomeUnknown | None = None

    def notify(self, message: Message) -> None:
        if self.failing:
            raise self.failing
        self.messages.append(message)
