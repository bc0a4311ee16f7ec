"""`Notifier` on Slack: a message becomes Block Kit blocks that a person reads easily. It does not decide when to send
one.

Any text in a message may come from a stranger, and none of it can format, mention, link or break out.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.request import Request

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError, SlackRequestError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from lakegate.adapters.secrets import secret_text
from lakegate.adapters.urllib_errors import urllib_errors
from lakegate.audit.advice import NO_ADVICE, Advice, Step
from lakegate.audit.bounded_http import open_url, place
from lakegate.counts import count
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.ports import Message, MessageFile, MessageKind
from lakegate.settings import Settings
from lakegate.visibility import turns, visible

log = structlog.get_logger()

Block = dict[str, Any]

SECONDS = 20  # per answer
SECTION, HEADER, SUMMARY = 3000, 150, 200  # characters: Slack's limits, and ours for a notification
BLOCKS = 9000  # characters of all blocks as JSON: Slack documents no limit, and was seen to refuse about 11,300
FILES, REASONS = 20, 3
ALL_REASONS, FEWEST = 30, 2  # reasons per message, about, and at least per file: readers of a channel skip longer lists
NAME, REASON = 300, 300
LINES, ADVICE = 600, 1200  # characters of a contract's lines, and of all that is told below a reason
OTHER_LINES = "the lines that lakegate show has for it"
TITLES = {
    MessageKind.REJECTED: "🛑 Rejected",
    MessageKind.PUBLISHED: "✅ Published",
    MessageKind.WARNING: "⚠️ Published with warnings",
    MessageKind.OBSERVE: "👁️ Observed and published:",
    MessageKind.APPROVAL: "✅ Approved and published",
    MessageKind.UNROUTED: "⏸️ Unrouted: no contract routes these files",
    MessageKind.DELAY: "🕒 No Spark job reaches the files of",
    MessageKind.EXPIRING: "⏳ A rejected batch's branch is deleted soon:",
}
ON_MAIN = (MessageKind.PUBLISHED, MessageKind.OBSERVE, MessageKind.WARNING, MessageKind.APPROVAL)  # their files' place
# `*_~` format at a word's start, not inside it; `:` begins an emoji's name; `&gt;` begins a quotation.
OPENING = re.compile(r"(?<![^\W_])[*_~]|:(?=[\w+'.-]+:)|^&gt;")
FROM, TO = "\u2068", "\u2069"  # text between them is ordered on its own
RETRYABLE_CODES = {"ratelimited", "rate_limited", "message_limit_exceeded", "service_unavailable", "team_added_to_org"}
UNSURE = {"fatal_error", "internal_error", "request_timeout"}
WRONG_TOKEN = {"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"}
CHANNEL_ID = re.compile("[CG][A-Z0-9]{8,}")
SIZE_CODES = {"msg_blocks_too_long", "msg_too_long", "invalid_blocks", "invalid_blocks_format"}


@contextmanager
def slack_errors(action: str) -> Iterator[None]:
    """Translate Slack's and the network's errors into our own."""
    action = f"Slack: {action}"
    try:
        with urllib_errors(action):
            yield
    except SlackApiError as exc:
        raise _by_code(action, exc) from exc
    except SlackClientError as exc:
        raise Misconfigured(f"{action}: {exc}") from exc


def _by_code(action: str, exc: SlackApiError) -> LakegateError:
    """Return our error for Slack's error code, a word in the body; without a code, the HTTP status decides."""
    code, status = _error_code(exc), int(exc.response.status_code)
    if code in RETRYABLE_CODES or status == HTTPStatus.TOO_MANY_REQUESTS:
        return Retryable(f"{action}: {code or status}")
    if code in UNSURE or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(f"{action}: {code or status}")
    return Misconfigured(f"{action}: {code or status}")


def _error_code(exc: SlackApiError) -> str:
    body: Any = exc.response.data
    return str(body.get("error", "")) if isinstance(body, dict) else ""


class _Client(WebClient):
    """Slack's own client, except for how it sends a request. The original follows redirects with the token, and waits
    as long as any bytes arrive; it has no public way to do otherwise.
    """

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        if not url.lower().startswith(("http://", "https://")):
            raise SlackRequestError(f"Slack is at no address of the web: {place(url)}")
        answer, body = open_url(req, self.timeout, context=self.ssl, proxy=self.proxy or "")
        charset = answer.headers.get_content_charset() or "utf-8"
        return {"status": answer.status, "headers": answer.headers, "body": body.decode(charset, "replace")}


class SlackNotifier:
    """A notifier for one channel. An installation without Slack writes messages to its log."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _slack(self) -> WebClient:
        rate_limit = RateLimitErrorRetryHandler(max_retry_count=2)
        token, _, address = secret_text(self._settings.slack_secret).partition(" ")  # of another API, GovSlack's
        return _Client(token, base_url=address or WebClient.BASE_URL, timeout=SECONDS, retry_handlers=[rate_limit])

    def notify(self, message: Message) -> None:
        channel = self._settings.slack_channel
        if not self._settings.slack_secret:
            log.warning("notified", kind=message.kind, batch=message.batch, text=summary(message))
            return
        with slack_errors(f"sending {message.batch or message.kind} to {channel}"):
            self._send(message)

    def greet(self) -> str:
        """Return the name by which Slack knows the token's bot. It sends nothing."""
        with slack_errors("asking who the token is"):
            bot: Any = self._slack.auth_test().data
        return f"{bot['user']} of {bot['team']}"

    def is_member(self) -> bool | None:
        """Return True if the bot is in the channel, and None if Slack does not say: it tells of a channel by its id
        alone, and only a token that may read channels.
        """
        channel = self._settings.slack_channel
        if not CHANNEL_ID.fullmatch(channel):
            return None
        with slack_errors(f"looking for the channel {channel}"):
            try:
                answer: Any = self._slack.conversations_info(channel=channel).data
            except SlackApiError as exc:
                if _error_code(exc) != "missing_scope":
                    raise
                return None
        return bool(answer["channel"].get("is_member"))

    def try_channel(self) -> None:
        """Send a line to the channel, the only way to learn whether it takes one."""
        with slack_errors(f"sending a trial to {self._settings.slack_channel}"):
            self._post(text="lakegate doctor: this installation can write here.")

    def _send(self, message: Message) -> None:
        """Send the message; if Slack refuses its blocks, send it in short. A short message is better than a decision
        that reaches no reader.
        """
        try:
            self._post(text=summary(message), blocks=blocks(message))
        except SlackApiError as exc:
            if _error_code(exc) not in SIZE_CODES:
                raise
            log.warning("notified_in_short", kind=message.kind, batch=message.batch, error=_error_code(exc))
            self._post(text=in_short(message), parse="none")

    def _post(self, **members: Any) -> None:
        """Post to the channel; if Slack refuses the token, read the secret again and retry once, because it may have
        been replaced.
        """
        post = {"channel": self._settings.slack_channel, "unfurl_links": False, "unfurl_media": False, **members}
        try:
            self._slack.chat_postMessage(**post)
        except SlackApiError as exc:
            if _error_code(exc) not in WRONG_TOKEN:
                raise
            del self._slack
            self._slack.chat_postMessage(**post)


def summary(message: Message) -> str:
    """Return the message as one line, for a notification."""
    first = message.files[0] if message.files else None
    text = ", ".join([first.key, *first.reasons[:1]]) if first else message.why
    rest = f" and {len(message.files) - 1} more" if len(message.files) > 1 else ""
    return plain(f"{title(message)}: {text}", SUMMARY) + rest


def in_short(message: Message) -> str:
    """Return the message without blocks: one line, and the commands to run."""
    return "\n".join([summary(message), *_command_lines(message.commands)])


def title(message: Message) -> str:
    return " ".join(part for part in (TITLES[message.kind], message.table) if part)


def blocks(message: Message) -> list[Block]:
    """Return the message as Block Kit, within Slack's limits; parts that do not fit are counted."""
    files_to_show = list(_advised_once(message.files[:FILES]))
    limit = max(FEWEST, min(REASONS, ALL_REASONS // max(1, len(files_to_show))))
    files = [_section(_file(file, limit, _look_command(message))) for file in files_to_show]
    while len(json.dumps(result := _with_frame(files, message), ensure_ascii=False)) > BLOCKS and files:
        files.pop()
    return result


def _advised_once(files: Iterable[MessageFile]) -> Iterator[MessageFile]:
    """Yield the files, with an advice for several of them at the first alone."""
    advice_so_far: set[Advice] = set()
    for file in files:
        yield replace(file, advice=tuple(NO_ADVICE if advice in advice_so_far else advice for advice in file.advice))
        advice_so_far.update(file.advice)


def _with_frame(files: Sequence[Block], message: Message) -> list[Block]:
    return [
        {"type": "header", "text": {"type": "plain_text", "text": clip(clean(title(message)), HEADER), "emoji": False}},
        *_facts(message),
        *([_section(plain(message.why, SECTION // 6))] if message.why else []),
        *(_section(text) for advice in message.advice if (text := _steps(advice))),
        *files,
        *_rest_blocks(message, len(message.files) - len(files)),
        *map(_section, _command_lines(message.commands)),
    ]


def _facts(message: Message) -> list[Block]:
    facts = {
        "Batch": code(message.batch),
        "Branch": code(message.branch),
        "If enforced": _enforced_text(message),
        "Published": _published(message),
        "Lane": plain(message.lane, REASON),
    }
    fields = [_text(f"*{name}*\n{fact}") for name, fact in facts.items() if fact]
    return [{"type": "section", "fields": fields}] if fields else []


def _enforced_text(message: Message) -> str:
    """Return what enforcing would have done to files whose contract observes."""
    files = [f"{count(message.would_reject, 'file')} rejected"] if message.would_reject else []
    rows = [f"{count(message.would_quarantine, 'row')} in quarantine"] if message.would_quarantine else []
    return ", ".join([*files, *rows])


def _published(message: Message) -> str:
    if message.kind in ON_MAIN:
        in_quarantine = f", {count(message.quarantined_rows, 'row')} in quarantine" if message.quarantined_rows else ""
        in_place = f", in place of {count(message.replaced_rows, 'row')}" if message.replaced_rows else ""
        return f"{count(message.published_rows, 'row', 'is', 'are')} on main{in_place}{in_quarantine}"
    if not message.published_files:
        return ""
    files = f"{count(message.published_files, 'other file')} of the batch"
    return f"{files}, {count(message.published_rows, 'row')}"


def _file(file: MessageFile, limit: int, command: str) -> str:
    """Return the file's name, its failing rows, and as many reasons as fit, with the command that has the others."""
    lines = [" · ".join(part for part in (code(file.key) or "?", _count_text(file)) if part)]
    advice = (*file.advice, *[NO_ADVICE] * len(file.reasons))  # older messages have none
    reasons = [_reason(reason, own_advice) for reason, own_advice in zip(file.reasons, advice, strict=False)]
    reasons_to_show = reasons[:limit]
    while reasons_to_show and len("\n".join([*lines, *reasons_to_show])) > SECTION - 100:
        reasons_to_show.pop()
    rest = len(reasons) - len(reasons_to_show)
    return "\n".join([*lines, *reasons_to_show, *([f"• and {count(rest, 'more reason')}: {command}"] if rest else [])])


def _reason(reason: str, advice: Advice) -> str:
    """Return a reason, and below it what to write next."""
    return "\n".join(filter(None, [f"• {plain(reason, REASON)}", _steps(advice)]))


def _steps(advice: Advice) -> str:
    """Return the ways on, each on a line, with the contract's lines as code; nothing if they are too long for that."""
    lines = "\n".join(line for step in advice.steps for line in _step(step))
    return lines if len(lines) <= ADVICE else ""


def _step(step: Step) -> Iterator[str]:
    code_block = "\n".join(_command_lines(step.lines.splitlines()))
    is_short = len(code_block) <= LINES  # a part of them would be of no use
    yield f"→ {plain(step.sentence if is_short else f'{step.sentence} {OTHER_LINES}', REASON)}"
    if code_block and is_short:
        yield code_block


def _count_text(file: MessageFile) -> str:
    if file.failing_rows:
        return f"{file.failing_rows:,} of {count(file.rows, 'row')} failed"
    return count(file.rows, "row") if file.rows else ""


def _rest_blocks(message: Message, rest: int) -> list[Block]:
    if rest <= 0:
        return []
    return [_section(f"and {count(rest, 'more file')}: {_look_command(message)}")]


def _look_command(message: Message) -> str:
    """Return the command that has all that the message leaves out."""
    return code(f"lakegate show {message.batch}" if message.batch else "lakegate status")


def _command_lines(commands: Iterable[str]) -> list[str]:
    """Return the commands as one code block to copy from, or nothing if there are none."""
    lines = [escape(clean(command)) for command in commands]
    while len("\n".join(lines)) > SECTION - 10:
        lines.pop()
    return ["```" + "\n".join(lines) + "```"] if lines else []


def _section(text: str) -> Block:
    return {"type": "section", "text": _text(text)}


def _text(text: str) -> Block:
    """Return a text object, verbatim: Slack looks for no links, channels or mentions in it."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def code(text: str) -> str:
    """Return a stranger's text as code."""
    return break_mentions(f"`{escape(clip(clean(text), NAME))}`") if text else ""


def plain(text: str, limit: int) -> str:
    """Return a stranger's text as plain text: a zero-width space disables characters that could begin a format."""
    return break_mentions(OPENING.sub(_break_mention, escape(clip(clean(text), limit))))


def _break_mention(match: re.Match[str]) -> str:
    """Return the match with a zero-width space; for an emoji it goes behind the colon, where the name would begin."""
    return f"{match[0]}\u200b" if match[0] == ":" else f"\u200b{match[0]}"


def break_mentions(text: str) -> str:
    """Isolate text with right-to-left letters, so that it does not reorder its neighbours."""
    return f"{FROM}{text}{TO}" if turns(text) else text


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def clean(text: str) -> str:
    """Return the text as one line, without characters that hide, reverse or control, or end code."""
    return visible(text, lambda char: " " if char.isspace() else "\ufffd").replace("`", "\u02bc")


def clip(text: str, limit: int) -> str:
    """Return the beginning and the end of a long text, which tell files apart."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"
