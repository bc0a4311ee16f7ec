"""One module an engine: `version()`, and `auditor(spark, rules, table, samples=…)`, which gives a function that audits
the table once. Each is written as the engine's own documentation would have it; with `samples` it is asked for counts
and failing rows, as far as it has any.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Told:
    """What an engine says: how many of its checks it evaluated, and the names of those that failed."""

    evaluated: int
    failed: tuple[str, ...]
