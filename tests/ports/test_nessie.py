"""Tests of what is particular to Nessie as the catalog: its empty main, its commits' size, its errors."""

from __future__ import annotations

import inspect
import json
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pynessie.error
import pytest
import requests
from pynessie.error import NessieException

from lakegate.adapters.http import TimeoutAdapter, mount
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.ingestion import MOST_FILES
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, DecidedFile, Record, Ref
from lakegate.publishing.nessie import NessieCatalog, nessie_errors
from lakegate.publishing.nessie.records import LIMIT, entry_of, message, properties
from lakegate.publishing.nessie.rest import NessieRest
from tests.ports.conftest import BATCH, NessiePlace, landed, note, receipt
from tests.support.nessie import Lake, nessie, unique

ATTEMPT = Attempt(table="nyc.flights", batch=BATCH, number=1)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Nessie of this module's own."""
    with nessie(tmp_path_factory.mktemp("empty") / "nessie.log", "http://127.0.0.1:1", "s3://lake/warehouse") as uri:
        yield uri


@pytest.fixture
def empty(other: str) -> str:
    """The same, and its main has no commit."""
    root = requests.get(f"{other}/api/v2/config", timeout=300).json()["noAncestorHash"]
    url = f"{other}/api/v2/trees/{MAIN}@{NessieCatalog(other).head(MAIN)}"
    requests.put(url, json={"type": "BRANCH", "name": MAIN, "hash": root}, timeout=300).raise_for_status()
    return other


@pytest.mark.nessie
def test_the_watermark_goes_up_on_a_main_to_which_nothing_was_published(empty: str) -> None:
    catalog, mark = NessieCatalog(empty), datetime(2013, 1, 1, tzinfo=UTC)
    catalog.compact(catalog.head(MAIN) or "", [], mark)
    assert catalog.watermark() == mark


@pytest.mark.nessie
def test_the_first_branches_of_an_empty_main_can_both_be_merged(empty: str) -> None:
    catalogs = NessieCatalog(empty), NessieCatalog(empty)
    root = catalogs[0].head(MAIN) or ""
    left, right = (replace(ATTEMPT, number=number) for number in (1, 2))
    for catalog, attempt in zip(catalogs, (left, right), strict=True):
        catalog.create_branch(attempt.branch, root)
    for catalog, attempt in zip(catalogs, (left, right), strict=True):
        file = landed()
        head = catalog.commit_receipts(attempt.branch, catalog.base(attempt.branch), [receipt(file, attempt)])
        catalog.merge(attempt.branch, head, note(attempt, [file]))
        assert list(catalog.receipts(Ref(MAIN), [file.key])) == [file.key]


@pytest.mark.nessie
def test_a_view_s_metadata_file_is_told_from_a_table_s(nessie_place: NessiePlace, table: str) -> None:
    """Whoever cleans keeps it, and reads nothing in it: it is no table's."""
    place, name, base = nessie_place, unique("a_branch"), nessie_place.catalog.head(MAIN) or ""
    namespace, view = table.partition(".")[0], "s3://lake/a-view.metadata.json"
    place.catalog.create_branch(name, base)
    place.write(name, table, 1)
    content = {"type": "ICEBERG_VIEW", "metadataLocation": view, "versionId": 1, "schemaId": 1}
    put = {"type": "PUT", "key": {"elements": [namespace, "late"]}, "content": content}
    url = f"{place.lake.nessie_uri}/api/v2/trees/{name}@{place.lake.head(name)}/history/commit"
    body = {"commitMeta": {"message": "a view"}, "operations": [put]}
    requests.post(url, json=body, timeout=300).raise_for_status()
    head = place.lake.head(name)
    for since in (base, head, datetime.now(UTC) + timedelta(days=1)):
        files = [it for it in place.catalog.metadata_files(head, since) if namespace in it.table]
        assert [(it.table, it.uri) for it in files if it.is_view] == [(f"{namespace}.late", view)]
        assert {it.table for it in files if not it.is_view} == {table}


@pytest.mark.nessie
def test_what_lies_between_two_commits_is_asked_for_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog, file = NessiePlace(lake).catalog, landed()
    attempt = replace(ATTEMPT, batch=unique("batch"))
    base = catalog.head(MAIN) or ""
    catalog.create_branch(attempt.branch, base)
    head = catalog.commit_receipts(attempt.branch, base, [receipt(file, attempt)])
    found = catalog.changes(base, head)
    monkeypatch.setattr(NessieRest, "_send", lambda *_, **__: pytest.fail("it is known already"))
    assert catalog.changes(base, head) == found
    assert list(found.receipts) == [file.key]


@pytest.mark.nessie
def test_what_a_commit_holds_is_asked_for_once_and_what_a_branch_holds_each_time(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, others = NessiePlace(lake).catalog, NessiePlace(lake).catalog
    attempt, first, second = replace(ATTEMPT, batch=unique("batch")), landed(), landed()
    base = catalog.head(MAIN) or ""
    catalog.create_branch(attempt.branch, base)
    asked = [first.key, second.key]
    for ref in (Ref(MAIN, base), Ref(attempt.branch)):
        assert catalog.receipts(ref, asked) == {}
    head = others.commit_receipts(attempt.branch, base, [receipt(first, attempt)])
    for ref in (Ref("", head), Ref(attempt.branch)):
        assert list(catalog.receipts(ref, asked)) == [first.key]
    monkeypatch.setattr(NessieRest, "_send", lambda *_, **__: pytest.fail("it is known already"))
    assert catalog.receipts(Ref(MAIN, base), asked) == {}
    assert list(catalog.receipts(Ref(attempt.branch, head), asked)) == [first.key]


@pytest.mark.nessie
def test_a_note_looks_like_ours_but_is_a_strangers_and_is_passed_over(lake: Lake) -> None:
    place = NessiePlace(lake)
    commit = {"message": "x", "properties": {"lakegate.decision": "published", "lakegate.attempt": "many"}}
    key = {"elements": [unique("namespace")]}
    content = {"type": "NAMESPACE", **key}
    url = f"{lake.nessie_uri}/api/v2/trees/main@{lake.head()}/history/commit"
    body = {"commitMeta": commit, "operations": [{"type": "PUT", "key": key, "content": content}]}
    requests.post(url, json=body, timeout=300).raise_for_status()
    head = lake.head()
    assert head not in {found.commit for found in place.catalog.decisions(1)}


@pytest.mark.nessie
@pytest.mark.parametrize(("ahead", "found"), [(timedelta(), 1), (timedelta(hours=23), 1), (timedelta(hours=25), 0)])
def test_nessie_looks_for_a_batchs_decisions_no_further_back_than_a_day_before_it(
    lake: Lake, ahead: timedelta, found: int
) -> None:
    catalog, file = NessieCatalog(lake.nessie_uri), landed()
    batch = f"{datetime.now(UTC) + ahead:%Y%m%dT%H%M}-{secrets.token_hex(4)}"
    attempt = replace(ATTEMPT, batch=batch)
    rejected = receipt(file, attempt, Decision.REJECTED)
    told = note(attempt, [file], Decision.REJECTED)
    catalog.commit_receipts(MAIN, catalog.head(MAIN) or "", [rejected], told)
    pages = list[dict[str, Any]]()
    catalog._rest.session.hooks["response"].append(lambda answer, **_: pages.append(answer.json()))
    assert len(list(catalog.decisions(9, batch=batch))) == found
    [page] = pages
    assert page["logEntries"], "Nessie gives what is older, and so looks no further"


@pytest.mark.nessie
@pytest.mark.parametrize("files", [1000, 5000])
def test_a_large_decision_is_committed_and_read_back(lake: Lake, files: int) -> None:
    catalog, file = NessiePlace(lake).catalog, landed()
    big = note_of(files)
    catalog.commit_receipts(MAIN, catalog.head(MAIN) or "", [receipt(file, ATTEMPT)], big)
    [found] = catalog.decisions(1)
    assert found.record == read_back(properties(big))
    assert len(found.record.files) + found.record.rest == files


def note_of(files: int) -> Record:
    """Versions as S3 calls them, in long folders."""
    decided_files = tuple(
        DecidedFile(
            key=f"nyc/flights/year=2013/month=01/vendor={40 * 'v'}/{number:05d}.parquet",
            version_id=sha256(f"{number}".encode()).hexdigest()[:32],
            rows=number,
            reasons=("bad é",) * 3,
            replaces=(sha256(f"before {number}".encode()).hexdigest()[:32],),
            replaced=number,
        )
        for number in range(files)
    )
    return Record(
        decision=Decision.REJECTED,
        table="nyc.flights",
        batch=BATCH,
        attempt=1,
        files=decided_files,
        reason="no",
        by="me",
    )


def read_back(told: Mapping[str, str]) -> Record:
    meta = {
        "hash": "ab",
        "commitTime": "2026-11-21T03:29:23.148946930Z",
        "allProperties": {name: [value] for name, value in told.items()},
    }
    found = entry_of(meta)
    assert found is not None
    return found.record


@pytest.mark.parametrize("files", [0, 1, 3, 100, MOST_FILES])
def test_a_note_names_every_file_of_a_batch(files: int) -> None:
    assert read_back(properties(note_of(files))) == note_of(files)


@pytest.mark.parametrize("files", [1500, 5000, 20_000])
def test_a_note_fits_a_commit_and_counts_what_it_leaves_out(files: int) -> None:
    known, told = note_of(files), properties(note_of(files))
    assert sum(len(value.encode()) for value in told.values()) < LIMIT + 1000
    named = read_back(told).files
    assert len(named) + int(told.get("lakegate.more", "0")) == files
    assert len(named) >= min(files, 1500)
    assert [replace(file, reasons=()) for file in named] == [
        replace(file, reasons=()) for file in known.files[: len(named)]
    ]


def test_files_whose_keys_cannot_be_packed_are_counted() -> None:
    keys = ["".join(sha256(f"{number} {part}".encode()).hexdigest() for part in range(16)) for number in range(1000)]
    files = tuple(DecidedFile(key=key, version_id="v", reasons=("bad",)) for key in keys)
    told = properties(replace(note_of(0), files=files))
    named = read_back(told)
    assert 0 < len(named.files) < len(files)
    assert len(named.files) + named.rest == len(files)
    assert sum(len(value.encode()) for value in told.values()) < LIMIT + 1000


def test_a_note_of_an_earlier_release_is_read() -> None:
    told = properties(note_of(0)) | {"lakegate.files": '[{"key": "a", "version_id": "v", "rows": 7}]'}
    assert read_back(told).files == (DecidedFile(key="a", version_id="v", rows=7),)


@pytest.mark.parametrize("packed", ["no base 64", "bm90IHBhY2tlZA==", "eJyLNowFAAHTAOo="])
def test_what_only_looks_like_a_decision_is_none(packed: str) -> None:
    told = properties(note_of(0)) | {"lakegate.packed": packed}
    assert (
        entry_of({"hash": "ab", "commitTime": "", "allProperties": {name: [it] for name, it in told.items()}}) is None
    )


def test_a_decisions_message_says_what_and_why() -> None:
    first, *rest = message(note(ATTEMPT, [landed("nyc/flights/a.parquet")], Decision.REJECTED)).splitlines()
    assert first == "rejected nyc.flights: 1 file, 5 rows"
    assert rest == ["", ATTEMPT.branch, "I said so", "nyc/flights/a.parquet: late"]


def test_a_decision_of_one_row_says_so() -> None:
    of_five = note(ATTEMPT, [landed("nyc/flights/a.parquet")])
    of_one = replace(of_five, files=(replace(of_five.files[0], rows=1),))
    assert message(of_one).splitlines()[0] == "published nyc.flights: 1 file, 1 row"


def vendor_errors() -> list[type[Exception]]:
    named = [kind for _, kind in inspect.getmembers(pynessie.error, inspect.isclass) if issubclass(kind, Exception)]
    network = [kind for _, kind in inspect.getmembers(requests.exceptions, inspect.isclass)]
    return named + [kind for kind in network if issubclass(kind, requests.RequestException)]


def made(kind: type[Exception], status: int) -> Exception:
    if issubclass(kind, NessieException):
        return kind({"message": "no", "errorCode": "REFERENCE_CONFLICT"}, status, "http://nessie", "reason")
    if issubclass(kind, requests.HTTPError):
        response = requests.Response()
        response.status_code = status
        return kind("no", response=response)
    if issubclass(kind, requests.JSONDecodeError):
        return kind("no", "doc", 0)
    return kind("no")


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("status", [400, 503])
@pytest.mark.parametrize("kind", vendor_errors())
def test_every_vendor_error_becomes_one_of_ours(kind: type[Exception], status: int, changes: bool) -> None:  # noqa: FBT001
    vendors = made(kind, status)
    with pytest.raises(LakegateError) as caught, nessie_errors("testing", changes=changes):
        raise vendors
    assert caught.value.__cause__ is vendors


@pytest.mark.parametrize(
    ("status", "code", "changes", "ours"),
    [
        (409, "REFERENCE_CONFLICT", True, Conflict),
        (404, "REFERENCE_NOT_FOUND", True, Conflict),
        (404, "", False, Misconfigured),  # not Nessie that answers: the address is wrong
        (401, "", True, Misconfigured),
        (403, "FORBIDDEN", True, Misconfigured),
        (403, "FORBIDDEN", False, Misconfigured),
        (429, "", True, Retryable),
        (503, "", False, Retryable),
        (503, "", True, OutcomeUnknown),
        (500, "UNKNOWN", True, OutcomeUnknown),
    ],
)
def test_an_answer_says_what_to_do_now(status: int, code: str, changes: bool, ours: type[LakegateError]) -> None:  # noqa: FBT001
    response = requests.Response()
    response.status_code = status
    response._content = json.dumps({"message": "no", "errorCode": code} if code else {"no": 1}).encode()
    with pytest.raises(LakegateError) as caught, nessie_errors("testing", changes=changes):
        response.raise_for_status()
    assert type(caught.value) is ours


@pytest.mark.nessie
def test_branches_are_made_where_the_home_folder_cannot_be_written_to(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    catalog, name = NessieCatalog(lake.nessie_uri), unique("wap-")
    catalog.create_branch(name, catalog.head(MAIN) or "")
    assert catalog.head(name) == catalog.head(MAIN)
    catalog.delete_branch(name)


def test_a_deletion_that_something_before_nessie_does_not_find_has_not_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(*_: object, **__: object) -> requests.Response:
        answer = requests.Response()
        answer.status_code, answer.reason, answer.url, answer._content = 404, "Not Found", "http://nessie", b"<html>"
        return answer

    catalog = NessieCatalog("http://nessie")
    monkeypatch.setattr(catalog, "head", lambda _: "ab" * 32)
    monkeypatch.setattr(catalog._rest.session, "delete", nowhere)
    with pytest.raises(Misconfigured, match="deleting branch wap-x"):
        catalog.delete_branch("wap-x")


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes calls and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address that is taken, so that nobody else can have it, and that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_merge_that_is_not_answered_may_have_happened(silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = NessieCatalog(silent)
    catalog._rest.session = mount(requests.Session(), TimeoutAdapter((60, 0.05)))
    monkeypatch.setattr(catalog, "_main", lambda: "ab" * 32)
    with pytest.raises(OutcomeUnknown, match="merging wap-x"):
        catalog.merge("wap-x", "cd" * 32, note_of(1))


def test_a_merge_that_reached_nobody_did_not_happen(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = NessieCatalog(nobody)
    catalog._rest.session = mount(requests.Session(), TimeoutAdapter((60, 0.05)))
    monkeypatch.setattr(catalog, "_main", lambda: "ab" * 32)
    with pytest.raises(Retryable, match="merging wap-x"):
        catalog.merge("wap-x", "cd" * 32, note_of(1))


def test_every_call_has_a_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def send(_: object, request: requests.PreparedRequest, **how: object) -> requests.Response:
        seen.append((request.method, how["timeout"]))
        raise requests.ConnectionError

    monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)
    catalog = NessieCatalog("http://nessie")
    calls: list[Callable[[], object]] = [
        lambda: catalog.head("wap-x"),
        catalog.list_branches,
        lambda: catalog.create_branch("wap-x", "ab" * 32),
        lambda: catalog.delete_branch("wap-x"),
        lambda: catalog.receipts(Ref("main"), ["k"]),
        lambda: catalog.changes("a", "b"),
        lambda: catalog.base("wap-x"),
        lambda: list(catalog.decisions(1)),
    ]
    for call in calls:
        with pytest.raises(LakegateError):
            call()
    assert len(seen) == len(calls)
    assert all(timeout for _, timeout in seen)
