"""Every port in memory, for tests: deterministic, and held to the contract tests of the real adapters.

Modules have the names of `lakegate.ports`. Catalog and tables share a `lake`, a store of branches, commits and merges;
nothing else is shared, and nothing is decided by time or chance. Controls that tests need beyond the ports (setting the
clock, finishing a job) are on the classes.
"""

from lakegate.testing.catalog import MemoryCatalog
from lakegate.testing.clock import MemoryClock
from lakegate.testing.dead_letters import MemoryDeadLetters
from lakegate.testing.events import MemoryChannel
from lakegate.testing.intake import MemoryIntake
from lakegate.testing.jobs import MemoryJobRunner
from lakegate.testing.lake import MemoryLake, TableState
from lakegate.testing.landing import MemoryLanding
from lakegate.testing.notices import MemoryNotifier
from lakegate.testing.reminders import MemoryReminders
from lakegate.testing.store import MemoryStore
from lakegate.testing.tables import MemoryTables
from lakegate.testing.telemetry import MemoryTelemetry
from lakegate.testing.tokens import MemoryTokens
from lakegate.testing.warehouse import MemoryWarehouse

__all__ = [
    "MemoryCatalog",
    "MemoryChannel",
    "MemoryClock",
    "MemoryDeadLetters",
    "MemoryIntake",
    "MemoryJobRunner",
    "MemoryLake",
    "MemoryLanding",
    "MemoryNotifier",
    "MemoryReminders",
    "MemoryStore",
    "MemoryTables",
    "MemoryTelemetry",
    "MemoryTokens",
    "MemoryWarehouse",
    "TableState",
]
