"""A whole installation in memory, and the hands of the people around it: vendors, Spark, the clock, a meddler.

The job here appends and reports what the test said of each file; everything else is the product's own code.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.report import Report
from lakegate.audit.run import Run, append_and_audit
from lakegate.errors import Misconfigured, Refused, Retryable
from lakegate.landing.attempts import Attempt, batch_id
from lakegate.landing.files import FileVersion
from lakegate.landing.lane import Express
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.ports import MAIN, Message, MessageKind, Ref
from lakegate.testing import (
    MemoryCatalog,
    MemoryClock,
    MemoryJobRunner,
    MemoryLake,
    MemoryNotifier,
    MemoryStore,
    MemoryTables,
)
from lakegate.testing.lake import Key, KeyKind
from lakegate.workflow.attempts.claims import files_claimed_on, list_open_attempts
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.receive import receive, settle_and_gather
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import contract_name, push
from lakegate.workflow.status import status
from tests.world.engine import StoryEngine, with_named_checks
from tests.world.installation import FLIGHTS, PLANES, MemoryInstallation
from tests.world.stories import Story, as_written, file_of, files_of

TABLE = FLIGHTS
QUARANTINE = quarantine_of(TABLE)
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: nyc-flights
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/nyc/flights/**
    format: parquet
schema:
  - name: flights
    physicalName: nyc.flights
    properties:
      - name: a
        logicalType: integer
      - name: b
        logicalType: integer
"""


DRIFT = """
    quality:
      - {type: custom, engine: lakegate, implementation: {drift: {of: rowCount}, mustBeLessThan: 10}}
"""

MOST_SWEEPS = 40
STILL_SWEEPS = 3  # an hour and a half: a crash is waited out for an hour at most


class World(MemoryInstallation):
    """See the module."""

    lake: MemoryLake

    def __init__(
        self, *, clock: MemoryClock | None = None, lake: MemoryLake | None = None, jobs_at_once: int = 100
    ) -> None:
        """So many jobs at once, so that no test but those of queued files meets a busy table."""
        super().__init__(clock=clock or MemoryClock(), store=MemoryStore(), notifier=MemoryNotifier())
        self.lake = lake or MemoryLake()
        self.names: dict[str, str] = {}
        self.reused: list[str] = []  # branches whose jobs had nothing to append
        self.depends_on: tuple[str, ...] = ()  # the tables that the job's verdicts depend on
        self.meddling: list[dict[Key, object]] = []
        self.runner = MemoryJobRunner(self.store, self._work, self.clock)
        catalog, tables = MemoryCatalog(lake=self.lake), MemoryTables(lake=self.lake)
        self.service = self.make_service(catalog, tables, jobs_at_once=jobs_at_once)
        self.push_contract()

    # Vendors and events.

    def key(self, name: str) -> str:
        return f"nyc/flights/{name}"

    def drop(
        self,
        name: str,
        *,
        rows: int,
        body: bytes = b"",
        deliver: bool = True,
        absolute: bool = False,
        under: str = "",
        aside: int = 0,
        holds: str = "",
        needs: str = "",
        **story: Any,
    ) -> FileVersion:
        """Upload a file; `under` is its key where that is not made of its name (two versions of one key). A row of it
        has the key that it `holds`, or its name.
        """
        self.clock.advance(1)
        key = under or (name if absolute else self.key(name))
        file = self.landing.add(key, body or f"{name} {self.clock.now()}".encode())
        self.stories[file.id] = Story(rows=rows, aside=aside, key=holds or name, needs=needs or None, **story)
        self.files[name] = file
        self.names[file.id] = name
        if deliver:
            self.deliver(file)
        return file

    def file(self, name: str) -> FileVersion:
        return self.files[name]

    def mend(self, name: str) -> None:
        """From now on the job finds nothing wrong with it, as after a contract was mended."""
        file = self.files[name]
        story = self.stories[file.id]
        self.stories[file.id] = Story(rows=story.rows, aside=story.aside, key=story.key)

    def spoil(self, name: str) -> None:
        """From now on the job finds something wrong with it."""
        file = self.files[name]
        self.stories[file.id] = replace(self.stories[file.id], bad="drifts")

    def deliver(self, *files: FileVersion) -> None:
        failures = receive(self.service, [Arrival(key=file.key, version_id=file.version_id) for file in files])
        assert failures == []

    def wait_for_company(self, seconds: int = 20) -> None:
        """From now on files wait for others for so long, and are told of when that is over."""
        self.change(batch_window=timedelta(seconds=seconds), reminders=self.reminders)

    def pass_time(self, seconds: int) -> None:
        """Reminders that are due meanwhile come."""
        for _ in range(seconds):
            self.clock.advance(1)
            if reminded := [file.key for file in self.reminders.take_due()]:
                assert receive(self.service, [], reminded) == []

    def drop_together(self, *names: str) -> None:
        self.deliver(*(self.files[name] for name in names))

    def open_attempt(self, *files: FileVersion) -> Attempt:
        """An attempt by a worker that did not see the others' claims."""
        attempt = Attempt(table=TABLE, batch=batch_id(TABLE, files), number=1)
        return start_attempt(self.service, attempt, files)

    def delete_when_staged(self, file: FileVersion) -> None:
        """The vendor deletes the file between the claim and the copy."""
        stage = self.landing.stage

        def gone(wanted: FileVersion, name: str) -> str:
            if wanted.id == file.id and self.landing.describe(file.key, file.version_id):
                self.landing.drop(file.key, file.version_id)
            return stage(wanted, name)

        self.landing.stage = gone  # type: ignore[method-assign, assignment]

    def archive_the_bytes_of(self, file: FileVersion) -> None:
        """By its storage class: it is there, and can't be read."""
        stage = self.landing.stage

        def archived(wanted: FileVersion, name: str) -> str:
            if wanted.id == file.id:
                raise Refused(f"{file.key} is archived")
            return stage(wanted, name)

        self.landing.stage = archived  # type: ignore[method-assign, assignment]

    def forbid_looking_at(self, file: FileVersion) -> None:
        """As where it is encrypted with a key that may not be used."""
        look = self.landing.describe

        def forbidden(key: str, version_id: str) -> FileVersion | None:
            if version_id == file.version_id:
                raise Misconfigured(f"looking at {key}: 403")
            return look(key, version_id)

        self.landing.describe = forbidden  # type: ignore[method-assign]

    # People.

    def push_contract(self, *, changed: bool = False, drift: bool = False, **settings: object) -> None:
        """`settings` are the table's of ours."""
        text = CONTRACT.replace("name: b", "name: b\n        required: true") if changed else CONTRACT
        text += DRIFT if drift else ""
        text += "    customProperties:\n" if settings else ""
        text += "".join(f"      - {{property: {k}, vendor: lakegate, value: {v}}}\n" for k, v in settings.items())
        push(self.store, [("flights.yaml", text.encode())])

    def push_text(self, text: str) -> None:
        push(self.store, [("flights.yaml", text.encode())])

    def refer_to_planes(self) -> None:
        """From now on flights refer to planes, whose files have a contract too."""
        planes = (
            CONTRACT.replace("nyc-flights", "nyc-planes").replace("nyc.flights", PLANES).replace("flights", "planes")
        )
        flights = CONTRACT.rstrip() + f"\n        relationships: [{{to: {PLANES}.a}}]\n"
        push(self.store, [("planes.yaml", planes.encode()), ("flights.yaml", flights.encode())])

    def want_unique_keys(self, *, required: bool = False) -> None:
        """From now on the table's keys are unique in all of it."""
        unique = "required: true\n        " if required else ""
        unique += "unique: true\n        customProperties: [{property: scope, vendor: lakegate, value: table}]"
        text = CONTRACT.rstrip().removesuffix("logicalType: integer") + f"logicalType: integer\n        {unique}\n"
        push(self.store, [("flights.yaml", text.encode())])

    def remove_contract(self) -> None:
        self.store.delete(contract_name(TABLE))

    def wait_out_the_grace(self) -> None:
        self.clock.advance(self.service.grace.total_seconds() + 1)

    def notifier_down(self) -> None:
        self.notifier.error = Retryable("Slack does not answer")

    def notifier_up(self) -> None:
        self.notifier.error = None

    def refuse_messages_about(self, name: str) -> None:
        tell = self.notifier.notify

        def refused(message: Message) -> None:
            if any(file.key == self.key(name) for file in message.files):
                raise Misconfigured("Slack: msg_too_long")
            tell(message)

        self.notifier.notify = refused  # type: ignore[method-assign]

    # Spark.

    def kill_jobs(self, reason: str, *, never_began: bool = False, cut_off: bool = False) -> None:
        """The jobs that are waiting now end badly."""
        for run in self.runner.open_runs():
            self.runner.fail(run.id, reason, never_began=never_began, cut_off=cut_off)

    def cancel_jobs(self) -> None:
        """A person cancels the jobs that are waiting now."""
        for run in self.runner.open_runs():
            self.runner.cancel(run.id)

    def have_express(self, most_bytes: int = 10_000, spark_only: str = "") -> None:
        """From now on the installation has an express lane; `spark_only` is what it says of every plan."""
        self.change(express=Express(most_bytes=most_bytes, spark_only=lambda _: spark_only))

    def have_no_express(self) -> None:
        self.change(express=None)

    def hand_over(self, reason: str = "a value that only Spark can compare") -> None:
        """The jobs that are waiting now hand their files over."""
        for run in self.runner.open_runs():
            self.runner.hand_over(run.id, reason)

    def lanes(self) -> list[tuple[Lane, str]]:
        """Of the jobs that were frozen, in the order of their runs."""
        return [(job.lane, job.lane_why) for job in map(self.runner.job, self.runner.runs)]

    def allow_attempts(self, number: int) -> None:
        """So many in a row may crash before a file alone is rejected."""
        self.change(attempts=number)

    def run(self, *, settle_after: bool = True) -> None:
        """Let every waiting job run and, as its event would, settle it; until nothing is waiting."""
        while True:
            self.runner.finish_all()
            if not settle_after:
                return
            for attempt in self.attempts():
                settle_and_gather(self.service, attempt)
            if not self.runner.open_runs():
                return

    def end_jobs(self) -> None:
        """Every waiting job ends: badly where its branch is gone."""
        for run in self.runner.open_runs():
            if run.branch in self.lake.branches:
                self.runner.finish(run.id)
            else:
                self.runner.fail(run.id, "its branch is gone")

    def come_to_rest(self) -> None:
        """Let time pass, with a sweep every half an hour and jobs that end, until nothing has changed for longer than
        anything waits.
        """
        before, still = None, 0
        for _ in range(MOST_SWEEPS):
            self.clock.advance(30 * 60)
            assert reconcile(self.service) == []
            self.end_jobs()
            now = ({**self.lake.branches}, self.store.names(""), len(self.notifier.messages), len(self.runner.runs))
            still = still + 1 if now == before else 0
            if still == STILL_SWEEPS:
                return
            before = now
        raise AssertionError(f"after {MOST_SWEEPS} sweeps something still goes on")

    def spoil_reports(self) -> None:
        """As those of another release's job would be."""
        for name in self.store.names("reports/"):
            self.store.write(name, b'{"files": 3}')

    def spark_append(self, branch: str, name: str, rows: int) -> str:
        return self.lake.spark_append(branch, TABLE, self.new_table(), {f"{branch}/{name}/0": rows})

    def meddle_with(self, table: str) -> None:
        """The next job also changes another table on its branch."""
        self.meddling.append({Key(kind=KeyKind.TABLE, name=table): "meddled with"})

    def meddle_with_receipt_of(self, name: str) -> None:
        """The next job also changes the receipt of a file that is not its own."""
        receipt = Receipt(bucket="landing", key=self.key(name))
        self.meddling.append({Key(kind=KeyKind.RECEIPT, name=receipt.key): receipt})

    def change_fields_on_main(self, fields: tuple[tuple[int, str, str], ...], table: str = TABLE) -> None:
        self.change_identity(table, fields=fields)

    def partition_main_anew(self) -> None:
        self.change_identity(TABLE, partitions="days(a)")

    def change_on_main(self, table: str, name: str = "") -> None:
        """Somebody else publishes a file to another table."""
        file = name or str(len(self.lake.commits))
        self.stories.setdefault(file, Story(rows=1, key=file))
        self.lake.spark_append(MAIN, table, self.new_table(), {f"{table}/{file}/0": 1})

    def compact(self, table: str = TABLE) -> None:
        """Somebody rewrites all rows of main's table into one data file."""
        self.write_together(table, files_of(self.table_on_main(table)))

    def delete_rows_of(self, name: str) -> None:
        """Somebody deletes all rows of a file from main's table, by leaving out its data files."""
        files, file = files_of(self.table_on_main(TABLE)), self.files[name].id
        self.change_table(TABLE, files={path: rows for path, rows in files.items() if file_of(path) != file})

    def delete_rows_on_main(self, table: str) -> None:
        """Somebody deletes rows of main's table by a delete file; its data files stay."""
        self.change_table(table, deletes=frozenset({"deletes"}))

    def add_and_drop_a_column_on_main(self) -> None:
        """Somebody gives the table a column by mistake, and takes it off again: its field id is used up."""
        self.change_identity(TABLE, last_id=self.identity(TABLE).last_id + 1)

    def drop_on_main(self, table: str) -> None:
        self.lake.commit(MAIN, {Key(kind=KeyKind.TABLE, name=table): None})

    def make_anew_on_main(self, table: str) -> None:
        """Somebody drops main's table, and makes another by its name with the same data files."""
        self.change_identity(table, uuid=f"{self.identity(table).uuid} again")

    def reject_behind_the_back(self, attempt: Attempt, files: tuple[FileVersion, ...]) -> None:
        receipts = [
            Receipt(bucket=file.bucket, key=file.key).with_decision(
                Entry.of(file, Decision.REJECTED, attempt, ["by hand"])
            )
            for file in files
        ]
        self.service.ledger.commit_receipts(MAIN, self.lake.branches[MAIN], receipts)

    def _work(self, job: Job) -> Report:
        named = with_named_checks(job, self.stories)
        engine = StoryEngine(cluster=self, job=named, did=lambda did: self._meddle(job) if did == "appends" else None)
        report = append_and_audit(Run(job=named, engine=engine, now=self.clock.now, ticks=float))
        if job.reuses:
            self.reused.append(job.branch)
        return replace(report, plan_hash=job.plan.hash, depends_on=self.depends_on or report.depends_on)

    def _meddle(self, job: Job) -> None:
        for change in self.meddling:
            self.lake.commit(job.branch, change)  # type: ignore[arg-type]
        self.meddling.clear()

    # What can be seen.

    def attempts(self) -> list[Attempt]:
        return list_open_attempts(self.service.branches)

    def claims(self, attempt: Attempt) -> list[FileVersion]:
        return files_claimed_on(self.service, attempt)

    def branches(self) -> list[str]:
        return [branch.name for branch in self.service.branches.list_branches()]

    def rows_on_main(self) -> dict[str, int]:
        return self._rows(Ref(MAIN))

    def quarantined_on(self, ref: str = MAIN) -> dict[str, int]:
        """The rows in quarantine at a ref, by file name."""
        return self._rows(Ref(ref), QUARANTINE)

    def rows_on(self, branch: str) -> dict[str, int]:
        """The rows that the branch has and main has not, by file name."""
        main = self._rows(Ref(MAIN))
        return {name: rows for name, rows in self._rows(Ref(branch)).items() if name not in main}

    def _rows(self, ref: Ref, table: str = TABLE) -> dict[str, int]:
        return {self.names.get(file, file): rows for file, rows in self._versions(ref, table).items()}

    def _versions(self, ref: Ref, table: str) -> dict[str, int]:
        """The rows by file version."""
        rows_by_file: dict[str, int] = {}
        for path, rows in as_written(files_of(self.lake.table(ref, table)), self.rewritten).items():
            file = file_of(path)
            assert file not in rows_by_file, f"{self.names.get(file, file)} is there twice"
            rows_by_file[file] = rows
        return rows_by_file

    def messages(self) -> list[Message]:
        return self.notifier.messages

    def rejected(self) -> dict[str, tuple[str, ...]]:
        lines = status(self.service).rejected
        return {key.removeprefix("nyc/flights/"): line.reasons for line in lines for key in line.files}

    def publications(self, name: str) -> int:
        """Return how often main's log says that this name was published."""
        decided = [entry.record for entry in self.service.ledger.decisions(1000)]
        published = [note for note in decided if note.decision is Decision.PUBLISHED]
        return sum(file.key == self.key(name) for note in published for file in note.files)

    def publications_by_name(self) -> dict[str, int]:
        """Return how often main's log has each file version as published; two versions of a key are two names."""
        notes = [entry.record for entry in self.service.ledger.decisions(1000)]
        versions = [f.version_id for note in notes if note.decision is Decision.PUBLISHED for f in note.files]
        names = {file.version_id: name for name, file in self.files.items()}
        return {names[version]: versions.count(version) for version in versions}

    def on_main(self) -> set[str]:
        """The names of the file versions whose rows main's receipts say are there."""
        receipts = self.service.ledger.receipts(Ref(MAIN), [file.key for file in self.files.values()])
        versions = {(key, entry.version_id) for key, receipt in receipts.items() for entry in receipt.on_main}
        return {name for name, file in self.files.items() if (file.key, file.version_id) in versions}

    def entries(self) -> dict[str, Entry | None]:
        """Return what main's receipts say of each landed file version, by name."""
        receipts = self.service.ledger.receipts(Ref(MAIN), [file.key for file in self.files.values()])
        return {
            name: receipts[file.key].entry(file.version_id) if file.key in receipts else None
            for name, file in self.files.items()
        }

    def names_at(self, commit: str = "") -> set[str]:
        """The files whose rows the table has at a commit of main, or at its head."""
        return set(self._rows(Ref(MAIN, commit)))

    def body_of(self, name: str) -> bytes:
        file = self.files[name]
        return self.landing.bodies[file.key, file.version_id]

    def last_job(self) -> Job:
        return self.runner.job(list(self.runner.runs)[-1])

    def rows_of(self, name: str) -> int:
        return self.stories[self.files[name].id].rows

    def aside_of(self, name: str) -> int:
        return self.stories[self.files[name].id].aside

    def told(self) -> dict[str, list[MessageKind]]:
        """The kinds of all messages that name a key, by key."""
        found: dict[str, list[MessageKind]] = {}
        for message in self.messages():
            for file in message.files:
                found.setdefault(file.key.removeprefix("nyc/flights/"), []).append(message.kind)
        return found

    def job_runs(self) -> int:
        return len(self.runner.runs)
