"""Tests of what every `Notifier` promises, and what a person finds in Slack."""

from __future__ import annotations

import http.client
import inspect
import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.error import URLError

import boto3
import pytest
import slack_sdk.errors
import structlog
from hypothesis import given
from hypothesis import strategies as st
from lakegate_local import slack_server
from lakegate_local.slack_server import BLOCKS, SlackError, SlackStandIn
from moto import mock_aws
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse
from structlog.testing import capture_logs

from lakegate.adapters import slack as adapter
from lakegate.adapters.slack import SlackNotifier, blocks, slack_errors, summary
from lakegate.audit.advice import Advice
from lakegate.audit.schema.lines import quote
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.ports import Message, MessageFile, MessageKind, Notifier
from lakegate.testing import MemoryNotifier
from tests.ports.test_runner import SETTINGS
from tests.support.wsgi import serving

TOKEN = "xoxb-test"
BATCH = "20130131T0405-1a2b3c4d"
BRANCH = f"wap-nyc.flights-{BATCH}-a1"
REJECTED = Message(
    kind=MessageKind.REJECTED,
    batch=BATCH,
    table="nyc.flights",
    branch=BRANCH,
    files=(
        MessageFile(
            key="nyc/flights/2013-13.parquet",
            reasons=("dep_time required: 12 of 27,004 rows, expected 0", "month: 3 of 27,004 rows, expected 1 to 12"),
            rows=27_004,
            failing_rows=12,
        ),
    ),
    published_files=3,
    published_rows=80_000,
    commands=(f"lakegate show {BATCH}", f'lakegate discard {BATCH} --why "…"'),
)


# Every notifier.


@dataclass(kw_only=True)
class Told:
    """A notifier, and how to see what arrived."""

    notifier: Notifier
    arrived: Callable[[], int]


@pytest.fixture
def stand_in(tmp_path: Path) -> SlackStandIn:
    return SlackStandIn(token=TOKEN, file=tmp_path / "slack.jsonl")


@pytest.fixture
def slack(stand_in: SlackStandIn, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlackNotifier]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with serving(stand_in) as address, mock_aws():
        boto3.client("secretsmanager").create_secret(Name="slack", SecretString=f"{TOKEN} {address}/api/\n")
        yield SlackNotifier(replace(SETTINGS, slack_secret="slack", slack_channel="#data"))


@pytest.fixture(params=["memory", "slack"])
def told(request: pytest.FixtureRequest, stand_in: SlackStandIn) -> Told:
    if request.param == "memory":
        memory = MemoryNotifier()
        return Told(notifier=memory, arrived=lambda: len(memory.messages))
    return Told(notifier=request.getfixturevalue("slack"), arrived=lambda: len(stand_in.messages))


@pytest.mark.parametrize("kind", MessageKind)
def test_a_message_arrives_once(told: Told, kind: MessageKind) -> None:
    told.notifier.notify(replace(REJECTED, kind=kind))
    assert told.arrived() == 1


# What is particular to Slack.


def test_slack_gets_channel_blocks_and_a_line_for_the_notification(
    slack: SlackNotifier, stand_in: SlackStandIn
) -> None:
    slack.notify(REJECTED)
    [sent] = stand_in.messages
    assert sent["channel"] == "#data"
    assert sent["text"].startswith("🛑 Rejected nyc.flights: nyc/flights/2013-13.parquet, dep_time required")
    assert sent["blocks"] == blocks(REJECTED)
    assert sent["unfurl_links"] is False


LONG = tuple(
    replace(REJECTED.files[0], key=f"nyc/{number:02}/{'long' * 70}.parquet", reasons=("r" * 300,) * 3)
    for number in range(20)
)


def test_a_message_of_twenty_files_with_long_names_and_reasons_is_taken(
    slack: SlackNotifier, stand_in: SlackStandIn
) -> None:
    slack.notify(replace(REJECTED, files=LONG))
    [sent] = stand_in.messages
    assert sent["blocks"] == blocks(replace(REJECTED, files=LONG))


@pytest.mark.parametrize("said", ["msg_blocks_too_long", "invalid_blocks", "msg_too_long"])
def test_blocks_that_slack_does_not_take_are_told_in_short_with_what_to_run(
    slack: SlackNotifier, stand_in: SlackStandIn, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    def refuse_blocks(arguments: dict[str, Any]) -> None:
        if "blocks" in arguments:
            raise SlackError(said)

    monkeypatch.setattr(slack_server, "check_message", refuse_blocks)
    slack.notify(REJECTED)
    [sent] = stand_in.messages
    assert sent["text"] == f'{summary(REJECTED)}\n```lakegate show {BATCH}\nlakegate discard {BATCH} --why "…"```'


def test_a_message_says_which_lane_audited_where_there_is_a_choice() -> None:
    assert "Lane" not in json.dumps(blocks(REJECTED))
    assert "*Lane*\\nexpress: it is small" in json.dumps(blocks(replace(REJECTED, lane="express: it is small")))


def test_what_a_contract_observes_is_told_as_published_with_what_enforcing_would_have_done() -> None:
    reasons = ("observed: it would have been rejected", "dep_time required: 12 of 27,004 rows, expected 0")
    file = replace(REJECTED.files[0], reasons=reasons, failing_rows=0)
    told = replace(REJECTED, kind=MessageKind.OBSERVE, branch="", files=(file,), would_reject=1, would_quarantine=40)
    text = json.dumps(blocks(told), ensure_ascii=False)
    assert summary(told).startswith("👁️ Observed and published: nyc.flights: nyc/flights/2013-13.parquet, observed")
    assert "*If enforced*\\n1 file rejected, 40 rows in quarantine" in text
    assert "*Published*\\n80,000 rows are on main" in text


def test_what_slack_refuses_for_another_reason_is_not_told_in_short(
    slack: SlackNotifier, stand_in: SlackStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_server, "check_message", lambda _: slack_server.refuse("is_archived"))
    with pytest.raises(Misconfigured, match="is_archived"):
        slack.notify(REJECTED)
    assert stand_in.messages == []


def test_a_busy_slack_is_waited_for(slack: SlackNotifier, stand_in: SlackStandIn) -> None:
    stand_in.refusals, stand_in.retry_after = 1, 0
    slack.notify(REJECTED)
    assert len(stand_in.messages) == 1


def test_a_slack_that_stays_busy_is_tried_later(slack: SlackNotifier, stand_in: SlackStandIn) -> None:
    stand_in.refusals, stand_in.retry_after = 10, 0
    with pytest.raises(Retryable, match="ratelimited"):
        slack.notify(REJECTED)
    assert stand_in.messages == []


def test_a_wrong_token_is_a_mistake_to_name(slack: SlackNotifier, stand_in: SlackStandIn) -> None:
    stand_in.token = "another"
    with pytest.raises(Misconfigured, match="invalid_auth"):
        slack.notify(REJECTED)


@pytest.mark.parametrize("said", ["invalid_auth", "token_revoked", "token_expired", "account_inactive", "not_authed"])
def test_a_token_that_was_replaced_is_read_anew(
    slack: SlackNotifier, stand_in: SlackStandIn, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    slack.notify(REJECTED)
    stand_in.token = "another"
    monkeypatch.setattr(slack_server, "WRONG_TOKEN", said)
    boto3.client("secretsmanager").put_secret_value(SecretId="slack", SecretString=f"another {slack._slack.base_url}")
    slack.notify(REJECTED)
    assert len(stand_in.messages) == 2


def test_a_token_that_stays_wrong_is_read_once_more_and_no_oftener(
    slack: SlackNotifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def refuse(self: SlackStandIn, request: Any, arguments: Any) -> None:  # noqa: ARG001 (the stand-in's form)
        asked.append(request.path)
        raise SlackError("token_revoked")

    monkeypatch.setattr(SlackStandIn, "_check_token", refuse)
    with pytest.raises(Misconfigured, match="token_revoked"):
        slack.notify(REJECTED)
    assert len(asked) == 2


@pytest.mark.usefixtures("slack")
def test_a_secret_that_is_not_there_is_a_mistake_to_name() -> None:
    notifier = SlackNotifier(replace(SETTINGS, slack_secret="nowhere", slack_channel="#data"))
    with pytest.raises(Misconfigured, match="nowhere"):
        notifier.notify(REJECTED)


def test_an_installation_without_slack_tells_its_log() -> None:
    structlog.reset_defaults()
    with capture_logs() as logged:
        SlackNotifier(SETTINGS).notify(REJECTED)
    assert "2013-13.parquet" in logged[0]["text"]


def test_a_slack_that_does_not_answer_may_have_told(slack: SlackNotifier, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=16) as silent:
        slack._slack.base_url = f"http://127.0.0.1:{silent.getsockname()[1]}/api/"
        monkeypatch.setattr(slack._slack, "timeout", 0.5)
        with pytest.raises(OutcomeUnknown):
            slack.notify(REJECTED)


def test_a_slack_that_nobody_is_at_was_not_told(slack: SlackNotifier) -> None:
    with socket.socket() as taken:  # and does not listen: nobody else can
        taken.bind(("127.0.0.1", 0))
        slack._slack.base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/api/"
        with pytest.raises(Retryable):
            slack.notify(REJECTED)


def test_every_call_has_a_time_out(slack: SlackNotifier) -> None:
    assert slack._slack.timeout == adapter.SECONDS


def api_error(code: str, status: int = 200) -> SlackApiError:
    response = SlackResponse(
        client=None, http_verb="POST", api_url="", req_args={}, data={"error": code}, headers={}, status_code=status
    )
    return SlackApiError("no", response)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("vendors", "ours"),
    [
        (api_error("ratelimited", 429), Retryable),
        (api_error("", 429), Retryable),
        (api_error("service_unavailable", 503), Retryable),
        (api_error("fatal_error", 500), OutcomeUnknown),
        (api_error("internal_error"), OutcomeUnknown),
        (api_error("", 502), OutcomeUnknown),
        (api_error("channel_not_found"), Misconfigured),
        (api_error("invalid_blocks"), Misconfigured),
        (URLError(ConnectionRefusedError()), Retryable),
        (URLError(socket.gaierror()), Retryable),
        (URLError(TimeoutError()), OutcomeUnknown),
        (TimeoutError(), OutcomeUnknown),
        (ConnectionResetError(), OutcomeUnknown),
        (http.client.RemoteDisconnected(""), OutcomeUnknown),
        (http.client.IncompleteRead(b""), OutcomeUnknown),
    ],
)
def test_an_error_says_what_to_do_now(vendors: Exception, ours: type[LakegateError]) -> None:
    with pytest.raises(LakegateError) as caught, slack_errors("testing"):
        raise vendors
    assert type(caught.value) is ours


def vendor_errors() -> list[type[Exception]]:
    found = [kind for _, kind in inspect.getmembers(slack_sdk.errors, inspect.isclass)]
    return [kind for kind in found if issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", vendor_errors())
def test_every_vendor_error_becomes_one_of_ours(kind: type[Exception]) -> None:
    vendors = api_error("any") if kind is SlackApiError else kind.__new__(kind)
    with pytest.raises(LakegateError) as caught, slack_errors("testing"):
        raise vendors
    assert caught.value.__cause__ is vendors


# The blocks.


def text_of(found: list[dict[str, Any]]) -> str:
    return json.dumps(found, ensure_ascii=False).replace("\u200b", "").replace("\\n", "\n").replace('\\"', '"')


def test_a_rejection_says_what_failed_why_how_much_and_what_to_run() -> None:
    said = text_of(blocks(REJECTED))
    for wanted in (
        "🛑 Rejected nyc.flights",
        f"`{BATCH}`",
        f"`{BRANCH}`",
        "`nyc/flights/2013-13.parquet` · 12 of 27,004 rows failed",
        "• dep_time required: 12 of 27,004 rows, expected 0",
        "• month: 3 of 27,004 rows, expected 1 to 12",
        "3 other files of the batch, 80,000 rows",
        f'```lakegate show {BATCH}\nlakegate discard {BATCH} --why "…"```',
    ):
        assert wanted in said


ADVICE = Advice(
    vendor='write column "date" as timestamps with a time zone (UTC)',
    contract='write the type of "date" as the file has it',
    lines="- name: date\n  logicalType: timestamp\n  logicalTypeOptions: {timezone: false}",
)


def test_a_reason_is_followed_by_what_to_write_next() -> None:
    file = MessageFile(key="k", reasons=("it is so",), advice=(ADVICE,))
    assert (
        "• it is so\n"
        '→ Ask the vendor to write column "date" as timestamps with a time zone (UTC).\n'
        '→ If the file is right, write the type of "date" as the file has it:\n'
        "```- name: date\n  logicalType: timestamp\n  logicalTypeOptions: {timezone: false}```"
    ) in text_of(blocks(replace(REJECTED, files=(file,))))


def test_an_advice_for_several_files_is_told_once() -> None:
    files = tuple(MessageFile(key=f"k{at}", reasons=("it is so",), advice=(ADVICE,)) for at in range(5))
    said = text_of(blocks(replace(REJECTED, files=files)))
    assert (said.count("• it is so"), said.count("Ask the vendor")) == (5, 1)


def test_a_part_of_a_contracts_lines_is_of_no_use_and_is_not_told() -> None:
    wide = replace(ADVICE, lines="\n".join(f"- name: column_{at}" for at in range(100)))
    said = text_of(blocks(replace(REJECTED, files=(MessageFile(key="k", reasons=("r",), advice=(wide,)),))))
    assert "as the file has it: the lines that lakegate show has for it" in said
    assert "column_1" not in said


def test_what_an_attempt_as_a_whole_is_to_mend_stands_once_in_its_message() -> None:
    whole = replace(REJECTED, why="table t does not fit its contract", advice=(Advice(operator="run lakegate retry"),))
    assert text_of(blocks(whole)).count("→ Run lakegate retry.") == 1


def test_a_warning_says_that_the_rows_are_published() -> None:
    warned = replace(REJECTED, kind=MessageKind.WARNING, branch="")
    said = text_of(blocks(warned))
    assert "Published with warnings nyc.flights" in said
    assert "80,000 rows are on main" in said
    assert "Branch" not in said


def test_one_row_and_one_file_are_told_as_one() -> None:
    one = replace(REJECTED.files[0], rows=1, failing_rows=1)
    rejected = replace(REJECTED, files=(one, replace(one, failing_rows=0)), published_files=1, published_rows=1)
    said = text_of(blocks(rejected))
    for wanted in ("1 of 1 row failed", "1 other file of the batch, 1 row", "2013-13.parquet` · 1 row"):
        assert f'{wanted}"' in said or f"{wanted}\n" in said
    assert "1 row is on main" in text_of(blocks(replace(rejected, kind=MessageKind.APPROVAL)))
    assert "and 1 more file: " in text_of(blocks(replace(REJECTED, files=REJECTED.files * 21)))


def test_what_is_unrouted_has_neither_table_nor_batch() -> None:
    files = (MessageFile(key="odd/x.parquet", reasons=("no contract routes 'odd/x.parquet'",)),)
    held = Message(kind=MessageKind.UNROUTED, batch="", table="", branch="", files=files, commands=("lakegate status",))
    header, *rest = blocks(held)
    assert header["text"]["text"] == "⏸️ Unrouted: no contract routes these files"
    assert [block["type"] for block in rest] == ["section", "section"]


def test_what_does_not_fit_is_counted_and_where_to_find_it_is_said() -> None:
    many = tuple(replace(REJECTED.files[0], key=f"{number}.parquet", reasons=("bad",) * 30) for number in range(500))
    found = blocks(replace(REJECTED, files=many))
    said = text_of(found)
    assert "and 480 more files" in said
    assert f"`lakegate show {BATCH}`" in said
    assert "• and 28 more" in said


def test_files_with_long_names_and_reasons_are_left_out_until_slack_takes_the_rest_and_counted() -> None:
    found = blocks(replace(REJECTED, files=LONG))
    told = text_of(found).count(" rows failed")
    assert 5 < told < 20
    assert f"and {20 - told} more files" in text_of(found)
    assert len(json.dumps(found, ensure_ascii=False)) <= adapter.BLOCKS


@pytest.mark.parametrize(("files", "each"), [(1, 3), (5, 3), (20, 2), (50, 2)])
def test_the_more_files_failed_the_fewer_reasons_of_each_are_told(files: int, each: int) -> None:
    reasons = tuple(f"check {number}: 1 of 2 rows, expected none" for number in range(30))
    told = blocks(replace(REJECTED, files=(MessageFile(key="k", reasons=reasons),) * files))
    sections = [block["text"]["text"] for block in told if "• check" in str(block)]
    assert [section.count("• check") for section in sections] == [each] * min(files, 20)
    assert all(f"• and {30 - each} more reasons: `lakegate show {BATCH}`" in section for section in sections)


def test_reasons_that_grow_when_escaped_still_fit() -> None:
    file = replace(REJECTED.files[0], reasons=("&" * 5000,) * 9)
    found = blocks(replace(REJECTED, files=(file,)))
    assert [fault.message for fault in BLOCKS.iter_errors(found)] == []
    assert "• and 8 more" in text_of(found)


@pytest.mark.parametrize(
    "hostile",
    [
        "<!channel>",
        "<@U123>",
        "<https://evil.example|click>",
        "a`b```c",
        "one\ntwo\r\n\u2028three",
        "*bold* _it_ ~no~ (_x_) __y__",
        "a&amp;b",
        "rtl\u202etxet",
        ":smile: @here #general",
    ],
)
def test_a_strangers_text_stays_text(hostile: str) -> None:
    file = MessageFile(key=hostile, reasons=(hostile,), rows=1, failing_rows=1, advice=(advising(hostile),))
    mild = replace(file, key="k", reasons=("r",), advice=(advising("a"),))
    calm = replace(REJECTED, files=(mild,), why="w", commands=("c",))
    wild = replace(REJECTED, files=(file,), why=hostile, commands=(hostile,), batch=hostile, branch=hostile)
    for before, after in zip(texts(replace(calm, batch="b", branch="b")), texts(wild), strict=True):
        assert after.count("`") == before.count("`")
        assert after.count("\n") == before.count("\n")
        assert not {"<", ">", "\u202e", "\u2028", "\r"} & set(after)
        assert unformatted(after) == unformatted(before)


def advising(text: str) -> Advice:
    return Advice(vendor=text, contract=text, lines=f"- name: {quote(text)}", operator=text)


def parts(message: Message) -> list[dict[str, Any]]:
    """Every text object that Slack would format."""
    sections = [block for block in blocks(message) if block["type"] == "section"]
    return [part for block in sections for part in (*block.get("fields", ()), block.get("text")) if part]


def texts(message: Message) -> list[str]:
    return [*(part["text"] for part in parts(message)), summary(message)]


def unformatted(text: str) -> int:
    """Return how many characters could begin a format: outside code and words, and with no zero-width space before
    them.
    """
    outside = "".join(text.replace("```", "`").split("`")[::2])
    return len(re.findall(r"(?<![^\W_])(?<!\u200b)[*_~]", outside))


def test_a_columns_name_can_be_searched_for() -> None:
    assert "• dep_time required" in "\n".join(texts(REJECTED))


def test_slack_is_told_to_look_for_nothing_in_any_text() -> None:
    assert all(part["verbatim"] for part in parts(REJECTED))


TEXT = st.text(max_size=4000)
ADVISED = st.builds(Advice, vendor=TEXT, contract=TEXT, lines=TEXT, operator=TEXT)
FILES = st.builds(
    MessageFile,
    key=TEXT,
    reasons=st.lists(TEXT, max_size=15).map(tuple),
    rows=st.integers(0, 10**9),
    failing_rows=st.integers(0, 10**9),
    advice=st.lists(ADVISED, max_size=15).map(tuple),
)
MESSAGES = st.builds(
    Message,
    kind=st.sampled_from(MessageKind),
    batch=TEXT,
    table=TEXT,
    branch=TEXT,
    files=st.lists(FILES, max_size=25).map(tuple),
    published_files=st.integers(0, 10**6),
    published_rows=st.integers(0, 10**12),
    why=TEXT,
    advice=st.lists(ADVISED, max_size=2).map(tuple),
    commands=st.lists(TEXT, max_size=5).map(tuple),
)


@given(message=MESSAGES)
def test_whatever_is_told_slack_takes_it(message: Message) -> None:
    found = blocks(message)
    assert [fault.message for fault in BLOCKS.iter_errors(found)] == []
    assert len(json.dumps(found, ensure_ascii=False)) <= adapter.BLOCKS or " rows failed" not in text_of(found)
    assert len(summary(message)) < 2000
