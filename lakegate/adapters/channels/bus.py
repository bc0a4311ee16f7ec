"""`Channel` on EventBridge: an event of the source `lakegate` on one bus."""

import json
from functools import cached_property
from typing import TYPE_CHECKING

import boto3

from lakegate.adapters.aws import CONFIG, ITEM_RETRY_CODES, aws_errors
from lakegate.adapters.channels.document import document
from lakegate.errors import Misconfigured, Retryable
from lakegate.ports import Event, EventKind
from lakegate.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SOURCE = "lakegate"
DETAIL_TYPES = {EventKind.PUBLISHED: "Files Published", EventKind.REJECTED: "Files Rejected"}


class EventBus:
    """A bus, by its name or its ARN."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _events(self) -> "EventBridgeClient":
        return boto3.client("events", config=CONFIG)

    def send(self, event: Event) -> None:
        bus = self._settings.event_bus
        action = f"putting {event.id} on the event bus {bus}"
        with aws_errors(action, changes=True):
            answer = self._events.put_events(
                Entries=[
                    {
                        "Source": SOURCE,
                        "DetailType": DETAIL_TYPES[event.kind],
                        "Detail": json.dumps(document(event, self._settings)),
                        "EventBusName": bus,
                        "Time": event.at,
                    }
                ]
            )
        if answer["FailedEntryCount"]:
            [entry] = answer["Entries"]
            code = entry.get("ErrorCode", "")
            raise (Retryable if ITEM_RETRY_CODES.search(code) else Misconfigured)(
                f"{action}: {code}: {entry.get('ErrorMessage', '')}"
            )

    def probe(self) -> str:
        """Return the bus's name, as EventBridge knows it. It sends nothing."""
        with aws_errors(f"looking at the event bus {self._settings.event_bus}"):
            return str(self._events.describe_event_bus(Name=self._settings.event_bus)["Name"])
