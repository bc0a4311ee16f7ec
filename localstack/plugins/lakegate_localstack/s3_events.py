"""S3 events for EventBridge as AWS sends them. Events for other targets keep LocalStack's form.

LocalStack URL-encodes the key, gives every event the same sequencer, and has its own word for a multipart upload.
"""

import functools
import itertools
import json
import time
from typing import Any
from urllib.parse import unquote

from localstack.services.s3.notifications import EventBridgeNotifier, NotificationDispatcher
from localstack.utils.patch import patch

MULTIPART = "CompleteMultipartUpload"
_sequence = itertools.count(time.time_ns())


def apply() -> None:
    patch(NotificationDispatcher.send_notifications)(_send_notifications)
    original = EventBridgeNotifier._get_event_payload  # noqa: SLF001 - no public name
    EventBridgeNotifier._get_event_payload = staticmethod(functools.partial(_as_on_aws, original))  # noqa: SLF001


def _send_notifications(original: Any, dispatcher: Any, context: Any, *arguments: Any, **options: Any) -> None:
    """Draw the sequencer in the request's thread, because the threads that send events overtake each other."""
    context.sequencer = f"{next(_sequence):018X}"
    original(dispatcher, context, *arguments, **options)


def _as_on_aws(original: Any, context: Any, *arguments: Any, **options: Any) -> Any:
    entry = original(context, *arguments, **options)
    detail = json.loads(entry["Detail"])
    item = detail["object"]
    item["key"] = unquote(item["key"])
    if "sequencer" in item:
        item["sequencer"] = context.sequencer
    if MULTIPART in detail.get("reason", ""):
        detail["reason"] = MULTIPART
    return {**entry, "Detail": json.dumps(detail)}
