"""The engine of stories: the job's own steps and proofs, of files of which a story tells what is in them.

It reads no bytes. Where and when a job commits, what it proves and what it reports is `lakegate.audit.run`; it may die,
or be given up and go on as a zombie, between any two of its writes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lakegate.audit.advice import Fault
from lakegate.audit.completeness import RowCounts
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField, with_rows
from lakegate.audit.engine import ProvedTable
from lakegate.audit.errors import JobError
from lakegate.audit.evaluation.audits import Row, audits_of
from lakegate.audit.evaluation.duplicates import Pattern, Repeats
from lakegate.audit.evaluation.quarantine import Results, quarantine_of
from lakegate.audit.evaluation.table_scope import Orphans
from lakegate.audit.evaluation.verdicts import Dependent, Measurement, Measurements, malformed_checks
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Budget, Check, Metric, MetricKind, Plan, Severity, Stance, TableColumn
from lakegate.audit.model.report import CheckResult, Source
from lakegate.audit.schema.fit import FILE_COLUMN, FileColumn
from lakegate.audit.schema.inspection import WRITTEN_ANEW, Inspection
from lakegate.audit.schema.types import Struct, parse
from lakegate.ports import MAIN, Ref, TableIdentity
from lakegate.testing import MemoryClock, MemoryJobRunner, MemoryStore, TableState
from lakegate.testing.lake import Commit, Content, Key, KeyKind
from tests.support.identities import grown
from tests.support.plans import none_of
from tests.world.stories import Rewrites, Story, as_written, deletes_of, file_of, files_of, keys_of

NAMED = "named by a story: "
REPEATS = "primary key a unique in the table"
FIELDS = ((1, "a", "int"), (2, "b", "int"))
NAMES = frozenset(name for _, name, _ in FIELDS)
FILE = IcebergField(id=0, name=FILE_COLUMN, type="string")


class Lake(Protocol):
    """Commits and branches as jobs, strangers and whoever looks at everything see them: `MemoryLake`, or a real one."""

    @property
    def branches(self) -> Mapping[str, str]: ...
    def at(self, ref: Ref) -> Commit: ...
    def head(self, branch: str) -> Commit: ...
    def line(self, commit: str) -> list[Commit]: ...
    def table(self, ref: Ref, table: str) -> TableState | None: ...
    def commit(self, branch: str, changes: Mapping[Key, Content | None]) -> object: ...
    def spark_append(self, branch: str, table: str, identity: TableIdentity, files: Mapping[str, int]) -> object: ...


class Cluster(Protocol):
    """The services that jobs reach."""

    clock: MemoryClock
    runner: MemoryJobRunner
    stories: dict[str, Story]
    rewritten: Rewrites

    @property
    def lake(self) -> Lake: ...
    @property
    def store(self) -> MemoryStore: ...

    def new_table(self) -> TableIdentity: ...


def with_named_checks(job: Job, stories: Mapping[str, Story]) -> Job:
    """The job whose plan has also the checks that the stories of its files name, which the contract does not have.
    Rows that need others go to quarantine if a story says that any do.
    """
    plan, of_job = job.plan, [stories[file.id] for file in job.files]
    named = [(MetricKind.VALUE, Severity.ERROR, story.bad) for story in of_job]
    named += [(MetricKind.FAILING, Severity.WARNING, story.warn) for story in of_job]
    named += [(MetricKind.FAILING, Severity.QUARANTINE, "odd") for story in of_job if story.aside and not story.needs]
    checks = {
        Metric(id=f"{NAMED}{severity} {name}", kind=kind, columns=("a",), sql=name): severity
        for kind, severity, name in named
        if name
    }
    if any(story.aside and story.needs for story in of_job):
        referring = {metric.id for metric in plan.metrics if metric.refers_to}
        plan = replace(plan, checks=tuple(_for_quarantine(it) if it.metric in referring else it for it in plan.checks))
    return replace(
        job,
        plan=replace(
            plan,
            metrics=(*checks, *plan.metrics),
            checks=(*(replace(none_of(it, severity), name=it.sql) for it, severity in checks.items()), *plan.checks),
            policy=replace(plan.policy, new_columns=Stance.EVOLVE),
            budget=plan.budget or Budget(rows=9),
        ),
    )


def _for_quarantine(check: Check) -> Check:
    return replace(check, severity=Severity.QUARANTINE)


@dataclass(frozen=True, kw_only=True)
class StoryStorage:
    """The service's objects; `did` is told each write once it is done."""

    store: MemoryStore
    did: Callable[[str], None]

    def read(self, uri: str) -> bytes:
        return self.store.objects[self.store.name(uri)]

    def write(self, uri: str, body: bytes) -> None:
        self.store.write(self.store.name(uri), body)
        self.did("begins on its files")


@dataclass(frozen=True, kw_only=True)
class StoryFiles:
    """Files as their stories tell of them."""

    stories: Mapping[str, Story]
    job: Job

    def inspect(self) -> list[Inspection]:
        return [self._inspect(file) for file in self.job.files]

    def _inspect(self, file: JobFile) -> Inspection:
        story = self.stories[file.id]
        if story.unreadable:
            return Inspection(file=file, faults=(Fault(story.unreadable, WRITTEN_ANEW),))
        columns = [FileColumn(name=column.name, type=column.type) for column in self.job.plan.columns]
        columns += [FileColumn(name=story.column, type="string")] if story.column else []
        return Inspection(file=file, rows=story.arrive + story.malformed or 1, columns=tuple(columns))

    def find_faulty(self, _: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return list(inspections)

    def count_malformed(self, _: Plan, inspections: Sequence[Inspection], there: Mapping[str, int]) -> dict[str, int]:
        short = [it for it in inspections if there.get(it.id) != it.rows]
        return {it.id: it.rows - story.arrive for it in short if (story := self.stories[it.id]).arrive < it.rows}


@dataclass(frozen=True, kw_only=True)
class StoryTable:
    """A table at one commit; somebody may have `rewritten` rows of several files into one data file."""

    state: TableState
    rewritten: Rewrites

    def columns(self) -> Struct:
        return Struct({name: parse(kind) for _, name, kind in self.state.identity.fields})

    def fields(self) -> dict[str, IcebergField]:
        return {FILE_COLUMN: FILE}

    def has_deletes(self) -> bool:
        return bool(self.state.deletes)

    def changes_since(self, before: "StoryTable | None") -> Difference:
        earlier = before.state if before else None
        old, new = files_of(earlier), self.state.files
        return Difference(
            new_files=self._told({path: rows for path, rows in new.items() if path not in old}),
            lost_files=self._told({path: rows for path, rows in old.items() if path not in new}),
            deletes=deletes_of(earlier) != self.state.deletes,
        )

    def _told(self, files: Mapping[str, int]) -> DataFiles:
        """Return what manifests would say of these data files: whose rows they hold by the bounds of one column."""
        told = {}
        for path, rows in files.items():
            ids = sorted({file_of(it).encode().hex() for it in as_written({path: rows}, self.rewritten)})
            bounds = [{FILE.id: it} for it in (ids[0], ids[-1])] if ids else [{}, {}]
            told[path] = DataFileStatistics(path=path, rows=rows, nulls={FILE.id: 0}, lower=bounds[0], upper=bounds[1])
        return DataFiles(statistics=told, entries=files)

    def data_files_with(self, versions: Collection[str]) -> dict[str, int]:
        return {path: rows for path, rows in self.state.files.items() if self.held({path: rows}, of=versions)}

    def row_counts(self, files: DataFiles, replaced: Collection[str]) -> RowCounts:
        counts, others = {}, Counter[str | None]()
        for path, rows in files.entries.items():
            counts[path] = {file_of(it): number for it, number in self.held({path: rows}, of=replaced).items()}
            for it, number in self.held({path: rows}, but=replaced).items():
                others[file_of(it)] += number
        return RowCounts(replaced_rows=counts, other_rows=others)

    def held(
        self, files: Mapping[str, int], of: Collection[str] | None = None, but: Collection[str] = ()
    ) -> dict[str, int]:
        """The data files as jobs wrote them whose rows these hold: all, or those of and but for some file versions."""
        found = as_written(files, self.rewritten).items()
        return {path: rows for path, rows in found if (of is None or file_of(path) in of) and file_of(path) not in but}


@dataclass(frozen=True, kw_only=True)
class StoryView:
    """The view that is measured; `at_base` are the tables that it depends on, as they are at the base."""

    plan: Plan
    proved: ProvedTable[StoryTable]
    stories: Mapping[str, Story]
    at_base: Mapping[str, StoryTable | None]

    def measure(self) -> tuple[list[Measurements], dict[str, Dependent]]:
        plan, files = self.plan, self.proved.files
        single = [metric for metric in plan.metrics if metric.kind not in (MetricKind.DUPLICATES, MetricKind.ORPHANS)]
        measured = [
            Measurements(
                file=file,
                rows=sum(it.rows for it in data),
                metrics={metric.id: self._measured(metric, file, data) for metric in single},
            )
            for file, data in files.items()
        ]
        return measured, {metric.id: self._dependent(metric) for metric in plan.metrics if metric not in single}

    def _measured(self, metric: Metric, file: str, data: Sequence[DataFileStatistics]) -> Measurement:
        """By how bad it is to fail: an error is of a number or of nulls."""
        story, rows = self.stories[file], sum(it.rows for it in data)
        named = metric.sql if metric.id.startswith(NAMED) else ""
        match metric.kind, self._severity(metric):
            case MetricKind.ROWS, _:
                value = rows
            case MetricKind.VALUE, _:
                value = int(story.bad == named if named else bool(story.bad))
            case _, Severity.QUARANTINE:
                value = rows - story.rows
            case _, Severity.WARNING:
                value = int(story.warn == named if named else bool(story.warn))
            case _:
                value = int(story.nulls and metric.columns == ("b",))
        return Measurement(value=value, source=Source.STATISTICS)

    def _severity(self, metric: Metric) -> Severity:
        [severity] = {check.severity for check in self.plan.checks if check.metric == metric.id}
        return severity

    def _dependent(self, metric: Metric) -> Dependent:
        ids = self.proved.files
        if metric.refers_to:
            there, needs = self._keys(metric.refers_to.table), {file: self.stories[file].needs for file in ids}
            lost = [file for file, key in needs.items() if key is not None and key not in there]
            return Orphans(rows={file: self._aside(file) or 1 for file in lost if self._has_orphans(metric, file)})
        keys, there = {file: self.stories[file].key for file in ids}, self._keys(self.plan.table)
        return Repeats(
            patterns=tuple(
                Pattern(counts={file: 1 for file in ids if keys[file] == key}, keys=1, in_table=key in there)
                for key in dict.fromkeys(keys.values())
                if key is not None
            )
        )

    def _has_orphans(self, metric: Metric, file: str) -> bool:
        """Return False once they have left it for quarantine."""
        return self._severity(metric) is not Severity.QUARANTINE or self._aside(file) > 0

    def _aside(self, file: str) -> int:
        return sum(it.rows for it in self.proved.files[file]) - self.stories[file].rows

    def _keys(self, name: str) -> set[int | str]:
        """The keys of a table's rows at the base, but for those that the job replaces."""
        table, own = self.at_base[name], name == self.plan.table
        if table is None:
            return set()
        there = table.held(table.state.files, but=self.proved.rewritten if own else ())
        lost = {data.path for data in self.proved.replaced_files} if own else set()
        return keys_of([path for path in there if path not in lost], table.state.deletes, self.stories)

    def failing_rows(self, file: str, _: Sequence[str], __: Sequence[str]) -> int:
        return self._aside(file)

    def without(self, order: Sequence[str], failed: Mapping[str, Sequence[str]]) -> "StoryView":
        files = self.proved.files
        left = {file: with_rows(files[file], self.stories[file].rows) for file in failed}
        return replace(self, proved=replace(self.proved, files={file: left.get(file, files[file]) for file in order}))

    def with_samples(self, results: Results, _: Plan, __: Sequence[Inspection]) -> dict[str, tuple[CheckResult, ...]]:
        return dict(results)


@dataclass(kw_only=True)
class StoryEngine:
    """See the module; `did` is told each write once it is done."""

    cluster: Cluster
    job: Job
    did: Callable[[str], None]
    wanted: TableIdentity = field(init=False)

    @property
    def source(self) -> "StoryEngine":
        return self

    @property
    def storage(self) -> StoryStorage:
        return StoryStorage(store=self.cluster.store, did=self.did)

    @property
    def files(self) -> StoryFiles:
        return StoryFiles(stories=self.cluster.stories, job=self.job)

    def head(self) -> str:
        head = self.cluster.lake.branches.get(self.job.branch)
        if head is None:
            raise JobError(f"branch {self.job.branch} is gone")
        return head

    def load(self, table: str, *refs: Ref) -> list[StoryTable | None]:
        self.head()
        states = [self.cluster.lake.table(ref, table) for ref in refs]
        return [StoryTable(state=it, rewritten=self.cluster.rewritten) if it else None for it in states]

    def check_references(self, plan: Plan) -> None:
        pass

    def view(self, plan: Plan, proved: ProvedTable[StoryTable]) -> StoryView:
        base, names = Ref(self.job.branch, self.job.base), {plan.table, *plan.depends_on}
        tables = {name: self.load(name, base)[0] for name in sorted(names)}
        return StoryView(plan=plan, proved=proved, stories=self.cluster.stories, at_base=tables)

    def prepare(self, table: StoryTable | None, columns: Sequence[TableColumn]) -> None:
        self.head()
        new, by = [column.name for column in columns], self.job.plan.contract_hash
        self.wanted = grown(table.state.identity if table else self.cluster.new_table(), new, by)
        if table and table.state.identity != self.wanted:
            self._commit(self.job.plan.table, replace(table.state, identity=self.wanted))

    def remove_replaced(self, table: StoryTable, files: Mapping[str, int]) -> None:
        """Put in their place a data file that holds what is left of them."""
        left, path = table.held(files, but=self.job.rewritten), f"{self.job.branch}/of-several/left"
        self.cluster.rewritten[path] = left
        kept = {it: rows for it, rows in table.state.files.items() if it not in files}
        self._commit(
            self.job.plan.table, replace(table.state, files=kept | ({path: sum(left.values())} if left else {}))
        )
        self.did("takes rewritten rows out")

    def append(self, _: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        self.head()
        paths = {path: rows for inspection in inspections for path, rows in self._data_files(inspection.file).items()}
        self.cluster.lake.spark_append(self.job.branch, self.job.plan.table, self.wanted, paths)
        self.did("appends")
        return list(inspections)

    def quarantine(
        self,
        _: StoryView,
        __: Sequence[str],
        failed: Mapping[str, Sequence[str]],
        ___: Plan,
        malformed: Sequence[Inspection],
    ) -> None:
        self.head()
        table, of_lines = self.job.plan.table, malformed_checks(self.job.plan)
        of_rows, lines = {file for file, ids in failed.items() if {*ids} - of_lines}, {each.id for each in malformed}
        aside = {
            f"{self.job.branch}/{file}/aside": story.aside * (file in of_rows) + story.malformed * (file in lines)
            for file in failed
            for story in [self._story(file)]
        }
        self.cluster.lake.spark_append(
            self.job.branch, quarantine_of(table, distinct=self.job.distinct), self.cluster.new_table(), aside
        )
        state = self.cluster.lake.table(Ref(self.job.branch), table)
        assert state is not None
        files = {path: rows for path, rows in state.files.items() if file_of(path) not in of_rows}
        for file in self.job.files:
            files |= self._data_files(file, is_left=True) if file.id in of_rows else {}
        self._commit(table, replace(state, files=files))
        self.did("puts rows aside")

    def append_audits(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self.head()
        name, branch = audits_of(self.job.plan.table, distinct=self.job.distinct), Ref(self.job.branch)
        there, base = (files_of(self.cluster.lake.table(ref, name)) for ref in (branch, Ref(MAIN, self.job.base)))
        if there.keys() - base.keys():
            raise JobError(f"an earlier run has written to {name}")
        files = {f"{self.job.branch}/{file}/audit": len(its) for file, its in rows.items()}
        self.cluster.lake.spark_append(self.job.branch, name, self.cluster.new_table(), files)
        self.did("notes what it found")

    def _commit(self, table: str, state: TableState) -> None:
        self.head()
        self.cluster.lake.commit(self.job.branch, {Key(kind=KeyKind.TABLE, name=table): state})

    def _data_files(self, file: JobFile, *, is_left: bool = False) -> dict[str, int]:
        """The data files that a file's rows are spread over, and those that are left once rows have left it."""
        story = self._story(file.id)
        whole = story.rows if is_left else story.arrive
        rows = [whole // story.files] * story.files
        rows[0] += whole - sum(rows)
        name = "left-" if is_left else ""
        return {f"{self.job.branch}/{file.id}/{name}{n}": count for n, count in enumerate(rows) if count}

    def _story(self, file: str) -> Story:
        return self.cluster.stories[file]
