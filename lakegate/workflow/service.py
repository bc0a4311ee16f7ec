"""Service: the ports of one installation, and the settings of its workflow. It decides nothing."""

from dataclasses import dataclass
from datetime import timedelta

from lakegate.audit.model.client import Client
from lakegate.landing.lane import Express
from lakegate.ports import (
    Branches,
    Clock,
    DeadLetters,
    JobRunner,
    Landing,
    Ledger,
    Notifier,
    Publisher,
    Store,
    Tables,
    Telemetry,
)


@dataclass(frozen=True, kw_only=True)
class Service:
    """One installation. The sweep takes up events, branches and messages that are older than the `grace`.

    Receipts move to the archive `compact_after` they landed, and closed entries of those with more entries than
    `truncate_above`. A batch is rejected after so many `attempts` in a row whose job crashed. Jobs send the catalog
    tokens of the `job_client`, or of their own role for the `token_audience`, or none. `jobs_at_once` jobs run at a
    time. Nothing is seen in the landing bucket but what lies below the `landing_prefixes`. Without `express`, Spark
    audits everything.
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
    nessie_uri: str
    warehouse: str
    nessie_ca: str = ""
    token_audience: str = ""
    job_client: Client | None = None
    grace: timedelta = timedelta(minutes=2)
    compact_after: timedelta = timedelta(days=14)
    truncate_above: int = 10
    attempts: int = 3
    jobs_at_once: int = 2
    landing_prefixes: tuple[str, ...] = ("",)
    express: Express | None = None
