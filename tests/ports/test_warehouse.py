"""Tests of what every `Warehouse` promises, and what is particular to S3."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from unittest.mock import patch

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from lakegate.adapters import warehouse
from lakegate.adapters.warehouse import S3Warehouse
from lakegate.errors import LakegateError, Misconfigured, Retryable
from lakegate.ports import Warehouse
from lakegate.ports.warehouse import is_of_a_table, table_folder
from lakegate.testing import MemoryWarehouse

UUID = "7c5ea4be-62b4-53b4-8b6c-0d5f1cbd0a8f"
LOCATION = "s3://lake/warehouse"
AWKWARD = "data/day=2013-01-01/a b+c%20#é?x&y.parquet"


class Place(Protocol):
    """A warehouse, and the hands of those who write to it."""

    warehouse: Warehouse

    def put(self, uri: str) -> None:
        """Write a file."""


class MemoryPlace:
    def __init__(self) -> None:
        self.written: dict[str, datetime] = {}
        self.warehouse: Warehouse = MemoryWarehouse(lambda: self.written)

    def put(self, uri: str) -> None:
        self.written[uri] = datetime.now(UTC)


class S3Place:
    def __init__(self) -> None:
        self.warehouse: Warehouse = S3Warehouse()
        self.s3 = boto3.client("s3", region_name="us-east-1")
        self.s3.create_bucket(Bucket="lake")

    def put(self, uri: str) -> None:
        self.s3.put_object(Bucket="lake", Key=uri.removeprefix("s3://lake/"), Body=b"1")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Place]:
    for name, value in {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
    }.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        yield S3Place()


@pytest.fixture(params=["memory", "s3"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = MemoryPlace() if request.param == "memory" else request.getfixturevalue("s3")
    return found


def folder(name: str) -> str:
    return f"{LOCATION}/{name}_{UUID}"


def test_the_folders_of_tables_are_found_at_any_depth_and_others_are_not(place: Place) -> None:
    names = ("a/flights", "a/flights_too", "b/c/planes", "b/data/planes", "data/planes", "metadata/planes")
    tables = [folder(name) for name in names]
    for table in tables:
        place.put(f"{table}/data/x/1.parquet")
        place.put(f"{table}/metadata/1.avro")
    place.put(f"{folder('a/odd')}x/data/1.parquet")
    place.put(f"{LOCATION}/a/flights/data/1.parquet")
    place.put(f"{LOCATION}/loose")
    place.put(f"s3://lake/elsewhere/a/flights_{UUID}/data/1.parquet")
    assert sorted(place.warehouse.folders(LOCATION)) == tables


def test_a_folder_s_files_are_listed_with_what_tells_whether_they_were_written_again(place: Place) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)
    names = [AWKWARD, "metadata/1.avro"]
    for name in names:
        place.put(f"{folder('a/flights')}/{name}")
    place.put(f"{folder('a/flights')}x/data/1.parquet")
    found = list(place.warehouse.files(folder("a/flights")))
    assert sorted(file.uri for file in found) == [f"{folder('a/flights')}/{name}" for name in names]
    assert [(file.size, bool(file.etag), file.written_at >= before) for file in found] == [(1, True, True)] * 2
    assert list(place.warehouse.files(folder("a/none"))) == []


def test_files_are_deleted_and_no_others(place: Place) -> None:
    names = [AWKWARD, "data/1.parquet", "data/11.parquet"]
    for name in names:
        place.put(f"{folder('a/flights')}/{name}")
    place.warehouse.delete(f"{folder('a/flights')}/{name}" for name in [*names[:2], "data/never.parquet"])
    assert [file.uri for file in place.warehouse.files(folder("a/flights"))] == [f"{folder('a/flights')}/{names[2]}"]
    place.warehouse.delete([])


def test_many_files_are_deleted_by_several_requests(s3: S3Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "MOST_KEYS", 2)
    uris = [f"{folder('a/flights')}/data/{number}" for number in range(5)]
    for uri in uris:
        s3.put(uri)
    s3.warehouse.delete(uris)
    assert list(s3.warehouse.files(folder("a/flights"))) == []


@pytest.mark.parametrize(("code", "kind"), [("AccessDenied", Misconfigured), ("SlowDown", Retryable)])
def test_a_file_that_is_not_deleted_is_told(code: str, kind: type[LakegateError]) -> None:
    client: Any = boto3.client("s3", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with patch.object(S3Warehouse, "_s3", client), Stubber(client) as stubber:
        stubber.add_response("delete_objects", {"Errors": [{"Key": "warehouse/a", "Code": code, "Message": "no"}]})
        with pytest.raises(kind, match="deleting warehouse/a from lake: no"):
            S3Warehouse().delete(["s3://lake/warehouse/a"])


def test_a_bucket_that_may_not_be_listed_is_told(s3: S3Place) -> None:
    with pytest.raises(Misconfigured, match="listing a in none"):
        list(s3.warehouse.files("s3://none/a"))
    with pytest.raises(ClientError):
        s3.s3.list_objects_v2(Bucket="none")


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        (f"{LOCATION}/a/flights_{UUID}", f"{LOCATION}/a/flights_{UUID}"),
        (f"{LOCATION}/a/flights_{UUID}/metadata/1.json", f"{LOCATION}/a/flights_{UUID}"),
        (f"{LOCATION}/a/b.c/fl ights_{UUID}/data/x_{UUID}/y", f"{LOCATION}/a/b.c/fl ights_{UUID}"),
        (f"s3a://lake/warehouse/a/flights_{UUID}/data/1", f"{LOCATION}/a/flights_{UUID}"),
        (f"{LOCATION}/flights_{UUID}/data/1", None),
        (f"{LOCATION}/a/flights_{UUID}x/data/1", None),
        (f"{LOCATION}/a/{UUID}/data/1", None),
        (f"{LOCATION}/a/flights/data/1", None),
        (f"{LOCATION}s/a/flights_{UUID}/data/1", None),
        (f"s3://other/warehouse/a/flights_{UUID}/data/1", None),
        (LOCATION, None),
    ],
)
def test_a_file_s_table_folder_is_known_by_its_form(uri: str, found: str | None) -> None:
    assert table_folder(uri, LOCATION) == found


@pytest.mark.parametrize(("name", "of"), [("data/1", True), ("metadata/1", True), ("data", False), ("x/data/1", False)])
def test_writers_of_tables_put_files_in_two_folders(name: str, *, of: bool) -> None:
    assert is_of_a_table(f"{folder('a/b')}/{name}", folder("a/b")) == of
