"""Tests of what every `Tokens` promises, and the one door through which they go to the catalog."""

from __future__ import annotations

import base64
import json
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
import structlog
from requests.adapters import HTTPAdapter

from lakegate import bootstrap
from lakegate.access import Role
from lakegate.adapters.aws import SINGLE_TRY
from lakegate.adapters.client_tokens import SHORTEST, ClientTokens
from lakegate.adapters.http import IdentifiedAdapter, mount
from lakegate.adapters.renewal import IssuedToken, RenewedToken
from lakegate.adapters.tokens import StsTokens
from lakegate.cli.doctor import Examination
from lakegate.doctor.finding import Verdict
from lakegate.errors import Misconfigured, Retryable
from lakegate.ports import MAIN, Ref, Tokens
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from lakegate.settings import Settings
from lakegate.testing import MemoryClock, MemoryTokens
from tests.support.issuer import AUDIENCE_OF_CLIENTS, SCOPE, Issuer, as_settings, client, expiry, issuing
from tests.support.issuer import CLIENTS as PATH_OF_CLIENTS
from tests.test_settings import COMPLETE

CALL = timedelta(seconds=90)  # the longest that one takes
CANARY = "canary-7f3a"


@dataclass(kw_only=True)
class Given:
    """Tokens, the clock that both sides go by, when each token that was issued expires, and the issuer, which answers
    or does not.
    """

    tokens: Tokens
    clock: MemoryClock
    issued: Callable[[], dict[str, datetime]]
    issuer: MemoryTokens | Issuer


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Issuer]:
    """Yield where this process finds STS and Secrets Manager, which take it for the role `ingest`."""
    with issuing(Issuer(now=MemoryClock().now)) as found:
        ours = {"ACCESS_KEY_ID": "ingest", "SECRET_ACCESS_KEY": "x", "REGION": "eu-central-1"}
        places = {f"ENDPOINT_URL_{service}": found.uri for service in ("STS", "SECRETS_MANAGER")}
        for name, value in {**ours, **places, "DEFAULT_REGION": "eu-central-1"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        yield found


@pytest.fixture(params=["memory", "sts", "client", "client of short tokens"])
def given(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Given:
    clock = MemoryClock()
    if request.param == "memory":
        memory = MemoryTokens(clock)
        return Given(tokens=memory, clock=clock, issued=lambda: memory.expiries, issuer=memory)
    found: Issuer = request.getfixturevalue("issuer")
    monkeypatch.setattr(
        "lakegate.adapters.tokens.CONFIG", SINGLE_TRY
    )  # a test of a silent issuer does not wait for retries
    found.now = clock.now
    found.life = SHORTEST if request.param == "client of short tokens" else timedelta(hours=1)
    tokens: Tokens = (
        StsTokens("lake", clock) if request.param == "sts" else ClientTokens(client(found, Role.INGEST), clock)
    )
    return Given(
        tokens=tokens,
        clock=clock,
        issued=lambda: {token: expiry(token) for token in found.issued},
        issuer=found,
    )


def test_a_token_outlives_every_call_that_it_is_given_for(given: Given) -> None:
    for _ in range(40):
        token = given.tokens.token()
        assert given.issued()[token] > given.clock.now() + CALL
        given.clock.advance(61)


def test_a_token_is_used_again_while_it_is_good(given: Given) -> None:
    first = given.tokens.token()
    given.clock.advance(60)
    assert given.tokens.token() == first
    given.clock.advance(3600)
    assert given.tokens.token() != first
    assert len(given.issued()) == 2


def test_many_threads_share_one_token(given: Given) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: given.tokens.token(), range(32)))) == 1
    assert len(given.issued()) == 1


def test_while_the_issuer_is_silent_the_last_token_is_used_for_as_long_as_it_outlives_a_call(given: Given) -> None:
    first = given.tokens.token()
    good = given.issued()[first] - given.clock.now() - CALL
    given.issuer.answers = False
    given.clock.advance(good.total_seconds() - 1)
    assert [given.tokens.token() for _ in range(2)] == [first, first]
    given.clock.advance(2)
    with pytest.raises(Retryable):
        given.tokens.token()
    given.issuer.answers = True
    assert given.tokens.token() != first


class Counted(RenewedToken):
    """Tokens of an issuer that answers or does not."""

    def __init__(self, clock: MemoryClock) -> None:
        super().__init__(clock)
        self.now, self.asked, self.answers = clock.now, 0, True

    def issue(self) -> IssuedToken:
        self.asked += 1
        if not self.answers:
            raise Retryable("no answer")
        return IssuedToken(token=f"token {self.asked}", expires_at=self.now() + timedelta(minutes=15))


def test_a_silent_issuer_is_asked_again_after_a_while_and_not_at_each_call() -> None:
    clock = MemoryClock()
    tokens = Counted(clock)
    tokens.token()
    tokens.answers = False
    clock.advance(10 * 60)
    for _ in range(60):  # a minute of calls
        tokens.token()
        clock.advance(1)
    assert tokens.asked == 1 + 2
    tokens.answers = True
    assert tokens.token() == "token 4"


def test_a_refusal_is_told_though_the_last_token_is_still_good(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MemoryClock()
    issuer.now, tokens = clock.now, StsTokens("lake", clock)
    tokens.token()
    clock.advance(11 * 60)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with pytest.raises(Misconfigured, match="AccessDenied"):
        tokens.token()


def test_sts_is_asked_for_the_audience_and_no_other(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, list[str]]] = []
    answer = issuer.ask

    def noted(caller: str, its: dict[str, list[str]]) -> tuple[int, str]:
        asked.append(its)
        return answer(caller, its)

    monkeypatch.setattr(issuer, "ask", noted)
    StsTokens("lake", MemoryClock()).token()
    [its] = asked
    assert {name: its[name] for name in its if name.startswith("Audience")} == {"Audience.member.1": ["lake"]}


def test_a_token_of_sts_ends_with_its_session_at_the_latest_and_is_renewed_by_its_own_life(issuer: Issuer) -> None:
    clock = MemoryClock()
    issuer.now, issuer.session_end = clock.now, clock.now() + timedelta(minutes=14)
    tokens, lives = StsTokens("lake", clock), dict[str, int]()
    while clock.now() + timedelta(seconds=60) <= issuer.session_end:
        token = tokens.token()
        lives.setdefault(token, round((expiry(token) - clock.now()).total_seconds()))
        assert clock.now() < expiry(token) <= issuer.session_end
        clock.advance(5)
    assert [*dict.fromkeys(lives.values())] == [450, 225, 112, 60]


def test_a_session_that_ends_within_a_minute_is_said_with_its_role(issuer: Issuer) -> None:
    clock = MemoryClock()
    issuer.now, issuer.session_end = clock.now, clock.now() + timedelta(seconds=59)
    with pytest.raises(Misconfigured, match=r"the session of lakegate-ingest ends within a minute.*aws sso login"):
        StsTokens("lake", clock).token()
    assert issuer.issued == []


def test_a_role_that_gets_no_token_is_a_person_s_to_mend(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    with pytest.raises(Misconfigured, match=r"STS: asking for a token for lake: .*AccessDenied"):
        StsTokens("lake", MemoryClock()).token()
    assert issuer.issued == []


@pytest.mark.usefixtures("issuer")
def test_an_sts_that_is_out_of_reach_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(Retryable, match="STS: asking for a token"):
            StsTokens("lake", MemoryClock()).token()


def one(issuer: Issuer, **other: str) -> ClientTokens:
    """Tokens of the client of `ingest`."""
    return ClientTokens(client(issuer, Role.INGEST, **other), MemoryClock())


def test_a_client_s_token_is_its_own(issuer: Issuer) -> None:
    claims = one(issuer).token().split(".")[1]
    found = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert (found["azp"], found["scope"]) == ("lakegate-ingest", SCOPE)


def test_a_role_reads_no_other_role_s_secret(issuer: Issuer) -> None:
    tokens = ClientTokens(client(issuer, Role.PUBLISH), MemoryClock())
    with pytest.raises(Misconfigured, match=r"reading the secret lakegate/oidc/publish of lakegate-publish: .*AccessD"):
        tokens.token()
    assert issuer.issued == []


def test_a_password_that_was_replaced_is_read_anew(issuer: Issuer) -> None:
    tokens, clock = one(issuer), MemoryClock()
    tokens._clock = clock
    first = tokens.token()
    issuer.passwords[Role.INGEST] = issuer.known[Role.INGEST] = "another"
    clock.advance(3600)
    assert tokens.token() != first


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"id": "lakegate-nobody"}, r"401 invalid_client\. .*put-secret-value --secret-id lakegate/oidc/ingest "),
        ({"scope": "another"}, r"400 invalid_scope\. Allow the client the scope, or correct token\.scope"),
        ({"endpoint": "elsewhere"}, r"Invalid URL"),
    ],
)
def test_what_the_issuer_refuses_is_a_person_s_to_mend(issuer: Issuer, other: dict[str, str], says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        one(issuer, **other).token()
    assert issuer.issued == []


def test_a_wrong_password_is_told_with_the_command_and_without_the_password(issuer: Issuer) -> None:
    issuer.known[Role.INGEST] = "another"
    with pytest.raises(Misconfigured) as refused:
        one(issuer).token()
    told = "".join(traceback.format_exception(refused.value))
    assert f"{issuer.uri}: asking for a token as lakegate-ingest: 401 invalid_client" in told
    assert "401 invalid_client. Have the client's own in it: aws secretsmanager" in told
    assert issuer.passwords[Role.INGEST] not in told


GOOD = {"access_token": "a.b.c", "token_type": "Bearer", "expires_in": 3600}


@pytest.mark.parametrize(
    ("status", "body", "error", "says"),
    [
        (400, {"error": "unauthorized_client"}, Misconfigured, "Allow the client the grant of client credentials"),
        (400, {"error": "invalid_request"}, Misconfigured, "400 invalid_request. Correct token.endpoint, token.scope"),
        (404, "<html>", Misconfigured, "404. Correct token.endpoint"),
        (401, "<html>", Misconfigured, "put-secret-value"),
        (302, "", Misconfigured, "redirects, and no redirect is followed"),
        (429, {"error": "slow_down"}, Retryable, "429 slow_down"),
        (503, "busy", Retryable, "503"),
        (200, "<html>", Misconfigured, "the answer has no token"),
        (200, ["a"], Misconfigured, "the answer has no token"),
        (200, {**GOOD, "access_token": "a\r\nX: b"}, Misconfigured, "the answer has no token"),
        (200, {**GOOD, "access_token": None}, Misconfigured, "the answer has no token"),
        (200, {**GOOD, "expires_in": 239}, Misconfigured, "its tokens live for less than 240 s"),
        (200, {"access_token": "a.b.c"}, Misconfigured, "its tokens live for less than 240 s"),
    ],
)
def test_each_answer_of_a_token_endpoint_is_told_for_what_it_is(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, status: int, body: object, error: type[Exception], says: str
) -> None:
    own = one(issuer)
    own._password = CANARY
    monkeypatch.setattr(own, "_read", lambda: CANARY)
    Wire(monkeypatch, answered(status, (body if isinstance(body, str) else json.dumps(body)).encode()))
    with pytest.raises(error, match=says) as told:
        own.token()
    assert CANARY not in "".join(traceback.format_exception(told.value))


def test_a_life_that_is_said_as_text_is_taken(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    own = one(issuer)
    own._password = CANARY
    Wire(monkeypatch, answered(200, json.dumps({**GOOD, "expires_in": "3600"}).encode()))
    assert own.token() == "a.b.c"


def test_a_token_endpoint_that_is_out_of_reach_is_asked_again_later(issuer: Issuer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}/token"
        with pytest.raises(Retryable, match="asking for a token as lakegate-ingest"):
            one(issuer, endpoint=endpoint).token()


def test_a_person_s_own_passwords_do_not_go_to_the_issuer(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("default login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    own = one(issuer)
    own._password = CANARY
    wire = Wire(monkeypatch, answered(200, json.dumps(GOOD).encode()))
    own.token()
    assert [request.headers.get("Authorization") for request in wire.sent] == [None]


class Fixed:
    """One token for ever."""

    def token(self) -> str:
        return CANARY


class Wire:
    """A network that records each call, and answers it. Calls to `beside` go there."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        answer: Callable[[requests.PreparedRequest], Any],
        beside: str = "nowhere",
    ) -> None:
        self.sent: list[requests.PreparedRequest] = []
        goes_out = HTTPAdapter.send

        def send(adapter: HTTPAdapter, request: requests.PreparedRequest, **more: Any) -> requests.Response:
            if str(request.url).startswith(beside):
                return goes_out(adapter, request, **more)
            self.sent.append(request)
            found: requests.Response = answer(request)
            return found

        monkeypatch.setattr("requests.adapters.HTTPAdapter.send", send)


def answered(status: int, body: bytes) -> Callable[[requests.PreparedRequest], requests.Response]:
    def answer(request: requests.PreparedRequest) -> requests.Response:
        found = requests.Response()
        found.status_code, found.url, found.request = status, str(request.url), request
        found.raw = BytesIO(body)
        return found

    return answer


def unanswered(request: requests.PreparedRequest) -> requests.Response:
    raise requests.ConnectionError(f"no answer from {request.url}", request=request)


NESSIE = "https://nessie.example.com"


@pytest.mark.parametrize(
    ("url", "goes"),
    [
        (f"{NESSIE}/api/v2/trees", True),
        (f"{NESSIE}:443/api/v2/trees", True),
        ("https://NESSIE.example.com/api", True),
        ("http://nessie.example.com/api", False),
        (f"{NESSIE}:8443/api", False),
        ("https://nessie.example.com.evil.example.com/", False),
        ("https://evil.example.com/", False),
    ],
)
def test_a_token_goes_to_the_catalog_and_to_no_other_server(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    goes: bool,
) -> None:
    wire = Wire(monkeypatch, answered(200, b"{}"))
    mount(requests.Session(), IdentifiedAdapter(NESSIE, Fixed())).get(url)
    assert [request.headers.get("Authorization") for request in wire.sent] == [f"Bearer {CANARY}" if goes else None]


def calls(catalog: NessieCatalog, tables: NessieTables) -> list[Callable[[], object]]:
    """Every call that the workflow makes, by each client."""
    return [
        lambda: catalog.head("wap-x"),
        catalog.list_branches,
        lambda: catalog.create_branch("wap-x", "ab" * 32),
        lambda: catalog._rest.references.create_branch("wap-x", "DETACHED", "ab" * 32),
        lambda: catalog._rest.references.delete_branch("wap-x", "ab" * 32),
        lambda: catalog.receipts(Ref(MAIN), ["k"]),
        lambda: list(catalog.all_receipts(Ref(MAIN))),
        lambda: catalog._rest.commit("wap-x", "ab" * 32, [], "text"),
        lambda: list(catalog.decisions(1)),
        lambda: tables.identity(Ref(MAIN), "nyc.flights"),
        lambda: tables.append("nyc.flights", "wap-x", Ref(MAIN), frozenset()),
    ]


def test_every_client_s_calls_have_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch, unanswered)
    http = IdentifiedAdapter(NESSIE, Fixed())
    catalog, tables = NessieCatalog(NESSIE, http), NessieTables(NESSIE, "lake", http)
    for call in calls(catalog, tables):
        before = len(wire.sent)
        with pytest.raises(Exception, match="no answer"):
            call()
        assert len(wire.sent) > before
    assert {request.headers.get("Authorization") for request in wire.sent} == {f"Bearer {CANARY}"}


def test_two_catalogs_in_one_process_keep_their_own_identities(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire(monkeypatch, unanswered)
    first, second = (
        NessieCatalog(NESSIE, IdentifiedAdapter(NESSIE, its)) for its in (Fixed(), MemoryTokens(MemoryClock()))
    )
    for catalog in (first, second, first):
        with pytest.raises(requests.ConnectionError):
            catalog._rest.references.delete_branch("wap-x", "ab" * 32)
    sent = [request.headers["Authorization"] for request in wire.sent]
    assert sent == [f"Bearer {CANARY}", "Bearer token 1", f"Bearer {CANARY}"]


@pytest.mark.parametrize(
    "answer",
    [
        unanswered,
        answered(401, b""),
        answered(403, b'{"message": "no", "errorCode": "FORBIDDEN"}'),
        answered(500, b'{"error": {"message": "no", "type": "AccessCheckException", "code": 500}}'),
        answered(503, b"busy"),
        answered(200, b"no JSON"),
        answered(302, b""),
    ],
)
def test_no_error_and_no_log_has_the_token(
    answer: Callable[[requests.PreparedRequest], Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    bootstrap.configure_logging()
    Wire(monkeypatch, answer)
    http = IdentifiedAdapter(NESSIE, Fixed())
    catalog, tables, told = NessieCatalog(NESSIE, http), NessieTables(NESSIE, "lake", http), list[str]()
    with caplog.at_level(logging.DEBUG):
        for call in calls(catalog, tables):
            try:
                call()
            except Exception as error:  # noqa: BLE001 - whatever it is
                structlog.get_logger().exception("failed", error=error)
                told += [*traceback.format_exception(error), repr(error)]
    said = capfd.readouterr()
    assert "failed" in said.err
    assert CANARY not in "".join([*told, said.out, said.err, caplog.text])


@pytest.mark.parametrize("lane", ["none", "sts", "client"])
def test_settings_say_whose_tokens_the_catalog_is_sent(
    lane: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer.now = lambda: datetime.now(UTC)
    nobody = {"nessie_uri": NESSIE, "nessie_ca": "", "token_audience": "", "token_endpoint": ""}
    own = {"none": {}, "sts": {"token_audience": "lake"}, "client": as_settings(issuer)}[lane]
    service = bootstrap.service(Settings.from_mapping({**COMPLETE, **nobody, **own}))
    assert (service.catalog.audience, bool(service.catalog.client)) == (own.get("token_audience", ""), lane == "client")
    wire = Wire(monkeypatch, unanswered, beside=issuer.uri)
    for call in (lambda: service.branches.head(MAIN), lambda: service.tables.identity(Ref(MAIN), "nyc.flights")):
        with pytest.raises(Retryable):
            call()
    sent = [request.headers.get("Authorization") for request in wire.sent]
    if lane == "none":
        assert (sent, issuer.issued) == ([None, "Bearer None"], [])  # the second is PyIceberg's own, of no token
        return
    [token] = issuer.issued
    assert sent == 2 * [f"Bearer {token}"]


def test_the_doctor_says_whose_tokens_a_command_gets(issuer: Issuer) -> None:
    own = {"nessie_uri": NESSIE, "nessie_ca": "", "token_audience": AUDIENCE_OF_CLIENTS, **as_settings(issuer)}
    settings = Settings.from_mapping({**COMPLETE, **own})
    unasked: Any = None
    examination = Examination(stack="", settings=settings, stacks=unasked, surroundings=unasked, bot=unasked)
    (found,) = examination.token()
    said = f"lakegate-ingest gets those of {issuer.uri}{PATH_OF_CLIENTS}, with its id as azp"
    assert (found.verdict, found.said) == (Verdict.OK, said)
    (refused,) = replace(examination, settings=replace(settings, role="observer")).token()
    assert refused.verdict is Verdict.WRONG
    assert "reading the secret lakegate/oidc/observer of lakegate-observer" in refused.said
    assert refused.todo.startswith("get the right to read the client's secret")
