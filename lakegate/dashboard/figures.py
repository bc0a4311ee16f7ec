"""Figures: what pages show of an answer, as values. It asks nothing, shows nothing and interprets no verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from lakegate.adapters.sql import plain
from lakegate.audit.model.plan import Trait, Unit
from lakegate.audit.model.report import WORST_FIRST, CheckResult, Report, Verdict
from lakegate.audit.summary import tally
from lakegate.cli.report import decision_words
from lakegate.counts import count
from lakegate.landing.attempts import named_minute
from lakegate.operations.batch import BatchView, Try, has_rows, is_quarantined
from lakegate.operations.tables import Number
from lakegate.ports import LogEntry
from lakegate.workflow.overview.line import Line
from lakegate.workflow.status import Status

Row = tuple[Any, ...]
LETTERS = 1_000  # of a value on a page
KINDS = {"published": "pass", "rejected": "fail", "unrouted": "warn", "discarded": "quiet", "superseded": "quiet"}
"""Colours of states, by the verdict whose colour they have; states of files under way are `moving`."""


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A number at the head of the overview."""

    label: str
    number: int
    under: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to a batch."""

    at: datetime
    text: str
    detail: str = ""
    kind: str = "moving"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A column, and a check on it that rows fail: how many, and their share of the rows of the files that have some."""

    column: str
    check: str
    verdict: Verdict
    failing_rows: int
    rows: int

    @property
    def width(self) -> float:
        """The share in percent, never too narrow to see."""
        return max(min(100.0, 100 * self.failing_rows / self.rows), 0.5) if self.rows else 100.0

    @property
    def share(self) -> str:
        return f"{100 * self.failing_rows / self.rows:.3g}% of {count(self.rows, 'row')}" if self.rows else "no rows"


def tiles(now: Status) -> list[Tile]:
    """Return the numbers of files in flight, unrouted, rejected and published."""
    waiting_files = sum(len(line.files) for line in now.in_flight if line.waits)
    rows, quarantine_rows = sum(line.rows for line in now.published), sum(line.quarantined for line in now.published)
    last = f"of the last {count(now.of_last, 'decision')}" if now.of_last else ""
    return [
        Tile(label="In flight", number=_files(now.in_flight), under=f"{waiting_files:,} waiting", kind="moving"),
        Tile(label="Unrouted", number=_files(now.unrouted), under="held until a contract routes them", kind="warn"),
        Tile(label="Rejected", number=_files(now.rejected), under=last, kind="fail"),
        Tile(
            label="Published",
            number=_files(now.published),
            under=", ".join(filter(None, (count(rows, "row"), last))),
            kind="pass",
        ),
        Tile(label="Rows in quarantine", number=quarantine_rows, under="put aside when published", kind="warn"),
    ]


def _files(lines: Iterable[Line]) -> int:
    return sum(len(line.files) for line in lines)


def timeline(view: BatchView) -> list[Event]:
    """Return what happened to a batch, oldest first: an audit has a beginning and an end, and a decision is last."""
    landing_events = [Event(at=named_minute(view.batch), text="its first file landed")]
    events = [
        *landing_events,
        *(event for attempt in view.attempts for event in _attempt(attempt)),
        *map(_decision_event, view.decisions),
    ]
    return sorted(events, key=lambda event: event.at)


def _attempt(attempt: Try) -> Iterator[Event]:
    if report := attempt.report:
        lane = f" on the {attempt.lane} lane" if attempt.lane else ""
        yield Event(at=report.started_at, text=f"attempt a{attempt.attempt} began{lane}", detail=attempt.lane_why)
        yield Event(at=report.finished_at, text=f"a{attempt.attempt} audited: {tally(report)}", kind=_worst(report))


def _worst(report: Report) -> str:
    worst = min((WORST_FIRST.index(file.verdict) for file in report.files), default=0)
    return str(WORST_FIRST[worst])


def _decision_event(decision: LogEntry) -> Event:
    record = decision.record
    files, *remarks = decision_words(record)
    sentence = f"{files} {decision.state}" + (f" (a{record.attempt})" if record.attempt else "")
    return Event(at=decision.at, text=sentence, detail=", ".join(remarks), kind=KINDS[decision.state])


def faults(report: Report) -> list[Fault]:
    """Return which columns failed in how many rows, by check, the worst first."""
    faults_by_key: dict[tuple[str, str], Fault] = {}
    for file in report.files:
        for check in file.checks:
            for column in check.columns if check.failing_rows else ():
                before = faults_by_key.get((column, check.check))
                faults_by_key[column, check.check] = Fault(
                    column=column,
                    check=check.name,
                    verdict=min((check.verdict, before.verdict), key=WORST_FIRST.index) if before else check.verdict,
                    failing_rows=check.failing_rows + (before.failing_rows if before else 0),
                    rows=check.rows + (before.rows if before else 0),
                )
    return sorted(
        faults_by_key.values(), key=lambda fault: (WORST_FIRST.index(fault.verdict), -fault.failing_rows, fault.column)
    )


def listed_checks(report: Report) -> list[CheckResult]:
    """Return the checks whose failing rows are in the branch's table, each once, the worst first."""
    checks_by_id = {
        check.check: check
        for file in report.files
        for check in file.checks
        if has_rows(file, check) and not is_quarantined(file, check) and not check.has(Trait.LINES)
    }
    return sorted(checks_by_id.values(), key=lambda check: WORST_FIRST.index(check.verdict))


def cell(value: Any) -> Any:
    """Return DuckDB's value for a page: of a long one its beginning, and how much is left out."""
    known_value = plain(value)
    text = str(known_value) if isinstance(known_value, str | list | dict) else ""
    rest = len(text) - LETTERS
    return f"{text[:LETTERS]}… and {count(rest, 'more character')}" if rest > 0 else known_value


def failing_first(failing_rows: Iterable[Sequence[Row]], other_rows: Sequence[Row], limit: int) -> list[Row]:
    """Return at most so many rows: those that fail some check, and then the others. A row that fails several checks is
    there once, and equal rows as often as they are in one of the lists.
    """
    lists = [*failing_rows, other_rows]
    row_by_text = {repr(row): row for rows in lists for row in rows}
    counts = Counter[str]()
    for rows in lists:
        counts |= Counter(map(repr, rows))
    return [row_by_text[text] for text in islice(counts.elements(), limit)]


@dataclass(frozen=True, kw_only=True)
class MeasureText:
    """A check's number in words."""

    name: str
    verdict: Verdict
    value: str
    passes: str
    failing_rows: int


def measure_texts(numbers: Iterable[Number]) -> list[MeasureText]:
    """Return the numbers in words, the worst first."""
    by_severity = sorted(numbers, key=lambda measure: (WORST_FIRST.index(measure.verdict), measure.name))
    return [
        MeasureText(
            name=measure.name,
            verdict=measure.verdict,
            value=_range_text(measure.least, measure.most, measure.unit),
            passes=_bounds(measure.low, measure.high, measure.unit),
            failing_rows=measure.failing_rows,
        )
        for measure in by_severity
    ]


def _range_text(least: float | None, greatest: float | None, unit: Unit) -> str:
    if least is None or greatest is None:
        return "no value"
    ends = dict.fromkeys(_number(end, unit) for end in (least, greatest))
    return " to ".join(ends)


def _bounds(low: float | None, high: float | None, unit: Unit) -> str:
    if low is None and high is None:
        return ""
    if low is None or high is None:
        return f"from {_number(low, unit)}" if low is not None else f"up to {_number(high or 0.0, unit)}"
    return _range_text(low, high, unit)


def _number(value: float, unit: Unit) -> str:
    return f"{value:,.6g}" + ("%" if unit is Unit.PERCENT else "")


ACTS = ("retry", "approve", "discard")


def possible(view: BatchView) -> list[str]:
    """Return the acts that the batch's next commands name, and no other."""
    return [act for act in ACTS if any(command.startswith(f"lakegate {act} ") for command in view.next)]
