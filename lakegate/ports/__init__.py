"""Ports: the workflow's needs of the world, as small Protocols in our own words. No vendor's types or errors appear
here.

- `catalog`: branches, the ledger of receipts and decisions, and the publisher, which alone changes tables on main
- `tables`: Iceberg's metadata on branches
- `jobs`: runs of an attempt's job
- `warehouse`: the tables' files as they lie in storage
- `landing`: the landing bucket, and staging copies
- `store`: the service's own objects
- `notices`: messages to people
- `events`: events for other systems
- `clock`: time and randomness
- `tokens`: who this process is to the catalog
- `reminders`: calls that come when a queued file's time to wait is over
- `intake`: what begins jobs, which a deployment closes for a while
- `telemetry`: signals for whoever watches the service
- `dead_letters`: events that could not be handled

Every method may raise `Retryable` (nothing happened) or `OutcomeUnknown` (it may have happened). `lakegate.testing` has
an in-memory implementation of each port; the same contract tests run on it and on the real adapter.
"""

from lakegate.audit.ref import Ref
from lakegate.ports.catalog import (
    Branches,
    Catalog,
    DecidedFile,
    Ledger,
    LogEntry,
    MetadataFile,
    Publisher,
    Record,
    Reference,
)
from lakegate.ports.clock import Clock
from lakegate.ports.dead_letters import DeadLetter, DeadLetters
from lakegate.ports.events import Channel, Event, EventCheck, EventColumn, EventFile, EventKind
from lakegate.ports.intake import Intake
from lakegate.ports.jobs import JobRun, JobRunner, JobState, Reach, Usage
from lakegate.ports.landing import Landing
from lakegate.ports.notices import Message, MessageFile, MessageKind, Notifier
from lakegate.ports.reminders import Reminders
from lakegate.ports.store import Store
from lakegate.ports.tables import Tables
from lakegate.ports.telemetry import Signal, Telemetry
from lakegate.ports.tokens import Tokens
from lakegate.ports.warehouse import StoredFile, Warehouse
from lakegate.publishing.port import MAIN, Branch, Changes, FileChanges, TableIdentity

__all__ = [
    "MAIN",
    "Branch",
    "Branches",
    "Catalog",
    "Changes",
    "Channel",
    "Clock",
    "DeadLetter",
    "DeadLetters",
    "DecidedFile",
    "Event",
    "EventCheck",
    "EventColumn",
    "EventFile",
    "EventKind",
    "FileChanges",
    "Intake",
    "JobRun",
    "JobRunner",
    "JobState",
    "Landing",
    "Ledger",
    "LogEntry",
    "Message",
    "MessageFile",
    "MessageKind",
    "MetadataFile",
    "Notifier",
    "Publisher",
    "Reach",
    "Record",
    "Ref",
    "Reference",
    "Reminders",
    "Signal",
    "Store",
    "StoredFile",
    "TableIdentity",
    "Tables",
    "Telemetry",
    "Tokens",
    "Usage",
    "Warehouse",
]
