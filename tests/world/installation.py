"""Ports of an installation in memory, what landed there with its stories, and strangers who change tables on main.

How its jobs run and who acts is a subclass's: at once in `world`, call by call in the simulation.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any

from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.landing.files import FileVersion
from lakegate.ports import MAIN, Catalog, Ref, TableIdentity, Tables
from lakegate.testing import (
    MemoryClock,
    MemoryDeadLetters,
    MemoryJobRunner,
    MemoryLanding,
    MemoryNotifier,
    MemoryReminders,
    MemoryStore,
    MemoryTelemetry,
)
from lakegate.testing.lake import Key, KeyKind, TableState
from lakegate.workflow.service import Service
from tests.world.engine import FIELDS, Lake
from tests.world.stories import Rewrites, Story, as_written

FLIGHTS, PLANES = "nyc.flights", "nyc.planes"
GRACE = timedelta(minutes=2)


class MemoryInstallation:
    """See the module."""

    lake: Lake
    runner: MemoryJobRunner
    service: Service

    def __init__(self, *, clock: MemoryClock, store: MemoryStore, notifier: MemoryNotifier) -> None:
        self.clock, self.store, self.notifier = clock, store, notifier
        self.landing, self.reminders = MemoryLanding(clock), MemoryReminders(clock)
        self.telemetry, self.dead_letters = MemoryTelemetry(), MemoryDeadLetters()
        self.stories: dict[str, Story] = {}
        self.files: dict[str, FileVersion] = {}
        self.rewritten: Rewrites = {}
        self.uuids = 0

    def make_service(self, catalog: Catalog, tables: Tables, **settings: Any) -> Service:
        return Service(
            branches=catalog,
            ledger=catalog,
            publisher=catalog,
            tables=tables,
            runner=self.runner,
            landing=self.landing,
            store=self.store,
            notifier=self.notifier,
            telemetry=self.telemetry,
            dead_letters=self.dead_letters,
            clock=self.clock,
            catalog=NO_CATALOG,
            grace=GRACE,
            **settings,
        )

    def change(self, **settings: Any) -> None:
        """A deployment changes the service."""
        self.service = replace(self.service, **settings)

    def new_uuid(self) -> str:
        self.uuids += 1
        return f"uuid-{self.uuids}"

    def new_table(self) -> TableIdentity:
        """As which a job makes a table: each time it is another."""
        uuid = self.new_uuid()
        return TableIdentity(uuid=uuid, fields=FIELDS, last_id=len(FIELDS), partitions="", contract_hash="")

    # Strangers.

    def table_on_main(self, table: str) -> TableState | None:
        return self.lake.table(Ref(MAIN), table)

    def identity(self, table: str) -> TableIdentity:
        """Of a table that main has."""
        state = self.table_on_main(table)
        assert state is not None
        return state.identity

    def change_table(self, table: str, **changes: Any) -> None:
        """Somebody commits a table to main, which has it."""
        state = self.table_on_main(table)
        assert state is not None
        self.lake.commit(MAIN, {Key(kind=KeyKind.TABLE, name=table): replace(state, **changes)})

    def change_identity(self, table: str, **changes: Any) -> None:
        self.change_table(table, identity=replace(self.identity(table), **changes))

    def write_together(self, table: str, paths: Collection[str]) -> None:
        """Somebody writes the rows of data files on main into another one."""
        state = self.table_on_main(table)
        assert state is not None
        path = f"compacted/of-several/{len(self.rewritten)}"
        self.rewritten[path] = as_written({it: state.files[it] for it in paths}, self.rewritten)
        files = {it: rows for it, rows in state.files.items() if it not in paths}
        self.change_table(table, files=files | {path: sum(state.files[it] for it in paths)})
