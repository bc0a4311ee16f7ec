"""Notices: messages to people and events for other systems, each sent at least once.

Begin with `outbox`, which notes each before it is sent and marks it afterwards. `messages` and `events` make them,
`outcome` sends those of an attempt that has ended, `late` those that could not be sent, and `expiry` warns before the
branch of a rejected batch is deleted.
"""
