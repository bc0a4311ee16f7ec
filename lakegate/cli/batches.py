"""`status`, `approve`, `discard`, `reconcile`: batches as a person sees and moves them.

It decides nothing itself.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from rich.console import RenderableType
from rich.text import Text

from lakegate.audit.model.lane import Lane
from lakegate.cli import terminal
from lakegate.cli.choice import is_declined, leave_undecided
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.report import would_have
from lakegate.cli.retry import left_as_rejected
from lakegate.cli.terminal import age_text, busy, clean, indent, print_lines, say_json
from lakegate.counts import count
from lakegate.landing.lane import CONTRACT_CHOICE, NO_LANE
from lakegate.operations.acts import Approve, Discard, Reconcile
from lakegate.operations.questions import ShowStatus
from lakegate.workflow.ledger.decisions import require_reason
from lakegate.workflow.overview.line import Line
from lakegate.workflow.status import BrokenContract, Status

MOST_LINES = 20  # lines of a list; --json has all
FILES_SHOWN = 3  # files of a line
REASONS_SHOWN = 10  # reasons of a line
OBVIOUS = (NO_LANE, CONTRACT_CHOICE)  # reasons for a lane
LATE = timedelta(minutes=15)  # within this time sweeps list all but the largest buckets again


def status(installation: Installation, *, as_json: bool) -> Exit:
    with busy("reading branches, notes and main's log"):
        now = installation.operations.run(ShowStatus())
    if as_json:
        say_json(now)
        return Exit.SUCCESS
    at = installation.clock.now()
    for part in (
        *_in_flight(now, at),
        *_unseen(now, at),
        *_unrouted(now, at),
        *_broken_contracts(now),
        *_rejected(now, at),
        *_observed_lines(now, at),
        *_published(now, at),
    ):
        print_lines(part)
    print_lines(*_next(now))
    return Exit.SUCCESS


def _in_flight(now: Status, at: datetime) -> list[RenderableType]:
    lanes = _lanes(now.in_flight)
    grid = terminal.table("table", "state", *lanes, "since", "files", title=f"In flight ({_files(now.in_flight)})")
    for line in now.in_flight[:MOST_LINES]:
        lane_cells = [clean(line.lane) for _ in lanes]
        grid.add_row(
            clean(line.table), terminal.state(line.state), *lane_cells, age_text(line.since, at), _files_text(line)
        )
    reasons = [
        part for line in now.in_flight[:MOST_LINES] if line.reasons for part in (f"{line.batch}:", *_reasons(line), "")
    ]
    waits_by_name = dict.fromkeys(
        (line.batch or line.table, line.waits) for line in now.in_flight[:MOST_LINES] if line.waits
    )
    waits = [part for name, wait in waits_by_name for part in (f"{name} waits:", indent(wait, 4), "")]
    return (
        [grid, *reasons, *waits, *_left_to_spark(now.in_flight[:MOST_LINES]), *_rest_lines(now.in_flight)]
        if now.in_flight
        else []
    )


def _left_to_spark(lines: Iterable[Line]) -> list[RenderableType]:
    """Return why batches are on Spark's lane, of those that neither their contract nor the installation sent there."""
    reasons_by_batch = {
        line.batch: line.lane_why for line in lines if line.lane == Lane.SPARK and line.lane_why not in OBVIOUS
    }
    return [
        part
        for batch, reason in reasons_by_batch.items()
        if reason
        for part in (f"{batch} is on the Spark lane:", indent(reason, 4), "")
    ]


def _unseen(now: Status, at: datetime) -> list[RenderableType]:
    """Return a remark if the last sweep is too old to show all that has landed."""
    if now.seen_at is None or at - now.seen_at < LATE:
        return []
    age = age_text(now.seen_at, at)
    return [f"The last sweep listed the bucket {age}; later files are not shown. To list them: lakegate wait", ""]


def _unrouted(now: Status, at: datetime) -> list[RenderableType]:
    grid = terminal.table("file", "since", "why", title=f"Unrouted ({_files(now.unrouted)})")
    for line in now.unrouted[:MOST_LINES]:
        grid.add_row(clean(line.files[0]), age_text(line.since, at), "\n".join(map(clean, line.reasons)))
    return [grid, *_rest_lines(now.unrouted)] if now.unrouted else []


def _broken_contracts(now: Status) -> list[RenderableType]:
    """Return the contracts that do not load, each with its first fault and the line to write."""
    title = f"Contracts that do not load ({len(now.broken_contracts):,})"
    grid = terminal.table("table", "line", "what is wrong", title=title)
    for contract in now.broken_contracts[:MOST_LINES]:
        grid.add_row(clean(contract.table), f"{contract.first.line:,}", clean(what_is_wrong(contract)))
    rest = len(now.broken_contracts) - MOST_LINES
    rest_lines = [Text(f"… and {rest:,} more (--json has all)\n", style="dim")] if rest > 0 else []
    hint = ["Files of these tables stay unrouted until a mended contract is pushed.", ""]
    return [grid, *rest_lines, *hint] if now.broken_contracts else []


def what_is_wrong(of: BrokenContract) -> str:
    """Return a contract's first fault with the line to write, and how many more there are."""
    write = f"; write: {of.first.write}" if of.first.write else ""
    return f"{of.first.message}{write}" + (f" (and {of.faults - 1:,} more)" if of.faults > 1 else "")


def _rejected(now: Status, at: datetime) -> list[RenderableType]:
    if not now.rejected:
        return _other_batches(now)
    lines: list[RenderableType] = [Text(f"Rejected ({_files(now.rejected)}{_of_last(now)})\n", style="bold")]
    for line in now.rejected[:MOST_LINES]:
        lines.append(Text("✗ ", style="red") + Text(clean(f"{line.table}  {line.batch}  {age_text(line.since, at)}")))
        lines += [*(f"    {name}" for name in _unnamed_files(line)), *_reasons(line)]
        lines += [f"    branch: {line.branch}"] if line.branch else []
        lines += [f"    next: lakegate show {line.batch}", ""]
    return [*lines, *_rest_lines(now.rejected), *_other_batches(now)]


def _observed_lines(now: Status, at: datetime) -> list[RenderableType]:
    """Return what enforcing would have done to published files whose contracts observe."""
    observed_lines = [line for line in now.published if line.would_reject or line.would_quarantine]
    if not observed_lines:
        return []
    lines: list[RenderableType] = [Text(f"Observed ({_would(observed_lines)}{_of_last(now)})\n", style="bold")]
    for line in observed_lines[:MOST_LINES]:
        lines.append(
            Text("◌ ", style="magenta") + Text(clean(f"{line.table}  {line.batch}  {age_text(line.since, at)}"))
        )
        lines += [*(f"    {name}" for name in _unnamed_files(line)), *_reasons(line, "magenta")]
        lines += [f"    next: lakegate show {line.batch}", ""]
    return [*lines, *_rest_lines(observed_lines)]


def _would(lines: Sequence[Line]) -> str:
    files, rows = sum(line.would_reject for line in lines), sum(line.would_quarantine for line in lines)
    return would_have(files, rows, "published ")


def _other_batches(now: Status) -> list[RenderableType]:
    """Return rejected batches without details: those known from branches alone, and those superseded, which need no
    action.
    """
    superseded_batches = dict.fromkeys(line.batch for line in now.superseded)
    older = _batches("Rejected earlier, with branches that are kept", now.older)
    return [*older, *_batches("Superseded by other versions of their keys, nothing to do", superseded_batches)]


def _batches(title: str, batches: Collection[str]) -> list[RenderableType]:
    if not batches:
        return []
    rest_text = f", and {rest:,} more (--json has all)" if (rest := len(batches) - MOST_LINES) > 0 else ""
    return [
        Text(f"{title} ({len(batches):,})\n", style="bold"),
        f"    {', '.join([*batches][:MOST_LINES])}{rest_text}",
        "",
    ]


def _of_last(now: Status) -> str:
    return f", of the last {now.of_last:,} decisions" if now.of_last else ""


def _unnamed_files(line: Line) -> list[str]:
    """Return the names of a line's files, unless the reasons name them anyway."""
    are_named = len(line.files) > 1 and all(reason.startswith(line.files) for reason in line.reasons)
    return [] if are_named else _files_text(line).split("\n")


def _reasons(line: Line, colour: str = "red") -> list[RenderableType]:
    rest = len(line.reasons) - REASONS_SHOWN
    rest_lines = [f"… and {rest:,} more"] if rest > 0 else []
    return [indent(reason, 4, colour) for reason in [*line.reasons[:REASONS_SHOWN], *rest_lines]]


def _published(now: Status, at: datetime) -> list[RenderableType]:
    lines = now.published
    rows = sum(line.rows for line in lines)
    title = f"Published ({_files(lines)}, {count(rows, 'row')}{_of_last(now)})"
    number_columns = [name for name in ("quarantined", "replaced") if any(getattr(line, name) for line in lines)]
    lanes = _lanes(lines)
    grid = terminal.table(
        "table", "rows", *number_columns, *lanes, "when", "files", title=title, right=["rows", *number_columns]
    )
    for line in lines[:MOST_LINES]:
        numbers = [f"{number:,}" if (number := getattr(line, name)) else "" for name in number_columns]
        lane_cells = [clean(line.lane) for _ in lanes]
        grid.add_row(
            clean(line.table), f"{line.rows:,}", *numbers, *lane_cells, age_text(line.since, at), _files_text(line)
        )
    return [grid, *_rest_lines(lines), *_usage_lines(lines)] if lines else []


def _lanes(lines: Iterable[Line]) -> list[str]:
    """Return the column for lanes, where some line is not on Spark's."""
    return ["lane"] if any(line.lane == Lane.EXPRESS for line in lines) else []


def _usage_lines(lines: Sequence[Line]) -> list[Text]:
    """Return what the jobs of these lines are billed for, each job once: a batch may have several lines."""
    usages = {(line.batch, line.attempt): line.usage for line in lines if line.usage}.values()
    hours = [sum(usage.vcpu_hours for usage in usages), sum(usage.memory_gb_hours for usage in usages)]
    text = "Their jobs are billed {:,.2f} vCPU-hours, {:,.2f} GB-hours\n".format(*hours)
    return [Text(text, style="dim")] if usages else []


def _files(lines: Sequence[Line]) -> str:
    return count(sum(len(line.files) for line in lines), "file")


def _files_text(line: Line) -> str:
    """Return the names of a line's first files, and how many more there are."""
    rest = len(line.files) - FILES_SHOWN
    return "\n".join([*map(clean, line.files[:FILES_SHOWN]), *([f"… and {rest:,} more"] if rest > 0 else [])])


def _rest_lines(lines: Sequence[Line]) -> list[Text]:
    rest = len(lines) - MOST_LINES
    return [Text(f"… and {rest:,} more (--json has all)\n", style="dim")] if rest > 0 else []


def _next(now: Status) -> list[str]:
    if not (now.in_flight or now.unrouted or now.rejected or now.published or now.older):
        return [
            "Nothing is in flight, unrouted, rejected or published." if now.discarded else "Nothing has landed yet.",
            "Next: lakegate contract push CONTRACT, then: lakegate drop FILE --table TABLE --wait",
        ]
    if now.in_flight:
        return ["Next: lakegate wait"]
    return ["Next: lakegate contract push CONTRACT"] if now.unrouted or now.broken_contracts else []


def discard(
    installation: Installation,
    batch: str,
    reason: str,
    files_chosen: Sequence[str] = (),
    *,
    yes: bool = False,
    as_json: bool,
) -> Exit:
    reason = require_reason(reason)
    if not (files_chosen or as_json) and is_declined(installation, batch, "Discard", yes=yes):
        return leave_undecided(batch)
    with busy(f"discarding {batch}"):
        files = installation.operations.run(Discard(batch=batch, why=reason, files=tuple(files_chosen)))
    if as_json:
        say_json({"batch": batch, "files": files, "why": reason})
        return Exit.SUCCESS
    print_lines(f"{count(files, 'file')} of {batch} discarded for good: {reason}")
    return Exit.SUCCESS


def approve(
    installation: Installation, batch: str, reason: str, keys: Sequence[str] = (), *, yes: bool = False, as_json: bool
) -> Exit:
    reason = require_reason(reason)
    if not (keys or as_json) and is_declined(installation, batch, "Publish", yes=yes):
        return leave_undecided(batch)
    with busy(f"publishing {batch}"):
        result = installation.operations.run(Approve(batch=batch, why=reason, files=tuple(keys)))
    if as_json:
        say_json({"batch": batch, "files": result.files, "why": reason, "left": dict(result.rest)})
        return Exit.SUCCESS
    print_lines(
        f"{count(result.files, 'file')} of {batch} published as audited: {reason}", *left_as_rejected(result.rest)
    )
    return Exit.SUCCESS


def reconcile(installation: Installation, *, as_json: bool) -> Exit:
    with busy("reconciling"):
        installation.operations.run(Reconcile())
    if as_json:
        say_json({"reconciled": True})
    else:
        print_lines("Reconciled. Next: lakegate status")
    return Exit.SUCCESS
