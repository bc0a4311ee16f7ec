"""Promises of lakegate, each once: those of `ALWAYS` after every commit to main, those of `AT_THE_END` when
the world has been quiet for long enough.

A promise is checked against what happened (what landed, what jobs reported, what strangers did), never by the code that
is to keep it. Each yields a sentence for every breach.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, lru_cache
from itertools import takewhile

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Mode
from lakegate.audit.model.report import FAILING_VERDICTS, DataFile, FileReport, Report, Verdict
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.ports import MAIN, JobRun, JobState, MessageKind, Ref
from lakegate.testing import TableState
from lakegate.testing.lake import Commit, Key, KeyKind
from lakegate.workflow.ledger.receipts import CLOSED_PREFIX, PREFIX
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.notices.outbox import OUTBOX
from lakegate.workflow.status import status
from tests.simulation.installation import NAMESAKES, Installation, Violation
from tests.simulation.spark import MEMORY, OVERLOADED
from tests.world.engine import NAMES, REPEATS
from tests.world.installation import FLIGHTS, PLANES
from tests.world.stories import KEY, Story, as_written, columns_of, file_of, files_of, keys_of

TABLES = (FLIGHTS, PLANES, *NAMESAKES)
QUARANTINES, AUDITS = "_quarantine.", "_audits."
ENOUGH = 2  # crashes of a batch, after which its parts are tried, as the documentation has it
LIFE, NOTICE = timedelta(days=30), timedelta(days=3)  # of a branch that is kept, as the documentation has it
MAY_BECOME = {
    None: set(Decision),
    Decision.REJECTED: set(Decision),
    Decision.PUBLISHED: {Decision.PUBLISHED},
    Decision.DISCARDED: {Decision.DISCARDED},
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """A commit to main: what main and all receipts were before, and are after.

    `seen` are main's commits that the committing worker may have looked at last, and `contracts` the hashes of the
    contracts that it may have read.
    """

    world: Installation
    before: Commit
    after: Commit
    receipts_before: Mapping[str, Receipt]
    receipts: Mapping[str, Receipt]
    seen: tuple[Commit, ...]
    contracts: frozenset[str]

    @cached_property
    def report(self) -> Report | None:
        """Of the attempt that is published, if one is."""
        note = self.after.record
        if note is None or note.decision is not Decision.PUBLISHED:
            return None
        return self.world.report(Attempt(table=note.table, batch=note.batch, number=note.attempt).branch)

    @cached_property
    def published(self) -> dict[str, Entry]:
        """The entries of the versions whose rows are on main, by file version's id."""
        found = [(receipt, entry) for receipt in self.receipts.values() for entry in receipt.on_main]
        return {entry.file(receipt.bucket, receipt.key).id: entry for receipt, entry in found}

    @cached_property
    def changed(self) -> dict[tuple[str, str], tuple[Entry | None, Entry | None]]:
        """The entries of receipts that are not what they were, by key and version."""
        old, new = _entries(self.receipts_before), _entries(self.receipts)
        return {it: (old.get(it), new.get(it)) for it in sorted({*old, *new}) if old.get(it) != new.get(it)}


def _entries(receipts: Mapping[str, Receipt]) -> dict[tuple[str, str], Entry]:
    return {(receipt.key, entry.version_id): entry for receipt in receipts.values() for entry in receipt.entries}


def receipts_at(world: Installation, commit: Commit) -> dict[str, Receipt]:
    """Every key's receipt: main's, or else the archived one; and with it what was taken out of it."""
    main = {receipt.key: receipt for receipt in commit.contents.values() if isinstance(receipt, Receipt)}
    found = {receipt.key: receipt for receipt in _kept(world, PREFIX)} | main
    for closed in _kept(world, CLOSED_PREFIX):
        short = found.get(closed.key)
        if short is None:
            raise Violation(f"{closed.key} has no receipt any more, and entries that were taken out of one")
        entries = {entry.version_id: entry for entry in (*closed.entries, *short.entries)}
        found[closed.key] = replace(short, entries=tuple(entries.values()))
    return {key: _in_order(receipt) for key, receipt in found.items()}


def _kept(world: Installation, prefix: str) -> list[Receipt]:
    return [_archived(body) for name, body in world.store.objects.items() if name.startswith(prefix)]


def _in_order(receipt: Receipt) -> Receipt:
    """However it came to be in more than one place."""
    if len(receipt.entries) < 2 and not receipt.truncated:
        return receipt
    return replace(receipt, entries=tuple(sorted(receipt.entries, key=lambda it: it.version_id)), truncated=None)


@lru_cache(maxsize=256)
def _archived(body: bytes) -> Receipt:
    return Receipt.from_json(body.decode())


def table_at(commit: Commit, table: str) -> TableState | None:
    found = commit.contents.get(Key(kind=KeyKind.TABLE, name=table))
    return found if isinstance(found, TableState) else None


def tables_in(commit: Commit, namespace: str) -> list[str]:
    return sorted(key.name for key in commit.contents if key.kind is KeyKind.TABLE and key.name.startswith(namespace))


def rows_at(world: Installation, commit: Commit, table: str) -> Mapping[str, int]:
    """The rows of each data file as jobs wrote it, wherever somebody has written them since."""
    return as_written(files_of(table_at(commit, table)), world.rewritten)


def report_of(world: Installation, entry: Entry) -> Report | None:
    return world.report(branch_of(entry))


def branch_of(entry: Entry) -> str:
    return Attempt(table=entry.table, batch=entry.batch, number=entry.attempt).branch


# Always.


def every_row_on_main_was_audited_and_passed(step: Step) -> Iterator[str]:
    by_a_person = step.after.record is not None and bool(step.after.record.by)
    reports = step.report.files if step.report else ()
    passed = [file for file in reports if by_a_person or file.verdict is not Verdict.FAIL]
    tables = [(name, False) for name in TABLES] + [(name, True) for name in tables_in(step.after, QUARANTINES)]
    for name, aside in tables:
        audited = {data for file in passed for data in (file.quarantined if aside else file.data_files)}
        there = rows_at(step.world, step.after, name)
        for path in sorted(there.keys() - rows_at(step.world, step.before, name).keys()):
            if DataFile(path=path, rows=there[path]) not in audited:
                yield f"{path} in {name} is in no report of a file that passed"


def each_table_has_a_quarantine_and_audits_of_its_own(step: Step) -> Iterator[str]:
    """No other's rows are there, and its own are nowhere else: it keeps them."""
    for namespace in (QUARANTINES, AUDITS):
        names = defaultdict[str, set[str]](set)
        for name in tables_in(step.after, namespace):
            owners = {step.world.prefix_of(file_of(path)) for path in files_of(table_at(step.after, name))}
            if len(owners) > 1:
                yield f"{name} has rows of {' and '.join(sorted(owners))}"
            for owner in owners:
                names[owner].add(name)
        for owner in sorted(owner for owner in names if len(names[owner]) > 1):
            yield f"{owner} has rows in {' and '.join(sorted(names[owner]))}"


def a_person_publishes_what_was_rejected_and_nothing_else(step: Step) -> Iterator[str]:
    note = step.after.record
    if note is None or note.decision is not Decision.PUBLISHED or not note.by:
        return
    if note.batch not in step.world.approved:
        yield f"nobody approved {note.batch}"
    for file, (old, _) in step.changed.items():
        if old is None or (old.decision, old.batch, old.attempt) != (Decision.REJECTED, note.batch, note.attempt):
            yield f"{file} was {old}, and {note.by} let it through"


def a_publish_brings_its_tables_and_its_receipts_alone(step: Step) -> Iterator[str]:
    if step.report:
        table, distinct = step.report.table, step.report.distinct
        names = {table, quarantine_of(table, distinct=distinct), audits_of(table, distinct=distinct)}
        spaces = {name.rpartition(".")[0] for name in names}
        for key in sorted(step.after.keys):
            its = {
                KeyKind.TABLE: names,
                KeyKind.NAMESPACE: spaces,
                KeyKind.RECEIPT: {key.name},
                KeyKind.OTHER: set[str](),
            }
            if key.name not in its[key.kind]:
                yield f"{step.report.branch} also brings {key.kind} {key.name}"


def what_an_audit_found_comes_with_its_decision_and_stays(step: Step) -> Iterator[str]:
    """Of the files that a commit publishes or rejects, all that their attempt's audit found, and of no others. A file
    that is rejected for another reason has none, nor has one whose branch a stranger changed; one that a person lets
    through had its own when it was rejected.
    """
    note = step.after.record
    report = (
        step.world.report(Attempt(table=note.table, batch=note.batch, number=note.attempt).branch) if note else None
    )
    may, must = set[DataFile](), set[DataFile]()
    for file in report.files if note and report and not note.by else ():
        _, now = step.changed.get((file.key, step.world.version_of(file.id)), (None, None))
        if now and now.decision in (Decision.PUBLISHED, Decision.REJECTED):
            may |= {*file.noted}
            must |= {*file.noted} if now.decision is Decision.PUBLISHED or _is_for_its_audit(step, now, file) else set()
    own = audits_of(report.table, distinct=report.distinct) if report else ""
    for table in sorted({own, *tables_in(step.before, AUDITS), *tables_in(step.after, AUDITS)}):
        before, after = (files_of(table_at(commit, table)) for commit in (step.before, step.after))
        came = {DataFile(path=path, rows=rows) for path, rows in after.items() if path not in before}
        if strange := sorted(data.path for data in came - may):
            yield f"{strange} come to {table}, and are not what was found of what is decided"
        if gone := sorted(before.keys() - after.keys()):
            yield f"{gone} are gone from {table}"
        if table == own and (left := sorted(data.path for data in must - came)):
            yield f"{left} are not in {table}"


def _is_for_its_audit(step: Step, entry: Entry, file: FileReport) -> bool:
    """Return True if a file is rejected for its audit's findings, and nobody has changed its branch, or a rebase's."""
    branch = branch_of(entry)
    return entry.reasons == file.reasons and not any(it.startswith(branch) for it in step.world.meddled)


def no_row_leaves_main_but_for_the_newer_version_of_its_file(step: Step) -> Iterator[str]:
    published = {file for file, (_, new) in step.changed.items() if new and new.decision is Decision.PUBLISHED}
    reports = step.report.files if step.report else ()
    its = [it.replaces for it in reports if (it.key, step.world.version_of(it.id)) in published]
    replaced = {data.path for each in its for data in (*each.data_files, *each.quarantined)}
    rewritten = {file for each in its for file in each.rewritten}
    for name in (*TABLES, *tables_in(step.before, QUARANTINES)):
        before, after = (rows_at(step.world, commit, name) for commit in (step.before, step.after))
        gone = before.keys() - after.keys() - replaced
        for path in sorted(path for path in gone if file_of(path) not in rewritten):
            yield f"{path} is gone from {name}"


def of_a_key_there_is_what_its_contract_says(step: Step) -> Iterator[str]:
    """The newest of the published versions always; the others, unless one ever replaced them; and several, or the same
    bytes twice, only if they were ever appended.
    """
    for receipt in step.receipts.values():
        published = [entry for entry in receipt.entries if entry.decision is Decision.PUBLISHED]
        there, said = receipt.on_main, step.world.reuploads_of(receipt.key)
        newest = _last_landed(step.world, receipt, published)
        if newest and newest not in there and not _nobody_can_know(step.world, receipt, newest):
            yield f"{receipt.key}: {newest.version_id} is the newest, and not on main"
        if len(there) < len(published) and Reuploads.REPLACE not in said:
            yield f"{receipt.key}: {len(published)} versions were published, and {len(there)} are on main"
        if len(there) > 1 and Reuploads.APPEND not in said:
            yield f"{receipt.key}: {[entry.version_id for entry in there]} are on main"
        if len({entry.content for entry in there}) < len(there):
            yield f"{receipt.key}: the same bytes are on main twice"


def _last_landed(world: Installation, receipt: Receipt, entries: Iterable[Entry]) -> Entry | None:
    """Of some versions of its key, by what happened and not by what S3 tells."""
    return max(entries, key=lambda it: world.order[it.file(receipt.bucket, receipt.key).id], default=None)


def _nobody_can_know(world: Installation, receipt: Receipt, newest: Entry) -> bool:
    """Return True if it and what is on main are from one second, of whose versions S3 tells the newest, as long as that
    is there; and events may be lost.
    """
    at_once = [it for it in world.files.values() if (it.key, it.landed_at) == (receipt.key, newest.landed_at)]
    is_told = len(at_once) <= 2 and all((it.key, it.version_id) in world.landing.files for it in at_once)
    return not is_told and all(it.landed_at == newest.landed_at for it in receipt.on_main)


def each_file_version_is_there_once_and_whole(step: Step) -> Iterator[str]:
    """As the report of the attempt says that its receipt names, with all rows of its story but for those that were put
    aside; what has no receipt is not there.
    """
    published = step.published
    there: dict[str, set[DataFile]] = {}
    for path, rows in (each for table in TABLES for each in rows_at(step.world, step.after, table).items()):
        there.setdefault(file_of(path), set()).add(DataFile(path=path, rows=rows))
    for file_id in sorted(there.keys() | published.keys()):
        report = report_of(step.world, published[file_id]) if file_id in published else None
        reported = [it for it in (report.files if report else ()) if it.id == file_id]
        audited = {data for it in reported for data in it.data_files}
        if there.get(file_id, set()) != audited or file_id not in published:
            yield f"{file_id}: {there.get(file_id, set())} on main, and {audited} published by its receipt"
        whole, story = [it.rows + it.quarantined_rows for it in reported], step.world.stories[file_id]
        if whole != [story.arrive]:
            yield f"{file_id}: {whole} rows are published and put aside, of {story.arrive}"


def decisions_change_only_as_they_may(step: Step) -> Iterator[str]:
    for file, (old, new) in step.changed.items():
        if new is None or new.decision not in MAY_BECOME[old.decision if old else None]:
            yield f"{file} was {old and old.decision} and is {new and new.decision}"
        elif old and old.decision is new.decision is not Decision.REJECTED:
            yield f"{file} was {old.decision} by {old.batch} a{old.attempt}, and again by {new.batch} a{new.attempt}"


def what_was_rejected_untried_is_decided_anew_by_people_alone(step: Step) -> Iterator[str]:
    """Of what was tried, another worker may have begun the next attempt just before."""
    by_people = step.world.retried | step.world.approved | step.world.discarded
    for file, (old, new) in step.changed.items():
        if old and old.decision is Decision.REJECTED and not old.attempt and old.batch not in by_people:
            yield f"{file} was rejected with {old.batch}, and is {new and new.decision}; nobody asked for that"


def the_log_says_what_was_decided(step: Step) -> Iterator[str]:
    note = step.after.record
    told = {(file.key, file.version_id): file for file in note.files} if note else {}
    if told.keys() != step.changed.keys():
        yield f"the log says {sorted(told)}, and the receipts {sorted(step.changed)}"
        return
    for file, (_, new) in step.changed.items():
        if note and new and (new.decision, new.batch, new.attempt) != (note.decision, note.batch, note.attempt):
            yield f"{file} is {new.decision} by {new.batch} a{new.attempt}, and the log says {note}"
    for reported in step.report.files if step.report else ():
        its = [file for file in told.values() if step.world.version_of(reported.id) == file.version_id]
        if its and its[0].rows != reported.rows:
            yield f"{reported.key} has {reported.rows} rows, and the log says {its[0].rows}"


def a_reason_comes_with_every_rejection(step: Step) -> Iterator[str]:
    for file, (_, new) in step.changed.items():
        if new and new.decision is Decision.REJECTED and not new.reasons:
            yield f"{file} is rejected, and nobody says why"


def a_reason_names_a_version_that_is_on_main(step: Step) -> Iterator[str]:
    """A file that a person discards keeps the reason for which it was rejected."""
    if step.after.record is None or step.after.record.by:
        return
    for (key, version), (_, new) in step.changed.items():
        for reason in (reason for reason in (new.reasons if new else ()) if " is on main" in reason):
            there = {entry.version_id for entry in step.receipts[key].on_main}
            if not any(it in reason for it in there):
                yield f"{key} {version}: {reason}; but {sorted(there)} are"


def files_are_rejected_for_what_is_true(step: Step) -> Iterator[str]:
    world = step.world
    for (key, version), (_, new) in step.changed.items():
        if new is None or new.decision is not Decision.REJECTED:
            continue
        branch, receipt = branch_of(new), step.receipts[key]
        report, file_id = world.report(branch), new.file(receipt.bucket, key).id
        excuses = {
            "it failed": failed(report, file_id),
            "it alone ended as many jobs as may fail": _failures_alone(world, new, file_id) >= world.service.attempts,
            "it was deleted": (key, version) not in world.landing.files,
            "its contract wants no other": bool(receipt.on_main) and Reuploads.REJECT in world.reuploads_of(key),
            "a stranger changed its branch, or a rebase's": any(it.startswith(branch) for it in world.meddled),
        }
        if not any(excuses.values()):
            yield f"{key} {version} was rejected on {branch} for no true reason: {new.reasons}"


def what_is_observed_is_rejected_only_if_it_cannot_be_appended(step: Step) -> Iterator[str]:
    for (key, version), (_, new) in step.changed.items():
        report = report_of(step.world, new) if new and new.decision is Decision.REJECTED else None
        if report is None or report.mode is Mode.ENFORCE:
            continue
        for file in report.files:
            if step.world.version_of(file.id) == version and file.verdict is Verdict.FAIL and not file.faults:
                yield f"{key} {version} is rejected, and its contract observes: {file.reasons}"


def _failures_alone(world: Installation, entry: Entry, file_id: str) -> int:
    """Return how many jobs began on this file alone, and failed one after the other, up to this attempt's. Those that
    had others beside it say nothing about it: so good files survive one that ends its job.
    """
    attempts = [Attempt(table=entry.table, batch=entry.batch, number=it) for it in range(entry.attempt, 0, -1)]
    runs = [run for attempt in attempts if (run := world.runner.find(attempt.branch))]
    spark = [run for run in runs if run.lane is Lane.SPARK]  # of the other lane's nothing counts
    its = [run for run in spark if file_id in {file.id for file in world.runner.job(run.id).files}]
    failed_runs = takewhile(lambda run: run.state is JobState.FAILED, its)
    return sum(has_begun(world, run) for run in failed_runs if len(world.runner.job(run.id).files) == 1)


def has_begun(world: Installation, run: JobRun) -> bool:
    """Return True if a job came to its files, and was not cut off from them."""
    return run.id in world.jobs and world.jobs[run.id].began


def main_has_the_very_table_that_was_audited(step: Step) -> Iterator[str]:
    """Iceberg finds columns by field id: under other ids the values would be in the wrong ones."""
    report = step.report
    if report is None:
        return
    files = [file for file in report.files if _is_published(step, file)]
    brings = {
        report.table: [it.data_files for it in files],
        quarantine_of(report.table, distinct=report.distinct): [it.quarantined for it in files],
    }
    for table in (table for table, data in brings.items() if any(data)):
        audited, now = (
            table_at(commit, table) for commit in (step.world.lake.at(Ref(MAIN, report.audited)), step.after)
        )
        if audited and (now is None or now.identity != audited.identity):
            yield f"{table} on main is {now and now.identity}, and {audited.identity} was audited"


def a_column_comes_with_a_file_that_brings_it(step: Step) -> Iterator[str]:
    files = [file for file in (step.report.files if step.report else ()) if _is_published(step, file)]
    brought = {step.world.stories[file.id].column for file in files}
    for table in TABLES:
        before, after = (columns_of(table_at(commit, table)) for commit in (step.before, step.after))
        if strange := sorted(after - before - NAMES - brought):
            yield f"{table} has got {strange}, and the files that came brought {sorted(brought)}"


def verdicts_are_true_of_the_main_they_are_published_to(step: Step) -> Iterator[str]:
    """The table itself may not have moved at all, or, where no row of these files is in it, so that no merge can tell,
    not before the worker looked last; and what a row refers to was there then.
    """
    report = step.report
    if report is None:
        return
    own = report.table if report.table in report.depends_on else ""
    brings = any(file.data_files for file in report.files if _is_published(step, file))
    if own and table_at(step.world.lake.at(Ref(MAIN, report.base)), own) not in [
        table_at(commit, own) for commit in ([step.before] if brings else step.seen)
    ]:
        yield f"{own} has changed since {report.branch} was audited"
    for table in set(report.depends_on) - {own}:
        needed = {story.needs for story in _passed(step, report)} - {None}
        seen = [_keys_at(step.world, commit, table) for commit in step.seen]
        if not any(needed <= keys for keys in seen):
            yield f"{report.branch} refers to rows {needed} of {table}, where there are {seen}"


def _keys_at(world: Installation, commit: Commit, table: str) -> set[int | str]:
    state = table_at(commit, table)
    return keys_of(rows_at(world, commit, table), state.deletes if state else frozenset(), world.stories)


def _passed(step: Step, report: Report) -> Iterator[Story]:
    """Yield what is in the files that are published by their verdicts, and not by a person's word."""
    for file in report.files:
        if _is_published(step, file) and file.verdict not in FAILING_VERDICTS:
            yield step.world.stories[file.id]


def _is_published(step: Step, file: FileReport) -> bool:
    """By this very commit."""
    _, now = step.changed.get((file.key, step.world.version_of(file.id)), (None, None))
    return now is not None and now.decision is Decision.PUBLISHED


def no_key_is_there_twice(step: Step) -> Iterator[str]:
    if not step.world.unique:
        return
    seen: set[int | str] = set()
    for file_id in sorted({file_of(path) for path in rows_at(step.world, step.after, FLIGHTS)}):
        key = step.world.stories[file_id].key
        if let_through(step, file_id):
            continue  # a person's word, or its contract observed
        if key is not None and key in seen:
            yield f"key {key} is in {FLIGHTS} twice"
        seen |= {key} if key is not None else set()


def let_through(step: Step, file_id: str) -> bool:
    """Return True if a published file version had failed, or would have if its contract had enforced."""
    entry = step.published.get(file_id)
    report = report_of(step.world, entry) if entry else None
    return any(it.id == file_id and it.verdict in FAILING_VERDICTS for it in (report.files if report else ()))


def failed(report: Report | None, file_id: str) -> bool:
    return any(it.id == file_id and it.verdict is Verdict.FAIL for it in (report.files if report else ()))


def nothing_is_published_by_a_contract_of_before(step: Step) -> Iterator[str]:
    if step.report and step.report.table == FLIGHTS and step.report.contract_hash not in step.contracts:
        yield f"{step.report.branch} was audited by a contract that had been replaced"


ALWAYS: tuple[Callable[[Step], Iterator[str]], ...] = (
    every_row_on_main_was_audited_and_passed,
    each_table_has_a_quarantine_and_audits_of_its_own,
    a_person_publishes_what_was_rejected_and_nothing_else,
    a_publish_brings_its_tables_and_its_receipts_alone,
    what_an_audit_found_comes_with_its_decision_and_stays,
    no_row_leaves_main_but_for_the_newer_version_of_its_file,
    of_a_key_there_is_what_its_contract_says,
    each_file_version_is_there_once_and_whole,
    decisions_change_only_as_they_may,
    what_was_rejected_untried_is_decided_anew_by_people_alone,
    the_log_says_what_was_decided,
    a_reason_comes_with_every_rejection,
    a_reason_names_a_version_that_is_on_main,
    files_are_rejected_for_what_is_true,
    what_is_observed_is_rejected_only_if_it_cannot_be_appended,
    main_has_the_very_table_that_was_audited,
    a_column_comes_with_a_file_that_brings_it,
    verdicts_are_true_of_the_main_they_are_published_to,
    no_key_is_there_twice,
    nothing_is_published_by_a_contract_of_before,
)


# At the end.


@dataclass(frozen=True, kw_only=True)
class End:
    """The world when nothing moves any more."""

    world: Installation

    @cached_property
    def main(self) -> Commit:
        return self.world.lake.head(MAIN)

    @cached_property
    def receipts(self) -> dict[str, Receipt]:
        return receipts_at(self.world, self.main)

    @cached_property
    def entries(self) -> dict[str, tuple[FileVersion, Entry]]:
        """By file version's id, what its receipt says of it."""
        found = [(r, entry) for r in self.receipts.values() for entry in r.entries]
        return {file.id: (file, entry) for r, entry in found for file in [entry.file(r.bucket, r.key)]}

    @cached_property
    def unrouted(self) -> set[str]:
        return {unrouted.file.id for unrouted in unrouted_files(self.world.service)}

    @property
    def rejected(self) -> list[tuple[FileVersion, Entry]]:
        return [pair for pair in self.entries.values() if pair[1].decision is Decision.REJECTED]

    @cached_property
    def by_people(self) -> set[tuple[str, str]]:
        """The versions that a person decided, by key and id."""
        notes = [commit.record for commit in self.world.lake.line(self.main.hash) if commit.record and commit.record.by]
        return {(file.key, file.version_id) for note in notes for file in note.files}

    def told_bytes(self, receipt: Receipt) -> list[Entry]:
        """The key's versions that were published, or repeated the bytes of one that was."""
        published = [entry for entry in receipt.entries if entry.decision is Decision.PUBLISHED]
        contents = {entry.content for entry in published}
        alike = [it for it in receipt.entries if it.decision is Decision.DISCARDED and it.content in contents]
        return [*published, *(it for it in alike if (receipt.key, it.version_id) not in self.by_people)]

    def told(self, kind: MessageKind, file: FileVersion, batch: str) -> bool:
        messages = [it for it in self.world.notifier.messages if it.kind is kind and it.batch == batch]
        return any(told.key == file.key for message in messages for told in message.files)

    def may_be_superseded(self, file: str) -> bool:
        """Return True if a rejected version, by id, has others of its key on main."""
        return bool(self.receipts[self.entries[file][0].key].on_main)


def every_file_version_has_its_end(end: End) -> Iterator[str]:
    for file in end.world.landing.versions():
        if (file.id in end.entries) == (file.id in end.unrouted):
            yield f"{file.key} {file.version_id} is neither decided nor unrouted, or both"


def nothing_is_under_way(end: End) -> Iterator[str]:
    for line in status(end.world.service).in_flight:
        yield f"{line.files} of {line.branch} is in flight: {line.state}"
    for name in end.world.store.names(OUTBOX):
        yield f"{name} was never sent"


def every_branch_keeps_what_was_rejected_there_and_nothing_else(end: End) -> Iterator[str]:
    """Until it expires: that it does is told, but for what is superseded, with which nobody could do anything."""
    kept: dict[str, set[str]] = {}
    for file, entry in end.rejected:
        if entry.attempt:  # attempt 0 had no branch
            kept.setdefault(branch_of(entry), set()).add(file.id)
    branches = {branch.name for branch in end.world.service.branches.list_branches()}
    expired = {message.branch for message in end.world.notifier.messages if message.kind is MessageKind.EXPIRING}
    expired |= {branch for branch, files in kept.items() if all(map(end.may_be_superseded, files))}
    for branch in sorted((branches ^ kept.keys()) - (expired - branches)):
        yield f"{branch} is {'there for nothing' if branch in branches else 'gone, and had rejected files'}"
    for branch in sorted(branches & kept.keys() - end.world.meddled):
        yield from _nothing_else(end, branch, kept[branch])


def a_branch_goes_when_its_life_is_over_and_people_were_told_before(end: End) -> Iterator[str]:
    told = end.world.notifier.first
    gone = end.world.gone.keys() - {branch.name for branch in end.world.service.branches.list_branches()}
    for branch in sorted({branch_of(entry) for _, entry in end.rejected if entry.attempt} & gone):
        rejected, warned = (told.get((kind, branch)) for kind in (MessageKind.REJECTED, MessageKind.EXPIRING))
        if rejected and end.world.gone[branch] < max(rejected + LIFE, warned + NOTICE if warned else rejected + LIFE):
            yield f"{branch} went at {end.world.gone[branch]}, told of at {rejected}, warned of at {warned}"


def _nothing_else(end: End, branch: str, files: set[str]) -> Iterator[str]:
    """After giving up, nobody knows whose rows are on the attempt's branch, whatever its job reported later."""
    end_of_attempt = end.world.store.objects.get(f"attempts/{branch}/end.json", b"")
    gone = b"given up" in end_of_attempt or b"handed over" in end_of_attempt
    report = None if gone else end.world.report(branch)
    if report:
        here, base = (
            rows_at(end.world, end.world.lake.at(ref), report.table) for ref in (Ref(branch), Ref(MAIN, report.base))
        )
        if more := {file_of(path) for path in here.keys() - base.keys()} - files:
            yield f"{branch} still has rows of {sorted(more)}"


def what_express_left_is_audited_by_spark(end: End) -> Iterator[str]:
    """By the next attempts at the same files, until a person has them tried again. What was cut off from a service may
    be tried on the express lane three times in a row.
    """
    world, left, tries = end.world, list[Job](), Counter[str]()
    for job in map(world.runner.job, world.runner.runs):
        again, before = job.batch in world.retried, [it for it in _before(world, job) if it in left]
        if before and job.lane is Lane.EXPRESS and not again:
            yield f"{job.branch} is tried on the express lane, and {before[0].branch} left its files to Spark"
        if job.lane is Lane.EXPRESS and world.report(job.branch) is None:
            tries[job.batch] = tries[job.batch] + 1 if job.branch in world.cut_off and not again else 0
            if tries[job.batch] not in (1, 2):
                left.append(job)


def good_files_survive_a_killer(end: End) -> Iterator[str]:
    """One that a job can hold is published, or rejected by its audit or for what happened to it alone: at least as many
    of its own jobs as may fail were ended by something else.
    """
    world = end.world
    for file, entry in end.rejected:
        if world.stories[file.id].weight > MEMORY or "crashed" not in " ".join(entry.reasons):
            continue
        runs = [run for run in world.runner.runs.values() if run.reason != OVERLOADED]
        alone = [run for run in runs if [it.id for it in world.runner.job(run.id).files] == [file.id]]
        if sum(run.state is JobState.FAILED for run in alone) < world.service.attempts:
            yield f"{file.key} {file.version_id} is rejected with others that ended its jobs: {entry.reasons}"


def a_batch_is_split_by_crashes_that_its_files_may_have_caused(end: End) -> Iterator[str]:
    """Two jobs at different files follow the same one, without verdicts, only if it and another at these files had
    begun and failed.
    """
    world = end.world
    followed = defaultdict[str, list[set[str]]](list)
    for job in _jobs_by_number(world):
        if before := _before(world, job):
            followed[before[0].branch].append({file.id for file in job.files})
    for branch, parts in followed.items():
        if world.report(branch) is not None or not any(one.isdisjoint(other) for one in parts for other in parts):
            continue
        job = next(job for job in _jobs_by_number(world) if job.branch == branch)
        runs = [run for it in (job, *_before(world, job)) if (run := world.runner.find(it.branch))]
        crashes = [run for run in runs if run.lane is Lane.SPARK and run.state is JobState.FAILED]
        if not has_begun(world, runs[0]) or sum(has_begun(world, run) for run in crashes) < ENOUGH:
            yield f"{branch} is followed by attempts at parts of its files, and these have not ended two jobs"


def _jobs_by_number(world: Installation) -> list[Job]:
    return sorted(map(world.runner.job, world.runner.runs), key=lambda job: (job.batch, job.attempt))


def _before(world: Installation, job: Job) -> list[Job]:
    """The jobs of earlier attempts that had some of its files, the last one first."""
    ids = {file.id for file in job.files}
    others = [it for it in _jobs_by_number(world) if it.batch == job.batch and it.attempt < job.attempt]
    return [it for it in reversed(others) if not ids.isdisjoint(file.id for file in it.files)]


def crashes_are_bounded_by_the_size_of_their_batch(end: End) -> Iterator[str]:
    """By so many for each file, after each audit and each retry that a person asks for."""
    world, crashes, files = end.world, Counter[str](), defaultdict[str, set[str]](set)
    audits = Counter[str]()
    for run in world.runner.runs.values():
        job = world.runner.job(run.id)
        crashes[job.batch] += run.lane is Lane.SPARK and run.state is JobState.FAILED and has_begun(world, run)
        audits[job.batch] += world.report(job.branch) is not None
        files[job.batch] |= {file.id for file in job.files}
    for batch in sorted(crashes.keys() - world.retried):
        most = (world.service.attempts + 1) * max(len(files[batch]), 1) * (1 + audits[batch])
        if crashes[batch] > most:
            yield f"{batch} has {len(files[batch])} files, and {crashes[batch]} of its jobs crashed"


def people_were_told(end: End) -> Iterator[str]:
    for file, entry in end.rejected:
        if not end.told(MessageKind.REJECTED, file, entry.batch):
            yield f"nobody was told that {file.key} {file.version_id} of {entry.batch} was rejected"
    for file, entry in end.entries.values():
        report = end.world.report(branch_of(entry)) if entry.decision is Decision.PUBLISHED else None
        if failed(report, file.id):
            if not end.told(MessageKind.APPROVAL, file, entry.batch):
                yield f"nobody was told that {file.key} {file.version_id} of {entry.batch} was let through"
            continue
        said = [it for it in (report.files if report else ()) if it.id == file.id and it.warnings]
        kinds = (MessageKind.OBSERVE,) if any(it.would for it in said) else (MessageKind.WARNING, MessageKind.OBSERVE)
        if said and not any(end.told(kind, file, entry.batch) for kind in kinds):
            yield f"nobody was told of the warnings of {file.key} {file.version_id} of {entry.batch}"
    for unrouted in unrouted_files(end.world.service):
        if not end.told(MessageKind.UNROUTED, unrouted.file, ""):
            yield f"nobody was told that {unrouted.file.key} is unrouted"


def people_were_told_what_is_true(end: End) -> Iterator[str]:
    notes = [commit.record for commit in end.world.lake.line(end.main.hash) if commit.record]
    rejected = {(note.batch, file.key) for note in notes if note.decision is Decision.REJECTED for file in note.files}
    told = [it for it in end.world.notifier.messages if it.kind is MessageKind.REJECTED]
    for batch, key in sorted({(message.batch, file.key) for message in told for file in message.files} - rejected):
        yield f"somebody was told that {key} of {batch} was rejected, and it never was"


def who_listens_is_told_of_every_decision_as_it_is(end: End) -> Iterator[str]:
    """Since it listens; of an earlier one, whose worker had not told people, it may hear."""
    if end.world.listener is None:
        return
    line = [commit for commit in end.world.lake.line(end.main.hash) if commit.record]
    since = [*takewhile(lambda commit: commit.hash != end.world.heard_from, end.world.lake.line(end.main.hash))]
    told = {event.commit: event for event in end.world.listener.events}
    if len({event.id for event in end.world.listener.events}) != len(told):
        yield "a commit is told by several ids, or two by one"
    decided = {it.hash: it.record for it in line if it.record and it.record.decision is not Decision.DISCARDED}
    for commit, note in decided.items():
        if commit in told and [(it.key, it.version_id) for it in told[commit].files] != [
            (it.key, it.version_id) for it in note.files
        ]:
            yield f"the event of {commit} is not what {note.batch} decided"
    for its in since:
        if its.hash in decided and its.hash not in told:
            yield f"nobody was told that {decided[its.hash].batch} was {decided[its.hash].decision}"
    for commit in sorted(told.keys() - decided.keys()):
        yield f"an event tells of {commit}, which decided nothing"


def a_key_of_a_rejected_file_is_free(end: End) -> Iterator[str]:
    for file, entry in end.rejected:
        report = end.world.report(branch_of(entry))
        said = next((it for it in report.files if it.id == file.id), None) if report else None
        failed = [check.name for check in said.checks if check.verdict is Verdict.FAIL] if said else []
        if report and said and entry.reasons == said.reasons and failed == [REPEATS]:
            key, stories = end.world.stories[file.id].key, end.world.stories
            good = {stories[it.id].key for it in report.files if it.verdict is not Verdict.FAIL}
            base = rows_at(end.world, end.world.lake.at(Ref(MAIN, report.base)), report.table)
            if key not in good | keys_of(base, frozenset(), stories):
                yield f"{file.key} {file.version_id} is rejected for repeating {key}, which nobody had"


def of_a_batchs_files_with_a_key_the_first_stays(end: End) -> Iterator[str]:
    """Files of one batch share a key that no other batch has, with no other fault, one audit saw both, and no person
    says a word. Parts of a batch that crashes split are published as their jobs end.
    """
    stories, people = end.world.stories, end.world.retried | end.world.approved
    rivals = [(file, entry) for file, entry in end.entries.values() if stories[file.id].key == KEY]
    published = {entry.batch: file for file, entry in rivals if entry.decision is Decision.PUBLISHED}
    for file, entry in rivals:
        first = published.get(entry.batch)
        if first is None or entry.decision is not Decision.REJECTED or entry.batch in people:
            continue
        later = end.world.order[first.id] > end.world.order[file.id] and _audited_together(end, entry, first, file)
        if later and _faults(end, file, entry) == {REPEATS}:
            yield f"{file.key} {file.version_id} is rejected for repeating a file that landed later"


def _audited_together(end: End, entry: Entry, *files: FileVersion) -> bool:
    ids = {file.id for file in files}
    return any(ids <= {it.id for it in report.files} for report in _reports_up_to(end, entry))


def _reports_up_to(end: End, entry: Entry) -> list[Report]:
    """Return the reports of the attempts at the entry's batch, up to the one that decided it."""
    branches = [branch_of(replace(entry, attempt=number)) for number in range(1, entry.attempt + 1)]
    return [report for branch in branches if (report := end.world.report(branch))]


def _faults(end: End, file: FileVersion, entry: Entry) -> set[str]:
    """All that any attempt at the file's batch found of it, up to the one that decided it; nothing where that did not
    reject it for what it found.
    """
    found = {report.attempt: it for report in _reports_up_to(end, entry) for it in report.files if it.id == file.id}
    last = found.get(entry.attempt)
    if last is None or last.reasons != entry.reasons:
        return set()
    return {check.name for it in found.values() for check in it.checks if check.verdict is not Verdict.PASS}


def files_are_discarded_by_a_person_or_as_their_contract_says(end: End) -> Iterator[str]:
    for file, entry in end.entries.values():
        if entry.decision is Decision.DISCARDED and entry.batch not in end.world.discarded:
            others, said = end.told_bytes(end.receipts[file.key]), end.world.reuploads_of(file.key)
            same = any(it.content == file.content for it in others)
            superseded = any(it.order > entry.order for it in others) and Reuploads.REPLACE in said
            ignored = any(it.version_id != file.version_id for it in others) and Reuploads.IGNORE in said
            if not (same or superseded or ignored):
                yield f"{file.key} {file.version_id} is discarded, and nobody wanted that"


def the_bytes_that_were_uploaded_last_are_on_main(end: End) -> Iterator[str]:
    """One that was rejected, or that a person discarded, says nothing."""
    for receipt in end.receipts.values():
        last = _last_landed(end.world, receipt, end.told_bytes(receipt))
        there = [it.content for it in receipt.on_main]
        if end.world.reuploads_of(receipt.key) & {Reuploads.IGNORE, Reuploads.REJECT}:
            continue  # bytes that were replaced do not come back
        if last and last.content not in there and not _nobody_can_know(end.world, receipt, last):
            yield f"{receipt.key}: the bytes of {last.version_id} were uploaded last, and are not on main"


AT_THE_END: tuple[Callable[[End], Iterator[str]], ...] = (
    every_file_version_has_its_end,
    nothing_is_under_way,
    every_branch_keeps_what_was_rejected_there_and_nothing_else,
    a_branch_goes_when_its_life_is_over_and_people_were_told_before,
    what_express_left_is_audited_by_spark,
    good_files_survive_a_killer,
    a_batch_is_split_by_crashes_that_its_files_may_have_caused,
    crashes_are_bounded_by_the_size_of_their_batch,
    people_were_told,
    people_were_told_what_is_true,
    who_listens_is_told_of_every_decision_as_it_is,
    a_key_of_a_rejected_file_is_free,
    of_a_batchs_files_with_a_key_the_first_stays,
    files_are_discarded_by_a_person_or_as_their_contract_says,
    the_bytes_that_were_uploaded_last_are_on_main,
)
