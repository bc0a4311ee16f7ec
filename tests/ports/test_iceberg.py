"""Tests of what is particular to PyIceberg: its errors, its time-outs, life without PyArrow, and a Spark that reads
after it.
"""

from __future__ import annotations

import inspect
import json
import os
import socket
import subprocess
import sys
from functools import partialmethod
from io import BytesIO
from pathlib import Path

import botocore.exceptions
import pydantic
import pyiceberg.exceptions
import pytest
import requests
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.snapshots import Operation
from s3fs import S3FileSystem

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.iceberg import MetadataIO, RefCatalog, iceberg_errors
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.ports import MAIN, Ref
from lakegate.publishing.nessie import NessieTables
from tests.ports.conftest import ListedTwice, NessiePlace, WithoutDeletes, Work, head_of

ROOT = Path(__file__).resolve().parents[2]
LOAD = RefCatalog.load_table
READ = S3FileSystem._cat_file


def vendor_errors() -> list[type[Exception]]:
    found = [kind for _, kind in inspect.getmembers(pyiceberg.exceptions, inspect.isclass)]
    return [kind for kind in found if issubclass(kind, Exception)]


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("kind", vendor_errors())
def test_every_vendor_error_becomes_one_of_ours(kind: type[Exception], changes: bool) -> None:  # noqa: FBT001
    vendors = kind("no")
    with pytest.raises(LakegateError) as caught, iceberg_errors("testing", changes=changes):
        raise vendors
    is_an_issuer_s = issubclass(kind, pyiceberg.exceptions.OAuthError)  # its words may echo the client's secret
    assert caught.value.__cause__ is (None if is_an_issuer_s else vendors)


@pytest.mark.parametrize(("words", "shown"), [("invalid_client: s3cret", "invalid_client"), ("s3cret: no", "s3cret")])
def test_of_an_issuer_s_words_a_known_code_alone_is_shown(words: str, shown: str) -> None:
    with pytest.raises(LakegateError) as caught, iceberg_errors("testing", changes=False):
        raise pyiceberg.exceptions.OAuthError(words)
    assert ("s3cret" not in str(caught.value), shown in str(caught.value)) == (True, shown != "s3cret")


def malformed() -> pydantic.ValidationError:
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(int).validate_python("no")
    return caught.value


@pytest.mark.parametrize(
    ("vendors", "changes", "ours"),
    [
        (pyiceberg.exceptions.CommitFailedException("no"), True, Conflict),
        (pyiceberg.exceptions.CommitStateUnknownException("no"), True, OutcomeUnknown),
        (pyiceberg.exceptions.ServiceUnavailableError("no"), True, OutcomeUnknown),
        (pyiceberg.exceptions.ServiceUnavailableError("no"), False, Retryable),
        (pyiceberg.exceptions.BadRequestError("NoSuchReferenceException: Named reference"), False, Conflict),
        (pyiceberg.exceptions.BadRequestError("no"), False, Misconfigured),
        (pyiceberg.exceptions.ServerError("AccessCheckException: 'UPDATE_ENTITY' is not allowed"), True, Misconfigured),
        (pyiceberg.exceptions.ServerError("AccessCheckException: 'READ_ENTRIES' is not allowed"), False, Misconfigured),
        (pyiceberg.exceptions.CommitStateUnknownException("AccessCheckException: no"), True, Misconfigured),
        (pyiceberg.exceptions.ServerError("IllegalStateException: Warehouse 'x' is not known"), False, Misconfigured),
        (
            pyiceberg.exceptions.ServerError("Error: a table named AccessCheckException: is no refusal"),
            True,
            OutcomeUnknown,
        ),
        (pyiceberg.exceptions.ForbiddenError("no"), True, Misconfigured),
        (pyiceberg.exceptions.NoSuchTableError("no"), True, Refused),
        (requests.ReadTimeout("no"), True, OutcomeUnknown),
        (requests.ConnectTimeout("no"), True, Retryable),
        (FileNotFoundError("a manifest"), False, Refused),
        (PermissionError("no"), False, Misconfigured),
        (TimeoutError("no"), False, Retryable),
        (botocore.exceptions.NoCredentialsError(), False, Misconfigured),
        (malformed(), True, OutcomeUnknown),
        (ValueError("Unsupported codec: uncompressed"), True, Misconfigured),
        (ImportError("Snappy support not installed"), True, Misconfigured),
    ],
)
def test_an_error_says_what_to_do_now(vendors: Exception, changes: bool, ours: type[LakegateError]) -> None:  # noqa: FBT001
    with pytest.raises(LakegateError) as caught, iceberg_errors("testing", changes=changes):
        raise vendors
    assert type(caught.value) is ours


def test_a_catalog_that_does_not_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        tables = NessieTables(f"http://127.0.0.1:{server.getsockname()[1]}", "lake")
        tables._http = TimeoutAdapter((60, 0.05), retries=0)
        with pytest.raises(Retryable, match=r"reading nyc\.flights at main: .*Timeout"):
            tables.identity(Ref("main"), "nyc.flights")


class BehindTls(TimeoutAdapter):
    """Something in front of Nessie ends TLS, and does not tell it."""

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        told = str(request.url).partition("/v1/config")[0].replace("https://", "http://")
        answer = requests.Response()
        answer.status_code, answer.raw = 200, BytesIO(json.dumps({"defaults": {}, "overrides": {"uri": told}}).encode())
        return answer


@pytest.mark.parametrize("asked", ["https://nessie.example.com", "https://nessie.example.com:19120"])
def test_a_catalog_that_names_another_address_than_it_was_asked_at_is_not_followed(asked: str) -> None:
    tables = NessieTables(asked, "lake")
    tables._http = BehindTls()
    with pytest.raises(Misconfigured, match=r"tables are at http://nessie\.example\.com.*load balancer"):
        tables.identity(Ref("main"), "nyc.flights")


@pytest.mark.parametrize(
    "asked", ["http://Nessie.example.com:80", "http://nessie.example.com", "HTTP://nessie.EXAMPLE.com"]
)
def test_a_catalog_that_names_its_address_as_requests_do_is_the_same(asked: str) -> None:
    catalog = RefCatalog(asked, "lake", Ref("main"), http=BehindTls())
    assert catalog.uri.startswith("http://nessie.example.com")


def test_metadata_is_read_our_way_whatever_the_catalog_says_of_a_table() -> None:
    said = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
    assert isinstance(
        RefCatalog("http://nessie.example.com", "lake", Ref("main"), http=BehindTls())._load_file_io(said), MetadataIO
    )


@pytest.mark.nessie
def test_a_data_file_that_is_there_twice_is_found(nessie_place: NessiePlace, table: str) -> None:
    place = nessie_place
    work = Work(place, table, [])
    path = place.write(work.branch, table, 3)
    target = place.vendor(work.branch).load_table(table)
    target.add_files([path], check_duplicate_files=False)
    with pytest.raises(Refused, match="twice"):
        place.tables.paths(Ref(work.branch), table)


@pytest.mark.nessie
def test_a_manifest_that_is_listed_twice_is_found(nessie_place: NessiePlace, table: str) -> None:
    place = nessie_place
    work = Work(place, table, [])
    path = place.write(work.branch, table, 3)
    before, target = head_of(place, work.branch), place.vendor(work.branch).load_table(table)
    with target.transaction() as transaction:
        ListedTwice(Operation.APPEND, transaction, target.io).commit()
    assert place.rows(work.branch, table) == 6
    with pytest.raises(Refused, match=f"{table}.* twice"):
        place.tables.paths(Ref(work.branch), table)
    with pytest.raises(Refused, match=f"{table}.* twice"):
        place.tables.compare(table, Ref(MAIN, before), Ref(work.branch))
    with pytest.raises(Refused, match=f"{table}.* twice"):
        place.tables.remove(table, work.branch, frozenset({path}))


@pytest.mark.nessie
@pytest.mark.parametrize("is_older", [False, True], ids=["hides rows", "is older than all data files"])
def test_a_delete_file_that_goes_is_told_as_long_as_it_hides_rows(
    nessie_place: NessiePlace,
    table: str,
    is_older: bool,  # noqa: FBT001
) -> None:
    place = nessie_place
    work = Work(place, table, [])
    old = place.write(work.branch, table, 3)
    made = place.delete_rows(work.branch, table, old)
    place.write(work.branch, table, 2)
    if is_older:
        place.tables.remove(table, work.branch, frozenset({old}))
    before, target = head_of(place, work.branch), place.vendor(work.branch).load_table(table)
    with target.transaction() as transaction:
        WithoutDeletes(Operation.DELETE, transaction, target.io).commit()
    assert place.tables.compare(table, Ref(MAIN, before), Ref(work.branch)).deletes == (set() if is_older else {made})


@pytest.mark.nessie
def test_a_table_at_a_commit_is_asked_for_once_and_on_a_branch_each_time(
    nessie_place: NessiePlace, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, work = nessie_place, Work(nessie_place, table, [])
    first = place.write(work.branch, table, 1)
    head = str(place.catalog.head(work.branch))
    loaded: list[str] = []

    def load(catalog: RefCatalog, name: str) -> Table:
        loaded.append(catalog.name)
        found: Table = LOAD(catalog, name)
        return found

    monkeypatch.setattr(RefCatalog, "load_table", load)
    for ref in (Ref(work.branch, head), Ref(MAIN, head), Ref("", head), Ref(work.branch)):
        assert place.tables.paths(ref, table) == {first}
    second = place.write(work.branch, table, 1)
    loaded.clear()
    assert place.tables.paths(Ref(work.branch), table) == {first, second}
    assert place.tables.paths(Ref(MAIN, head), table) == {first}
    assert loaded == [work.branch]


@pytest.mark.nessie
def test_a_commit_that_is_refused_is_not_repeated_whatever_the_table_says(
    nessie_place: NessiePlace, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, asked, retries = nessie_place, list[str](), TableProperties.COMMIT_NUM_RETRIES
    known = Work(place, table, [])
    place.write(known.branch, table, 1)
    with place.vendor(known.branch).load_table(table).transaction() as transaction:
        transaction.set_properties({retries: "9"})
    known.merge()
    here, there = (Work(place, table, [], number=number) for number in (2, 3))
    added = frozenset({place.write(there.branch, table, 1)})

    def refuse(catalog: RefCatalog, *_: object) -> None:
        asked.append(catalog.name)
        raise pyiceberg.exceptions.CommitFailedException("somebody was first")

    with monkeypatch.context() as patch:
        patch.setattr(RefCatalog, "commit_table", refuse)
        with pytest.raises(Conflict, match="somebody was first"):
            place.tables.append(table, here.branch, Ref(there.branch), added)
    assert asked == [here.branch]
    place.tables.append(table, here.branch, Ref(there.branch), added)
    assert place.vendor(here.branch).load_table(table).properties[retries] == "9"


class Reads:
    """Requests to object storage, and the most at once."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.open = self.most = 0

    async def __call__(self, fs: S3FileSystem, path: str, **how: object) -> bytes:
        self.paths.append(path)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            found: bytes = await READ(fs, path, **how)
            return found
        finally:
            self.open -= 1

    def manifests(self) -> list[str]:
        return [path for path in self.paths if "/snap-" not in path]


@pytest.mark.nessie
def test_manifests_are_read_beside_each_other_and_once_by_all_that_publishes(
    nessie_place: NessiePlace, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, work, reads = nessie_place, Work(nessie_place, table, []), Reads()
    written = {place.write(work.branch, table, 1) for _ in range(3)}
    monkeypatch.setattr(S3FileSystem, "_cat_file", partialmethod(reads))
    tables = NessieTables(place.lake.nessie_uri, place.lake.warehouse)
    assert tables.paths(Ref(work.branch), table) == written
    assert (reads.most, len(reads.manifests())) == (3, 3)
    assert tables.paths(Ref(MAIN, str(place.catalog.head(work.branch))), table) == written
    assert len(reads.manifests()) == 3
    last = place.write(work.branch, table, 1)
    reads.paths.clear()
    assert tables.paths(Ref(work.branch), table) == {*written, last}
    assert len(reads.manifests()) == 1


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
from lakegate.publishing.nessie import NessieTables
from lakegate.ports import Ref
nessie, table, here, there = sys.argv[1:5]
tables = NessieTables(nessie, "lake")
assert tables.identity(Ref(there), table) == tables.identity(Ref(here), table)
added = tables.paths(Ref(there), table) - tables.paths(Ref(here), table)
tables.append(table, here, Ref(there), added)
tables.remove(table, here, frozenset(sys.argv[5:]))
"""


@pytest.mark.nessie
def test_metadata_is_written_without_pyarrow(nessie_place: NessiePlace, table: str) -> None:
    place, lake = nessie_place, nessie_place.lake
    first = Work(place, table, [])
    old = place.write(first.branch, table, 1)
    first.merge()
    here, there = Work(place, table, [], number=2), Work(place, table, [], number=3)
    place.write(there.branch, table, 2)
    command = [sys.executable, "-c", WITHOUT_ARROW, lake.nessie_uri, table, here.branch, there.branch, old]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **lake.environment})
    assert place.rows(here.branch, table) == 2
