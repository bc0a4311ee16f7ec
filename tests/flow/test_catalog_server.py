"""The service over a Nessie with its tasks' environment and a real PostgreSQL: it keeps the rules, forgets nothing when
both are killed in the middle of the work, and goes on after the database was brought to an earlier moment.

Landing bucket, service's bucket and lake are in an S3 emulator. Jobs commit real Iceberg metadata, and their data files
are only said to hold rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField
from requests.adapters import HTTPAdapter

from infra.catalog.settings import HEALTH
from lakegate import bootstrap
from lakegate.access import Role
from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.warehouse import S3Warehouse
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.report import DataFile, FileReport, Report, Verdict
from lakegate.audit.schema.fit import CONTRACT_HASH
from lakegate.doctor.finding import Finding
from lakegate.doctor.finding import Verdict as Judged
from lakegate.errors import TRANSIENT
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, Ref
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from lakegate.testing import MemoryNotifier
from lakegate.workflow.attempts.claims import list_open_attempts
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from lakegate.workflow.retry import retry
from lakegate.workflow.service import Service
from lakegate.workflow.settle import settle
from lakegate.workflow.verification.verify import verify
from tests.flow.conftest import CONTRACT, SubmittedRuns, settings
from tests.support import postgres as database
from tests.support.catalog_server import MAIN as MAIN_PATH
from tests.support.catalog_server import CatalogServer
from tests.support.data_files import data_file
from tests.support.issuer import Issuer, issuing
from tests.support.nessie import Lake, make_bucket, unique
from tests.support.reports import audited_report

pytestmark = [pytest.mark.nessie, pytest.mark.extended]
BUCKET = "kept"
ROWS = 3  # of each file
Stored = tuple[str, str]  # an object's key, and its version


@pytest.fixture(scope="module")
def server(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogServer]:
    """Running, for all tests of this module, each of which leaves it running."""
    own = replace(lake, bucket=BUCKET)
    make_bucket(own, BUCKET)
    folder = tmp_path_factory.mktemp("catalog")
    with database.postgres() as store, issuing(Issuer()) as issuer:
        found = CatalogServer(lake=own, issuer=issuer, store=store, folder=folder)
        found.start()
        try:
            yield found
        finally:
            found.kill()


def test_a_nessie_by_the_tasks_environment_is_ready_and_keeps_the_rules(server: CatalogServer) -> None:
    assert requests.get(server.management + HEALTH, timeout=300).status_code == 200
    assert server.ask("", "GET", MAIN_PATH).status_code == 401
    assert {role: server.branch(role, f"wap-{role}") for role in ("reader", "spark", "ingest")} == {
        "reader": 403,
        "spark": 403,
        "ingest": 200,
    }
    assert {role: server.commit(role, role) for role in ("reader", "spark", "ingest", "publish")} == {
        "reader": 403,
        "spark": 403,
        "ingest": 403,
        "publish": 200,
    }
    assert 'role/lakegate-publish "GET /api/v2/trees/main HTTP/1.1" 200' in server.log.read_text()
    forwarded = {"Host": "nessie.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"}
    told = server.ask("reader", "GET", "/iceberg/v1/config", **forwarded).json()
    assert told["overrides"]["nessie.iceberg-base-uri"] == "https://nessie.example.com/iceberg/"


@dataclass(kw_only=True)
class Kept:
    """An installation of one table over that server. It has nothing in its own memory but job runs, which are EMR's."""

    server: CatalogServer
    folder: Path
    name: str
    landed: dict[str, FileVersion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table, self.landing = f"{self.name}.things", self.name.replace("_", "-")
        make_bucket(self.server.lake, self.landing)
        self.runs = SubmittedRuns(job=self._work)
        self.service = self._service()
        head = CONTRACT.format(table=self.table, prefix=self.name, settings="")
        push(
            self.service.store, [(f"{self.name}.yaml", f"{head}      - {{name: id, logicalType: integer}}\n".encode())]
        )

    def start(self, moment: datetime | None = None) -> None:
        """Start what was killed, and functions that know nothing of before."""
        self.server.start(moment)
        self.service = self._service()

    def _service(self) -> Service:
        server = self.server
        http = server.door(Role.PUBLISH)
        catalog = NessieCatalog(server.uri, http)
        found = bootstrap.service(settings(replace(server.lake, nessie_uri=server.uri), self.landing))
        return replace(
            found,
            branches=catalog,
            ledger=catalog,
            publisher=catalog,
            tables=NessieTables(server.uri, server.lake.warehouse, http),
            runner=self.runs,
            notifier=MemoryNotifier(),
            grace=timedelta(0),
        )

    def drop(self, name: str) -> FileVersion:
        path = self.folder / name
        path.write_bytes(name.encode())
        key = f"{self.name}/{name}.parquet"
        landed = self.service.landing.upload(path, key)
        found = self.service.landing.describe(key, landed.version_id)
        assert found
        self.landed[name] = found
        return found

    def receive(self, name: str) -> bool:
        """Hand over the file's event, and tell whether it was handled."""
        file = self.landed[name]
        return not receive(self.service, [Arrival(key=file.key, version_id=file.version_id)])

    def go_on(self) -> None:
        """Sweeps and jobs, until nothing moves."""
        for _ in range(3):
            reconcile(self.service)
            self.runs.submit_all()
        reconcile(self.service)

    def publish(self, name: str) -> None:
        self.drop(name)
        assert self.receive(name)
        self.runs.submit_all()
        reconcile(self.service)

    def rows(self) -> dict[str, int]:
        """Main's rows by file, from its data files' names."""
        paths = self.service.tables.paths(Ref(MAIN), self.table)
        ids = [path.rpartition("/")[2].partition(".")[0] for path in paths]
        return {name: ROWS * ids.count(file.id) for name, file in self.landed.items() if file.id in ids}

    def publications(self) -> dict[str, int]:
        """The count of main's notes that say a file was published, by its name."""
        notes = [it.record for it in self.service.ledger.decisions(1000) if it.record.decision is Decision.PUBLISHED]
        versions = [file.version_id for note in notes for file in note.files]
        return {name: versions.count(file.version_id) for name, file in self.landed.items()}

    def objects(self) -> set[Stored]:
        """Every version of every object that the service and the lake hold now, delete markers too."""
        pages = self.server.lake.s3().get_paginator("list_object_versions").paginate(Bucket=BUCKET)
        kinds = ("Versions", "DeleteMarkers")
        return {(it["Key"], it["VersionId"]) for page in pages for kind in kinds for it in page.get(kind, ())}

    def bring_back(self, there: set[Stored]) -> None:
        """Bring the buckets of the service and the lake to the moment at which just these objects were there."""
        for key, version in self.objects() - there:
            self.server.lake.s3().delete_object(Bucket=BUCKET, Key=key, VersionId=version)

    def faults(self) -> list[Finding]:
        return [it for it in verify(self.service, S3Warehouse()) if it.verdict is not Judged.OK]

    def _work(self, uri: str) -> None:
        """Do a job's work: append on its branch as its own role, and report what was appended."""
        store, server = self.service.store, self.server
        job = from_json(Job, store.read(uri.removeprefix(store.uri(""))) or b"")
        http = server.door(Role.SPARK)
        table = _table(RefCatalog(server.uri, server.lake.warehouse, Ref(job.branch), http=http), job)
        paths = {file.id: f"{table.location()}/data/{job.branch}/{file.id}.parquet" for file in job.files}
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            for path in paths.values():
                append.append_data_file(data_file(path, ROWS))
                server.lake.s3().put_object(Bucket=BUCKET, Key=path.removeprefix(f"s3://{BUCKET}/"), Body=b"rows")
        store.write(job.report_uri.removeprefix(store.uri("")), to_json(self._report(job, paths)).encode())

    def _report(self, job: Job, paths: dict[str, str]) -> Report:
        files = [
            FileReport(
                id=file.id,
                key=file.key,
                verdict=Verdict.PASS,
                rows=ROWS,
                data_files=(DataFile(path=paths[file.id], rows=ROWS),),
            )
            for file in job.files
        ]
        return audited_report(job, self.service.branches.head(job.branch) or "", files, datetime.now(UTC))


def _table(catalog: RefCatalog, job: Job) -> Table:
    found: Table
    try:
        found = catalog.load_table(job.plan.table)
    except (NoSuchTableError, NoSuchNamespaceError):
        catalog.create_namespace_if_not_exists(job.plan.table.rpartition(".")[0])
        schema = Schema(NestedField(1, "id", LongType()))
        found = catalog.create_table(job.plan.table, schema, properties={CONTRACT_HASH: job.plan.contract_hash})
    return found


@pytest.fixture
def kept(server: CatalogServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    for name, value in server.lake.environment.items():
        monkeypatch.setenv(name, value)
    return Kept(server=server, folder=tmp_path, name=unique("kept"))


@contextlib.contextmanager
def meanwhile(path: str, act: Callable[[], None], *, answered: bool) -> Iterator[None]:
    """`act` happens when the first request to such a path is sent: before it, or before its answer comes back."""
    send, done = HTTPAdapter.send, list[str]()

    def sent(adapter: HTTPAdapter, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        if done or path not in request.path_url:
            return send(adapter, request, **how)
        done.append(path)
        if answered:
            send(adapter, request, **how)
        act()
        if answered:
            raise requests.ConnectionError("the answer is lost")
        return send(adapter, request, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HTTPAdapter, "send", sent)
        yield
    assert done


def test_databases_and_nessies_that_are_killed_in_mid_flow_lose_nothing_and_do_nothing_twice(kept: Kept) -> None:
    kept.publish("first")
    kept.drop("second")
    with meanwhile("/history/commit", kept.server.kill_database, answered=False):
        assert not kept.receive("second")  # its claim was not taken
    kept.server.start_database()
    kept.go_on()
    assert kept.rows() == {"first": ROWS, "second": ROWS}

    kept.drop("third")
    assert kept.receive("third")
    kept.runs.submit_all()
    [attempt] = list_open_attempts(kept.service.branches)
    with meanwhile("/history/merge", kept.server.kill, answered=True), pytest.raises(TRANSIENT):
        settle(kept.service, attempt)
    kept.start()
    assert kept.rows() == {"first": ROWS, "second": ROWS, "third": ROWS}
    kept.go_on()
    assert kept.publications() == {"first": 1, "second": 1, "third": 1}
    assert list_open_attempts(kept.service.branches) == []
    assert kept.faults() == []


def test_after_its_database_was_brought_to_an_earlier_moment_the_service_publishes_again_what_landed_since(
    kept: Kept,
) -> None:
    kept.publish("before")
    kept.drop("open")
    assert kept.receive("open")
    [attempt] = list_open_attempts(kept.service.branches)
    before, moment = kept.rows(), datetime.now(UTC)
    kept.go_on()
    kept.publish("after")
    assert kept.rows() == before | {"open": ROWS, "after": ROWS}

    kept.server.kill()
    kept.start(moment)
    assert kept.rows() == before
    [said] = kept.faults()
    assert said.subject == attempt.branch
    assert "names 1 commit that the catalog lacks" in said.said
    kept.go_on()
    assert kept.rows() == before | {"after": ROWS}
    retry(kept.service, attempt.batch)
    kept.go_on()
    assert kept.rows() == before | {"open": ROWS, "after": ROWS}
    assert set(kept.publications().values()) == {1}
    assert kept.faults() == []


def test_after_database_and_buckets_were_brought_to_one_moment_nothing_is_wrong_and_all_is_published_again(
    kept: Kept,
) -> None:
    kept.publish("before")
    kept.drop("open")
    assert kept.receive("open")
    before, there, moment = kept.rows(), kept.objects(), datetime.now(UTC)
    kept.go_on()
    kept.publish("after")

    kept.server.kill()
    kept.bring_back(there)
    kept.start(moment)
    assert kept.rows() == before
    assert kept.faults() == []
    kept.go_on()
    assert kept.rows() == before | {"open": ROWS, "after": ROWS}
    assert set(kept.publications().values()) == {1}
    assert kept.faults() == []


def test_a_data_file_that_somebody_deleted_is_named_and_comes_back_with_its_version(kept: Kept) -> None:
    kept.publish("deleted")
    [path] = [it for it in kept.service.tables.paths(Ref(MAIN), kept.table) if kept.landed["deleted"].id in it]
    s3, key = kept.server.lake.s3(), path.removeprefix(f"s3://{BUCKET}/")
    marker = s3.delete_object(Bucket=BUCKET, Key=key)["VersionId"]
    assert [(it.subject, it.said) for it in kept.faults()] == [("main", f"{path} is missing")]
    s3.delete_object(Bucket=BUCKET, Key=key, VersionId=marker)
    assert kept.faults() == []
