"""What a first look at a staged file gives. How to look stands with each format."""

from dataclasses import dataclass

from lakegate.audit.fit import FileColumn
from lakegate.audit.job import JobFile

THREADS = 8
EMPTY, GONE = "it is empty: 0 bytes", "its staged copy is gone"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a file looks like from outside; with faults it is not appended. `columns` are those to read, once it has
    been seen whether they fit; what it asks of the table and what of it is not read are known then, too.

    `rows` of a text file are its lines, whether they parse or not; `layout` are all its columns as they stand in it;
    `sound` if all its bytes are known to be text of its encoding.
    """

    file: JobFile
    rows: int = 0
    columns: tuple[FileColumn, ...] = ()
    faults: tuple[str, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    sound: bool = False
