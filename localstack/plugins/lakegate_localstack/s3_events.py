"""Makes LocalStack's S3 events say what AWS's say. It changes events for EventBridge alone.

LocalStack writes the key URL-encoded, the same sequencer into every event, and its own word for a multipart upload.
"""

import functools
import itertools
import json
import time
from typing import Any
from urllib.parse import unquote

from localstack.services.s3.notifications import EventBridgeNotifier

MULTIPART = "CompleteMultipartUpload"
_sequence = itertools.count(time.time_ns())


def apply() -> None:
    original = EventBridgeNotifier._get_event_payload  # noqa: SLF001 - there is no other place to mend it
    EventBridgeNotifier._get_event_payload = staticmethod(functools.partial(_as_on_aws, original))  # noqa: SLF001


def _as_on_aws(original: Any, *arguments: Any, **options: Any) -> Any:
    entry = original(*arguments, **options)
    detail = json.loads(entry["Detail"])
    item = detail["object"]
    item["key"] = unquote(item["key"])
    if "sequencer" in item:
        item["sequencer"] = f"{next(_sequence):018X}"
    if MULTIPART in detail.get("reason", ""):
        detail["reason"] = MULTIPART
    return {**entry, "Detail": json.dumps(detail)}
