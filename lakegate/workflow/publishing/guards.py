"""Guards: main, its receipts and the contract of now are still those that an audit is true of. Each returns the reason
why not, or None. They change nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import Report, Verdict
from lakegate.contracts import Contract
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import is_open, standing
from lakegate.ports import MAIN, Ref, TableIdentity
from lakegate.workflow.attempts.claims import claim_receipt
from lakegate.workflow.publishing.audited import Audited, DecidedMeanwhile, Main, NeedsNewAttempt, Objection
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.keys import failed_and_compared


def still_open(audited: Audited, files: Iterable[FileVersion], main: Main) -> list[FileVersion]:
    """Return those that no other attempt has published meanwhile."""
    return [file for file in files if is_open(main.receipts, file, audited.attempt)]


def guard_versions(audited: Audited, files: Iterable[FileVersion], main: Main) -> Objection | None:
    """Nothing but a publication was decided of the files meanwhile, and of the open ones' keys main has what they were
    appended in the place of.
    """
    files = list(files)
    open_files = set(still_open(audited, files, main))
    reasons = (
        _guard_version(audited, file, main) if file in open_files else _guard_dropped(audited, file, main)
        for file in files
    )
    return next((reason for reason in reasons if reason), None)


def guard_rejected(audited: Audited, files: list[FileVersion], main: Main) -> Objection | None:
    """By main, each of them is still as this attempt left it."""
    for file in files:
        entry = entry_of(main.receipts, file)
        if entry is None or entry.decision is not Decision.REJECTED or not entry.is_of(audited.attempt):
            return DecidedMeanwhile(
                f"batch {audited.attempt.batch} of {audited.attempt.table}: {file.key} was decided meanwhile"
            )
        if reason := _guard_version(audited, file, main):
            return reason
    return None


def _guard_version(audited: Audited, file: FileVersion, main: Main) -> Objection | None:
    """Of its key, main has just what the file was appended in the place of."""
    its = standing(main.receipts.get(file.key), file, audited.attempt.table, main.contract.ingestion.reuploads)
    branch = audited.attempt.branch
    if its.decision:
        return DecidedMeanwhile(f"branch {branch}: {file.key} was published as another version meanwhile: {its.reason}")
    if its.replaces != set(audited.reported[file.id].replaces.versions):
        return NeedsNewAttempt(f"{file.key} has other versions on main than those that it replaces on {branch}")
    return None


def _guard_dropped(audited: Audited, file: FileVersion, main: Main) -> DecidedMeanwhile | None:
    """A file that is not open any more was published."""
    entry, attempt = entry_of(main.receipts, file), audited.attempt
    if entry is None or entry.decision is Decision.PUBLISHED:
        return None
    return DecidedMeanwhile(f"batch {attempt.batch} of {attempt.table}: {file.key} was {entry.decision} meanwhile")


def guard_unmoved(service: Service, audited: Audited, main: Main) -> NeedsNewAttempt | None:
    """A verdict of table scope is true of the base it was found at: rows there, not just data files, went into it. Of a
    table that it only refers to, what was found there is found as long as nothing leaves it.
    """
    report, plan = audited.report, main.contract.plan
    moved = service.branches.changed_tables(report.base, main.head, report.depends_on) if report.depends_on else ()
    may_gain = plan.refers_to if plan.hash == report.plan_hash else frozenset()
    changed = [it for it in sorted(moved) if it not in may_gain or not _only_gained(service, report, main, it)]
    if changed:
        return NeedsNewAttempt(f"{', '.join(changed)} on main changed since {audited.attempt.branch} was audited")
    return None


def _only_gained(service: Service, report: Report, main: Main, table: str) -> bool:
    """Whether every row that the table had at the audit's base is there still, under the same columns."""
    base, now = Ref(MAIN, report.base), Ref(MAIN, main.head)
    before, after = service.tables.identity(base, table), service.tables.identity(now, table)
    if before is None or after is None or (before.uuid, before.fields) != (after.uuid, after.fields):
        return False
    changes = service.tables.compare(table, base, now)
    return not changes.removed and not changes.deletes


def guard_together(audited: Audited, files: Iterable[FileVersion], plan: Plan) -> NeedsNewAttempt | None:
    """Verdicts that depend on the attempt's own table are true of all its good files together: one may refer to rows of
    another, or repeat them. Those that failed late were good until then.
    """
    good = {entry.id for entry in audited.report.files if entry.verdict is not Verdict.FAIL}
    good |= failed_and_compared(plan, audited.report)
    if audited.attempt.table in audited.report.depends_on and good - {file.id for file in files}:
        return NeedsNewAttempt(f"not all good files of {audited.attempt.branch} can be published together any more")
    return None


def guard_kept_rows(audited: Audited, files: list[FileVersion]) -> NeedsNewAttempt | None:
    """A verdict of table scope was found without the rows that all files of the batch were to replace: where one of
    them is left behind, its old rows stay, and the verdict is of another table.
    """
    table = audited.attempt.table
    if table in audited.report.depends_on and keeps_replaced_rows(audited, files):
        return NeedsNewAttempt(f"rows of {table} that were replaced on {audited.attempt.branch} stay on main")
    return None


def guard_rewriting(audited: Audited, files: list[FileVersion]) -> NeedsNewAttempt | None:
    """What was taken out of one data file for several files comes with all of them or with none."""
    if audited.rewriting(files) and audited.rewriting(audited.claims_without(files)):
        table, branch = audited.attempt.table, audited.attempt.branch
        return NeedsNewAttempt(f"rewritten rows of {table} were taken out on {branch} for files that stay behind, too")
    return None


def keeps_replaced_rows(audited: Audited, files: list[FileVersion]) -> bool:
    """Whether files that are left behind were to replace rows. Those stay on main, untouched: a data file that is taken
    off and appended again is younger than the delete files that took rows from it, and would have them again.
    """
    return any(audited.removed(audited.claims_without(files)).values())


def is_as_claimed(audited: Audited, claims: Mapping[str, Receipt | None], main: Main) -> bool:
    """Whether main's receipts are those that the claims were put on, so that the audited commit may be merged.

    The catalog alone would not see it: one that was put on main and folded away has come and gone.
    """
    return all(_is_claimed_on(main.receipts, file, audited.attempt, claims[file.key]) for file in audited.claims)


def _is_claimed_on(receipts: dict[str, Receipt], file: FileVersion, attempt: Attempt, claim: Receipt | None) -> bool:
    """Whether the claim is what a claim of the file on these receipts is."""
    entry = claim.entry(file.version_id) if claim else None
    if entry is None or not is_open(receipts, file, attempt):
        return False
    return claim_receipt(receipts, file, attempt, entry.replaces) == claim


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Of the tables that data files are brought to, those that main has not, and those that main has without what the
    attempt gave them: columns or types, or the contract's hash alone.
    """

    new: frozenset[str]
    grown: frozenset[str]


def guard_tables(service: Service, audited: Audited, main: str, tables: Iterable[str]) -> Targets | NeedsNewAttempt:
    """Iceberg matches columns by field id: data files may move only between tables that agree on all of it, or to one
    that has gained nothing but rows since the attempt's base, and so can become the audited one.
    """
    new, grown = set[str](), set[str]()
    for table in tables:
        there, wanted = (service.tables.identity(ref, table) for ref in (Ref(MAIN, main), audited.ref))
        if there == wanted:
            continue
        before = service.tables.identity(audited.base_ref, table)
        if there is None and before is None:
            new.add(table)
        elif there is not None and there == before and _may_become(there, wanted):
            grown.add(table)
        else:
            return NeedsNewAttempt(f"table {table} on main is not the one that was audited on {audited.attempt.branch}")
    return Targets(new=frozenset(new), grown=frozenset(grown))


def _may_become(before: TableIdentity, after: TableIdentity | None) -> bool:
    if after is None or (before.uuid, before.partitions) != (after.uuid, after.partitions):
        return False
    names = {(number, name) for number, name, _ in after.fields}
    return all((number, name) in names for number, name, _ in before.fields)  # no column goes


def guard_replaced(
    service: Service, audited: Audited, main: str, replaced: Mapping[str, frozenset[str]], *, whole: bool
) -> NeedsNewAttempt | None:
    """What is to be replaced, which was at the attempt's base, is on main still; otherwise a new one finds what can be
    done. Where it is not the `whole` of a data file, what is left of that has not lost rows to a delete file either:
    it would have them again.
    """
    for table, paths in replaced.items():
        since = service.tables.compare(table, audited.base_ref, Ref(MAIN, main))
        if paths & since.removed or (since.deletes and not whole):
            return NeedsNewAttempt(f"rows of {table} that {audited.attempt.branch} replaces were rewritten on main")
    return None


def guard_schema(audited: Audited, files: Iterable[FileVersion]) -> NeedsNewAttempt | None:
    """What the table has by files and not by the contract must come with a file that is published."""
    asked = {change for file in files for change in audited.reported[file.id].evolves}
    if unasked := sorted(set(audited.report.evolves) - asked):
        return NeedsNewAttempt(f"{audited.attempt.branch} has {', '.join(unasked)} by files that stay behind")
    return None


def guard_contract(audited: Audited, contract: Contract) -> NeedsNewAttempt | None:
    """Once a contract is pushed, nothing is published that was audited by an earlier one."""
    if contract.plan.contract_hash != audited.report.contract_hash:
        table = audited.attempt.table
        return NeedsNewAttempt(f"the contract of {table} changed since {audited.attempt.branch} was audited")
    return None
