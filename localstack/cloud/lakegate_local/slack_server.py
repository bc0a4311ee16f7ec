"""A stand-in for Slack's Web API: `chat.postMessage`, `auth.test` and `conversations.info`.

It is as strict as Slack about tokens and blocks. It keeps the messages in memory and in a file of JSON lines. It has no
users or history.
"""

import argparse
import hmac
import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from werkzeug.exceptions import BadRequest
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

BLOCKS = Draft202012Validator(json.loads(resources.files(__package__).joinpath("slack_blocks.schema.json").read_text()))
LONGEST_TEXT = 40_000
LONGEST_BLOCKS = 11_000  # characters as JSON; Slack documents no limit, and refused some 11,300 of text alone
WRONG_TOKEN = "invalid_auth"
BOT = {"team": "lakegate", "team_id": "T0LOCAL", "user": "lakegate", "user_id": "U0LOCAL", "bot_id": "B0LOCAL"}


class SlackError(Exception):
    """An answer with `ok: false`; `messages` say where in the blocks the faults are."""

    def __init__(self, code: str, messages: tuple[str, ...] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.messages = messages


@dataclass(kw_only=True)
class SlackStandIn:
    """A WSGI application. Its own paths `/stand-in/…` list the messages, and make it answer 429 a number of times."""

    token: str
    file: Path
    messages: list[dict[str, Any]] = field(default_factory=list)
    members: Mapping[str, bool] | None = None  # is the bot in a channel, by its id; without, it may not read channels
    refusals: int = 0
    retry_after: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        return self._respond(Request(environ))(environ, start_response)

    def _respond(self, request: Request) -> Response:
        match (request.method, request.path.strip("/")):
            case ("GET", "stand-in/messages"):
                return answer({"messages": self.messages})
            case ("POST", "stand-in/refuse"):
                self.refusals, self.retry_after = request.json["times"], request.json["retry_after"]
                return answer({"ok": True})
            case (_, path):
                return self._web_api(path.removeprefix("api/"), request)

    def _web_api(self, method: str, request: Request) -> Response:
        if self._is_refused():
            return answer({"ok": False, "error": "ratelimited"}, 429, {"Retry-After": str(self.retry_after)})
        try:
            arguments = read_arguments(request)
            self._check_token(request, arguments)
            return answer({"ok": True, **self._call(method, arguments)})
        except SlackError as exc:
            detail = {"response_metadata": {"messages": exc.messages}} if exc.messages else {}
            return answer({"ok": False, "error": exc.code, **detail})

    def _call(self, method: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        match method:
            case "auth.test":
                return dict(BOT)
            case "conversations.info":
                return self._describe_channel(str(arguments.get("channel")))
            case "chat.postMessage":
                return self._post_message(arguments)
            case _:
                raise SlackError("unknown_method")

    def _describe_channel(self, channel: str) -> dict[str, Any]:
        if self.members is None:
            raise SlackError("missing_scope")
        if channel not in self.members:
            raise SlackError("channel_not_found")
        return {"channel": {"id": channel, "is_member": self.members[channel]}}

    def _is_refused(self) -> bool:
        with self._lock:
            refused = self.refusals > 0
            self.refusals -= refused
        return refused

    def _check_token(self, request: Request, arguments: Mapping[str, Any]) -> None:
        given = request.authorization.token if request.authorization else arguments.get("token")
        if not given:
            raise SlackError("not_authed")
        if not hmac.compare_digest(str(given), self.token):
            raise SlackError(WRONG_TOKEN)

    def _post_message(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_message(arguments)
        with self._lock:
            ts = f"{time.time():.6f}"
            sent = {name: value for name, value in arguments.items() if name != "token"}
            self.messages.append({"ts": ts, **sent})
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.messages[-1], ensure_ascii=False) + "\n")
        message = {"type": "message", "ts": ts, "text": sent.get("text", ""), "blocks": sent.get("blocks", [])}
        return {"channel": sent["channel"], "ts": ts, "message": message | {"bot_id": BOT["bot_id"]}}


def read_arguments(request: Request) -> dict[str, Any]:
    """Read the arguments from JSON, or from a form with its blocks as JSON text, as Slack does."""
    try:
        if request.is_json:
            arguments = request.get_json() if request.data else {}
            return arguments if isinstance(arguments, dict) else refuse("json_not_object")
        arguments = request.values.to_dict()
        if "blocks" in arguments:
            arguments["blocks"] = json.loads(arguments["blocks"])
    except BadRequest:
        raise SlackError("invalid_json") from None
    except json.JSONDecodeError:
        raise SlackError("invalid_blocks_format") from None
    return arguments


def check_message(arguments: Mapping[str, Any]) -> None:
    if not arguments.get("channel"):
        raise SlackError("channel_not_found")
    if not arguments.get("text") and not arguments.get("blocks"):
        raise SlackError("no_text")
    if len(arguments.get("text") or "") > LONGEST_TEXT:
        raise SlackError("msg_too_long")
    if len(json.dumps(arguments.get("blocks") or [], ensure_ascii=False)) > LONGEST_BLOCKS:
        raise SlackError("msg_blocks_too_long")
    faults = tuple(
        f"[ERROR] {fault.message} [json-pointer:/{'/'.join(map(str, ('blocks', *fault.absolute_path)))}]"
        for fault in BLOCKS.iter_errors(arguments.get("blocks") or [])
    )
    if faults:
        raise SlackError("invalid_blocks", faults)


def refuse(code: str) -> Any:
    raise SlackError(code)


def answer(body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, headers, content_type="application/json; charset=utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--messages", type=Path, required=True)
    parser.add_argument("--token", required=True)
    arguments = parser.parse_args()
    application = SlackStandIn(token=arguments.token, file=arguments.messages)
    make_server("127.0.0.1", arguments.port, application, threaded=True).serve_forever()


if __name__ == "__main__":
    main()
