"""Outcomes of each month that something was broken in: as values, as a table, as JSON. It breaks nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

BY_ITSELF, BY_RETRY = "published", "published by a retry"
SPARK, EXPRESS, HANDED_OVER = "spark", "express", "express, handed over"  # ways of a file
FIRST_LANES = {SPARK: SPARK, EXPRESS: EXPRESS, HANDED_OVER: EXPRESS}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a part of a month. It was to go this `way`, and its attempts took these `lanes`, to the one that
    was published. `seen_at` is how far it was when the fault had hit; `seconds` are from the fault until it was
    decided; `messages` is how many Slack messages name it.
    """

    month: str
    way: str
    fault: str
    point: str
    became: str
    seen_at: str = ""
    lanes: tuple[str, ...] = ()
    seconds: float = 0.0
    messages: int = 0

    @property
    def wrong(self) -> Iterator[str]:
        """A part that needed nobody is not spoken of; of one that needed a person people are told once. It has gone its
        way: what was handed over is Spark's from then on.
        """
        expected = int(self.became == BY_RETRY)
        if self.became not in {BY_ITSELF, BY_RETRY}:
            yield f"{self.month}: {self.became}"
        elif self.messages != expected:
            yield f"{self.month}: {self.messages} Slack messages, and not {expected}"
        if self.lanes[:1] != (FIRST_LANES[self.way],) or (self.way == HANDED_OVER and set(self.lanes[1:]) != {SPARK}):
            yield f"{self.month}: its attempts took the lanes {self.lanes}, and it was to go {self.way}"


def table(outcomes: Iterable[Outcome]) -> Table:
    made = Table(title="What was broken, and what became of it")
    for column in ("month", "way", "fault", "point", "then it was at", "outcome", "lanes"):
        made.add_column(column)
    made.add_column("seconds to recover", justify="right")
    for it in outcomes:
        lanes = ", ".join(it.lanes)
        made.add_row(it.month, it.way, it.fault, it.point, it.seen_at, it.became, lanes, f"{it.seconds:.0f}")
    return made


def write(path: Path, outcomes: Iterable[Outcome], settings: Mapping[str, object], seconds: float) -> None:
    """`settings` are the waits that recovery rests on; `seconds` are those of the whole run."""
    result = {"settings": settings, "seconds": round(seconds), "outcomes": [asdict(it) for it in outcomes]}
    path.write_text(json.dumps(result, indent=1) + "\n")
