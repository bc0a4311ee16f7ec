"""One format of files as Spark reads it, in one value. It reads nothing by itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from lakegate.audit.advice import Fault
from lakegate.audit.model.limits import Limits
from lakegate.audit.schema.inspection import Inspection
from spark_jobs.formats.footer import Ends, Footer
from spark_jobs.formats.text.text_format import TextFormat

Read = Callable[[SparkSession, str, Ends, Limits], Footer]


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format's row in the registry.

    `read` returns a file's footer. Text files have none: `text` says how their lines are scanned and parsed instead.
    `options` are for Spark's reader. `corrupt` is the fault of a file that cannot be read to its end, unless `explain`
    knows what the reader's error means. `check_machines` returns the same files, with a fault on each that
    these machines would misread. `repeats` is true if a value may be stored once and be in many rows.
    """

    read: Read | None = None
    text: TextFormat | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    corrupt: str = "it is corrupt"
    explain: Callable[[str], Fault | None] = lambda _: None
    check_machines: Callable[[SparkSession, Sequence[Inspection]], list[Inspection]] = lambda _, inspections: list(
        inspections
    )
    repeats: bool = False
