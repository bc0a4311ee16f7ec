"""`show --rows`: all rows that fail a check, read at the commit that was audited. Masked values stay masked.

The plan's predicate is translated to DuckDB's SQL, and the number of rows is compared with the audit's.
"""

# ruff: noqa: S608 - names are quoted, values are literals of sqlglot's, predicates are a plan's own

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from lakegate.adapters.sql import Result, Statement, plain, run
from lakegate.audit.evaluation.mask import TEXT, Mask, hide
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.plan import Metric, Plan, Scope, Trait
from lakegate.audit.model.report import FAILING_VERDICTS, CheckResult, FileReport, Report, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import canonical
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.query import MOST_ROWS
from lakegate.cli.terminal import busy, console, grid, print_lines, say_json
from lakegate.counts import count
from lakegate.duckdb.dialect import STRICTLY, duckdb_identifier, duckdb_table
from lakegate.duckdb.metrics import KINDS, Rows
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.operations.batch import BatchView, Try, has_rows, is_quarantined
from lakegate.operations.operation import Operations
from lakegate.operations.questions import ShowBatch, ShowMask, ShowPlan
from lakegate.ports import MAIN, Ref
from lakegate.ports.lake import Lake
from lakegate.workflow.attempts.job import job_name

MALFORMED = ("line", "why", TEXT)  # quarantine's columns of a row that does not parse
KEY = "file"  # the column of the file's key
OTHER_KEY_NAME = "_lakegate_key"  # its name if the table has a column `file`; tables have none that begins so


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A statement that lists failing rows, and the names of its columns in order."""

    sql: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FailingCheck:
    """A check of a report, and the files that fail it."""

    report: Report
    check: CheckResult
    files: tuple[FileReport, ...]
    row_count: int


@dataclass(frozen=True, kw_only=True)
class RowListing:
    """All rows that fail a check, where they were read, and the statement that reads them."""

    answer: Result
    failure: FailingCheck
    ref: Ref
    sql: str
    mask: Mask


def show_rows(installation: Installation, batch: str, check: str, *, as_json: bool) -> Exit:
    with busy(f"reading the rows of {batch}"):
        listing = list_rows(installation, installation.operations.run(ShowBatch(batch=batch)), check)
    if as_json:
        columns = listing.answer.columns
        say_json([dict(zip(columns, map(plain, row), strict=True)) for row in listing.answer.rows])
    else:
        _print_listing(listing)
    return Exit.SUCCESS


def list_rows(installation: Installation, view: BatchView, check: str) -> RowListing:
    """Return all rows that fail a check, by its id, the beginning of its id, or its name."""
    tried_attempt, failing_check = _find_check(view, check)
    plan = _plan(installation.operations, view, tried_attempt)
    ref = _ref(view, tried_attempt, failing_check)
    listing = statement_for(plan, failing_check, parents=_has_parents(installation.lake, ref, plan, failing_check))
    attempt = Attempt(table=view.table, batch=view.batch, number=tried_attempt.attempt)
    mask = installation.operations.run(ShowMask(table=view.table, attempt=attempt))
    answer = _read_masked(installation.lake, listing, ref, _read(plan, failing_check), failing_check, mask)
    return RowListing(answer=answer, failure=failing_check, ref=ref, sql=listing.sql, mask=mask)


def _has_parents(lake: Lake, ref: Ref, plan: Plan, failing_check: FailingCheck) -> bool:
    """Return True if the check refers to no table, or to one that exists. A missing table holds no key."""
    other = plan.metric(failing_check.check.metric).refers_to
    return other is None or lake.columns(ref, other.table) is not None


def _read_masked(
    lake: Lake, listing: Listing, ref: Ref, files: Mapping[str, Sequence[str]], failing_check: FailingCheck, mask: Mask
) -> Result:
    """Return the rows with masked columns hidden, by position, because an engine may rename columns. An engine's error
    may show values, so it is hidden, too.
    """
    try:
        answer = run(lake, Statement.parse(listing.sql), ref, files, [STRICTLY])
    except Misconfigured:
        if not (mask.columns or mask.fault):
            raise
        batch = failing_check.report.batch
        message = f"DuckDB cannot read these rows on {ref}, and its error is hidden because the contract masks values"
        raise Misconfigured(f"{message}. The report has a sample of them: lakegate show {batch}") from None
    hides = [False, *_hides(mask, failing_check.check, listing.columns[1:])]  # a file's key is no value
    return Result(columns=list(listing.columns), rows=[hide(row, hides) for row in answer.rows])


def _hides(mask: Mask, check: CheckResult, columns: Sequence[str]) -> list[bool]:
    if check.has(Trait.LINES):
        return mask.hides_unparsed(columns)
    return [any(pair) for pair in zip(mask.hides(columns), mask.leaves_open(columns), strict=True)]


def _print_listing(listing: RowListing) -> None:
    answer, failing_check = listing.answer, listing.failure
    print_lines(grid(answer.columns, answer.rows[:MOST_ROWS], console().width))
    rest = len(answer.rows) - MOST_ROWS
    rest_text = f"; {rest:,} more are not shown (--json prints all)" if rest > 0 else ""
    print_lines(f"{failing_check.check.name}: {count(len(answer.rows), 'row')}{rest_text}")
    for remark in remarks(listing):
        print_lines(remark)


def remarks(listing: RowListing) -> list[str]:
    """Return what a person must know of the rows: whether the audit counted others, what is masked, the query."""
    failing_check = listing.failure
    audit_text = f"The audit counted {failing_check.row_count:,}: "
    difference = (
        reason if len(listing.answer.rows) != failing_check.row_count and (reason := _why_others(failing_check)) else ""
    )
    mask_text = ", ".join(listing.mask.columns)
    return [
        *([audit_text + difference] if difference else []),
        *([f"No value is shown, because {listing.mask.fault}"] if listing.mask.fault else []),
        *([f"Masked by the contract: {mask_text}"] if mask_text else []),
        f"The same as a query: lakegate query {shlex.quote(listing.sql)} --ref {listing.ref}",
    ]


def _why_others(failing_check: FailingCheck) -> str:
    """Return the reason why the number of rows differs from the audit's, or "" if the difference is expected."""
    if failing_check.check.verdict is Verdict.WARN and any(file.quarantined for file in failing_check.files):
        return "the table is without the rows that other checks quarantined."
    if any(file.would_quarantine for file in failing_check.files):
        return "it counted without the rows that would have gone to quarantine."
    if failing_check.check.has(Trait.REPEATS):
        return ""  # the listing includes the first row with a key, which the audit does not count
    return "DuckDB, which lists the rows, differs from Spark on this rule."


def _find_check(view: BatchView, word: str) -> tuple[Try, FailingCheck]:
    """Return the check with this id, beginning of an id, or name, from the last attempt that has it."""
    for tried_attempt in reversed(view.attempts):
        checks_by_id = _failing_checks(tried_attempt.report) if tried_attempt.report else {}
        names = [entry for entry in checks_by_id.values() if word in (entry.check.check, entry.check.name)]
        matches = names or [entry for name, entry in checks_by_id.items() if name.startswith(word)]
        if len(matches) == 1:
            return tried_attempt, matches[0]
        if matches:
            raise Misconfigured(f"{word} may be any of: {', '.join(entry.check.check for entry in matches)}")
    if _are_left_out(view, word):
        first = f"the report has the first of them: lakegate show {view.batch}"
        raise Misconfigured(f"rows that do not parse are in no table, so they can't be listed; {first}")
    names_by_id = {entry.check.check: entry.check.name for tried_attempt in view.attempts if tried_attempt.report
             for entry in _failing_checks(tried_attempt.report).values()}  # fmt: skip
    names_text = "; ".join(f"{check} ({name})" for check, name in names_by_id.items()) or "none"
    raise Misconfigured(f"no check {word!r} has failing rows in batch {view.batch}; checks that do: {names_text}")


def _are_left_out(view: BatchView, word: str) -> bool:
    """Return True if the check is of rows that do not parse. They failed their file, so no table has them."""
    files = (file for tried_attempt in view.attempts if tried_attempt.report for file in tried_attempt.report.files)
    left_out = (check for file in files for check in file.checks if check.has(Trait.LINES))
    return any(check.failing_rows and (word == check.name or check.check.startswith(word)) for check in left_out)


def _failing_checks(report: Report) -> dict[str, FailingCheck]:
    """Return the checks that rows fail, by id."""
    pairs_by_check: dict[str, list[tuple[CheckResult, FileReport]]] = {}
    for file in report.files:
        for check in file.checks:
            if has_rows(file, check):
                pairs_by_check.setdefault(check.check, []).append((check, file))
    return {
        name: FailingCheck(
            report=report,
            check=pairs[0][0],
            files=tuple(file for _, file in pairs),
            row_count=sum(check.failing_rows for check, _ in pairs),
        )
        for name, pairs in pairs_by_check.items()
    }


def _plan(operations: Operations, view: BatchView, tried_attempt: Try) -> Plan:
    attempt = Attempt(table=view.table, batch=view.batch, number=tried_attempt.attempt)
    plan = operations.run(ShowPlan(attempt=attempt))
    if plan is None:
        problem = f"{job_name(attempt)} is gone, and with it the check's rule"
        raise Misconfigured(f"{problem}; the report has a sample of them: lakegate show {view.batch}")
    return plan


def _ref(view: BatchView, tried_attempt: Try, failing_check: FailingCheck) -> Ref:
    """Return the ref of the rows: the kept branch's audited commit, or the commit on main that published the files, so
    that later rows do not show.
    """
    if tried_attempt.kept:
        return Ref(tried_attempt.branch, failing_check.report.audited)
    publications = [decision for decision in view.decisions if decision.record.decision is Decision.PUBLISHED]
    published = [decision.commit for decision in publications if decision.record.attempt == tried_attempt.attempt]
    if published and all(file.verdict is not Verdict.FAIL for file in failing_check.files):
        return Ref(MAIN, published[0])
    problem = f"the branch {tried_attempt.branch} is deleted, and the rows of its rejected files with it"
    raise Misconfigured(
        f"{problem}; the report has a sample of them, and lakegate retry {view.batch} appends the files again"
    )


def _read(plan: Plan, failing_check: FailingCheck) -> dict[str, tuple[str, ...]]:
    """Return by table the files whose rows the statement reads. A table that it reads whole is left out."""
    metric = plan.metric(failing_check.check.metric)
    own_ids = tuple(file.id for file in failing_check.files)
    good = [file.id for file in failing_check.report.files if file.verdict not in FAILING_VERDICTS]
    read = {quarantine_of(plan.table, distinct=failing_check.report.distinct): own_ids}
    if metric.refers_to is None and metric.scope is Scope.TABLE:
        return read
    if metric.refers_to is None or metric.refers_to.table != plan.table:
        read[plan.table] = own_ids if metric.refers_to else tuple(dict.fromkeys([*own_ids, *good]))
    return read


def statement_for(plan: Plan, failing_check: FailingCheck, *, parents: bool = True) -> Listing:
    """Return DuckDB's SQL for the failing rows, with the file, the key and the offending columns first. Its "now" is
    the start of the audit. `parents` is False if the table that the check refers to does not exist.
    """
    plan = bind_now(plan, failing_check.report.started_at)
    metric = plan.metric(failing_check.check.metric)
    names = [column.name for column in plan.columns]
    first = [name for name in (*plan.key, *failing_check.check.columns, *metric.columns) if name in names]
    columns = list(dict.fromkeys([*first, *names]))
    if metric.has(Trait.LINES):
        columns = list(MALFORMED)
    if not parents:
        metric = replace(metric, refers_to=None)
    key = OTHER_KEY_NAME if KEY in map(str.lower, columns) else KEY
    rows = " UNION ALL ".join(_rows(plan, metric, failing_check, file, key, columns) for file in failing_check.files)
    sql = f"SELECT * FROM ({rows})" if len(failing_check.files) > 1 else rows
    return Listing(sql=sql, columns=(key, *columns))


def _rows(
    plan: Plan, metric: Metric, failing_check: FailingCheck, file: FileReport, key_name: str, columns: Sequence[str]
) -> str:
    own_file, key = f"{FILE_COLUMN} = {_text(file.id)}", f"{_text(file.key)} AS {duckdb_identifier(key_name)}"
    if is_quarantined(file, next(check for check in file.checks if check.check == failing_check.check.check)):
        types = {column.name: column.type for column in plan.columns}
        values_sql = ", ".join(
            name if metric.has(Trait.LINES) else f"{_quarantine_value(name, types[name])} AS {duckdb_identifier(name)}"
            for name in columns
        )
        reason_sql = f"list_contains(reasons, {_text(failing_check.check.name)})"
        quarantine_sql = duckdb_table(quarantine_of(plan.table, distinct=failing_check.report.distinct))
        return f"SELECT {key}, {values_sql} FROM {quarantine_sql} WHERE {own_file} AND {reason_sql}"
    wrong = _wrong(metric, plan, failing_check.report, file)
    return (
        f"SELECT {key}, {', '.join(map(duckdb_identifier, columns))} FROM {duckdb_table(plan.table)} "
        f"WHERE {own_file} AND {wrong}"
    )


def _quarantine_value(name: str, kind: str) -> str:
    """Return an expression for a quarantined row's column in its own type."""
    pointer = _text("/" + name.replace("~", "~0").replace("/", "~1"))
    is_nested = kind.startswith(("struct<", "array<", "map<"))
    value = f"json_extract{'' if is_nested else '_string'}(row_json, {pointer})"
    if kind == "binary":
        return f"from_base64({value})"
    return f"CAST({value} AS {exp.DataType.build(kind, dialect='spark').sql(dialect='duckdb')})"


def _wrong(metric: Metric, plan: Plan, report: Report, file: FileReport) -> str:
    """Return the condition of a failing row."""
    if (to_sql := KINDS[metric.kind].sample) is None:
        raise Misconfigured(
            f"rows that fail a check of kind {metric.kind} can't be listed; the report has some of them"
        )
    table, before = plan.table, _among(metric, report, file)
    types = frozenset((column.name, canonical(column.type)) for column in plan.columns)
    return to_sql(
        metric, Rows(relation=duckdb_table(table), table=table, spell=duckdb_table, before=before, types=types)
    )


def _among(metric: Metric, report: Report, file: FileReport) -> str:
    """Return the condition of rows that a file may repeat: its own, and in table scope main's and earlier files'."""
    if metric.scope is Scope.BATCH:
        return f"{FILE_COLUMN} = {_text(file.id)}"
    ids = [other.id for other in report.files]
    earlier = report.files[: ids.index(file.id)]
    before = [*(other.id for other in earlier if other.verdict not in FAILING_VERDICTS), file.id]
    rest = [other for other in ids if other not in before]
    return f"{FILE_COLUMN} NOT IN ({', '.join(map(_text, rest))})" if rest else "true"


def _text(value: str) -> str:
    return exp.Literal.string(value).sql(dialect="duckdb")
