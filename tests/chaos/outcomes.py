"""What became of each month that something was broken in: as values, as a table, as JSON. It breaks nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

BY_ITSELF, BY_RETRY = "published", "published by a retry"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a month. `seen_at` is how far it was when the fault had hit, `attempt` the one that was published;
    `seconds` are from the fault until it was decided; `messages` is how many Slack messages name it.
    """

    month: str
    fault: str
    point: str
    became: str
    seen_at: str = ""
    attempt: int = 0
    seconds: float = 0.0
    messages: int = 0

    @property
    def wrong(self) -> Iterator[str]:
        """A month that needed nobody is not spoken of; of one that needed a person people are told once."""
        expected = int(self.became == BY_RETRY)
        if self.became not in {BY_ITSELF, BY_RETRY}:
            yield f"{self.month}: {self.became}"
        elif self.messages != expected:
            yield f"{self.month}: {self.messages} Slack messages, and not {expected}"


def table(outcomes: Iterable[Outcome]) -> Table:
    made = Table(title="What was broken, and what became of it")
    for column in ("month", "fault", "point", "then it was at", "outcome", "attempt"):
        made.add_column(column)
    made.add_column("seconds to recover", justify="right")
    for it in outcomes:
        made.add_row(it.month, it.fault, it.point, it.seen_at, it.became, str(it.attempt), f"{it.seconds:.0f}")
    return made


def write(path: Path, outcomes: Iterable[Outcome], settings: Mapping[str, object], seconds: float) -> None:
    """`settings` are the waits that recovery rests on; `seconds` are those of the whole run."""
    result = {"settings": settings, "seconds": round(seconds), "outcomes": [asdict(it) for it in outcomes]}
    path.write_text(json.dumps(result, indent=1) + "\n")
