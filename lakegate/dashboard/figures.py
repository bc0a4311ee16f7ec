"""Figures: what pages show of an answer, as values. It asks nothing, shows nothing and interprets no verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from lakegate.audit.model.plan import MetricKind, Unit
from lakegate.audit.model.report import WORST_FIRST, CheckResult, Report, Verdict
from lakegate.audit.summary import tally
from lakegate.cli.report import decision_words
from lakegate.cli.sql import plain
from lakegate.counts import count
from lakegate.landing.attempts import named_minute
from lakegate.operations.batch import BatchView, Try, has_rows, is_of, is_quarantined
from lakegate.operations.tables import Number
from lakegate.ports import Decided
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
    says: str
    more: str = ""
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
    def says(self) -> str:
        return f"{100 * self.failing_rows / self.rows:.3g}% of {count(self.rows, 'row')}" if self.rows else "no rows"


def tiles(now: Status) -> list[Tile]:
    """Return the numbers of files in flight, unrouted, rejected and published."""
    waiting = sum(len(line.files) for line in now.in_flight if line.waits)
    rows, aside = sum(line.rows for line in now.published), sum(line.quarantined for line in now.published)
    last = f"of the last {count(now.of_last, 'decision')}" if now.of_last else ""
    return [
        Tile(label="In flight", number=_files(now.in_flight), under=f"{waiting:,} waiting", kind="moving"),
        Tile(label="Unrouted", number=_files(now.unrouted), under="held until a contract routes them", kind="warn"),
        Tile(label="Rejected", number=_files(now.rejected), under=last, kind="fail"),
        Tile(
            label="Published",
            number=_files(now.published),
            under=", ".join(filter(None, (count(rows, "row"), last))),
            kind="pass",
        ),
        Tile(label="Rows in quarantine", number=aside, under="put aside when published", kind="warn"),
    ]


def _files(lines: Iterable[Line]) -> int:
    return sum(len(line.files) for line in lines)


def timeline(view: BatchView) -> list[Event]:
    """Return what happened to a batch, oldest first: an audit has a beginning and an end, and a decision is last."""
    landed = [Event(at=named_minute(view.batch), says="its first file landed")]
    events = [*landed, *(event for tried in view.attempts for event in _attempt(tried)), *map(_decided, view.decisions)]
    return sorted(events, key=lambda event: event.at)


def _attempt(tried: Try) -> Iterator[Event]:
    if report := tried.report:
        lane = f" on the {tried.lane} lane" if tried.lane else ""
        yield Event(at=report.started_at, says=f"attempt a{tried.attempt} began{lane}", more=tried.lane_why)
        yield Event(at=report.finished_at, says=f"a{tried.attempt} audited: {tally(report)}", kind=_worst(report))


def _worst(report: Report) -> str:
    worst = min((WORST_FIRST.index(file.verdict) for file in report.files), default=0)
    return str(WORST_FIRST[worst])


def _decided(decided: Decided) -> Event:
    note = decided.note
    files, *more = decision_words(note)
    says = f"{files} {decided.state}" + (f" (a{note.attempt})" if note.attempt else "")
    return Event(at=decided.at, says=says, more=", ".join(more), kind=KINDS[decided.state])


def faults(report: Report) -> list[Fault]:
    """Return which columns failed in how many rows, by check, the worst first."""
    found: dict[tuple[str, str], Fault] = {}
    for file in report.files:
        for check in file.checks:
            for column in check.columns if check.failing_rows else ():
                before = found.get((column, check.check))
                found[column, check.check] = Fault(
                    column=column,
                    check=check.name,
                    verdict=min((check.verdict, before.verdict), key=WORST_FIRST.index) if before else check.verdict,
                    failing_rows=check.failing_rows + (before.failing_rows if before else 0),
                    rows=check.rows + (before.rows if before else 0),
                )
    return sorted(found.values(), key=lambda it: (WORST_FIRST.index(it.verdict), -it.failing_rows, it.column))


def listed_checks(report: Report) -> list[CheckResult]:
    """Return the checks whose failing rows are in the branch's table, each once, the worst first."""
    found = {
        check.check: check
        for file in report.files
        for check in file.checks
        if has_rows(file, check) and not is_quarantined(file, check) and not is_of(check, MetricKind.MALFORMED)
    }
    return sorted(found.values(), key=lambda check: WORST_FIRST.index(check.verdict))


def cell(value: Any) -> Any:
    """Return DuckDB's value for a page: of a long one its beginning, and how much is left out."""
    known = plain(value)
    text = str(known) if isinstance(known, str | list | dict) else ""
    more = len(text) - LETTERS
    return f"{text[:LETTERS]}… and {count(more, 'more character')}" if more > 0 else known


def failing_first(failing: Iterable[Sequence[Row]], others: Sequence[Row], most: int) -> list[Row]:
    """Return at most so many rows: those that fail some check, and then the others. A row that fails several checks is
    there once, and equal rows as often as they are in one of the lists.
    """
    lists = [*failing, others]
    known = {repr(row): row for rows in lists for row in rows}
    counts = Counter[str]()
    for rows in lists:
        counts |= Counter(map(repr, rows))
    return [known[text] for text in islice(counts.elements(), most)]


@dataclass(frozen=True, kw_only=True)
class Said:
    """A check's number in words."""

    name: str
    verdict: Verdict
    says: str
    passes: str
    failing_rows: int


def said(numbers: Iterable[Number]) -> list[Said]:
    """Return the numbers in words, the worst first."""
    ordered = sorted(numbers, key=lambda it: (WORST_FIRST.index(it.verdict), it.name))
    return [
        Said(
            name=it.name,
            verdict=it.verdict,
            says=_between(it.least, it.most, it.unit),
            passes=_bounds(it.low, it.high, it.unit),
            failing_rows=it.failing_rows,
        )
        for it in ordered
    ]


def _between(least: float | None, most: float | None, unit: Unit) -> str:
    if least is None or most is None:
        return "no value"
    ends = dict.fromkeys(_number(end, unit) for end in (least, most))
    return " to ".join(ends)


def _bounds(low: float | None, high: float | None, unit: Unit) -> str:
    if low is None and high is None:
        return ""
    if low is None or high is None:
        return f"from {_number(low, unit)}" if low is not None else f"up to {_number(high or 0.0, unit)}"
    return _between(low, high, unit)


def _number(value: float, unit: Unit) -> str:
    return f"{value:,.6g}" + ("%" if unit is Unit.PERCENT else "")


ACTS = ("retry", "approve", "discard")


def possible(view: BatchView) -> list[str]:
    """Return the acts that the batch's next commands name, and no other."""
    return [act for act in ACTS if any(command.startswith(f"lakegate {act} ") for command in view.next)]
