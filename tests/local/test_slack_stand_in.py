import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lakegate_local.slack_server import SlackStandIn
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler
from slack_sdk.models.blocks import DividerBlock, HeaderBlock, SectionBlock
from werkzeug.test import Client

from tests.support.wsgi import serving

TOKEN = "xoxb-test"


@pytest.fixture
def stand_in(tmp_path: Path) -> Any:
    return SlackStandIn(token=TOKEN, file=tmp_path / "slack.jsonl")


@pytest.fixture
def address(stand_in: SlackStandIn) -> Iterator[Any]:
    with serving(stand_in) as address:
        yield address


@pytest.fixture
def slack(address: str) -> Any:
    return WebClient(token=TOKEN, base_url=f"{address}/api/")


def section(text: str) -> Any:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def refused(slack: WebClient, **message: Any) -> Any:
    with pytest.raises(SlackApiError) as refusal:
        slack.chat_postMessage(**{"channel": "#data", **message})
    return refusal.value.response


def test_slacks_own_client_posts_blocks_and_gets_a_timestamp(slack: WebClient, stand_in: SlackStandIn) -> None:
    answer = slack.chat_postMessage(
        channel="#data",
        text="rejected",
        blocks=[HeaderBlock(text="Rejected"), SectionBlock(text="*why*"), DividerBlock()],
    )

    assert answer["ok"]
    assert answer["ts"] == stand_in.messages[0]["ts"]
    assert [block["type"] for block in stand_in.messages[0]["blocks"]] == ["header", "section", "divider"]


def test_every_message_is_appended_to_the_file(slack: WebClient, stand_in: SlackStandIn) -> None:
    slack.chat_postMessage(channel="#data", text="é 1")
    slack.chat_postMessage(channel="#data", text="2")

    assert [json.loads(line)["text"] for line in stand_in.file.read_text().splitlines()] == ["é 1", "2"]


def test_token_never_reaches_the_file(stand_in: SlackStandIn) -> None:
    Client(stand_in).post("/api/chat.postMessage", data={"token": TOKEN, "channel": "#data", "text": "hello"})

    assert TOKEN not in stand_in.file.read_text()


def test_auth_test_names_the_bot(slack: WebClient) -> None:
    assert slack.auth_test()["bot_id"]


def test_wrong_token_is_refused(address: str) -> None:
    with pytest.raises(SlackApiError, match="invalid_auth"):
        WebClient(token="xoxb-other", base_url=f"{address}/api/").auth_test()


def test_missing_token_is_refused(stand_in: SlackStandIn) -> None:
    assert Client(stand_in).post("/api/auth.test").get_json()["error"] == "not_authed"


def test_unknown_method_is_refused(slack: WebClient) -> None:
    with pytest.raises(SlackApiError, match="unknown_method"):
        slack.conversations_list()


@pytest.mark.parametrize(
    ("blocks", "pointer"),
    [
        ([section("x" * 3001)], "/blocks/0/text/text"),
        ([section("")], "/blocks/0/text/text"),
        ([{"type": "divider"}] * 51, "/blocks"),
        ([{"type": "section"}], "/blocks/0"),
        ([section("fine"), {"type": "header", "text": {"type": "mrkdwn", "text": "no"}}], "/blocks/1/text/type"),
        ([{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}], "/blocks/0/text/text"),
        ([{"type": "table"}], "/blocks/0/type"),
        ([{"type": "divider", "text": "no"}], "/blocks/0"),
        ([{"type": "context", "elements": []}], "/blocks/0/elements"),
    ],
)
def test_blocks_that_slack_refuses_are_refused_with_their_place(
    slack: WebClient, stand_in: SlackStandIn, blocks: list[dict[str, Any]], pointer: str
) -> None:
    answer = refused(slack, blocks=blocks, text="fallback")

    assert answer["error"] == "invalid_blocks"
    assert any(f"[json-pointer:{pointer}]" in message for message in answer["response_metadata"]["messages"])
    assert stand_in.messages == []


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"text": ""}, "no_text"),
        ({"channel": "", "text": "hello"}, "channel_not_found"),
        ({"text": "x" * 40_001}, "msg_too_long"),
        ({"text": "x", "blocks": [section("x" * 2900)] * 4}, "msg_blocks_too_long"),
    ],
)
@pytest.mark.filterwarnings("ignore:The top-level `text` argument is missing")
def test_incomplete_message_is_refused(slack: WebClient, message: dict[str, Any], code: str) -> None:
    assert refused(slack, **message)["error"] == code


def test_form_with_broken_blocks_is_refused(stand_in: SlackStandIn) -> None:
    answer = Client(stand_in).post("/api/chat.postMessage", data={"token": TOKEN, "channel": "#data", "blocks": "[{"})

    assert answer.get_json()["error"] == "invalid_blocks_format"


def test_rate_limit_is_answered_as_slack_does_and_the_clients_retry_passes(
    slack: WebClient, stand_in: SlackStandIn
) -> None:
    Client(stand_in).post("/stand-in/refuse", json={"times": 2, "retry_after": 0})

    with pytest.raises(SlackApiError) as refusal:
        slack.auth_test()
    slack.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
    slack.chat_postMessage(channel="#data", text="at last")

    assert refusal.value.response.status_code == 429
    assert refusal.value.response.headers["retry-after"] == "0"
    assert [message["text"] for message in stand_in.messages] == ["at last"]
