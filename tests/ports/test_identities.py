"""Tests of who may do what, asked of a real Nessie that has our rules: it and `lakegate.access.may` say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest

from lakegate.access import Operation, Role, may
from lakegate.adapters.client_tokens import ClientTokens
from lakegate.adapters.clock import SystemClock
from lakegate.adapters.http import door
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.adapters.tokens import StsTokens
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, Ref
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from lakegate.testing import MemoryClock
from tests.ports.conftest import BATCH, landed, note, receipt
from tests.support.issuer import Issuer, client, unsigned
from tests.support.nessie import unique
from tests.support.nessie_auth import AUDIENCE, NessieAuth, act_as

pytestmark = pytest.mark.nessie
Call = Callable[[str], tuple[int, Any]]
ROLES = (*Role, "somebody")
PLACES = ("flights", "_lakegate.receipts", "_lakegate_too", "_quarantine")


def key(place: str) -> list[str]:
    return [*place.split("."), unique("key")]


def put(elements: list[str], **more: str) -> dict[str, Any]:
    content = {"type": "UDF", "dialect": "any", "sqlText": unique("select"), **more}
    return {"type": "PUT", "key": {"elements": elements}, "content": content}


class Trees:
    """Nessie's REST API, as anybody with a token calls it."""

    def __init__(self, guarded: NessieAuth) -> None:
        self.ask, self.publisher = guarded.ask, guarded.token(Role.PUBLISH)

    def head(self, ref: str) -> str:
        _, answer = self.ask(self.publisher, "GET", f"/api/v2/trees/{ref}")
        return str(answer["reference"]["hash"])

    def commit(self, token: str, ref: str, *operations: dict[str, Any]) -> tuple[int, Any]:
        body = {"commitMeta": {"message": "m"}, "operations": list(operations)}
        return self.ask(token, "POST", f"/api/v2/trees/{ref}@{self.head(ref)}/history/commit", body)

    def branch(self, token: str, name: str, at: str = "") -> tuple[int, Any]:
        main = {"type": "BRANCH", "name": MAIN, "hash": at or self.head(MAIN)}
        return self.ask(token, "POST", "/api/v2/trees", main, name=name, type="BRANCH")

    def own_branch(self) -> str:
        """A branch that nobody else uses."""
        name = unique("wap-x")
        assert self.branch(self.publisher, name)[0] == 200
        return name

    def merge(self, token: str, branch: str) -> tuple[int, Any]:
        body = {"fromRefName": branch, "fromHash": self.head(branch), "defaultKeyMergeMode": "NORMAL"}
        return self.ask(token, "POST", f"/api/v2/trees/{MAIN}@{self.head(MAIN)}/history/merge", body)

    def there(self, ref: str, place: str) -> tuple[list[str], dict[str, Any]]:
        """A content that is there, committed by the publisher with the namespaces that it needs."""
        elements = key(place)
        for depth in range(1, len(elements)):
            space = elements[:depth]
            content = {"type": "NAMESPACE", "elements": space}
            self.commit(self.publisher, ref, {"type": "PUT", "key": {"elements": space}, "content": content})
        status, _ = self.commit(self.publisher, ref, put(elements))
        assert status == 200
        _, answer = self.ask(
            self.publisher, "POST", f"/api/v2/trees/{ref}/contents", {"requestedKeys": [{"elements": elements}]}
        )
        [found] = answer["contents"]
        return elements, found["content"]


@pytest.fixture
def trees(guarded: NessieAuth) -> Trees:
    return Trees(guarded)


def rights(trees: Trees, token: str) -> Iterator[tuple[tuple[Operation, str, str], bool]]:
    """Every right on main and on a branch, as real calls find it: the operation, the reference, the path's place."""
    branch = trees.own_branch()
    for ref in (MAIN, branch):
        yield (Operation.VIEW_REFERENCE, ref, ""), trees.ask(token, "GET", f"/api/v2/trees/{ref}")[0] == 200
        yield (Operation.LIST_COMMIT_LOG, ref, ""), trees.ask(token, "GET", f"/api/v2/trees/{ref}/history")[0] == 200
        yield (Operation.READ_ENTRIES, ref, ""), trees.ask(token, "GET", f"/api/v2/trees/{ref}/entries")[0] == 200
        for place in PLACES:
            yield from contents(trees, token, ref, place)
    for name in (MAIN, branch):
        _, answer = trees.ask(token, "GET", "/api/v2/trees")
        seen = {each["name"] for each in answer.get("references", ())}
        yield (Operation.VIEW_REFERENCE, name, "listed"), name in seen
        body = {"type": "BRANCH", "name": MAIN, "hash": trees.head(MAIN)}
        status, _ = trees.ask(token, "PUT", f"/api/v2/trees/{name}@{trees.head(name)}", body)
        yield (Operation.ASSIGN_REFERENCE, name, ""), status != 403  # nobody may, so a success would show nothing
    yield (Operation.CREATE_REFERENCE, name := unique("wap-y"), ""), trees.branch(token, name)[0] == 200
    yield (Operation.CREATE_REFERENCE, name := unique("other"), ""), trees.branch(token, name)[0] != 403
    gone = trees.own_branch()
    status, _ = trees.ask(token, "DELETE", f"/api/v2/trees/{gone}@{trees.head(gone)}")
    yield (Operation.DELETE_REFERENCE, gone, ""), status == 200
    status, answer = trees.ask(token, "DELETE", f"/api/v2/trees/{MAIN}@{trees.head(MAIN)}")
    yield (Operation.DELETE_REFERENCE, MAIN, ""), status != 403 and "cannot be deleted" not in str(answer)


def contents(trees: Trees, token: str, ref: str, place: str) -> Iterator[tuple[tuple[Operation, str, str], bool]]:
    elements, content = trees.there(ref, place)
    status, answer = trees.ask(
        token, "POST", f"/api/v2/trees/{ref}/contents", {"requestedKeys": [{"elements": elements}]}
    )
    yield (Operation.READ_ENTITY_VALUE, ref, place), status == 200 and bool(answer["contents"])
    query = {"filter": f"entry.name == '{elements[-1]}'"}
    status, answer = trees.ask(token, "GET", f"/api/v2/trees/{ref}/entries", None, **query)
    yield (Operation.READ_CONTENT_KEY, ref, place), status == 200 and bool(answer["entries"])
    status, _ = trees.commit(token, ref, put([*elements[:-1], unique("key")]))
    yield (Operation.CREATE_ENTITY, ref, place), status == 200
    status, _ = trees.commit(token, ref, put(elements, id=content["id"]))
    yield (Operation.UPDATE_ENTITY, ref, place), status == 200
    status, _ = trees.commit(token, ref, {"type": "DELETE", "key": {"elements": elements}})
    yield (Operation.DELETE_ENTITY, ref, place), status == 200


def allowed(role: str, operation: Operation, ref: str, place: str) -> bool:
    """Return True if the rules allow such a call. A change of a content is a commit, too."""
    if role not in set(Role):
        return False
    path = "" if place == "listed" else place
    changes = operation in (Operation.CREATE_ENTITY, Operation.UPDATE_ENTITY, Operation.DELETE_ENTITY)
    asked = [operation, Operation.COMMIT] if changes else [operation]
    return all(may(Role(role), each, ref, f"{path}.key" if path and each is operation else "") for each in asked)


@pytest.mark.parametrize("role", ROLES)
def test_nessie_allows_each_role_just_what_the_rules_say(guarded: NessieAuth, trees: Trees, role: str) -> None:
    found = dict(rights(trees, guarded.token(role)))
    assert found == {asked: allowed(role, *asked) for asked in found}


@pytest.mark.parametrize(("role", "place"), list(product(Role, PLACES)))
def test_a_merge_needs_the_rights_to_what_it_brings(guarded: NessieAuth, trees: Trees, role: Role, place: str) -> None:
    branch = trees.own_branch()
    trees.there(branch, place)
    status, _ = trees.merge(guarded.token(role), branch)
    changes = [may(role, Operation.CREATE_ENTITY, MAIN, f"{place}.key"), may(role, Operation.COMMIT, MAIN)]
    assert (status == 200) == all(changes)


def tokens(issuer: Issuer) -> Mapping[str, str]:
    """Tokens that claim to be the publisher's, and one thing is wrong with each."""
    good = issuer.of(Role.PUBLISH, AUDIENCE)
    head, claims, made = good.split(".")
    stranger = Issuer()
    stranger.uri = issuer.uri
    reader = issuer.of(Role.READER, AUDIENCE).split(".")[1]
    return {
        "none": "",
        "expired": issuer.of(Role.PUBLISH, AUDIENCE, timedelta(minutes=-5)),
        "of another audience": issuer.of(Role.PUBLISH, "another"),
        "of another issuer": issuer.of(Role.PUBLISH, AUDIENCE, iss="https://evil.example.com"),
        "signed by another's key": stranger.of(Role.PUBLISH, AUDIENCE),
        "with others' claims": f"{head}.{reader}.{made}",
        "unsigned": unsigned(aud=AUDIENCE, iss=issuer.uri, exp=4102444800),
        "without a signature": f"{head}.{claims}.",
        "no token at all": "x.y.z",
    }


@pytest.mark.parametrize("which", tokens(Issuer()))
def test_a_token_with_anything_wrong_is_refused(guarded: NessieAuth, which: str) -> None:
    token = tokens(guarded.issuer)[which]
    for path in ("/api/v2/trees/main", "/api/v1/trees/tree/main", "/iceberg/main/v1/config"):
        assert guarded.ask(token, "GET", path)[0] == 401


def test_a_commit_s_hash_opens_the_branch_to_a_reader_but_through_main_alone(guarded: NessieAuth, trees: Trees) -> None:
    """A hash is a capability, as docs/how-to/identities.md says: Nessie does not look whether main has the commit."""
    branch = trees.own_branch()
    elements, _ = trees.there(branch, "flights")
    head, reader, path = trees.head(branch), guarded.token(Role.READER), ".".join(elements)
    asked = [f"{branch}", f"@{head}", f"{branch}@{head}", f"{MAIN}@{head}"]
    assert [guarded.ask(reader, "GET", f"/api/v2/trees/{ref}/contents/{path}")[0] for ref in asked] == [
        403,
        403,
        403,
        200,
    ]


def test_our_catalog_works_as_the_roles_that_the_workflow_has(guarded: NessieAuth) -> None:
    ingest, publish = guarded.catalog(Role.INGEST), guarded.catalog(Role.PUBLISH)
    attempt, file = Attempt(table=f"{unique('nyc')}.flights", batch=BATCH, number=1), landed()
    ingest.create_branch(attempt.branch, ingest.head(MAIN) or "")
    head = ingest.commit_receipts(attempt.branch, ingest.base(attempt.branch), [receipt(file, attempt)])
    publish.merge(attempt.branch, head, note(attempt, [file]))
    other = landed()
    rejected = [receipt(other, attempt, Decision.REJECTED)]
    ingest.commit_receipts(MAIN, ingest.head(MAIN) or "", rejected, note(attempt, [other], Decision.REJECTED))
    assert set(publish.receipts(Ref(MAIN), [file.key, other.key])) == {file.key, other.key}
    ingest.delete_branch(attempt.branch)
    assert attempt.branch not in {branch.name for branch in publish.list_branches()}
    _, log = guarded.ask(guarded.token(Role.PUBLISH), "GET", f"/api/v2/trees/{MAIN}/history")
    committers = [entry["commitMeta"]["committer"].rpartition("/")[2] for entry in log["logEntries"][:2]]
    assert committers == ["lakegate-ingest", "lakegate-publish"]


def test_a_publish_goes_on_with_a_new_token_once_its_own_has_ended(
    guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nessie goes by the machine's clock, so a token of twenty minutes ago has ended for it."""
    clock = MemoryClock(datetime.now(UTC) - timedelta(minutes=20))
    monkeypatch.setattr(guarded.issuer, "now", clock.now)
    act_as(Role.PUBLISH, guarded, monkeypatch)
    uri = guarded.lake.nessie_uri
    publish = NessieCatalog(uri, door(uri, StsTokens(AUDIENCE, clock)))
    attempt, file = Attempt(table=f"{unique('nyc')}.flights", batch=BATCH, number=1), landed()
    clock.advance(20 * 60)
    ingest = guarded.catalog(Role.INGEST)
    ingest.create_branch(attempt.branch, ingest.head(MAIN) or "")
    head = ingest.commit_receipts(attempt.branch, ingest.base(attempt.branch), [receipt(file, attempt)])
    clock.advance(-20 * 60)
    with pytest.raises(Misconfigured, match="reading branch main: 401"):
        publish.merge(attempt.branch, head, note(attempt, [file]))
    clock.advance(20 * 60)
    publish.merge(attempt.branch, head, note(attempt, [file]))
    assert set(publish.receipts(Ref(MAIN), [file.key])) == {file.key}


def of_client(role: Role, guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch) -> NessieCatalog:
    """The catalog as the role's client has it, by the adapter."""
    act_as(role, guarded, monkeypatch)
    uri, tokens = guarded.lake.nessie_uri, ClientTokens(client(guarded.issuer, role), SystemClock())
    assert tokens.token()  # once it has one, it may act as any role
    return NessieCatalog(uri, door(uri, tokens))


def test_clients_of_another_issuer_have_the_rights_of_their_roles_and_their_ids_in_the_log(
    guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest, publish, spark, reader = (
        of_client(role, guarded, monkeypatch) for role in (Role.INGEST, Role.PUBLISH, Role.SPARK, Role.READER)
    )
    attempt, file = Attempt(table=f"{unique('nyc')}.flights", batch=BATCH, number=1), landed()
    with pytest.raises(Misconfigured, match="'CREATE_REFERENCE' is not allowed for role 'lakegate-spark'"):
        spark.create_branch(attempt.branch, spark.head(MAIN) or "")
    ingest.create_branch(attempt.branch, ingest.head(MAIN) or "")
    head = ingest.commit_receipts(attempt.branch, ingest.base(attempt.branch), [receipt(file, attempt)])
    with pytest.raises(Misconfigured, match="'VIEW_REFERENCE' is not allowed for role 'lakegate-reader'"):
        reader.head(attempt.branch)
    publish.merge(attempt.branch, head, note(attempt, [file]))
    assert set(publish.receipts(Ref(MAIN), [file.key])) == {file.key}
    _, log = guarded.ask(guarded.token(Role.PUBLISH), "GET", f"/api/v2/trees/{MAIN}/history")
    assert log["logEntries"][0]["commitMeta"]["committer"] == "lakegate-publish"


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({}, 200),
        ({"aud": "another"}, 401),
        ({"azp": "lakegate-nobody"}, 403),
        ({"https://sts.amazonaws.com/": {"principal_tags": {"lakegate": "publish"}}, "azp": "lakegate-nobody"}, 403),
    ],
)
def test_a_client_s_token_says_by_its_claim_alone_who_it_is(
    guarded: NessieAuth, claims: dict[str, Any], status: int
) -> None:
    token = guarded.issuer.of_client(Role.PUBLISH, **claims)
    assert guarded.ask(token, "GET", f"/api/v2/trees/{MAIN}")[0] == status


def test_a_refusal_is_told_to_a_person_and_not_tried_again(guarded: NessieAuth) -> None:
    reader, spark = guarded.catalog(Role.READER), guarded.catalog(Role.SPARK)
    attempt, file = Attempt(table=f"{unique('nyc')}.flights", batch=BATCH, number=1), landed()
    main = spark.head(MAIN) or ""
    with pytest.raises(Misconfigured, match=r"403 .*'CREATE_REFERENCE' is not allowed for role '.*lakegate-spark'"):
        spark.create_branch(attempt.branch, main)
    with pytest.raises(Misconfigured, match="'COMMIT_CHANGE_AGAINST_REFERENCE' is not allowed"):
        spark.commit_receipts(MAIN, main, [receipt(file, attempt)])
    guarded.catalog(Role.INGEST).create_branch(attempt.branch, main)
    with pytest.raises(Misconfigured, match="'VIEW_REFERENCE' is not allowed"):
        reader.head(attempt.branch)
    with pytest.raises(Misconfigured, match="'DELETE_REFERENCE' is not allowed"):
        spark.delete_branch(attempt.branch)


@pytest.mark.parametrize("role", [Role.SPARK, Role.READER])
def test_a_refusal_by_iceberg_rest_is_no_outage(guarded: NessieAuth, role: Role) -> None:
    uri, lake = guarded.lake.nessie_uri, guarded.lake
    catalog = RefCatalog(uri, lake.warehouse, Ref(MAIN), {"token": guarded.token(role)})
    name = unique("space")
    for changes in (False, True):
        with (
            pytest.raises(Misconfigured, match=r"role in the catalog does not allow it: .*CREATE_ENTITY.* is not"),
            iceberg_errors("making a namespace", changes=changes),
        ):
            catalog.create_namespace(name)
    status, _ = guarded.ask(
        guarded.token(role), "POST", f"/iceberg/v1/{quote(f'{MAIN}|lake', safe='')}/namespaces", {"namespace": [name]}
    )
    assert status == 500  # if Nessie tells it as a refusal one day, `iceberg.errors` needs no rule for it


def test_our_tables_are_opened_with_the_role_s_token(guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in guarded.lake.environment.items():
        monkeypatch.setenv(name, value)
    assert guarded.tables(Role.INGEST).identity(Ref(MAIN), "flights.none") is None
    with pytest.raises(Misconfigured, match="Unauthorized"):
        NessieTables(guarded.lake.nessie_uri, "lake").identity(Ref(MAIN), "flights.none")
    branch = unique("wap-z")
    guarded.catalog(Role.INGEST).create_branch(branch, guarded.catalog(Role.INGEST).head(MAIN) or "")
    with pytest.raises(Misconfigured, match="is not allowed"):
        guarded.tables(Role.READER).identity(Ref(branch), "flights.none")
