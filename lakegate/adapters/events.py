"""Events as AWS delivers them: "Object Created" of S3, and "Job Run State Change" of EMR Serverless.
Reminders look like the former.
"""

from collections.abc import Mapping
from typing import Any

from lakegate.landing.files import FileVersion

REMINDER = "Object Waits"
NO_EVENT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def landed_version(event: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return key, version id and sequencer of the file version that landed. EventBridge's keys are not URL-encoded.
    Raise one of NO_EVENT.
    """
    thing = event["detail"]["object"]
    version = thing["key"], thing["version-id"], thing.get("sequencer", "")
    for text in version:
        text.encode()  # S3 has only UTF-8 names, but JSON can hold a lone surrogate; this refuses it
    return version


def reminder(file: FileVersion) -> dict[str, Any]:
    """Return a reminder of a file version. `landed_version` reads it like an event."""
    thing = {"key": file.key, "version-id": file.version_id, "sequencer": file.sequencer}
    return {"detail-type": REMINDER, "detail": {"object": thing}}


def is_reminder(event: Mapping[str, Any]) -> bool:
    """Return True for what `reminder` has made."""
    return event.get("detail-type") == REMINDER


def ended_run(event: Mapping[str, Any]) -> str:
    """Return the id of the job run whose state changed. Raise one of NO_EVENT."""
    return str(event["detail"]["jobRunId"])
