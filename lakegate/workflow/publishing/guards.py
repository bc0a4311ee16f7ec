"""Guards: an audit still holds for main, its receipts and the current contract. That data files may move to main's
tables is asked by `lakegate.publishing.guards`. Each guard returns its objection, or None. Guards change nothing.
"""

from collections.abc import Iterable, Mapping

from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import Report, Verdict
from lakegate.contracts import Contract
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import is_open, standing_of
from lakegate.ports import MAIN, Ref
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.workflow.attempts.claims import claim_receipt
from lakegate.workflow.publishing.audit import Audit, DecidedMeanwhile, Main, Objection
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.keys import failed_and_compared


def guard_versions(audit: Audit, files: Iterable[FileVersion], main: Main) -> Objection | None:
    """Object if a file is open and its key has other versions on main than it replaces, or if it is closed and not
    published.
    """
    for file in files:
        guard = _guard_standing if is_open(main.receipts, file, audit.attempt) else _guard_closed
        if objection := guard(audit, file, main):
            return objection
    return None


def guard_rejected(audit: Audit, files: list[FileVersion], main: Main) -> Objection | None:
    """Object unless each of the files is still rejected by this attempt, and main has the versions that it replaces."""
    for file in files:
        entry = entry_of(main.receipts, file)
        if entry is None or entry.decision is not Decision.REJECTED or not entry.is_of(audit.attempt):
            return DecidedMeanwhile(
                f"batch {audit.attempt.batch} of {audit.attempt.table}: {file.key} was decided meanwhile"
            )
        if objection := _guard_standing(audit, file, main):
            return objection
    return None


def _guard_standing(audit: Audit, file: FileVersion, main: Main) -> Objection | None:
    """Object unless main has just those versions of the file's key that the attempt has replaced."""
    standing = standing_of(main.receipts.get(file.key), file, audit.attempt.table, main.contract.ingestion.reuploads)
    branch = audit.attempt.branch
    if standing.decision:
        reason = f"another version of {file.key} was published meanwhile: {standing.reason}"
        return DecidedMeanwhile(f"branch {branch}: {reason}")
    if standing.replaces != set(audit.reports[file.id].replaces.versions):
        return NeedsNewAttempt(f"{file.key} has other versions on main than those that it replaces on {branch}")
    return None


def _guard_closed(audit: Audit, file: FileVersion, main: Main) -> DecidedMeanwhile | None:
    """Object unless the file, which is closed, was published."""
    entry, attempt = entry_of(main.receipts, file), audit.attempt
    if entry is None or entry.decision is Decision.PUBLISHED:
        return None
    return DecidedMeanwhile(f"batch {attempt.batch} of {attempt.table}: {file.key} was {entry.decision} meanwhile")


def guard_unmoved(service: Service, audit: Audit, main: Main) -> NeedsNewAttempt | None:
    """Object if a table that the verdicts depend on has changed since the audit's base. A verdict of table scope is
    about all rows of that table. A table that is only referred to may gain rows: a row that was found stays found.
    """
    report, plan = audit.report, main.contract.plan
    tables = service.branches.changed_tables(report.base, main.head, report.depends_on) if report.depends_on else ()
    may_gain = plan.refers_to if plan.hash == report.plan_hash else frozenset()
    names = [name for name in sorted(tables) if name not in may_gain or not _only_gained(service, report, main, name)]
    if names:
        return NeedsNewAttempt(f"{', '.join(names)} changed on main since {audit.attempt.branch} was audited")
    return None


def _only_gained(service: Service, report: Report, main: Main, table: str) -> bool:
    """Return True if the table still has every row of the audit's base, under the same columns."""
    base, now = Ref(MAIN, report.base), Ref(MAIN, main.head)
    before, after = service.tables.identity(base, table), service.tables.identity(now, table)
    if before is None or after is None or (before.uuid, before.fields) != (after.uuid, after.fields):
        return False
    changes = service.tables.compare(table, base, now)
    return not changes.removes and not changes.deletes


def guard_together(audit: Audit, files: Iterable[FileVersion], plan: Plan) -> NeedsNewAttempt | None:
    """Object if not all good files are published and verdicts depend on the attempt's own table. These hold for the
    good files together, because one may refer to rows of another, or repeat them. A file that failed after
    quarantine counts as good where the others were compared with it.
    """
    good = {entry.id for entry in audit.report.files if entry.verdict is not Verdict.FAIL}
    good |= failed_and_compared(plan, audit.report)
    if audit.attempt.table in audit.report.depends_on and good - {file.id for file in files}:
        return NeedsNewAttempt(f"not all good files of {audit.attempt.branch} can be published together any more")
    return None


def guard_kept_rows(audit: Audit, files: list[FileVersion]) -> NeedsNewAttempt | None:
    """Object if rows that were replaced on the branch stay on main and verdicts depend on the table. The audit did not
    see those rows.
    """
    table = audit.attempt.table
    if table in audit.report.depends_on and keeps_replaced_rows(audit, files):
        return NeedsNewAttempt(f"rows of {table} that were replaced on {audit.attempt.branch} stay on main")
    return None


def guard_rewriting(audit: Audit, files: list[FileVersion]) -> NeedsNewAttempt | None:
    """Object if one data file lost rows on the branch both for these files and for others: it moves as a whole."""
    if audit.rewriters(files) and audit.rewriters(audit.claims_without(files)):
        table, branch = audit.attempt.table, audit.attempt.branch
        return NeedsNewAttempt(f"rewritten rows of {table} were taken out on {branch} for files that stay behind, too")
    return None


def keeps_replaced_rows(audit: Audit, files: list[FileVersion]) -> bool:
    """Return True if other claimed files were to replace rows, which stay on main. Their data files must stay
    untouched: one that is removed and appended again is younger than its delete files, and regains deleted rows.
    """
    return any(audit.removes(audit.claims_without(files)).values())


def is_as_claimed(audit: Audit, claims: Mapping[str, Receipt | None], main: Main) -> bool:
    """Return True if the claims, by landing key, were made on main's present receipts, so that the audited commit may
    be merged. The catalog alone would not notice a receipt that came to main and was compacted away since.
    """
    for file in audit.claims:
        claim = claims[file.key]
        entry = claim.entry(file.version_id) if claim else None
        if entry is None or not is_open(main.receipts, file, audit.attempt):
            return False
        if claim_receipt(main.receipts, file, audit.attempt, entry.replaces) != claim:
            return False
    return True


def guard_schema(audit: Audit, files: Iterable[FileVersion]) -> NeedsNewAttempt | None:
    """Object if the branch has columns or types that no published file asks for, and the contract does not either."""
    changes = {change for file in files for change in audit.reports[file.id].evolves}
    if extra := sorted(set(audit.report.evolves) - changes):
        return NeedsNewAttempt(f"{audit.attempt.branch} has {', '.join(extra)} by files that stay behind")
    return None


def guard_contract(audit: Audit, contract: Contract) -> NeedsNewAttempt | None:
    """Object if another contract was pushed since the audit."""
    if contract.plan.contract_hash != audit.report.contract_hash:
        table = audit.attempt.table
        return NeedsNewAttempt(f"the contract of {table} changed since {audit.attempt.branch} was audited")
    return None
