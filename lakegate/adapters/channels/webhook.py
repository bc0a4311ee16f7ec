"""`Channel` on a webhook, signed as Standard Webhooks has it: its headers, and HMAC-SHA256 over id, time and body.

The secret may hold several keys, one a line. Each signs, so that a receiver that knows the old key or the new one takes
the event while they are changed.
"""

import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property

from lakegate.adapters.channels.document import TYPES, Json, document
from lakegate.adapters.channels.posting import post, tried_twice
from lakegate.adapters.secrets import secret_text
from lakegate.errors import Misconfigured
from lakegate.ports import Event
from lakegate.settings import Settings

PREFIX = "whsec_"
SHORTEST = 24  # bytes of a key
TRIAL = "lakegate.trial"


class Webhook:
    """A webhook, by its address."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _keys(self) -> Sequence[bytes]:
        return keys(secret_text(self._settings.webhook_secret), self._settings.webhook_secret)

    def send(self, event: Event) -> None:
        payload = {
            "type": TYPES[event.kind],
            "timestamp": event.at.isoformat(),
            "data": document(event, self._settings),
        }
        self._post(event.id, payload)

    def probe(self) -> int:
        """Return the number of keys in the secret. It sends nothing."""
        return len(self._keys)

    def try_it(self) -> None:
        """Send an event of a type of its own, the only way to learn whether the receiver takes one."""
        now = datetime.now(UTC)
        self._post(f"trial-{now:%Y%m%dT%H%M%S%f}", {"type": TRIAL, "timestamp": now.isoformat(), "data": {}})

    def _post(self, id_: str, payload: Json) -> None:
        tried_twice(lambda: self._post_signed(id_, payload), lambda: delattr(self, "_keys"))

    def _post_signed(self, id_: str, payload: Json) -> None:
        body, at = json.dumps(payload).encode(), int(datetime.now(UTC).timestamp())
        post(f"sending {id_}", self._settings.webhook_url, body, headers(self._keys, id_, at, body))


def headers(signing: Sequence[bytes], id_: str, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks, with a signature by each key."""
    content = b".".join((id_.encode(), str(at).encode(), body))
    signatures = [b64encode(hmac.digest(key, content, "sha256")).decode() for key in signing]
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(at),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def keys(text: str, secret: str) -> list[bytes]:
    """Return the keys in a secret's text. Raise Misconfigured if there is none, or one is no key."""
    try:
        all_keys = [b64decode(part.removeprefix(PREFIX), validate=True) for part in text.split()]
    except ValueError:
        all_keys = []
    if not all_keys or any(len(key) < SHORTEST for key in all_keys):
        command = f"aws secretsmanager put-secret-value --secret-id {secret} --secret-string"
        new_key_command = f'{command} "{PREFIX}$(openssl rand -base64 32)"'
        raise Misconfigured(
            f"the secret {secret} is no key of a webhook. Run: {new_key_command}, and give the receiver the same"
        )
    return all_keys
