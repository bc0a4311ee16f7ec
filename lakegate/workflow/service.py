"""The ports of one installation, bundled for the workflow. It holds nothing else and decides nothing."""

from dataclasses import dataclass
from datetime import timedelta

from lakegate.ports import Branches, Clock, JobRunner, Landing, Ledger, Notifier, Publisher, Store, Tables


@dataclass(frozen=True, kw_only=True)
class Service:
    """One installation. `grace` is how long an event, a branch or a message is left alone before reconcile takes it
    up; `keep` is how long a receipt stays on main before it is folded into the archive, and `long` how many versions
    it may hold before what is closed of them goes there; `attempts` is how many in a row may crash before their batch
    is rejected.
    """

    branches: Branches
    ledger: Ledger
    publisher: Publisher
    tables: Tables
    runner: JobRunner
    landing: Landing
    store: Store
    notifier: Notifier
    clock: Clock
    nessie_uri: str
    warehouse: str
    grace: timedelta = timedelta(minutes=2)
    keep: timedelta = timedelta(days=14)
    long: int = 10
    attempts: int = 3
