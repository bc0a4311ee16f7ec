"""SQS → ingest: each message carries one "Object Created" event of the landing bucket, as EventBridge delivers it, or a
reminder of a file that waits for others.
"""

import json
from typing import Any

import structlog

from handlers.runtime import service
from lakegate.adapters.events import NO_EVENT, is_reminder, landed_version
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival

log = structlog.get_logger()


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Receive the files of these messages; return the messages to deliver again. Reminders are never among them,
    because the sweep does the same.
    """
    running_service = service()
    arrivals, reminder_keys, failing_messages = {}, [], []
    for record in event["Records"]:
        try:
            body = json.loads(record["body"])
            arrival = parse(body)
            if is_reminder(body):
                reminder_keys.append(arrival.key)
            else:
                arrivals[record["messageId"]] = arrival
        except NO_EVENT as error:
            log.warning("not_an_event", message=record["messageId"], error=repr(error))
            failing_messages.append(record["messageId"])
    failing_versions = {
        _version(arrival)
        for failure in receive(running_service, arrivals.values(), reminder_keys)
        for arrival in failure.arrivals
    }
    failing_messages += [message for message, arrival in arrivals.items() if _version(arrival) in failing_versions]
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failing_messages]}


def parse(event: dict[str, Any]) -> Arrival:
    """Return the file version that an event names. Raise one of NO_EVENT."""
    key, version_id, sequencer = landed_version(event)
    return Arrival(key=key, version_id=version_id, sequencer=sequencer)


def _version(arrival: Arrival) -> tuple[str, str]:
    return (arrival.key, arrival.version_id)
