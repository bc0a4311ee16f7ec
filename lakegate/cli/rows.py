"""`show --rows`: all rows that fail a check, read at the commit that was audited. Masked values stay masked.

The plan's predicate is translated to DuckDB's SQL, and the number of rows is compared with the audit's.
"""

# ruff: noqa: S608 - names are quoted, values are literals of sqlglot's, predicates are a plan's own

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from lakegate.audit.evaluation.mask import TEXT, Mask, hide
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.plan import Metric, MetricKind, Plan, Scope
from lakegate.audit.model.report import FAILING_VERDICTS, CheckResult, FileReport, Report, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import canonical
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation, Lake
from lakegate.cli.query import SHOWN
from lakegate.cli.sql import Result, Statement, plain, run
from lakegate.cli.terminal import busy, console, grid, say, say_json
from lakegate.counts import count
from lakegate.duckdb.dialect import STRICTLY, duckdb_identifier, duckdb_table
from lakegate.duckdb.metrics import KINDS, Rows
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.operations.batch import BatchView, Try, has_rows, is_of, is_quarantined
from lakegate.operations.operation import Operations
from lakegate.operations.questions import ShowBatch, ShowMask, ShowPlan
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.job import job_name

MALFORMED = ("line", "why", TEXT)  # quarantine's columns of a row that does not parse
KEY = "file"  # the column of the file's key
OTHERWISE = "_lakegate_key"  # its name if the table has a column `file`; tables have none that begins so


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A statement that lists failing rows, and the names of its columns in order."""

    sql: str
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Failing:
    """A check of a report, and the files that fail it."""

    report: Report
    check: CheckResult
    files: tuple[FileReport, ...]
    counted: int


@dataclass(frozen=True, kw_only=True)
class Listed:
    """All rows that fail a check, where they were read, and the statement that reads them."""

    answer: Result
    failing: Failing
    ref: Ref
    sql: str
    mask: Mask


def show_rows(installation: Installation, batch: str, check: str, *, as_json: bool) -> Exit:
    with busy(f"reading the rows of {batch}"):
        listed = list_rows(installation, installation.operations.run(ShowBatch(batch=batch)), check)
    if as_json:
        columns = listed.answer.columns
        say_json([dict(zip(columns, map(plain, row), strict=True)) for row in listed.answer.rows])
    else:
        _say(listed)
    return Exit.DONE


def list_rows(installation: Installation, view: BatchView, check: str) -> Listed:
    """Return all rows that fail a check, by its id, the beginning of its id, or its name."""
    tried, failing = _asked(view, check)
    plan = _plan(installation.operations, view, tried)
    ref = _ref(view, tried, failing)
    listing = statement_for(plan, failing, parents=_has_parents(installation.lake, ref, plan, failing))
    attempt = Attempt(table=view.table, batch=view.batch, number=tried.attempt)
    mask = installation.operations.run(ShowMask(table=view.table, attempt=attempt))
    answer = _answered(installation.lake, listing, ref, _read(plan, failing), failing, mask)
    return Listed(answer=answer, failing=failing, ref=ref, sql=listing.sql, mask=mask)


def _has_parents(lake: Lake, ref: Ref, plan: Plan, failing: Failing) -> bool:
    """Return True if the check refers to no table, or to one that exists. A missing table holds no key."""
    other = plan.metric(failing.check.metric).refers_to
    return other is None or lake.columns(ref, other.table) is not None


def _answered(
    lake: Lake, listing: Listing, ref: Ref, files: Mapping[str, Sequence[str]], failing: Failing, mask: Mask
) -> Result:
    """Return the rows with masked columns hidden, by position, because an engine may rename columns. An engine's error
    may show values, so it is hidden, too.
    """
    try:
        answer = run(lake, Statement.parse(listing.sql), ref, files, [STRICTLY])
    except Misconfigured:
        if not (mask.masked or mask.fault):
            raise
        batch = failing.report.batch
        what = f"DuckDB cannot read these rows on {ref}, and its error is hidden because the contract masks values"
        raise Misconfigured(f"{what}. The report has a sample of them: lakegate show {batch}") from None
    hidden = [False, *_hidden(mask, failing.check, listing.columns[1:])]  # a file's key is no value
    return Result(columns=list(listing.columns), rows=[hide(row, hidden) for row in answer.rows])


def _hidden(mask: Mask, check: CheckResult, columns: Sequence[str]) -> list[bool]:
    if is_of(check, MetricKind.MALFORMED):
        return mask.hides_unparsed(columns)
    return [any(either) for either in zip(mask.hides(columns), mask.leaves_open(columns), strict=True)]


def _say(listed: Listed) -> None:
    answer, failing = listed.answer, listed.failing
    say(grid(answer.columns, answer.rows[:SHOWN], console().width))
    hidden = len(answer.rows) - SHOWN
    more = f"; {hidden:,} more are not shown (--json prints all)" if hidden > 0 else ""
    say(f"{failing.check.name}: {count(len(answer.rows), 'row')}{more}")
    for remark in remarks(listed):
        say(remark)


def remarks(listed: Listed) -> list[str]:
    """Return what a person must know of the rows: whether the audit counted others, what is masked, the query."""
    failing = listed.failing
    counted = f"The audit counted {failing.counted:,}: "
    others = why if len(listed.answer.rows) != failing.counted and (why := _why_others(failing)) else ""
    masked = ", ".join(listed.mask.masked)
    return [
        *([counted + others] if others else []),
        *([f"No value is shown, because {listed.mask.fault}"] if listed.mask.fault else []),
        *([f"Masked by the contract: {masked}"] if masked else []),
        f"The same as a query: lakegate query {shlex.quote(listed.sql)} --ref {listed.ref}",
    ]


def _why_others(failing: Failing) -> str:
    """Return the reason why the number of rows differs from the audit's, or "" if the difference is expected."""
    if failing.check.verdict is Verdict.WARN and any(file.quarantined for file in failing.files):
        return "the table is without the rows that other checks quarantined."
    if any(file.would_quarantine for file in failing.files):
        return "it counted without the rows that would have gone to quarantine."
    if is_of(failing.check, MetricKind.DUPLICATES):
        return ""  # the listing includes the first row with a key, which the audit does not count
    return "DuckDB, which lists the rows, differs from Spark on this rule."


def _asked(view: BatchView, asked: str) -> tuple[Try, Failing]:
    """Return the check with this id, beginning of an id, or name, from the last attempt that has it."""
    for tried in reversed(view.attempts):
        found = _failing(tried.report) if tried.report else {}
        names = [each for each in found.values() if asked in (each.check.check, each.check.name)]
        meant = names or [each for name, each in found.items() if name.startswith(asked)]
        if len(meant) == 1:
            return tried, meant[0]
        if meant:
            raise Misconfigured(f"{asked} may be any of: {', '.join(each.check.check for each in meant)}")
    if _are_left_out(view, asked):
        first = f"the report has the first of them: lakegate show {view.batch}"
        raise Misconfigured(f"rows that do not parse are in no table, so they can't be listed; {first}")
    there = {each.check.check: each.check.name for tried in view.attempts if tried.report
             for each in _failing(tried.report).values()}  # fmt: skip
    known = "; ".join(f"{check} ({name})" for check, name in there.items()) or "none"
    raise Misconfigured(f"no check {asked!r} has failing rows in batch {view.batch}; checks that do: {known}")


def _are_left_out(view: BatchView, asked: str) -> bool:
    """Return True if the check is of rows that do not parse. They failed their file, so no table has them."""
    files = (file for tried in view.attempts if tried.report for file in tried.report.files)
    left_out = (check for file in files for check in file.checks if is_of(check, MetricKind.MALFORMED))
    return any(check.failing_rows and (asked == check.name or check.check.startswith(asked)) for check in left_out)


def _failing(report: Report) -> dict[str, Failing]:
    """Return the checks that rows fail, by id."""
    found: dict[str, list[tuple[CheckResult, FileReport]]] = {}
    for file in report.files:
        for check in file.checks:
            if has_rows(file, check):
                found.setdefault(check.check, []).append((check, file))
    return {
        name: Failing(
            report=report,
            check=pairs[0][0],
            files=tuple(file for _, file in pairs),
            counted=sum(check.failing_rows for check, _ in pairs),
        )
        for name, pairs in found.items()
    }


def _plan(operations: Operations, view: BatchView, tried: Try) -> Plan:
    attempt = Attempt(table=view.table, batch=view.batch, number=tried.attempt)
    plan = operations.run(ShowPlan(attempt=attempt))
    if plan is None:
        gone = f"{job_name(attempt)} is gone, and with it the check's rule"
        raise Misconfigured(f"{gone}; the report has a sample of them: lakegate show {view.batch}")
    return plan


def _ref(view: BatchView, tried: Try, failing: Failing) -> Ref:
    """Return the ref of the rows: the kept branch's audited commit, or the commit on main that published the files, so
    that later rows do not show.
    """
    if tried.kept:
        return Ref(tried.branch, failing.report.audited)
    decided = [it for it in view.decisions if it.note.decision is Decision.PUBLISHED]
    published = [it.commit for it in decided if it.note.attempt == tried.attempt]
    if published and all(file.verdict is not Verdict.FAIL for file in failing.files):
        return Ref(MAIN, published[0])
    gone = f"the branch {tried.branch} is deleted, and the rows of its rejected files with it"
    raise Misconfigured(
        f"{gone}; the report has a sample of them, and lakegate retry {view.batch} appends the files again"
    )


def _read(plan: Plan, failing: Failing) -> dict[str, tuple[str, ...]]:
    """Return by table the files whose rows the statement reads. A table that it reads whole is left out."""
    metric = plan.metric(failing.check.metric)
    mine = tuple(file.id for file in failing.files)
    good = [file.id for file in failing.report.files if file.verdict not in FAILING_VERDICTS]
    read = {quarantine_of(plan.table, distinct=failing.report.distinct): mine}
    if metric.refers_to is None and metric.scope is Scope.TABLE:
        return read
    if metric.refers_to is None or metric.refers_to.table != plan.table:
        read[plan.table] = mine if metric.refers_to else tuple(dict.fromkeys([*mine, *good]))
    return read


def statement_for(plan: Plan, failing: Failing, *, parents: bool = True) -> Listing:
    """Return DuckDB's SQL for the failing rows, with the file, the key and the offending columns first. Its "now" is
    the start of the audit. `parents` is False if the table that the check refers to does not exist.
    """
    plan = bind_now(plan, failing.report.started_at)
    metric = plan.metric(failing.check.metric)
    there = [column.name for column in plan.columns]
    first = [name for name in (*plan.key, *failing.check.columns, *metric.columns) if name in there]
    columns = list(dict.fromkeys([*first, *there]))
    if metric.kind is MetricKind.MALFORMED:
        columns = list(MALFORMED)
    if not parents:
        metric = replace(metric, refers_to=None)
    key = OTHERWISE if KEY in map(str.lower, columns) else KEY
    rows = " UNION ALL ".join(_rows(plan, metric, failing, file, key, columns) for file in failing.files)
    sql = f"SELECT * FROM ({rows})" if len(failing.files) > 1 else rows
    return Listing(sql=sql, columns=(key, *columns))


def _rows(plan: Plan, metric: Metric, failing: Failing, file: FileReport, named: str, columns: Sequence[str]) -> str:
    mine, key = f"{FILE_COLUMN} = {_text(file.id)}", f"{_text(file.key)} AS {duckdb_identifier(named)}"
    if is_quarantined(file, next(check for check in file.checks if check.check == failing.check.check)):
        types = {column.name: column.type for column in plan.columns}
        quarantined = ", ".join(
            name
            if metric.kind is MetricKind.MALFORMED
            else f"{_quarantined(name, types[name])} AS {duckdb_identifier(name)}"
            for name in columns
        )
        failed = f"list_contains(reasons, {_text(failing.check.name)})"
        aside = duckdb_table(quarantine_of(plan.table, distinct=failing.report.distinct))
        return f"SELECT {key}, {quarantined} FROM {aside} WHERE {mine} AND {failed}"
    wrong = _wrong(metric, plan, failing.report, file)
    return (
        f"SELECT {key}, {', '.join(map(duckdb_identifier, columns))} FROM {duckdb_table(plan.table)} "
        f"WHERE {mine} AND {wrong}"
    )


def _quarantined(name: str, kind: str) -> str:
    """Return an expression for a quarantined row's column in its own type."""
    pointer = _text("/" + name.replace("~", "~0").replace("/", "~1"))
    nested = kind.startswith(("struct<", "array<", "map<"))
    value = f"json_extract{'' if nested else '_string'}(row_json, {pointer})"
    if kind == "binary":
        return f"from_base64({value})"
    return f"CAST({value} AS {exp.DataType.build(kind, dialect='spark').sql(dialect='duckdb')})"


def _wrong(metric: Metric, plan: Plan, report: Report, file: FileReport) -> str:
    """Return the condition of a failing row."""
    if (shown := KINDS[metric.kind].shown) is None:
        raise Misconfigured(
            f"rows that fail a check of kind {metric.kind} can't be listed; the report has some of them"
        )
    table, before = plan.table, _among(metric, report, file)
    types = frozenset((column.name, canonical(column.type)) for column in plan.columns)
    return shown(
        metric, Rows(relation=duckdb_table(table), table=table, named=duckdb_table, before=before, types=types)
    )


def _among(metric: Metric, report: Report, file: FileReport) -> str:
    """Return the condition of rows that a file may repeat: its own, and in table scope main's and earlier files'."""
    if metric.scope is Scope.BATCH:
        return f"{FILE_COLUMN} = {_text(file.id)}"
    ids = [other.id for other in report.files]
    earlier = report.files[: ids.index(file.id)]
    before = [*(other.id for other in earlier if other.verdict not in FAILING_VERDICTS), file.id]
    others = [other for other in ids if other not in before]
    return f"{FILE_COLUMN} NOT IN ({', '.join(map(_text, others))})" if others else "true"


def _text(value: str) -> str:
    return exp.Literal.string(value).sql(dialect="duckdb")
