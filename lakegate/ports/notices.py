"""Port of the channel to people, and its messages."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lakegate.audit.advice import Advice


class MessageKind(StrEnum):
    """A message's subject."""

    REJECTED = "rejected"  # files failed their contract, or their job failed
    PUBLISHED = "published"  # files were published, where the contract asks to be told of that
    WARNING = "warned"  # files were published with warnings
    OBSERVE = "observed"  # files were published that their contract would have rejected or taken rows of, enforced
    APPROVAL = "approved"  # rejected files were published by a person's word
    UNROUTED = "unrouted"  # files wait for a contract
    EXPIRING = "expiring"  # the branch of a rejected batch is deleted soon
    DELAY = "waiting"  # no job reaches the files, for a reason outside them


@dataclass(frozen=True, kw_only=True)
class MessageFile:
    """One file in a message, with its reasons, and its failing rows out of all rows if that is known. `advice` has, for
    each reason in its order, what to write next.
    """

    key: str
    reasons: tuple[str, ...]
    rows: int = 0
    failing_rows: int = 0
    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message to people. `commands` are the ones to run next, and `advice` is what to write before. `lane` says in
    words which engine audited the files and why, where there is a choice. Of files whose contract observes, enforcing
    `would_reject` so many, and `would_quarantine` so many rows. All text may contain anything a stranger wrote.
    """

    kind: MessageKind
    batch: str
    table: str
    branch: str
    files: tuple[MessageFile, ...]
    published_files: int = 0
    published_rows: int = 0
    quarantined_rows: int = 0
    replaced_rows: int = 0
    would_reject: int = 0
    would_quarantine: int = 0
    why: str = ""
    lane: str = ""
    commands: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()


class Notifier(Protocol):
    """A channel to people."""

    def notify(self, message: Message) -> None:
        """Send one message."""
