"""Channels: where other systems listen to what is published and rejected.

`document` is what the event bus and the webhook are told, and `lineage` writes OpenLineage's own events. `posting`
sends by HTTP.
"""

from collections.abc import Mapping

from lakegate.adapters.channels.bus import EventBus
from lakegate.adapters.channels.lineage import Lineage
from lakegate.adapters.channels.webhook import Webhook
from lakegate.ports import Channel
from lakegate.settings import Settings

__all__ = ["EventBus", "Lineage", "Webhook", "channels_of"]


def channels_of(settings: Settings) -> Mapping[str, Channel]:
    """Return the channels that the settings choose, by the names that the outbox has for them."""
    channels: dict[str, Channel] = {}
    if settings.event_bus:
        channels["bus"] = EventBus(settings)
    if settings.webhook_url:
        channels["webhook"] = Webhook(settings)
    if settings.lineage_url:
        channels["lineage"] = Lineage(settings)
    return channels
