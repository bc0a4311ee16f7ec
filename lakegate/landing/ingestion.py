"""A contract's settings for ingesting files, whatever is in them: how many go together, and what a re-upload does."""

from dataclasses import dataclass
from enum import StrEnum

MOST_FILES = 1000  # the function that stages them has minutes


class Reuploads(StrEnum):
    """Policies for other bytes under a key whose rows are on main."""

    REPLACE = "replace"  # their rows replace those on main, in one audited publish
    APPEND = "append"  # their rows are added to those on main
    IGNORE = "ignore"  # they are discarded
    REJECT = "reject"  # they are rejected, and people are told


@dataclass(frozen=True, kw_only=True)
class Ingestion:
    """A batch's limits: at most so many files and so many bytes. A single larger file is a batch of its own."""

    reuploads: Reuploads = Reuploads.REPLACE
    batch_files: int = MOST_FILES
    batch_bytes: int = 100_000_000_000
