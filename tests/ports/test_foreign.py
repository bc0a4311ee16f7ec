"""Tests of what is taken of a catalog that is not ours: nothing by which it could run, sign, send or read what it
likes.
"""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import requests

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.iceberg import MetadataIO, RefCatalog, check_storage, iceberg_errors
from lakegate.adapters.lake import LakeIO
from lakegate.errors import LakegateError, Misconfigured
from lakegate.ports import Ref

URI = "http://nessie:19120"
ELSEWHERE = {
    "s3.endpoint": "http://evil",
    "s3.access-key-id": "theirs",
    "s3.signer": "S3V4RestSigner",
    "s3.signer.uri": "http://evil",
    "s3.proxy-uri": "http://evil",
    "client.access-key-id": "theirs",
    "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO",
    "s3.remote-signing-enabled": "true",
}


class Foreign(TimeoutAdapter):
    """A catalog that answers as it likes."""

    def __init__(self, said: dict[str, Any], table: dict[str, Any] | None = None, where: str = "overrides") -> None:
        super().__init__()
        both: dict[str, Any] = {"defaults": {}, "overrides": {}}
        both["overrides"]["uri"] = f"{URI}/iceberg/main"
        both[where] |= said
        self.answers = {"/v1/config": both, "/tables/": table}
        self.asked: list[requests.PreparedRequest] = []

    def send(self, request: requests.PreparedRequest, *_: object, **__: object) -> requests.Response:
        self.asked.append(request)
        said = next(answer for path, answer in self.answers.items() if path in str(request.url))
        answer = requests.Response()
        answer.status_code, answer.url, answer.request = 200, str(request.url), request
        answer.raw = BytesIO(json.dumps(said).encode())
        return answer


def table(**more: Any) -> dict[str, Any]:
    metadata = {
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "s3://lake/shop/orders",
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": 1,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": more.pop("properties", {}),
    }
    return {"metadata-location": "s3://lake/shop/orders/metadata/1.json", "metadata": metadata, "config": more}


@pytest.mark.parametrize("where", ["overrides", "defaults"])
def test_a_catalog_cannot_have_a_program_run_here(where: str, tmp_path: Path) -> None:
    """PyIceberg makes any class that the catalog names, with what it says."""
    touched = tmp_path / "touched"
    auth = {"type": "custom", "impl": "subprocess.check_call", "custom": {"args": ["touch", str(touched)]}}
    RefCatalog(URI, "lake", Ref("main"), http=Foreign({"auth": auth}, where=where))
    assert not touched.exists()


@pytest.mark.parametrize("where", ["overrides", "defaults"])
@pytest.mark.parametrize(
    "said",
    [
        {"rest.sigv4-enabled": "true", "rest.signing-name": "sts"},
        {"credential": "a:b", "oauth2-server-uri": "http://evil/token"},
        {"token": "theirs"},
        {"header.Authorization": "theirs"},
        {"ssl": {"cabundle": "/etc/passwd"}},
        {"auth": "basic"},
        ELSEWHERE,
    ],
)
def test_a_catalog_cannot_say_how_it_is_asked_nor_where_storage_is(said: dict[str, Any], where: str) -> None:
    foreign = Foreign(said, where=where)
    catalog = RefCatalog(URI, "lake", Ref("main"), {"s3.endpoint": "http://ours"}, http=foreign)
    assert len(foreign.asked) == 1
    assert set(catalog._session.adapters) == {"http://", "https://"}
    assert catalog._session.verify is True
    assert "Authorization" not in catalog._session.headers
    assert {name: catalog.properties[name] for name in said if name in catalog.properties} in (
        {},
        {"s3.endpoint": "http://ours", "s3.remote-signing-enabled": "false", "py-io-impl": catalog._io["py-io-impl"]},
    )


@pytest.mark.parametrize("told", [{}, {"properties": ELSEWHERE}, ELSEWHERE])
def test_a_table_cannot_say_where_its_storage_is_nor_with_whose_keys_it_is_read(told: dict[str, Any]) -> None:
    catalog = RefCatalog(URI, "lake", Ref("main"), {"s3.access-key-id": "ours"}, http=Foreign({}, table(**told)))
    io = catalog.load_table("shop.orders").io
    assert isinstance(io, MetadataIO)
    left = {name: value for name, value in io.properties.items() if name in ELSEWHERE}
    assert left == {
        "s3.access-key-id": "ours",
        "s3.remote-signing-enabled": "false",
        "py-io-impl": "lakegate.adapters.iceberg.files.MetadataIO",
    }


@pytest.mark.parametrize(
    "uri", ["http://evil/iceberg", "https://nessie:19120/iceberg", "http://nessie:80", ["x"], None]
)
def test_a_catalog_that_names_another_address_is_not_followed(uri: object) -> None:
    with pytest.raises(LakegateError), iceberg_errors("opening"):
        RefCatalog(URI, "lake", Ref("main"), http=Foreign({"uri": uri}))


AWAY = [
    "file:///etc/passwd",
    "/etc/passwd",
    "http://evil/x",
    "hf://evil/x",
    "gs://evil/x",
    "abfs://e@v/x",
    "data:x",
    "",
]


@pytest.mark.parametrize("location", AWAY)
def test_a_file_of_a_table_that_is_not_in_s3_is_neither_read_nor_written(location: str) -> None:
    io = MetadataIO({})
    for use in (check_storage, io.new_input, io.new_output, io.read):
        with pytest.raises(Misconfigured, match="lakegate reads tables in S3 only"):
            use(location)


@pytest.mark.parametrize("location", AWAY)
def test_rows_of_a_table_that_are_not_in_s3_are_not_read_by_a_query(location: str) -> None:
    io = LakeIO({})
    for use in (io.new_input, io.new_output, io.delete):
        with pytest.raises(Misconfigured, match="lakegate reads tables in S3 only"):
            use(location)


def test_what_is_in_s3_is_read_by_whatever_of_its_names() -> None:
    for scheme in ("s3", "s3a", "s3n"):
        check_storage(f"{scheme}://lake/x")
