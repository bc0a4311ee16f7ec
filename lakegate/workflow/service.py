"""Service: the ports of one installation, and the settings of its workflow. It decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.lane import Lane
from lakegate.landing.lane import Express
from lakegate.ports import (
    Branches,
    Channel,
    Clock,
    DeadLetters,
    JobRunner,
    Landing,
    Ledger,
    Notifier,
    Publisher,
    Reminders,
    Store,
    Tables,
    Telemetry,
)


@dataclass(frozen=True, kw_only=True)
class Service:
    """One installation. The sweep takes up files and messages that are older than the `grace`.

    Receipts move to the archive `compact_after` they landed, and closed entries of those with more entries than
    `truncate_above`. A file is rejected after so many `attempts` at it alone whose job crashed. Jobs reach the
    `catalog` at this address. `jobs_at_once` Spark jobs run at a time. Where files wait for company, they wait for
    the `batch_window` at the most; `reminders` tell of its end, and without them the sweep does. Nothing is seen in
    the landing bucket but what lies below the `landing_prefixes`. Without `express`, Spark audits everything. If it
    `notes_audits`, jobs append what they find to audits tables. The `channels`, by name, are told of what is
    published and rejected.
    """

    branches: Branches
    ledger: Ledger
    publisher: Publisher
    tables: Tables
    runner: JobRunner
    landing: Landing
    store: Store
    notifier: Notifier
    telemetry: Telemetry
    dead_letters: DeadLetters
    clock: Clock
    catalog: CatalogAddress
    grace: timedelta = timedelta(minutes=2)
    compact_after: timedelta = timedelta(days=14)
    truncate_above: int = 10
    attempts: int = 3
    jobs_at_once: int = 2
    batch_window: timedelta = timedelta()
    reminders: Reminders | None = None
    landing_prefixes: tuple[str, ...] = ("",)
    express: Express | None = None
    channels: Mapping[str, Channel] = field(default_factory=dict)
    notes_audits: bool = False

    @property
    def slots(self) -> Mapping[Lane, int]:
        """Jobs of each lane that run at a time. Those of the express lane cost no job of EMR Serverless."""
        return {Lane.SPARK: self.jobs_at_once, Lane.EXPRESS: self.express.at_once if self.express else 0}
