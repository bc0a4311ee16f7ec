"""What a contract says of ingesting files, whatever is in them: how many go together, and what a re-upload does."""

from dataclasses import dataclass
from enum import StrEnum

MOST_FILES = 1000  # a function that stages them has minutes


class Reuploads(StrEnum):
    """What becomes of other bytes under a key whose rows are on main."""

    REPLACE = "replace"  # their rows take the place of those, in one audited publish
    APPEND = "append"  # their rows come on top
    IGNORE = "ignore"  # they are discarded
    REJECT = "reject"  # they are rejected, and somebody is told


@dataclass(frozen=True, kw_only=True)
class Ingestion:
    """A batch has at most so many files and so many bytes; a single file with more of them is a batch of its own."""

    reuploads: Reuploads = Reuploads.REPLACE
    batch_files: int = MOST_FILES
    batch_bytes: int = 100_000_000_000
