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
from lakegate.cli.terminal import busy, clean, console, indented, say, say_json
from lakegate.counts import count
from lakegate.landing.lifecycle import State
from lakegate.operations.batch import BatchView, Try, has_rows, is_decided, rows_command
from lakegate.operations.questions import ShowBatch
from lakegate.ports import Decided

SAMPLE = 5  # rows of a check; the page and --json have all of the report's
NONE: Mapping[str, str] = {}
PASSED = 5  # files; --all lists every one


def show(installation: Installation, batch: str, *, every_check: bool, as_json: bool) -> Exit:
    with busy(f"reading what is known of {batch}"):
        view = installation.operations.run(ShowBatch(batch=batch))
    if as_json:
        say_json(view)
    else:
        say(*_pages(view, every_check=every_check))
    return Exit.DONE


def _pages(view: BatchView, *, every_check: bool) -> Iterator[RenderableType]:
    yield Text(clean(f"{view.table}  batch {view.batch}"), style="bold")
    for attempt in view.attempts:
        yield from _attempt(view, attempt, every_check=every_check)
    if not every_check and any(attempt.report and _passed(attempt.report) for attempt in view.attempts):
        yield Text("  --all lists the checks that passed, too", style="dim")
    if hidden := sorted({name for attempt in view.attempts if attempt.report for name in attempt.report.masked}):
        yield Text(clean(f"  masked by the contract: {', '.join(hidden)}"), style="dim")
    yield Text("\nDecisions", style="bold")
    reported = {(tried.attempt, file.key) for tried in view.attempts if tried.report for file in tried.report.files}
    for decided in reversed(view.decisions):
        yield from _decision(decided, reported)
    if not view.decisions:
        yield Text("  none so far", style="dim")
    if view.next:
        yield Text("\nNext", style="bold")
        yield from (f"  {command}" for command in view.next)


def _passed(report: Report) -> bool:
    return any(check.verdict is Verdict.PASS for file in report.files for check in file.checks)


def _decision(decided: Decided, reported: set[tuple[int, str]]) -> Iterator[RenderableType]:
    """Yield one line, and the files that no report above covers."""
    note = decided.note
    said = [f"a{note.attempt}" if note.attempt else "no attempt", *decision_words(note)]
    said += [NOTHING_TO_DO] if decided.state is State.SUPERSEDED else []
    at = Text(f"  {decided.at:%Y-%m-%d %H:%M:%S} UTC  ", style="dim")
    yield at + terminal.state(str(decided.state)) + Text(clean("  " + ", ".join(said)))
    for file in note.files:
        if (note.attempt, file.key) in reported:
            continue
        yield f"      {file.key}"
        yield from (indented(reason, 8) for reason in file.reasons if reason != note.why)


def _attempt(view: BatchView, attempt: Try, *, every_check: bool) -> Iterator[RenderableType]:
    fate = "kept" if attempt.kept else "deleted"
    yield Text(f"\nAttempt a{attempt.attempt}", style="bold")
    yield f"  branch: {attempt.branch} ({fate})"
    report = attempt.report
    if attempt.lane:
        yield indented(lane(attempt), 2, "dim")
    if attempt.usage:
        yield Text(f"  its {took(attempt.usage)}", style="dim")
    if report is None:
        yield indented(f"no report; job: {attempt.job or 'not started'}", 2)
        yield from (f"  {key}" for key in attempt.claims)
        return
    yield from (Text(clean(f"  {line}"), style="dim") for line in _audited(report))
    if report.unnoted:
        yield indented(f"not noted: {report.unnoted}", 2)
    yield from verdicts(report, view.batch, view.decided, every_check=every_check)


def verdicts(
    report: Report, batch: str = "", decided: Mapping[str, str] = NONE, *, every_check: bool
) -> Iterator[RenderableType]:
    """Yield what a report says of its files, the worst first, and last those that were `decided` since. Of a `batch`
    all failing rows can be listed.
    """
    if report.error:
        yield indented(report.error, 2, "red")
        for advice in report.advice:
            yield from _advice(advice, 4)
    if told := observes(report):
        yield indented(told, 2, "magenta")
    closed = [file for file in files_of(report) if is_decided(file, decided)]
    yield f"  {tally(report)}" + (f"; decided since: {len(closed):,} of those that failed" if closed else "")
    files = [file for file in files_of(report) if file not in closed]
    passed = [file for file in files if file.verdict is Verdict.PASS]
    hidden = [] if every_check else passed[PASSED:]
    for file in files[: len(files) - len(hidden)]:
        yield from _file(batch, report, file, every_check=every_check)
    if hidden:
        yield f"  and {count(len(hidden), 'more file')} passed (--all)"
    for file in closed:
        yield from _closed(file, decided[file.id], every_check=every_check)


def _closed(file: FileReport, decision: str, *, every_check: bool) -> Iterator[RenderableType]:
    """Yield the decision on a file that failed, without what was wrong with it, unless all is asked for."""
    yield Text("  ") + terminal.state("decided") + Text(clean(f"  {file.key}  {decision}"))
    yield from _checks(checks_of(file, every_check=True)) if every_check else ()


def _audited(report: Report) -> Iterator[str]:
    took = (report.finished_at - report.started_at).total_seconds()
    yield f"audited at {report.audited[:12]}, in {took:.1f} s, contract {report.contract_version}"
    yield f"contract hash {report.contract_hash[:12]}, plan hash {report.plan_hash[:12]}"
    if report.timings:
        yield ", ".join(f"{step} {seconds:.1f} s" for step, seconds in report.timings.items())


def _file(batch: str, report: Report, file: FileReport, *, every_check: bool) -> Iterator[RenderableType]:
    passed = sum(check.verdict is Verdict.PASS for check in file.checks)
    said = f"  {file.key}  {count(file.rows, 'row')}, {passed:,} of {count(len(file.checks), 'check')} passed"
    said += "".join(f", {each}" for each in quarantine_texts(file))
    yield Text("  ") + terminal.state(str(file.verdict)) + Text(clean(said if file.checks else f"  {file.key}"))
    for fault, advice in faults_with_advice(file):
        yield indented(fault, 4, "red")
        yield from _advice(advice, 6)
    yield from (indented(change, 4, "yellow") for change in file.changes)
    yield from (indented(line, 4) for line in file.unread)
    checks = checks_of(file, every_check=every_check)
    yield from _checks(checks)
    for check in checks:
        yield from _rows(batch, report, file, check)


def _advice(advice: Advice | None, left: int) -> Iterator[RenderableType]:
    """Yield each way on, and the contract's lines as they are to be pasted: no line of them is broken."""
    for step in advice.steps if advice else ():
        yield indented(step.says, left)
        yield from (" " * (left + 4) + line for line in step.lines.splitlines())


def _checks(checks: list[CheckResult]) -> Iterator[RenderableType]:
    if not checks:
        return
    made = terminal.table("", "check", "found", "expected", "from")
    for check in checks:
        state = terminal.state(str(check.verdict))
        made.add_row(state, clean(check.name), check.found, clean(check.expected), str(check.source))
    yield indented(made, 4)


def _rows(batch: str, report: Report, file: FileReport, check: CheckResult) -> Iterator[RenderableType]:
    """Yield some of the rows that fail a check, and the command that lists all."""
    listed = bool(batch) and has_rows(file, check)
    some, has_some = check.sample[:SAMPLE], bool(check.sample) or listed
    if not check.advice and not has_some:
        return
    yield Text(clean(f"    {check.name}"), style="bold")
    yield from _advice(check.advice, 6)
    if not has_some:
        return
    yield f"      {sample_text(check, len(some))}" + (f": {rows_command(batch, check)}" if listed else "")
    if some:
        yield indented(terminal.sample(some, columns_of(report, check), console().width - 6), 6)
