"""One format of files as Spark reads it: what is special about it, in one value. It reads nothing by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from lakegate.audit.inspection import Inspection
from lakegate.audit.limits import Limits
from spark_jobs.formats.footer import Ends, Footer

Read = Callable[[SparkSession, str, Ends, Limits], Footer]


@dataclass(frozen=True, kw_only=True)
class Format:
    """`read` gives what a file says of itself before its rows; text says nothing, so that its lines are looked at, and
    counted. `options` are for Spark's reader. `corrupt` is what is wrong with a file that cannot be read to its end,
    unless the reader's error `means` something else. `misread` gives the same files, with a fault on each that these
    machines would take for something else. A value of a file may `repeat` in many rows.
    """

    read: Read | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    corrupt: str = "it is corrupt"
    means: Callable[[str], str] = lambda _: ""
    misread: Callable[[SparkSession, Sequence[Inspection]], list[Inspection]] = lambda _, inspections: list(inspections)
    repeats: bool = False
