"""Notices: messages to people, each sent at least once.

Begin with `outbox`, which notes each message before it is sent and marks it afterwards. `messages` makes them,
`outcome` sends those of an attempt that has ended, and `expiry` warns before the branch of a rejected batch is deleted.
"""
