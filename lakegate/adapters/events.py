"""Events as AWS delivers them: "Object Created" of S3, and "Job Run State Change" of EMR Serverless."""

from collections.abc import Mapping
from typing import Any

NO_EVENT = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def landed(event: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return key, version id and sequencer of the file version that landed. EventBridge's keys are not URL-encoded.
    Raise one of NO_EVENT.
    """
    thing = event["detail"]["object"]
    told = thing["key"], thing["version-id"], thing.get("sequencer", "")
    for text in told:
        text.encode()  # S3 has only UTF-8 names, but JSON can hold a lone surrogate; this refuses it
    return told


def ended(event: Mapping[str, Any]) -> str:
    """Return the id of the job run whose state changed. Raise one of NO_EVENT."""
    return str(event["detail"]["jobRunId"])
