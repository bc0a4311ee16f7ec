"""A contract's settings for ingesting files, whatever is in them: how many go together, what a re-upload does, and
which engine audits them.
"""

from dataclasses import dataclass
from enum import StrEnum

MOST_FILES = 1000  # the function that stages them has minutes


class Reuploads(StrEnum):
    """Policies for other bytes under a key whose rows are on main."""

    REPLACE = "replace"  # their rows replace those on main, in one audited publish
    APPEND = "append"  # their rows are added to those on main
    IGNORE = "ignore"  # they are discarded
    REJECT = "reject"  # they are rejected, and people are notified


class Engine(StrEnum):
    """Engines that a contract may ask for."""

    AUTO = "auto"  # the express lane for small batches that it can audit, and Spark for all others
    SPARK = "spark"
    EXPRESS = "express"  # the express lane for whatever it can audit


class Notice(StrEnum):
    """Subjects of messages that people get only if a contract asks for them."""

    PUBLISHED = "published"  # files that were published without a remark


@dataclass(frozen=True, kw_only=True)
class Ingestion:
    """A batch's limits: at most so many files and so many bytes. A single larger file is a batch of its own."""

    reuploads: Reuploads = Reuploads.REPLACE
    engine: Engine = Engine.AUTO
    batch_files: int = MOST_FILES
    batch_bytes: int = 100_000_000_000
