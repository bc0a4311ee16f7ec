"""In-memory implementations of every port, for tests: deterministic, and held to the contract tests of the real ones.

They persist nothing and contact nothing. Controls that tests need beyond the ports (setting the clock, finishing a job)
are on the classes.
"""

from lakegate.testing.lake import MemoryLake, TableState
from lakegate.testing.memory import (
    MemoryCatalog,
    MemoryClock,
    MemoryJobRunner,
    MemoryLanding,
    MemoryNotifier,
    MemoryStore,
    MemoryTables,
)

__all__ = [
    "MemoryCatalog",
    "MemoryClock",
    "MemoryJobRunner",
    "MemoryLake",
    "MemoryLanding",
    "MemoryNotifier",
    "MemoryStore",
    "MemoryTables",
    "TableState",
]
