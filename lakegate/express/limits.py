"""Limits of one batch that this engine takes, so that its memory and its time are bounded before a row is read.

At its peak a process takes four times the rows' own memory, beside DuckDB's and 250 MB of code: 2 GB by these numbers.
"""

from dataclasses import dataclass

_MIB = 1024**2


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A maximum for each measure of a batch's files together, and what DuckDB may take. `rows` and `uncompressed` are
    what footers say; `arrow` is what rows take in memory, whatever footers say.
    """

    bytes: int = 64 * _MIB
    uncompressed: int = 256 * _MIB
    rows: int = 5_000_000
    arrow: int = 256 * _MIB
    files: int = 100
    compared_files: int = 64  # data files of a table whose keys are compared with the batch's
    partitions: int = 200  # of one file, each a data file
    memory: int = 512 * _MIB  # of DuckDB
    threads: int = 2
    spill: str = ""  # the folder in which DuckDB may put what does not fit; none: it is handed over
