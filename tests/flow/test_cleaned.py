"""A real lake is cleaned: what an approval needs stays, main reads whole, and what nothing needs goes.

Time is moved by hand. Other tests have tables in the same lake, and this one looks at its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
import requests
from pyiceberg.table import Table

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.adapters.warehouse import S3Warehouse
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, MetadataFile, Ref, Reference
from lakegate.ports.warehouse import table_folder
from lakegate.publishing.nessie import NessieCatalog
from lakegate.testing import MemoryClock
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.cleaning.candidates import Amount, Reprieve
from lakegate.workflow.cleaning.clean import CleanedFolder, clean
from lakegate.workflow.cleaning.memory import NAME as REMEMBERED
from lakegate.workflow.cleaning.needs import Need
from lakegate.workflow.retry import discard
from tests.flow.conftest import Installation

pytestmark = [pytest.mark.nessie, pytest.mark.spark]

ID = "name: id, logicalType: integer, logicalTypeOptions: {format: i64}"
B = "name: b, logicalType: integer, logicalTypeOptions: {format: i64, minimum: 0}"
LONG = 60  # days: more than main's history, a branch's days and a week


class OwnCatalog(NessieCatalog):
    """A Nessie in which no other test has anything."""

    def __init__(self, uri: str, name: str) -> None:
        super().__init__(uri)
        self._name = name

    def references(self) -> list[Reference]:
        return [it for it in super().references() if it.name == MAIN or self._name in it.name]

    def metadata_files(self, head: str, since: str | datetime) -> Iterator[MetadataFile]:
        yield from (it for it in super().metadata_files(head, since) if self._name in it.table)


class OwnWarehouse(S3Warehouse):
    """A warehouse in which no other test has anything."""

    def __init__(self, name: str) -> None:
        self._name = name

    def folders(self, location: str) -> Iterator[str]:
        yield from (it for it in super().folders(location) if f"/{self._name}/" in it)


@dataclass(kw_only=True)
class Drill:
    """The installation with a clock and a warehouse."""

    installation: Installation
    clock: MemoryClock = field(default_factory=lambda: MemoryClock(datetime.now(UTC)))

    def __post_init__(self) -> None:
        its = self.installation
        catalog = OwnCatalog(its.lake.nessie_uri, its.prefix)
        its.service = replace(its.service, branches=catalog, clock=self.clock)
        its.service.store.delete(REMEMBERED)  # of a drill in the same bucket, for which it was later
        self.warehouse = OwnWarehouse(its.prefix)

    def wait(self, days: float) -> None:
        self.clock.advance(timedelta(days=days).total_seconds())

    def clean(self, *, delete: bool, days: int = 30) -> CleanedFolder:
        """Returns what was made of the one folder that the catalog knows."""
        found = clean(self.installation.service, self.warehouse, days=days, delete=delete)
        assert list(found.unknown.values()) == [Amount(1, 1)]
        [folder] = found.folders
        return folder

    def clean_twice(self) -> set[str]:
        """Clean, look a week later, and clean again. Returns what is gone."""
        before = self.there()
        first = self.clean(delete=True)
        self.wait(7)
        second = self.clean(delete=False)
        assert (first.amount_to_delete.files, self.there()) == (0, before)
        self.clean(delete=True)
        gone = before - self.there()
        assert len(gone) == second.amount_to_delete.files == first.amounts[Reprieve.SECOND_RUN].files
        return gone

    def there(self) -> set[str]:
        """Every file of the tables' folders."""
        folders = self.warehouse.folders(self.installation.service.tables.location())
        return {file.uri for folder in folders for file in self.warehouse.files(folder)}

    def put(self, uri: str) -> str:
        """Write a file of one byte that no table names."""
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        self.installation.lake.s3().put_object(Bucket=bucket, Key=key, Body=b"1")
        return uri

    def table(self, ref: Ref) -> Table:
        lake = self.installation.lake
        found: Table = RefCatalog(lake.nessie_uri, lake.warehouse, ref, storage()).load_table(self.installation.table)
        return found

    def ids(self, ref: Ref) -> list[int]:
        return sorted(self.table(ref).scan().to_arrow().column("id").to_pylist())

    def data(self, ref: Ref) -> set[str]:
        return {task.file.file_path for task in self.table(ref).scan().plan_files()}

    def tag(self) -> Ref:
        """Somebody gives main's head a name of their own."""
        lake, name = self.installation.lake, f"{self.installation.prefix}-as-reported"
        at = {"type": "BRANCH", "name": MAIN, "hash": lake.head()}
        query = {"name": name, "type": "TAG"}
        requests.post(f"{lake.nessie_uri}/api/v2/trees", params=query, json=at, timeout=300).raise_for_status()
        return Ref(name)

    def compact(self) -> None:
        """Somebody writes all rows of the table on main into one data file."""
        table = self.table(Ref(MAIN))
        table.overwrite(table.scan().to_arrow())

    def audited(self, attempt: Attempt) -> Ref:
        report = read_report(self.installation.service.store, attempt)
        assert report
        return Ref("", report.audited)

    def of_table(self, ref: Ref) -> set[str]:
        """All files that the table at a ref consists of, as PyIceberg lists them."""
        table = self.table(ref)
        lists = {it.manifest_list for it in table.snapshots()}
        manifests = {manifest.manifest_path for it in table.snapshots() for manifest in it.manifests(table.io)}
        return {table.metadata_location, *lists, *manifests, *self.data(ref)}


@pytest.mark.extended
def test_after_two_runs_a_week_apart_an_approval_still_publishes_and_what_nothing_needs_is_gone(
    installation: Installation,
) -> None:
    drill, main = Drill(installation=installation), Ref(MAIN)
    installation.push(ID, B)
    first = installation.drop({"id": [1, 2], "b": [1, 2]})
    installation.publish(first)
    base, bad, good = Ref("", installation.lake.head()), {"id": [3, 4], "b": [3, -4]}, {"id": [5], "b": [5]}
    kept = installation.attempt(installation.drop(bad), installation.drop(good))
    dropped = installation.attempt(installation.drop({"id": [6], "b": [-6]}))
    newer = installation.attempt(installation.drop({"id": [1, 7], "b": [1, 7]}, key=first.key))
    installation.runner.submit_all()
    installation.settle(kept, dropped, newer)
    tag = drill.tag()
    drill.compact()
    discard(installation.service, dropped.batch, reason="broken", by="ann")
    folder = table_folder(min(drill.data(main)), installation.service.tables.location()) or ""
    orphans = {drill.put(f"{folder}/data/orphan.parquet"), drill.put(f"{folder}/metadata/orphan.avro")}
    strange = {drill.put(f"{folder}/notes.txt"), drill.put(f"{folder.replace('things_', 'others_')}/data/1.parquet")}

    assert drill.ids(main) == [1, 5, 7]
    audited, needless = drill.audited(kept), drill.data(drill.audited(dropped)) - drill.data(base)
    drill.wait(LONG)
    assert Need.HISTORY in drill.clean(delete=True, days=LONG + 1).amounts
    gone = drill.clean_twice()
    assert gone > orphans | needless
    assert drill.there() >= {uri for ref in (main, tag, audited, base) for uri in drill.of_table(ref)}
    assert [drill.ids(ref) for ref in (main, tag, base)] == [[1, 5, 7], [1, 5, 7], [1, 2]]

    assert approve(installation.service, kept.batch, reason="known at the vendor's", by="ann").files == 1
    assert (installation.runner.submit_all(), installation.branches()) == ([], [])
    assert drill.ids(main) == [1, 3, 4, 5, 7]
    replaced = drill.data(base)
    drill.wait(LONG)
    assert drill.clean_twice() > replaced
    assert drill.there() == drill.of_table(main) | drill.of_table(tag) | strange
    assert [drill.ids(ref) for ref in (main, tag)] == [[1, 3, 4, 5, 7], [1, 5, 7]]
