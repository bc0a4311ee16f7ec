"""Publishing: audited files of one attempt become rows on main, in one merge with their receipts.

It proves before every merge that the merge brings the audited files and their receipts and nothing else. It never
forces, and it never runs Spark: when main moved, the same data files are appended to a fresh branch by metadata alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import structlog

from lakegate.audit.quarantine import quarantine_of
from lakegate.audit.report import DataFile, FileReport, Report, Verdict
from lakegate.contracts import Contract
from lakegate.errors import Conflict, Refused, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Entry, Receipt, entry_of
from lakegate.landing.standing import standing
from lakegate.ports import MAIN, Changes, DecidedFile, FileChanges, Note
from lakegate.workflow.archive import main_receipts
from lakegate.workflow.attempt import claimed
from lakegate.workflow.claims import claimed_files, is_open
from lakegate.workflow.replace import paths_of
from lakegate.workflow.service import Service
from lakegate.workflow.shelf import contract_of

log = structlog.get_logger()
TRIES = 8


class NeedsNewAttempt(Exception):
    """The audited data files may not be moved onto main as it is now: only a new append and a new audit are right."""


@dataclass(frozen=True, kw_only=True)
class Audited:
    """An attempt whose report is in: what publishing is allowed to rely on. `base` is the commit of main that its
    branch was made from.
    """

    attempt: Attempt
    base: str
    report: Report
    claims: tuple[FileVersion, ...]

    @property
    def ref(self) -> str:
        return f"{self.attempt.branch}@{self.report.audited}"

    @cached_property
    def reported(self) -> dict[str, FileReport]:
        """By file version's id."""
        return {entry.id: entry for entry in self.report.files}

    def left(self, files: Collection[FileVersion]) -> list[FileVersion]:
        """The claimed files that are none of these."""
        return [file for file in self.claims if file not in files]

    def paths(self, files: Iterable[FileVersion]) -> dict[str, frozenset[str]]:
        """Their data files in each table that the attempt changed: its own, and that one's quarantine if rows went
        there or came from there. A file version that was gone before its job has none.
        """
        reports = [report for file in files if (report := self.reported.get(file.id))]
        data_files = [data for report in reports for data in report.data_files]
        return self._by_table(data_files, [data for report in reports for data in report.quarantined])

    def replaced(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """The data files that they take the place of, in the same tables."""
        replaced = [report.replaces for file in files if (report := self.reported.get(file.id))]
        data_files = [data for each in replaced for data in each.data_files]
        if self.takes_out(files):
            data_files += self.report.rewritten.data_files
        return self._by_table(data_files, [data for each in replaced for data in each.quarantined])

    def brought(self, files: Collection[FileVersion]) -> dict[str, frozenset[str]]:
        """What main gets with them: their data files, and those that hold what is left of rewritten ones."""
        found, table = self.paths(files), self.attempt.table
        return found | {table: found[table] | paths_of(self.report.rewritten.left)} if self.takes_out(files) else found

    def takes_out(self, files: Iterable[FileVersion]) -> frozenset[str]:
        """Those of the files, by id, for which rows were taken out of data files that held others' rows, too."""
        found = (file.id for file in files if (it := self.reported.get(file.id)) and it.replaces.rewritten)
        return frozenset(found) if self.report.rewritten.data_files else frozenset()

    def _by_table(self, own: Iterable[DataFile], aside: Iterable[DataFile]) -> dict[str, frozenset[str]]:
        found = {self.attempt.table: paths_of(own)}
        if any(entry.quarantined or entry.replaces.quarantined for entry in self.report.files):
            found[quarantine_of(self.attempt.table)] = paths_of(aside)
        return found


@dataclass(frozen=True, kw_only=True)
class Main:
    """Main as one try finds it: its head, its receipts of the claims' keys there, and the table's contract."""

    head: str
    receipts: dict[str, Receipt]
    contract: Contract


def _tries(service: Service, audited: Audited) -> Iterator[Main]:
    """Main anew for each try. Raises Retryable after the last."""
    table = audited.attempt.table
    for _ in range(TRIES):
        head, receipts = main_receipts(service, audited.claims)
        yield Main(head=head, receipts=receipts, contract=contract_of(service.store, table))
    raise Retryable(f"batch {audited.attempt.batch} of {table}: main kept moving; the same can be done again")


def publish(service: Service, audited: Audited, files: Iterable[FileVersion]) -> None:
    """Bring these audited files to main. Files that another attempt published meanwhile are left out.

    Raises Refused where a proof fails or a file was rejected, discarded or overtaken meanwhile, NeedsNewAttempt where
    main's table is not the one that was audited, its key's versions there are not those that a file replaces, or a
    table that its verdicts depend on has changed otherwise than they allow, Retryable where main keeps moving.
    """
    wanted = list(files)
    claims = prove_audited(service, audited)
    for turn, main in enumerate(_tries(service, audited)):
        wanted = _still_open(audited, wanted, main)
        if not wanted:
            return
        _prove_unmoved(service, audited, main)
        _prove_together(audited, wanted)
        _guard_put_back(audited, wanted)
        _guard_taken_out(audited, wanted)
        _guard_contract(audited, main.contract)
        rebase = turn > 0 or not _is_as_claimed(audited, claims, main) or _puts_back(audited, wanted)
        if _is_merged(service, audited, wanted, main, _note(audited, wanted), rebase=rebase):
            return


def publish_rejected(service: Service, audited: Audited, files: list[FileVersion], *, why: str, by: str) -> None:
    """Bring files that this attempt rejected to main all the same, by the word of a person. Its branch may have lost
    other files since.

    Raises as `publish` does; that another worker published them is Refused, too.
    """
    changes = service.catalog.changes(audited.report.base, audited.report.audited)
    _prove(audited, changes, audited.claims, "what was audited")
    note = replace(_note(audited, files), why=why, by=by)
    for main in _tries(service, audited):
        _guard_rejected(audited, files, main)
        _guard_taken_out(audited, files)
        _prove_unmoved(service, audited, main)
        _guard_contract(audited, main.contract)
        if _is_merged(service, audited, files, main, note, rebase=True):
            return


def _is_merged(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> bool:
    """Merge them; False where main has moved meanwhile, so that nothing was merged."""
    attempt = audited.attempt
    try:
        _merge(service, audited, files, main, note, rebase=rebase)
    except Conflict:
        log.info("main_moved", branch=attempt.branch, table=attempt.table)
        return False
    log.info("published", branch=attempt.branch, files=len(files), by=note.by)
    return True


def _guard_rejected(audited: Audited, files: list[FileVersion], main: Main) -> None:
    """By main, each of them is still as this attempt left it."""
    for file in files:
        entry = entry_of(main.receipts, file)
        if entry is None or entry.decision is not Decision.REJECTED or not entry.is_of(audited.attempt):
            raise Refused(f"batch {audited.attempt.batch} of {audited.attempt.table}: {file.key} was decided meanwhile")
        _guard_versions(audited, file, main)


def prove_audited(service: Service, audited: Audited) -> Mapping[str, Receipt | None]:
    """The branch's head is the audited commit; it differs from its base in its tables and its receipts alone. Returns
    these, by landing key.
    """
    branch, report = audited.attempt.branch, audited.report
    head = service.catalog.head(branch)
    if head != report.audited:
        raise Refused(
            f"branch {branch}: its head {head} is not the audited commit {report.audited}; "
            f"it was changed after the audit. Run: lakegate retry {audited.attempt.batch}"
        )
    if audited.base != report.base:
        raise Refused(f"branch {branch}: its base is not the audited one, {report.base}")
    changes = service.catalog.changes(report.base, report.audited)
    _prove(audited, changes, audited.claims, "the branch")
    return changes.receipts


def _prove(audited: Audited, changes: Changes, files: Iterable[FileVersion], what: str) -> None:
    """The changes are in the attempt's tables (and their namespaces) and in exactly these files' receipts."""
    tables = audited.paths(()).keys()
    namespaces = {table.rpartition(".")[0] for table in tables}
    strangers = sorted((changes.tables - tables) | (changes.namespaces - namespaces) | changes.others)
    if strangers:
        raise Refused(f"branch {audited.attempt.branch}: {what} also changes {', '.join(strangers)}; nothing is merged")
    receipts = {file.id for file in claimed_files(changes.receipts, audited.attempt)}
    keys = {file.key for file in files}
    if receipts != {file.id for file in files} or set(changes.receipts) != keys:
        raise Refused(f"branch {audited.attempt.branch}: {what} changes receipts of other files; nothing is merged")


def _prove_unmoved(service: Service, audited: Audited, main: Main) -> None:
    """A verdict of table scope is true of the base it was found at: rows there, not just data files, went into it. Of a
    table that it only refers to, what was found there is found as long as nothing leaves it.
    """
    report, plan = audited.report, main.contract.plan
    moved = service.catalog.moved(report.base, main.head, report.depends_on) if report.depends_on else ()
    may_gain = plan.refers_to if plan.hash == report.plan_hash else frozenset()
    changed = [it for it in sorted(moved) if it not in may_gain or not _only_gained(service, report, main, it)]
    if changed:
        raise NeedsNewAttempt(f"{', '.join(changed)} on main changed since {audited.attempt.branch} was audited")


def _only_gained(service: Service, report: Report, main: Main, table: str) -> bool:
    """Whether every row that the table had at the audit's base is there still, under the same columns."""
    now = f"{MAIN}@{main.head}"
    before, after = service.tables.identity(report.base, table), service.tables.identity(now, table)
    if before is None or after is None or (before.uuid, before.fields) != (after.uuid, after.fields):
        return False
    changes = service.tables.compare(table, report.base, now)
    return not changes.removed and not changes.deletes


def _prove_together(audited: Audited, files: Iterable[FileVersion]) -> None:
    """Verdicts that depend on the attempt's own table are true of all its good files together: one may refer to rows of
    another.
    """
    good = {entry.id for entry in audited.report.files if entry.verdict is not Verdict.FAIL}
    if audited.attempt.table in audited.report.depends_on and good - {file.id for file in files}:
        raise NeedsNewAttempt(f"not all good files of {audited.attempt.branch} can be published together any more")


def _still_open(audited: Audited, files: list[FileVersion], main: Main) -> list[FileVersion]:
    open_files = [file for file in files if is_open(main.receipts, file, audited.attempt)]
    for file in files:
        if file in open_files:
            _guard_versions(audited, file, main)
        else:
            _refuse_if_dropped(audited.attempt, file, entry_of(main.receipts, file))
    return open_files


def _guard_versions(audited: Audited, file: FileVersion, main: Main) -> None:
    """Of its key, main has just what the file was appended in the place of."""
    its = standing(main.receipts.get(file.key), file, audited.attempt.table, main.contract.ingestion.reuploads)
    branch = audited.attempt.branch
    if its.decision:
        raise Refused(f"branch {branch}: {file.key} was published as another version meanwhile: {its.reason}")
    if its.replaces != set(audited.reported[file.id].replaces.versions):
        raise NeedsNewAttempt(f"{file.key} has other versions on main than those that it replaces on {branch}")


def _refuse_if_dropped(attempt: Attempt, file: FileVersion, entry: Entry | None) -> None:
    if entry and entry.decision is not Decision.PUBLISHED:
        raise Refused(f"batch {attempt.batch} of {attempt.table}: {file.key} was {entry.decision} meanwhile")


def _guard_put_back(audited: Audited, files: list[FileVersion]) -> None:
    """A verdict of table scope was found without the rows that all files of the batch were to replace: where one of
    them is left behind, its old rows stay, and the verdict is of another table.
    """
    table = audited.attempt.table
    if table in audited.report.depends_on and _puts_back(audited, files):
        raise NeedsNewAttempt(f"rows of {table} that were replaced on {audited.attempt.branch} stay on main")


def _guard_taken_out(audited: Audited, files: list[FileVersion]) -> None:
    """What was taken out of one data file for several files comes with all of them or with none."""
    if audited.takes_out(files) and audited.takes_out(audited.left(files)):
        table, branch = audited.attempt.table, audited.attempt.branch
        raise NeedsNewAttempt(f"rewritten rows of {table} were taken out on {branch} for files that stay behind, too")


def _puts_back(audited: Audited, files: list[FileVersion]) -> bool:
    """Whether files that are left behind were to replace rows. Those stay on main, untouched: a data file that is taken
    off and appended again is younger than the delete files that took rows from it, and would have them again.
    """
    return any(audited.replaced(audited.left(files)).values())


def _merge(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> None:
    """Merge these files: the audited branch as it is, or a branch of this worker's own that holds just them."""
    if not rebase:
        _guard_schema(audited, files)
    if not rebase and len(files) == len(audited.claims):
        service.catalog.merge(audited.attempt.branch, audited.report.audited, note)
    else:
        _merge_own(service, audited, files, main, note, rebase=rebase)


def _is_as_claimed(audited: Audited, claims: Mapping[str, Receipt | None], main: Main) -> bool:
    """Whether main's receipts are those that the claims were put on, so that the audited commit may be merged.

    The catalog alone would not see it: one that was put on main and folded away has come and gone.
    """
    return all(_is_claimed_on(main.receipts, file, audited.attempt, claims[file.key]) for file in audited.claims)


def _is_claimed_on(receipts: dict[str, Receipt], file: FileVersion, attempt: Attempt, claim: Receipt | None) -> bool:
    """Whether the claim is what a claim of the file on these receipts is."""
    entry = claim.entry(file.version_id) if claim else None
    if entry is None or not is_open(receipts, file, attempt):
        return False
    return claimed(receipts, file, attempt, entry.replaces) == claim


def _merge_own(
    service: Service, audited: Audited, files: list[FileVersion], main: Main, note: Note, *, rebase: bool
) -> None:
    own = audited.attempt.rebase(service.clock.now(), service.clock.nonce())
    try:
        base = _rebase(service, audited, files, main, own) if rebase else _trim(service, audited, files, own)
        head = _prove_own(service, audited, files, own, base)
        _guard_contract(audited, contract_of(service.store, audited.attempt.table))  # all that took seconds
        service.catalog.merge(own.branch, head, note)
    finally:
        service.catalog.delete_branch(own.branch)


def _trim(service: Service, audited: Audited, files: list[FileVersion], own: Attempt) -> str:
    """A branch of what was audited, without what that holds of all other files. Returns its base.

    It is not made from the audited commit. Once a worker has merged that, or a part of it, it is what Nessie compares
    main with: another part would be merged without a conflict, and take off main what it leaves out.
    """
    base, left = audited.report.base, audited.left(files)
    service.catalog.create_branch(own.branch, base)
    service.catalog.replay(own.branch, base, audited.report.audited, [file.key for file in left])
    _take_rows_off(service, audited, left, own.branch)
    return base


def take_off(service: Service, audited: Audited, files: Iterable[FileVersion], branch: str) -> None:
    """Take these files' data files, and their claims, off the attempt's branch.

    Done again it changes nothing. Raises Conflict or Refused where another worker is at it.
    """
    catalog, files = service.catalog, list(files)
    _take_rows_off(service, audited, files, branch)
    catalog.restore_receipts(branch, catalog.head(branch) or "", [file.key for file in files], audited.report.base)


def _take_rows_off(service: Service, audited: Audited, files: Iterable[FileVersion], branch: str) -> None:
    for table, paths in audited.paths(files).items():
        if paths and (there := paths & service.tables.compare(table, audited.report.base, branch).added):
            service.tables.remove(table, branch, there)


def _rebase(service: Service, audited: Audited, files: list[FileVersion], main: Main, own: Attempt) -> str:
    """A branch from main's head, with the audited data files of these files appended by metadata, and what they replace
    taken off. Returns its base.
    """
    paths = {table: paths for table, paths in audited.brought(files).items() if paths}
    replaced = {table: paths for table, paths in audited.replaced(files).items() if paths}
    new = _guard(service, audited, main.head, {**paths, **replaced})
    _guard_replaced(service, audited, main.head, replaced, whole=not audited.takes_out(files))
    catalog, attempt = service.catalog, audited.attempt
    catalog.create_branch(own.branch, main.head)
    claims = [claimed(main.receipts, file, attempt, audited.reported[file.id].replaces.versions) for file in files]
    catalog.commit_receipts(own.branch, main.head, claims)
    for table, its in paths.items():
        bring = service.tables.register if table in new else service.tables.append
        bring(table, own.branch, audited.ref, its)
    for table, its in replaced.items():
        service.tables.remove(table, own.branch, its)
    return main.head


def _guard_replaced(
    service: Service, audited: Audited, main: str, replaced: Mapping[str, frozenset[str]], *, whole: bool
) -> None:
    """What is to be replaced, which was at the attempt's base, is on main still; otherwise a new one finds what can be
    done. Where it is not the `whole` of a data file, what is left of that has not lost rows to a delete file either:
    it would have them again.
    """
    for table, paths in replaced.items():
        since = service.tables.compare(table, audited.report.base, f"{MAIN}@{main}")
        if paths & since.removed or (since.deletes and not whole):
            raise NeedsNewAttempt(f"rows of {table} that {audited.attempt.branch} replaces were rewritten on main")


def _guard(service: Service, audited: Audited, main: str, tables: Iterable[str]) -> set[str]:
    """Iceberg matches columns by field id: data files may move only between tables that agree on all of it. Returns the
    tables that these files are the first of; one that was on main when the attempt began, and is not any more, is none.
    """
    tables = list(tables)
    there = {table: service.tables.identity(f"{MAIN}@{main}", table) for table in tables}
    new = {table for table in tables if not there[table] and not service.tables.identity(audited.report.base, table)}
    for table in tables:
        if table not in new and there[table] != service.tables.identity(audited.ref, table):
            raise NeedsNewAttempt(f"table {table} on main is not the one that was audited on {audited.attempt.branch}")
    return new


def _guard_schema(audited: Audited, files: Iterable[FileVersion]) -> None:
    """What the table has by files and not by the contract must come with a file that is published."""
    asked = {change for file in files for change in audited.reported[file.id].evolves}
    if unasked := sorted(set(audited.report.evolves) - asked):
        raise NeedsNewAttempt(f"{audited.attempt.branch} has {', '.join(unasked)} by rejected files alone")


def _guard_contract(audited: Audited, contract: Contract) -> None:
    """Once a contract is pushed, nothing is published that was audited by an earlier one."""
    if contract.plan.contract_hash != audited.report.contract_hash:
        table = audited.attempt.table
        raise NeedsNewAttempt(f"the contract of {table} changed since {audited.attempt.branch} was audited")


def _prove_own(service: Service, audited: Audited, files: list[FileVersion], own: Attempt, base: str) -> str:
    """The own branch holds its base's data files, exactly the audited ones of these files, and nothing of what they
    replace. Returns its head. Raises Conflict where somebody deleted it, for it is done again on another.
    """
    head = service.catalog.head(own.branch)
    if head is None:
        raise Conflict(f"branch {own.branch} was deleted before it was merged")
    _prove(audited, service.catalog.changes(base, head), files, f"branch {own.branch}")
    replaced = audited.replaced(files)
    for table, paths in audited.brought(files).items():
        wanted = FileChanges(added=paths, removed=replaced[table])
        if service.tables.compare(table, base, f"{own.branch}@{head}") != wanted:
            raise Refused(
                f"branch {own.branch}: the data files of {table} are not main's plus the audited ones in the place of "
                f"those that they replace; nothing is merged"
            )
    return head


def _note(audited: Audited, files: list[FileVersion]) -> Note:
    attempt = audited.attempt
    decided = tuple(
        DecidedFile(
            key=file.key,
            version_id=file.version_id,
            rows=entry.rows,
            quarantined=entry.quarantined_rows,
            reasons=entry.reasons or entry.warnings,
            replaces=entry.replaces.versions,
            replaced=entry.replaces.rows,
        )
        for file in files
        for entry in [audited.reported[file.id]]
    )
    return Note(
        decision=Decision.PUBLISHED, table=attempt.table, batch=attempt.batch, attempt=attempt.number, files=decided
    )
