"""One module an engine: `version()`, and `auditor(spark, rules, table, samples=…)`, which returns a function that
audits the table once. Each follows the engine's own documentation. With `samples`, the engine also gives counts and
failing rows, if it can.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Told:
    """An engine's result: the number of evaluated checks, and the names of those that failed."""

    evaluated: int
    failed: tuple[str, ...]
