"""`show`: one batch in full, in a terminal or as JSON, failures first and next commands last. It changes nothing."""

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from lakegate.audit.advice import Advice
from lakegate.audit.model.report import CheckResult, FileReport, Report, Verdict
from lakegate.audit.summary import (
    checks_of,
    columns_of,
    faults_with_advice,
    files_of,
    observes,
    quarantine_texts,
    sample_text,
    tally,
)
from lakegate.cli import terminal
from lakegate.cli.ends import NOTHING_TO_DO
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.report import decision_words, lane, took
from lakegate.cli.terminal import busy, clean, console, indent, print_lines, say_json
from lakegate.counts import count
from lakegate.landing.lifecycle import State
from lakegate.operations.batch import BatchView, Try, has_rows, is_decided, rows_command
from lakegate.operations.questions import ShowBatch
from lakegate.ports import LogEntry

SAMPLE = 5  # rows of a check; the page and --json have all of the report's
NO_DECISIONS: Mapping[str, str] = {}
MOST_PASSING = 5  # files; --all lists every one


def show(installation: Installation, batch: str, *, every_check: bool, as_json: bool) -> Exit:
    with busy(f"reading what is known of {batch}"):
        view = installation.operations.run(ShowBatch(batch=batch))
    if as_json:
        say_json(view)
    else:
        print_lines(*_pages(view, every_check=every_check))
    return Exit.SUCCESS


def _pages(view: BatchView, *, every_check: bool) -> Iterator[RenderableType]:
    yield Text(clean(f"{view.table}  batch {view.batch}"), style="bold")
    for attempt in view.attempts:
        yield from _attempt(view, attempt, every_check=every_check)
    if not every_check and any(attempt.report and _passing_checks(attempt.report) for attempt in view.attempts):
        yield Text("  --all lists the checks that passed, too", style="dim")
    if mask_names := sorted({name for attempt in view.attempts if attempt.report for name in attempt.report.masked}):
        yield Text(clean(f"  masked by the contract: {', '.join(mask_names)}"), style="dim")
    yield Text("\nDecisions", style="bold")
    files_in_reports = {
        (attempt.attempt, file.key) for attempt in view.attempts if attempt.report for file in attempt.report.files
    }
    for decision in reversed(view.decisions):
        yield from _decision(decision, files_in_reports)
    if not view.decisions:
        yield Text("  none so far", style="dim")
    if view.next:
        yield Text("\nNext", style="bold")
        yield from (f"  {command}" for command in view.next)


def _passing_checks(report: Report) -> bool:
    return any(check.verdict is Verdict.PASS for file in report.files for check in file.checks)


def _decision(decision: LogEntry, files_in_reports: set[tuple[int, str]]) -> Iterator[RenderableType]:
    """Yield one line, and the files that no report above covers."""
    record = decision.record
    words = [f"a{record.attempt}" if record.attempt else "no attempt", *decision_words(record)]
    words += [NOTHING_TO_DO] if decision.state is State.SUPERSEDED else []
    at = Text(f"  {decision.at:%Y-%m-%d %H:%M:%S} UTC  ", style="dim")
    yield at + terminal.state(str(decision.state)) + Text(clean("  " + ", ".join(words)))
    for file in record.files:
        if (record.attempt, file.key) in files_in_reports:
            continue
        yield f"      {file.key}"
        yield from (indent(reason, 8) for reason in file.reasons if reason != record.reason)


def _attempt(view: BatchView, attempt: Try, *, every_check: bool) -> Iterator[RenderableType]:
    fate = "kept" if attempt.kept else "deleted"
    yield Text(f"\nAttempt a{attempt.attempt}", style="bold")
    yield f"  branch: {attempt.branch} ({fate})"
    report = attempt.report
    if attempt.lane:
        yield indent(lane(attempt), 2, "dim")
    if attempt.usage:
        yield Text(f"  its {took(attempt.usage)}", style="dim")
    if report is None:
        yield indent(f"no report; job: {attempt.job or 'not started'}", 2)
        yield from (f"  {key}" for key in attempt.claims)
        return
    yield from (Text(clean(f"  {line}"), style="dim") for line in _audit_lines(report))
    if report.unnoted:
        yield indent(f"not noted: {report.unnoted}", 2)
    yield from verdicts(report, view.batch, view.decided, every_check=every_check)


def verdicts(
    report: Report, batch: str = "", decision_by_file: Mapping[str, str] = NO_DECISIONS, *, every_check: bool
) -> Iterator[RenderableType]:
    """Yield what a report says of its files, the worst first, and last those that were `decision_by_file` since. Of a
    `batch` all failing rows can be listed.
    """
    if report.error:
        yield indent(report.error, 2, "red")
        for advice in report.advice:
            yield from _advice(advice, 4)
    if remark := observes(report):
        yield indent(remark, 2, "magenta")
    decided_files = [file for file in files_of(report) if is_decided(file, decision_by_file)]
    yield f"  {tally(report)}" + (
        f"; decided since: {len(decided_files):,} of those that failed" if decided_files else ""
    )
    files = [file for file in files_of(report) if file not in decided_files]
    good_files = [file for file in files if file.verdict is Verdict.PASS]
    rest = [] if every_check else good_files[MOST_PASSING:]
    for file in files[: len(files) - len(rest)]:
        yield from _file(batch, report, file, every_check=every_check)
    if rest:
        yield f"  and {count(len(rest), 'more file')} passed (--all)"
    for file in decided_files:
        yield from _decided_file(file, decision_by_file[file.id], every_check=every_check)


def _decided_file(file: FileReport, decision: str, *, every_check: bool) -> Iterator[RenderableType]:
    """Yield the decision on a file that failed, without what was wrong with it, unless all is asked for."""
    yield Text("  ") + terminal.state("decided") + Text(clean(f"  {file.key}  {decision}"))
    yield from _checks(checks_of(file, every_check=True)) if every_check else ()


def _audit_lines(report: Report) -> Iterator[str]:
    took = (report.finished_at - report.started_at).total_seconds()
    yield f"audited at {report.audited[:12]}, in {took:.1f} s, contract {report.contract_version}"
    yield f"contract hash {report.contract_hash[:12]}, plan hash {report.plan_hash[:12]}"
    if report.timings:
        yield ", ".join(f"{step} {seconds:.1f} s" for step, seconds in report.timings.items())


def _file(batch: str, report: Report, file: FileReport, *, every_check: bool) -> Iterator[RenderableType]:
    passing_count = sum(check.verdict is Verdict.PASS for check in file.checks)
    text = f"  {file.key}  {count(file.rows, 'row')}, {passing_count:,} of {count(len(file.checks), 'check')} passed"
    text += "".join(f", {part}" for part in quarantine_texts(file))
    yield Text("  ") + terminal.state(str(file.verdict)) + Text(clean(text if file.checks else f"  {file.key}"))
    for fault, advice in faults_with_advice(file):
        yield indent(fault, 4, "red")
        yield from _advice(advice, 6)
    yield from (indent(change, 4, "yellow") for change in file.changes)
    yield from (indent(line, 4) for line in file.unread)
    checks = checks_of(file, every_check=every_check)
    yield from _checks(checks)
    for check in checks:
        yield from _rows(batch, report, file, check)


def _advice(advice: Advice | None, margin: int) -> Iterator[RenderableType]:
    """Yield each way on, and the contract's lines as they are to be pasted: no line of them is broken."""
    for step in advice.steps if advice else ():
        yield indent(step.sentence, margin)
        yield from (" " * (margin + 4) + line for line in step.lines.splitlines())


def _checks(checks: list[CheckResult]) -> Iterator[RenderableType]:
    if not checks:
        return
    grid = terminal.table("", "check", "found", "expected", "from")
    for check in checks:
        state = terminal.state(str(check.verdict))
        grid.add_row(state, clean(check.name), check.result, clean(check.expected), str(check.source))
    yield indent(grid, 4)


def _rows(batch: str, report: Report, file: FileReport, check: CheckResult) -> Iterator[RenderableType]:
    """Yield some of the rows that fail a check, and the command that lists all."""
    can_list = bool(batch) and has_rows(file, check)
    rows, has_some = check.sample[:SAMPLE], bool(check.sample) or can_list
    if not check.advice and not has_some:
        return
    yield Text(clean(f"    {check.name}"), style="bold")
    yield from _advice(check.advice, 6)
    if not has_some:
        return
    yield f"      {sample_text(check, len(rows))}" + (f": {rows_command(batch, check)}" if can_list else "")
    if rows:
        yield indent(terminal.sample(rows, columns_of(report, check), console().width - 6), 6)
