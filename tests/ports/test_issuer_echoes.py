"""An issuer that echoes the client's secret, in whatever spelling and at whatever place of its answer: nothing that is
raised or logged has it. Both that ask for tokens are asked over a real socket.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from lakegate.adapters.client_tokens import ClientTokens
from lakegate.audit import issuer
from lakegate.audit.model.client import Client
from lakegate.errors import LakegateError, Misconfigured
from lakegate.testing import MemoryClock
from spark_jobs.jvm.identity import NoTokenError, _of_client

ID = "lakegate-spark"


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda secret: secret,
    "percent": lambda secret: quote(secret, safe=""),
    "percent, in small letters": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()),
    "percent, twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "form": quote_plus,
    "json": lambda secret: json.dumps(secret)[1:-1],
    "json of utf-8": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "python": lambda secret: repr(secret)[1:-1],
    "html": html.escape,
    "base64": in_base64,
    "base64 of the pair": lambda secret: in_base64(f"{ID}:{secret}"),
    "base64 for addresses": lambda secret: base64.urlsafe_b64encode(f"{ID}:{secret}".encode()).decode().rstrip("="),
    "base64 of the form": lambda secret: in_base64(f"grant_type=client_credentials&client_secret={secret}")[-8:],
    "hex": lambda secret: secret.encode().hex(),
    "small": str.lower,
    "words": lambda secret: "_".join("".join(sign if sign.isalnum() else " " for sign in secret).split()),
    "half": lambda secret: secret[: max(8, len(secret) // 2)],
}


def answer(body: str, head: str = "400 Bad Request", more: str = "") -> bytes:
    content = body.encode()
    return f"HTTP/1.1 {head}\r\nContent-Length: {len(content)}\r\n{more}\r\n".encode() + content


def of(error: str, **more: object) -> str:
    return json.dumps({"error": error, **more})


SHAPES: dict[str, Callable[[str], bytes]] = {
    "description": lambda echo: answer(of("invalid_client", error_description=f"{echo} is wrong"), "401 No"),
    "description of no code": lambda echo: answer(json.dumps({"error_description": echo})),
    "uri": lambda echo: answer(of("invalid_client", error_uri=f"https://x/{echo}")),
    "code": lambda echo: answer(of(echo)),
    "code of ours before it": lambda echo: answer(of(f"invalid_client_{echo}")),
    "code in words": lambda echo: answer(of(f"bad_{echo}_given".lower())),
    "code is a list": lambda echo: answer(json.dumps({"error": [echo]})),
    "code is an object": lambda echo: answer(json.dumps({"error": {"message": echo}})),
    "array": lambda echo: answer(json.dumps([echo])),
    "deep": lambda echo: answer("[" * 100_000 + echo),
    "page": lambda echo: answer(f"<html>{echo}", "500 Oops"),
    "phrase": lambda echo: answer("", f"403 {line(echo)}"),
    "status line": lambda echo: f"{line(echo)}\r\n\r\n".encode(),
    "status": lambda echo: f"HTTP/1.1 {line(echo)} {line(echo)}\r\n\r\n".encode(),
    "redirect": lambda echo: answer("", "302 Found", f"Location: https://{line(echo)}/{line(echo)}\r\n"),
    "redirect of no place": lambda echo: answer("", "307 Go", f"Location: {line(echo)}\r\n"),
    "header": lambda echo: answer("", "400 No", f"X: y\r\n{line(echo)}\r\nZ: z\r\n"),
    "encoding": lambda echo: answer(echo, "400 No", "Content-Encoding: gzip\r\n"),
    "chunk": lambda echo: f"HTTP/1.1 400 No\r\nTransfer-Encoding: chunked\r\n\r\n{line(echo)}\r\n".encode(),
    "cut short": lambda echo: b"HTTP/1.1 400 No\r\nContent-Length: 9999\r\n\r\n" + echo.encode(),
    "token": lambda echo: answer(json.dumps({"access_token": f"a\r\n{echo}", "expires_in": 3600}), "200 OK"),
    "no token": lambda echo: answer(json.dumps({"token": echo}), "200 OK"),
    "life": lambda echo: answer(json.dumps({"access_token": "a b", "expires_in": echo}), "200 OK"),
    "good but for its words": lambda echo: answer(echo, "200 OK"),
}


def line(echo: str) -> str:
    return echo.replace("\r", "").replace("\n", "")


@contextmanager
def serving(given: bytes) -> Iterator[str]:
    """The answer, to each call at this address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_each() -> None:
            while True:
                try:
                    call, _ = server.accept()
                except OSError:
                    return
                with call:
                    heard = call.recv(65536)
                    while b"client_secret" not in heard and (more := call.recv(65536)):
                        heard += more
                    call.sendall(given)

        thread = threading.Thread(target=answer_each, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/token"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


class OfSecret(ClientTokens):
    """Tokens of a client whose secret is in no AWS."""

    def __init__(self, client: Client, secret: str) -> None:
        super().__init__(client, MemoryClock())
        self._kept = secret

    def _read(self) -> str:
        return self._kept


def ways(client: Client, secret: str) -> list[Callable[[], object]]:
    return [OfSecret(client, secret).token, lambda: _of_client(client, secret, "")]


def left_by(ask: Callable[[], object], caplog: pytest.LogCaptureFixture) -> str:
    """Return what an issuer's answer leaves, in the error and in logs."""
    caplog.clear()
    with caplog.at_level(logging.INFO), pytest.raises((LakegateError, NoTokenError)) as caught:
        ask()
    return "".join(traceback.format_exception(caught.value)) + caplog.text


SECRETS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=8, max_size=60),
    st.text("abcdefghijklmnopqrstuvwxyz_", min_size=8, max_size=40),
    st.text("ab~%+/=&\"\\'< ", min_size=8, max_size=40),
    st.text("0123456789abcdef", min_size=16, max_size=64),
)


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(secret=SECRETS, spelling=st.sampled_from(sorted(SPELLINGS)))
@example(secret="p+ss w/rd=1&2", spelling="form")
@example(secret="correct_horse_battery", spelling="as it is")
@example(secret="Correct Horse Battery", spelling="words")
def test_what_an_issuer_echoes_is_in_no_error_and_no_log(
    shape: str, secret: str, spelling: str, caplog: pytest.LogCaptureFixture
) -> None:
    assume(secret.strip() == secret)
    echo = SPELLINGS[spelling](secret)
    with serving(SHAPES[shape](echo)) as endpoint:
        client = Client(id=ID, secret="lakegate/oidc/spark", endpoint=endpoint)
        left = [left_by(ask, caplog) for ask in ways(client, secret)]
    with serving(answer("", "400 No")) as endpoint:
        client = Client(id=ID, secret="lakegate/oidc/spark", endpoint=endpoint)
        ours = "".join(left_by(ask, caplog) for ask in ways(client, secret))
    for text in (echo, line(echo), *(spelt(secret) for spelt in SPELLINGS.values())):
        if len(text) >= issuer.PIECE and text not in ours:
            assert not [each for each in left if text.lower() in each.lower()]


@pytest.mark.parametrize("code", [*sorted(issuer.CODES), "slow_down", "invalid_target", "mfa_required"])
def test_an_issuer_s_code_is_shown_though_its_words_are_not(code: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(answer(of(code, error_description="because of you"))) as endpoint:
        client = Client(id=ID, secret="lakegate/oidc/spark", endpoint=endpoint)
        for ask in ways(client, "7f3a-secret-91bc"):
            left = left_by(ask, caplog)
            assert f"400 {code}" in left
            assert "because of you" not in left


@pytest.mark.parametrize(
    ("code", "is_shown"),
    [
        ("a" * issuer.LONGEST, True),
        ("a" * (issuer.LONGEST + 1), False),
        ("", False),
        ("Invalid_client", False),
        ("invalid client", False),
        ("invalid__client", False),
        ("invalid_client\n", False),
        ("invalid_cliènt", False),
        ("their_hunter_is", False),
    ],
)
def test_an_unknown_code_is_shown_only_in_the_form_of_one(code: str, *, is_shown: bool) -> None:
    assert bool(issuer.error_code({"error": code}, ID, "hunter2-their_hunter")) is is_shown


@pytest.mark.parametrize("code", [None, 3, ["invalid_client"], {"invalid_client": 1}])
def test_a_code_that_is_no_text_is_none(code: object) -> None:
    assert issuer.error_code({"error": code}, ID, "secret") == ""


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Not authorized: invalid_client: p%2Bss", "invalid_client"),
        ("Malformed request: invalid_scope: p%2Bss", "invalid_scope"),
        ("Malformed request: invalid_scope", "invalid_scope"),
        ("Malformed request: hunter_two: p%2Bss", ""),
        ("Unable to process: p%2Bss", ""),
    ],
)
def test_of_a_message_of_iceberg_s_client_the_code_alone_is_shown(message: str, code: str) -> None:
    assert issuer.code_in(message) == code


def test_an_issuer_s_own_codes_lead_to_their_own_next_step() -> None:
    with serving(answer(of("invalid_scope", error_description="p%2Bss"))) as endpoint:
        tokens = OfSecret(Client(id=ID, secret="name", endpoint=endpoint), "p+ss")
        with pytest.raises(Misconfigured, match=r"400 invalid_scope\. Allow the client the scope"):
            tokens.token()
