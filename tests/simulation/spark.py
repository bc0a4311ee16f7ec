"""The Spark job as the simulation runs it: the steps of `spark_jobs/append_and_audit`, without Spark.

What it finds in a file is the file's story; where and when it commits, what it proves and what it reports is as in the
real job. It may die, or be given up and go on as a zombie, between any two steps.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from lakegate.audit.job import CUT_OFF, Job, JobFile
from lakegate.audit.plan import MetricKind, Plan, Severity
from lakegate.audit.quarantine import quarantine_of
from lakegate.audit.report import (
    CheckResult,
    DataFile,
    FileReport,
    Replaced,
    Report,
    Rewritten,
    Source,
    Verdict,
)
from lakegate.audit.wire import to_json
from lakegate.ports import JobState, TableIdentity
from lakegate.testing import MemoryClock, MemoryJobRunner, MemoryStore, TableState
from lakegate.testing.lake import Commit, Content, Key, KeyKind
from tests.support.identities import grown

Rewrites = dict[str, Mapping[str, int]]
"""Of data files into which somebody wrote the rows of others: those, with their rows."""
Fault = tuple[str, str] | tuple[()]  # the check that fails and its metric; nothing where none does
LATE: Fault = ("rows are left", "")
REPEATS = "a unique"
KEY = 9  # of files that repeat each other, and of no others
FIELDS = ((1, "a", "int"), (2, "b", "int"))
NAMES = frozenset(name for _, name, _ in FIELDS)
SAYS = {Severity.ERROR: Verdict.FAIL, Severity.WARNING: Verdict.WARN, Severity.QUARANTINE: Verdict.QUARANTINE}


@dataclass(frozen=True, kw_only=True)
class Story:
    """What is in a file: `rows` in so many data `files`, a row of `key`, `aside` rows for quarantine. Its `nulls` fail
    a contract that requires their column; it `needs` a row of the table it refers to, and brings a `column` that the
    contract does not have. One without rows is `bad` by their number, if at all, and one with rows for quarantine once
    these have left it.
    """

    rows: int
    files: int = 1
    key: int | None = None
    aside: int = 0
    bad: bool = False
    nulls: bool = False
    warn: bool = False
    unreadable: bool = False
    needs: int | None = None
    column: str = ""

    @property
    def is_late(self) -> bool:
        return self.bad and self.aside > 0


class JobError(Exception):
    """The job says that something is not as it should be, and ends without a report."""


class Lake(Protocol):
    """Commits and branches as jobs, strangers and whoever looks at everything see them: `MemoryLake`, or a real one."""

    @property
    def branches(self) -> Mapping[str, str]: ...
    def at(self, ref: str) -> Commit: ...
    def head(self, branch: str) -> Commit: ...
    def line(self, commit: str) -> list[Commit]: ...
    def table(self, ref: str, table: str) -> TableState | None: ...
    def commit(self, branch: str, changes: Mapping[Key, Content | None]) -> object: ...
    def spark_append(self, branch: str, table: str, identity: TableIdentity, files: Mapping[str, int]) -> object: ...


class Cluster(Protocol):
    """What jobs reach."""

    lake: Lake
    clock: MemoryClock
    runner: MemoryJobRunner
    stories: dict[str, Story]
    rewritten: Rewrites

    @property
    def store(self) -> MemoryStore: ...

    def new_uuid(self) -> str: ...


class SparkRun:
    """One run of one job, step by step."""

    def __init__(self, cluster: Cluster, run_id: str) -> None:
        self.cluster, self.id = cluster, run_id
        self.branch = cluster.runner.run(run_id).branch
        self.began, self.ended = False, False
        self._steps = self._work()

    def step(self) -> str:
        """Do the next step and say which; at the end the run has ended, well or badly."""
        try:
            return next(self._steps)
        except StopIteration:
            return self._end(JobState.SUCCEEDED)
        except JobError as error:
            return self._end(JobState.FAILED, str(error))

    def die(self) -> None:
        """The driver is gone, or the run's turn never came."""
        self._end(JobState.FAILED, "the driver was killed" if self.began else "there was no room for it")

    def cut_off(self) -> None:
        """Its storage is out of reach, which it notes. Of one that was given up that comes too late."""
        self.cluster.store.write(self.cluster.store.name(self.cluster.runner.job(self.id).begun_uri), CUT_OFF)
        self.began = self.began and self.cluster.runner.runs[self.id].state is not JobState.RUNNING
        self._end(JobState.FAILED, "storage is out of reach")

    def is_given_up(self) -> None:
        """The runner says that it has failed; what it does goes on, or only begins then."""
        self._say(JobState.FAILED, "it took longer than it may")

    def _end(self, state: JobState, reason: str = "") -> str:
        self.ended = True
        self._say(state, reason)
        return f"ends: {state} {reason}"

    def _say(self, state: JobState, reason: str) -> None:
        run = self.cluster.runner.runs[self.id]
        if run.state is JobState.RUNNING:
            ended = replace(run, state=state, reason=reason, ended_at=self.cluster.clock.now())
            self.cluster.runner.runs[self.id] = ended

    def _work(self) -> Iterator[str]:
        job = self.cluster.runner.job(self.id)
        self._head(job)
        self.began = True
        self.cluster.store.write(self.cluster.store.name(job.begun_uri), b"")
        yield "begins on its files"
        readable = [file for file in job.files if not self._story(file).unreadable]
        if readable and not job.carries:
            if self._take_out(job):
                yield "takes rewritten rows out"
            self._append(job, readable)
            yield "appends"
        verdicts = self._verdicts(job, readable)
        aside = {file.id: self._aside(file, verdicts[file.id]) for file in readable}
        if any(aside.values()) and not job.carries:
            self._put_aside(job, aside)
            yield "puts rows aside"
        audited = self._head(job)
        if readable:
            self._prove(job, audited, readable)
        report = self._report(job, audited, verdicts)
        yield "audits"
        self.cluster.store.write(self.cluster.store.name(job.report_uri), to_json(report).encode())
        yield "reports"

    def _story(self, file: JobFile) -> Story:
        return self.cluster.stories[file.id]

    def _aside(self, file: JobFile, fault: Fault) -> int:
        """Rows leave a file that nothing failed at the first look."""
        return self._story(file).aside if fault in ((), LATE) else 0

    def _head(self, job: Job) -> str:
        head = self.cluster.lake.branches.get(job.branch)
        if head is None:
            raise JobError(f"branch {job.branch} is gone")
        return head

    def _append(self, job: Job, files: list[JobFile]) -> None:
        self._head(job)
        paths = {data.path: data.rows for file in files for data in data_files(job, file, self._story(file))}
        lake, table, by = self.cluster.lake, job.plan.table, job.plan.contract_hash
        there, columns = lake.table(job.branch, table), [self._story(file).column for file in files]
        wanted = grown(there.identity if there else self._new_table(), columns, by)
        if there and there.identity != wanted:
            lake.commit(job.branch, {Key(kind=KeyKind.TABLE, name=table): replace(there, identity=wanted)})
        lake.spark_append(job.branch, table, wanted, paths)

    def _take_out(self, job: Job) -> bool:
        """Data files that hold rewritten rows which are replaced give way to one that holds what is left of them."""
        self._head(job)
        lake, table = self.cluster.lake, job.plan.table
        state = lake.table(job.branch, table)
        lost = {path: rows for path, rows in files_of(state).items() if self._held({path: rows}, job.rewritten)}
        if state is None or not lost:
            return False
        left, path = self._held(lost, but=job.rewritten), f"{job.branch}/of-several/left"
        self.cluster.rewritten[path] = left
        kept = {path: rows for path, rows in state.files.items() if path not in lost}
        now = replace(state, files=kept | ({path: sum(left.values())} if left else {}))
        lake.commit(job.branch, {Key(kind=KeyKind.TABLE, name=table): now})
        return True

    def _held(
        self, files: Mapping[str, int], of: frozenset[str] | None = None, but: frozenset[str] = frozenset()
    ) -> dict[str, int]:
        """The data files as jobs wrote them whose rows these hold: all, or those of and but for some file versions."""
        found = as_written(files, self.cluster.rewritten).items()
        return {path: rows for path, rows in found if (of is None or file_of(path) in of) and file_of(path) not in but}

    def _put_aside(self, job: Job, aside: dict[str, int]) -> None:
        self._head(job)
        paths = {f"{job.branch}/{file}/aside": rows for file, rows in aside.items() if rows}
        self.cluster.lake.spark_append(job.branch, quarantine_of(job.plan.table), self._new_table(), paths)

    def _new_table(self) -> TableIdentity:
        """As which the append makes the table if there is none: each time it is another."""
        uuid = self.cluster.new_uuid()
        return TableIdentity(uuid=uuid, fields=FIELDS, last_id=len(FIELDS), partitions="", contract_hash="")

    def _evolves(self, job: Job, ref: str) -> frozenset[str]:
        """The columns that the table has there, and neither at the job's base nor by its contract."""
        before, now = (self.cluster.lake.table(commit, job.plan.table) for commit in (job.base, ref))
        return columns_of(now) - columns_of(before) - NAMES

    def _prove(self, job: Job, audited: str, files: list[JobFile]) -> None:
        """The base's rows are all there but for those that the batch replaces, the batch's each once."""
        now = self.cluster.lake.table(audited, job.plan.table)
        before = self._held(files_of(self.cluster.lake.table(job.base, job.plan.table)), but=job.rewritten)
        batch = {data.path: data.rows for file in files for data in data_files(job, file, self._story(file))}
        wanted = {path: rows for path, rows in {**before, **batch}.items() if path not in replaced(job)}
        if now is None or self._held(now.files) != wanted:
            raise JobError(
                f"table {job.plan.table} on {job.branch} does not hold its base's data files and the batch's"
            )

    def _verdicts(self, job: Job, files: list[JobFile]) -> dict[str, Fault]:
        """By file version what fails it."""
        taken = self.keys(job.base, job.plan.table, job)
        there: dict[str, Fault] = {}
        for file in files:
            there[file.id] = self._fault(job, self._story(file), taken)
            if there[file.id] in ((), LATE) and is_unique(job.plan):
                taken |= {key for key in [self._story(file).key] if key is not None}
        return there

    def _fault(self, job: Job, story: Story, taken: set[int]) -> Fault:
        if story.bad and not story.is_late:
            return ("a in range", "")
        if story.nulls and any("required" in check.name and "b" in check.columns for check in job.plan.checks):
            return ("b required", "")
        if is_unique(job.plan) and story.key in taken:
            return (REPEATS, next(it.id for it in job.plan.metrics if it.kind is MetricKind.DUPLICATES))
        for metric in job.plan.metrics if story.needs is not None else ():
            if metric.refers_to and story.needs not in self.keys(job.base, metric.refers_to.table):
                return ("a refers to nothing", metric.id)
        return LATE if story.is_late else ()

    def keys(self, ref: str, table: str, job: Job | None = None) -> set[int]:
        """The keys of the rows at a ref, but for those that the job replaces."""
        state, lost = self.cluster.lake.table(ref, table), replaced(job) if job else frozenset()
        there = self._held(files_of(state), but=job.rewritten if job else frozenset())
        deletes = state.deletes if state else frozenset()
        return keys_of({path: rows for path, rows in there.items() if path not in lost}, deletes, self.cluster.stories)

    def _report(self, job: Job, audited: str, verdicts: dict[str, Fault]) -> Report:
        now, evolves = self.cluster.clock.now(), self._evolves(job, audited)
        return Report(
            branch=job.branch,
            batch=job.batch,
            attempt=job.attempt,
            table=job.plan.table,
            base=job.base,
            audited=audited,
            plan_hash=job.plan.hash,
            contract_hash=job.plan.contract_hash,
            contract_version=job.plan.contract_version,
            started_at=now,
            finished_at=now,
            files=tuple(self._file_report(job, file, verdicts.get(file.id, ()), evolves) for file in job.files),
            depends_on=job.plan.depends_on,
            evolves=tuple(sorted(evolves)),
            rewritten=self._rewritten(job, audited),
        )

    def _rewritten(self, job: Job, audited: str) -> Rewritten:
        before, now = (files_of(self.cluster.lake.table(ref, job.plan.table)) for ref in (job.base, audited))
        if not job.rewritten or job.carries:
            return Rewritten()
        batch = {data.path for file in job.files for data in data_files(job, file, self._story(file))}
        lost, left = before.keys() - now.keys() - replaced(job), now.keys() - before.keys() - batch
        return Rewritten(
            data_files=tuple(DataFile(path=path, rows=before[path]) for path in sorted(lost)),
            left=tuple(DataFile(path=path, rows=now[path]) for path in sorted(left)),
        )

    def _replaces(self, job: Job, file: JobFile) -> Replaced:
        rewritten = frozenset(file.replaces.rewritten)
        base = files_of(self.cluster.lake.table(job.base, job.plan.table)) if rewritten else {}
        return replace(file.replaces, rewritten_rows=sum(self._held(base, rewritten).values()))

    def _file_report(self, job: Job, file: JobFile, fault: Fault, evolves: frozenset[str]) -> FileReport:
        story = self._story(file)
        if story.unreadable:
            faults = ("it can't be read",)
            return FileReport(id=file.id, key=file.key, verdict=Verdict.FAIL, faults=faults, replaces=file.replaces)
        name, metric = fault or ("odd", "")
        severity = Severity.ERROR if fault else Severity.QUARANTINE if story.aside else Severity.WARNING
        said = bool(fault or story.aside or story.warn)
        aside = DataFile(path=f"{job.branch}/{file.id}/aside", rows=self._aside(file, fault))
        return FileReport(
            id=file.id,
            key=file.key,
            verdict=SAYS[severity] if said else Verdict.PASS,
            rows=story.rows,
            checks=(_check(name, metric, severity, story.rows),) if said else (),
            data_files=data_files(job, file, story),
            quarantined=(aside,) if aside.rows else (),
            replaces=self._replaces(job, file),
            evolves=tuple(evolves & {story.column}),
        )


def columns_of(state: TableState | None) -> frozenset[str]:
    """The names of a table's columns, if there is one."""
    return frozenset(name for _, name, _ in state.identity.fields) if state else frozenset()


def replaced(job: Job) -> frozenset[str]:
    """The data files of the table that its files take the place of."""
    return frozenset(data.path for file in job.files for data in file.replaces.data_files)


def files_of(state: TableState | None) -> Mapping[str, int]:
    """The data files of a table, if there is one."""
    return state.files if state else {}


def as_written(files: Mapping[str, int], rewritten: Rewrites) -> Mapping[str, int]:
    """The data files as jobs wrote them whose rows these data files hold. What two of them hold counts twice."""
    if not rewritten:
        return files
    found: dict[str, int] = {}
    for path, whole in files.items():
        for written, rows in rewritten.get(path, {path: whole}).items():
            found[written] = found.get(written, 0) + rows
    return found


def keys_of(files: Iterable[str], deletes: frozenset[str], stories: Mapping[str, Story]) -> set[int]:
    """The keys of the rows of data files, but for those that a delete file takes away."""
    found = (stories.get(file_of(path)) for path in files if deleting(path) not in deletes)
    return {story.key for story in found if story and story.key is not None}


def deleting(path: str) -> str:
    """The delete file that takes all rows of a data file away."""
    return f"{path}/deletes"


def data_files(job: Job, file: JobFile, story: Story) -> tuple[DataFile, ...]:
    """The data files that a file's rows are spread over: the job makes them, if they were not carried over."""
    if not story.rows:
        return ()
    rows = [story.rows // story.files] * story.files
    rows[0] += story.rows - sum(rows)
    paths = file.data_files or [f"{job.branch}/{file.id}/{n}" for n in range(story.files)]
    return tuple(DataFile(path=path, rows=count) for path, count in zip(paths, rows, strict=True))


def file_of(path: str) -> str:
    """The file version whose rows a data file holds: in the lake every row carries it."""
    return path.rpartition("/")[0].rpartition("/")[2]


def is_unique(plan: Plan) -> bool:
    """Whether the plan says that a key is unique in the whole table."""
    return plan.table in plan.depends_on


def _check(name: str, metric: str, severity: Severity, rows: int) -> CheckResult:
    return CheckResult(
        check=name,
        name=name,
        columns=("a",),
        severity=severity,
        verdict=SAYS[severity],
        value=None,
        expected="0 rows",
        failing_rows=1,
        rows=rows,
        source=Source.STATISTICS,
        metric=metric,
    )
