"""Tests of what every `Landing` and every `Store` promises, and what is particular to S3."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.stub import Stubber
from moto import mock_aws
from s3transfer.manager import TransferCoordinatorController

from lakegate.adapters import s3
from lakegate.adapters.immutable_cache import MOST_OBJECTS, ImmutableCache
from lakegate.adapters.s3 import S3Landing, S3Store
from lakegate.errors import Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.landing.files import FileVersion
from lakegate.ports import Landing, Store
from lakegate.testing import MemoryClock, MemoryLanding, MemoryStore

AWKWARD = ["nyc/flights/a b+c%20#é.parquet", "nyc/flights/'\"*?[x]{y}&<>.parquet", "n/" + "k" * 900, "nyc//x/../y"]


class Place(Protocol):
    """Both buckets, and other people's hands on them."""

    landing: Landing
    store: Store

    def put(self, key: str, body: bytes) -> str:
        """Return what a vendor's upload does; returns the version id."""

    def landed_at(self, key: str, version_id: str) -> datetime:
        """Return the moment, by the clock of the storage."""

    def drop(self, key: str, version_id: str) -> None:
        """Delete one version for good."""

    def staged(self, uri: str) -> bytes:
        """Return what is in a staged copy."""


class MemoryPlace:
    def __init__(self) -> None:
        self.clock = MemoryClock()
        self.memory = MemoryLanding(self.clock)
        self.landing: Landing = self.memory
        self.store: Store = MemoryStore()

    def put(self, key: str, body: bytes) -> str:
        return self.memory.add(key, body).version_id

    def landed_at(self, key: str, version_id: str) -> datetime:
        assert (key, version_id) in self.memory.files
        return self.clock.now()

    def drop(self, key: str, version_id: str) -> None:
        self.memory.drop(key, version_id)

    def staged(self, uri: str) -> bytes:
        return self.memory.copies[uri]


class S3Place:
    def __init__(self) -> None:
        self.client = boto3.client("s3")
        for bucket in ("landing", "service"):
            self.client.create_bucket(Bucket=bucket)
        self.client.put_bucket_versioning(Bucket="landing", VersioningConfiguration={"Status": "Enabled"})
        self.landing: Landing = S3Landing("landing", "service")
        self.store: Store = ImmutableCache(S3Store("service"))  # as bootstrap wires it

    def put(self, key: str, body: bytes) -> str:
        return self.client.put_object(Bucket="landing", Key=key, Body=body)["VersionId"]

    def landed_at(self, key: str, version_id: str) -> datetime:
        return self.client.head_object(Bucket="landing", Key=key, VersionId=version_id)["LastModified"]

    def drop(self, key: str, version_id: str) -> None:
        self.client.delete_object(Bucket="landing", Key=key, VersionId=version_id)

    def staged(self, uri: str) -> bytes:
        return self.client.get_object(Bucket="service", Key=uri.removeprefix("s3://service/"))["Body"].read()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


@pytest.fixture(params=["memory", "s3"])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "memory":
        return MemoryPlace()
    request.getfixturevalue("aws")
    return S3Place()


@pytest.mark.parametrize("key", AWKWARD)
def test_a_file_version_is_found_as_it_landed(place: Place, key: str) -> None:
    version = place.put(key, b"hello")
    found = place.landing.describe(key, version)
    assert found is not None
    assert (found.bucket, found.key, found.version_id, found.size) == ("landing", key, version, 5)
    assert found.landed_at == place.landed_at(key, version)
    assert found.checksum


def test_each_version_of_a_key_is_another_file_version(place: Place) -> None:
    old, new = place.put("k", b"one"), place.put("k", b"three")
    first, second = place.landing.describe("k", old), place.landing.describe("k", new)
    assert first is not None
    assert second is not None
    assert (first.size, second.size) == (3, 5)
    assert first.id != second.id
    assert first.content != second.content


def test_the_same_bytes_are_the_same_content(place: Place) -> None:
    old, new = (place.landing.describe("k", place.put("k", b"hello")) for _ in range(2))
    assert old is not None
    assert new is not None
    assert old.content == new.content


def test_many_versions_are_described_as_each_would_be_alone(place: Place) -> None:
    wanted = [(key, place.put(key, key.encode())) for key in map(str, range(25))]
    place.drop(*wanted[7])
    found = place.landing.describe_all(iter([*wanted, ("never", wanted[0][1])]))
    assert found == {version: place.landing.describe(*version) for version in [*wanted, ("never", wanted[0][1])]}
    assert [version for version, file in found.items() if file is None] == [wanted[7], ("never", wanted[0][1])]
    assert place.landing.describe_all([]) == {}


@pytest.mark.parametrize("error", [Misconfigured("looking at 3: 403"), ZeroDivisionError("a fault of ours")])
def test_a_version_that_cannot_be_described_keeps_no_other(
    place: Place, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [(key, place.put(key, key.encode())) for key in map(str, range(5))]
    describe = place.landing.describe

    def forbidden(key: str, version_id: str) -> FileVersion | None:
        if key == "3":
            raise error
        return describe(key, version_id)

    monkeypatch.setattr(place.landing, "describe", forbidden)
    assert place.landing.describe_all(wanted) == {
        version: error if version == wanted[3] else describe(*version) for version in wanted
    }


@pytest.mark.usefixtures("aws")
def test_versions_are_described_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    landing, together = S3Landing("landing", "service"), threading.Barrier(s3.AT_ONCE)

    def meet(*_: str) -> None:
        together.wait(timeout=30)

    monkeypatch.setattr(landing, "describe", meet)
    wanted = [(str(number), "v") for number in range(2 * s3.AT_ONCE)]
    assert landing.describe_all(wanted) == dict.fromkeys(wanted)


def test_a_version_that_is_gone_or_never_was_is_not_found(place: Place) -> None:
    version = place.put("k", b"hello")
    place.drop("k", version)
    assert place.landing.describe("k", version) is None
    assert place.landing.describe("other", version) is None


def test_all_versions_are_listed_as_they_are_found_one_by_one(place: Place) -> None:
    known = {(key, place.put(key, b"hello")) for key in [*AWKWARD, *AWKWARD]}
    listed = list(place.landing.versions())
    assert {(file.key, file.version_id) for file in listed} == known
    for file in listed:
        found = place.landing.describe(file.key, file.version_id)
        assert found is not None
        assert replace(found, checksum=None) == replace(file, sequencer="")


def test_the_newest_of_a_keys_versions_is_listed_as_such_though_all_landed_at_once(place: Place) -> None:
    """A version id says nothing of it, and a version whose event was lost has no sequencer of its own."""
    versions = [place.put("k", f"{number}".encode()) for number in range(9)]
    assert max(place.landing.versions(), key=lambda file: file.order).version_id == versions[-1]


@pytest.mark.parametrize("key", AWKWARD)
def test_exactly_the_version_that_was_claimed_is_staged(place: Place, key: str) -> None:
    file = place.landing.describe(key, place.put(key, b"claimed"))
    assert file is not None
    place.put(key, b"newer")
    uri = place.landing.stage(file, "wap-x/0123.parquet")
    assert uri == "s3://service/staging/wap-x/0123.parquet"
    assert place.landing.stage(file, "wap-x/0123.parquet") == uri
    assert place.staged(uri) == b"claimed"


def test_a_version_that_is_gone_cannot_be_staged(place: Place) -> None:
    file = place.landing.describe("k", place.put("k", b"hello"))
    assert file is not None
    place.drop("k", file.version_id)
    with pytest.raises(Refused, match="gone"):
        place.landing.stage(file, "wap-x/0123.parquet")


@pytest.mark.parametrize("body", [b"", b"hello"])
def test_an_upload_returns_the_file_version_that_it_made(place: Place, tmp_path: Path, body: bytes) -> None:
    source = tmp_path / "x.parquet"
    source.write_bytes(body)
    file = place.landing.upload(source, AWKWARD[0])
    assert file == place.landing.describe(AWKWARD[0], file.version_id)
    assert file.size == len(body)
    assert file.content is not None


def test_an_object_of_the_store_is_read_as_it_was_written(place: Place) -> None:
    assert place.store.read("notes/a é.json") is None
    place.store.write("notes/a é.json", b"one")
    place.store.write("notes/a é.json", b"two")
    assert place.store.read("notes/a é.json") == b"two"
    assert place.store.uri("notes/x.json") == "s3://service/notes/x.json"


def test_what_is_written_once_is_read_once() -> None:
    under = MemoryStore()
    store = ImmutableCache(under)
    assert store.read("attempts/a/job.json") is None
    under.create("attempts/a/job.json", b"{}")
    under.write("notes/landed.json", b"one")
    assert (store.read("attempts/a/job.json"), store.read("notes/landed.json")) == (b"{}", b"one")
    under.objects.clear()
    assert (store.read("attempts/a/job.json"), store.read("notes/landed.json")) == (b"{}", None)


def test_of_what_is_written_once_only_the_last_objects_are_kept() -> None:
    under = MemoryStore()
    store = ImmutableCache(under)
    names = [f"attempts/{number}/job.json" for number in range(MOST_OBJECTS + 1)]
    for name in names:
        under.create(name, b"{}")
        store.read(names[0])
        store.read(name)
    under.objects.clear()
    assert [name for name in names if store.read(name) is None] == [names[1]]


def test_many_objects_of_the_store_are_written_and_read_at_once(place: Place) -> None:
    bodies = {f"notes/many/{number}": f"{number}".encode() for number in range(25)}
    place.store.write_many(bodies)
    assert place.store.read_many([*bodies, "notes/many/none"]) == bodies
    assert place.store.read_many([]) == {}


def test_an_object_is_created_once(place: Place) -> None:
    assert place.store.create("attempts/a/job.json", b"{}") is True
    assert place.store.create("attempts/a/job.json", b"{}") is False
    assert place.store.create("attempts/a/job.json", b"other") is False
    assert place.store.read("attempts/a/job.json") == b"{}"


def test_a_deleted_object_is_gone_and_may_be_deleted_again(place: Place) -> None:
    place.store.write("notes/a", b"one")
    place.store.delete("notes/a")
    place.store.delete("notes/a")
    assert place.store.read("notes/a") is None
    assert place.store.create("notes/a", b"two") is True


def test_names_are_those_below_a_prefix_in_order(place: Place) -> None:
    for name in ("notes/unrouted/b", "notes/unrouted/a", "notes/sent/c", "reports/d"):
        place.store.write(name, b"x")
    assert place.store.names("notes/unrouted/") == ["notes/unrouted/a", "notes/unrouted/b"]
    assert place.store.names("nothing/") == []


# What is particular to S3.


@pytest.mark.usefixtures("aws")
def test_a_delete_marker_is_not_a_file_version() -> None:
    place = S3Place()
    version = place.put("k", b"hello")
    marker = place.client.delete_object(Bucket="landing", Key="k")["VersionId"]
    assert place.landing.describe("k", marker) is None
    assert [file.version_id for file in place.landing.versions()] == [version]


@pytest.mark.usefixtures("aws")
def test_every_page_is_listed() -> None:
    landing, store, now = S3Landing("landing", "service"), S3Store("service"), datetime.now(UTC)
    with Stubber(landing._s3) as stub:
        for key, more in (("a", {"IsTruncated": True, "NextKeyMarker": "a", "NextVersionIdMarker": "v"}), ("b", {})):
            found = {"Key": key, "VersionId": "v", "Size": 1, "LastModified": now}
            stub.add_response("list_object_versions", {"Versions": [found], **more})
        assert [file.key for file in landing.versions()] == ["a", "b"]
    with Stubber(store._s3) as stub:
        for name, more in (("notes/b", {"IsTruncated": True, "NextContinuationToken": "n"}), ("notes/a", {})):
            stub.add_response("list_objects_v2", {"Contents": [{"Key": name}], **more})
        assert store.names("notes/") == ["notes/a", "notes/b"]


@pytest.mark.usefixtures("aws")
def test_a_listed_version_stands_among_those_of_its_second_whose_events_came_where_it_landed() -> None:
    """S3 lists a key's versions with the newest first."""
    landing, now = S3Landing("landing", "service"), datetime(2013, 1, 31, 4, 5, 6, tzinfo=UTC)
    later = now + timedelta(seconds=1)
    found = [
        {"Key": key, "VersionId": version, "Size": 1, "LastModified": at}
        for key, version, at in (("a", "1", now), ("b", "2", later), ("b", "3", now), ("b", "4", now), ("b", "5", now))
    ]
    with Stubber(landing._s3) as stub:
        stub.add_response("list_object_versions", {"Versions": found[:3], "IsTruncated": True, "NextKeyMarker": "b"})
        stub.add_response("list_object_versions", {"Versions": found[3:]})
        lone, newer, newest, *older = landing.versions()
    told = replace(older[0], version_id="9", sequencer="00617F08299329D189")
    assert max(lone.order, replace(told, key="a").order) == lone.order
    assert max([*older, told, newest, newer], key=lambda file: file.order) == newer
    assert sorted([newest, told, *older], key=lambda file: file.order)[-2:] == [told, newest]


@pytest.mark.usefixtures("aws")
def test_of_a_bucket_with_other_people_s_files_what_is_below_the_prefixes_is_listed(tmp_path: Path) -> None:
    place = S3Place()
    for key in ("in/a/1", "in/b/2", "in/c/3", "4"):
        place.put(key, b"x")
    landing = S3Landing("landing", "service", ["in/c/", "in/a/"])
    assert [file.key for file in landing.versions()] == ["in/c/3", "in/a/1"]
    source = tmp_path / "x"
    source.write_bytes(b"x")
    assert landing.upload(source, "in/a/x").key == "in/a/x"
    with pytest.raises(Refused, match="in/b/x is not below in/c/, in/a/"):
        landing.upload(source, "in/b/x")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("prefixes", "listed", "gone"),
    [(["in/"], [], True), (["in/"], ["v", "w"], False), (["in/"], ["w"], True), ([""], None, False)],
)
def test_forbidden_is_gone_where_listing_is_by_prefix_and_the_version_is_not_listed(
    prefixes: list[str],
    listed: list[str] | None,
    gone: bool,  # noqa: FBT001
) -> None:
    """S3 tells of a missing object only who may list the whole bucket."""
    landing, now = S3Landing("landing", "service", prefixes), datetime.now(UTC)
    file = FileVersion(bucket="landing", key="in/k", version_id="v", size=1, landed_at=now, checksum=None)

    def answers(stub: Stubber, call: str) -> None:
        stub.add_client_error(call, "403", http_status_code=403)
        if listed is not None:
            found: Any = [{"Key": "in/k", "VersionId": it, "Size": 1, "LastModified": now} for it in listed]
            stub.add_response("list_object_versions", {"Versions": found}, {"Bucket": "landing", "Prefix": "in/k"})

    with Stubber(landing._s3) as stub:
        answers(stub, "head_object")
        if gone:
            assert landing.describe("in/k", "v") is None
        else:
            with pytest.raises(Misconfigured):
                landing.describe("in/k", "v")
    with Stubber(landing._s3) as stub:
        stub.add_client_error("head_object", "404", http_status_code=404)  # not staged yet
        answers(stub, "copy_object")
        with pytest.raises(Refused if gone else Misconfigured):
            landing.stage(file, "wap-x/0123")


@pytest.mark.usefixtures("aws")
def test_a_large_file_is_uploaded_and_staged_in_parts(tmp_path: Path) -> None:
    place, parts = S3Place(), TransferConfig(multipart_threshold=5 * s3.MIB, multipart_chunksize=5 * s3.MIB)
    source = tmp_path / "x.parquet"
    source.write_bytes(b"x" * 11 * s3.MIB)
    with patch.multiple(s3, WHOLE=5 * s3.MIB, UPLOAD=parts, COPY=parts):
        file = place.landing.upload(source, "k")
        place.put("k", b"newer")
        uri = place.landing.stage(file, "x.parquet")
    head = place.client.head_object(Bucket="landing", Key="k", VersionId=file.version_id)
    assert head["ETag"].endswith('-3"')
    assert place.staged(uri) == source.read_bytes()


@pytest.mark.usefixtures("aws")
def test_a_version_whose_bytes_are_archived_cannot_be_staged_and_the_reason_says_what_to_do() -> None:
    """It is that file's matter: it must not keep the rest of its batch from being staged, again and again."""
    place = S3Place()
    answer = place.client.put_object(Bucket="landing", Key="k", Body=b"hello", StorageClass="DEEP_ARCHIVE")
    file = place.landing.describe("k", answer["VersionId"])
    assert file is not None
    with pytest.raises(Refused, match="archived by its storage class: restore it"):
        place.landing.stage(file, "wap-x/0123.parquet")


def test_many_are_staged_at_once_and_one_that_is_gone_keeps_no_other(place: Place) -> None:
    files = [place.landing.describe(key, place.put(key, key.encode())) for key in map(str, range(25))]
    wanted = {f"wap-x/{file.key}": file for file in files if file is not None}
    place.drop("7", wanted["wap-x/7"].version_id)
    staged = place.landing.stage_all(wanted)
    assert isinstance(staged.pop("wap-x/7"), Refused)
    assert {name: place.staged(str(uri)) for name, uri in staged.items()} == {
        name: file.key.encode() for name, file in wanted.items() if file.key != "7"
    }


@pytest.mark.usefixtures("aws")
def test_whoever_stages_a_large_batch_after_one_whose_time_ran_out_goes_on_where_that_one_stopped() -> None:
    place, copied = S3Place(), list[str]()
    files = [place.landing.describe(key, place.put(key, key.encode())) for key in ("a", "b")]
    assert isinstance(place.landing, S3Landing)
    place.landing._s3.meta.events.register(
        "before-call.s3.CopyObject", lambda params, **_: copied.append(params["url_path"])
    )
    for some in (files[:1], files, files):
        for file in some:
            assert file is not None
            assert place.staged(place.landing.stage(file, f"wap-x/{file.key}")) == file.key.encode()
    assert copied == ["/staging/wap-x/a", "/staging/wap-x/b"]
    place.client.put_object(Bucket="service", Key="staging/wap-x/a", Body=b"not all of it")
    assert files[0] is not None
    assert place.staged(place.landing.stage(files[0], "wap-x/a")) == b"a"


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.usefixtures("aws")
def test_an_upload_that_is_refused_is_not_to_be_tried_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_late: bool,  # noqa: FBT001
) -> None:
    """However late the upload's thread tells that it has ended: closing the transfers raises the answer once more."""
    if is_late:
        monkeypatch.setattr(TransferCoordinatorController, "remove_transfer_coordinator", lambda *_: None)
    source = tmp_path / "x.parquet"
    source.write_bytes(b"x")
    with pytest.raises(Misconfigured, match="NoSuchBucket"):
        S3Landing("nowhere", "service").upload(source, "k")


@pytest.mark.usefixtures("aws")
def test_uploading_to_a_bucket_without_versions_is_a_mistake(tmp_path: Path) -> None:
    boto3.client("s3").create_bucket(Bucket="plain")
    source = tmp_path / "x.parquet"
    source.write_bytes(b"x")
    with pytest.raises(Misconfigured, match="is not versioned"):
        S3Landing("plain", "service").upload(source, "k")


@pytest.mark.usefixtures("aws")
def test_a_bucket_that_is_not_there_is_a_mistake_to_name() -> None:
    with pytest.raises(Misconfigured, match="nowhere"):
        list(S3Landing("nowhere", "service").versions())
    with pytest.raises(Misconfigured, match="nowhere"):
        S3Store("nowhere").write("x", b"")


def head(**answer: Any) -> FileVersion | None:
    landing = S3Landing("landing", "service")
    expected = {"Bucket": "landing", "Key": "k", "VersionId": "v", "ChecksumMode": "ENABLED"}
    common = {"ContentLength": 5, "LastModified": datetime(2013, 1, 31, 4, 5, 6, 789000, tzinfo=UTC), "ETag": '"ab"'}
    with Stubber(landing._s3) as stub:
        stub.add_response("head_object", common | answer, expected)
        return landing.describe("k", "v")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("answer", "checksum"),
    [
        ({"ChecksumType": "FULL_OBJECT", "ChecksumCRC64NVME": "abc="}, "CRC64NVME:abc="),
        ({"ChecksumType": "FULL_OBJECT", "ChecksumCRC32": "a==", "ChecksumSHA256": "b="}, "SHA256:b="),
        ({"ChecksumType": "COMPOSITE", "ChecksumCRC32": "a==-3"}, None),
        ({"ETag": '"ab-3"', "ChecksumCRC32": "a=="}, None),
        ({}, None),
    ],
)
def test_only_a_checksum_of_the_whole_object_is_content(answer: dict[str, str], checksum: str | None) -> None:
    file = head(**answer)
    assert file is not None
    assert file.checksum == checksum


@pytest.mark.usefixtures("aws")
def test_a_file_version_landed_at_a_whole_second_whoever_tells() -> None:
    file = head()
    assert file is not None
    assert file.landed_at == datetime(2013, 1, 31, 4, 5, 6, tzinfo=UTC)


@pytest.mark.usefixtures("aws")
def test_a_creation_that_is_not_answered_may_have_happened_and_is_not_sent_again() -> None:
    store = S3Store("service")
    with Stubber(store._single_try_client) as stub:
        stub.add_client_error("put_object", "InternalError", http_status_code=500)
        with pytest.raises(OutcomeUnknown, match="notes/a"):
            store.create("notes/a", b"x")


@pytest.mark.usefixtures("aws")
def test_a_creation_beside_another_is_tried_later() -> None:
    store = S3Store("service")
    with Stubber(store._single_try_client) as stub:
        stub.add_client_error("put_object", "ConditionalRequestConflict", http_status_code=409)
        with pytest.raises(Retryable, match="notes/a"):
            store.create("notes/a", b"x")


class Bucket(BaseHTTPRequestHandler):
    """S3 as it may be: whom it denies something it tells so before the body comes, and a connection that has rested is
    dead.
    """

    protocol_version = "HTTP/1.1"
    timeout = 10
    rests = False
    _answered = False

    def handle_expect_100(self) -> bool:
        return "denied" in self.path or super().handle_expect_100()

    def do_PUT(self) -> None:
        self.close_connection = self.rests and self._answered
        if self.close_connection:
            return
        self._answered = True
        if not ("denied" in self.path and "Expect" in self.headers):
            self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(403 if "denied" in self.path else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Bucket]]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    kind = type("Bucket", (Bucket,), {})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield kind
        server.shutdown()
        thread.join()


@pytest.mark.usefixtures("bucket")
def test_an_answer_that_comes_before_the_body_is_not_taken_for_the_next_ones() -> None:
    store = S3Store("service")
    with pytest.raises(Misconfigured, match="403"):
        store.write("denied", b"x")
    store.write("notes/a", b"x")


def test_nothing_is_created_over_a_connection_that_has_rested(bucket: type[Bucket]) -> None:
    bucket.rests = True
    store = S3Store("service")
    assert [store.create("notes/a", b"x"), store.create("notes/b", b"x")] == [True, True]
