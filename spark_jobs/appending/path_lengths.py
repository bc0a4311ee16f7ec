"""Limit of the values of partition columns, which Iceberg writes into the paths of data files.

A value that is too long for storage fails the whole write, and the error does not name the file.
"""

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.partitions import IDENTITY, partition
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.jvm.failures import causes
from spark_jobs.jvm.spark_sql import sum_sql

LONGEST = 700
"""Bytes. S3 takes keys of 1,024: the rest is left for the table's location, column names and the file's name."""
_NO_ROOM = re.compile(r"KeyTooLong|key is too long|File name too long|Mkdirs failed to create")


def is_path_error(error: Exception) -> bool:
    """Return True if storage refused a path as too long: in S3's words, or a disk's."""
    return any(_NO_ROOM.search(str(cause.getMessage())) for cause in causes(error))


def too_long(plan: Plan, rows: DataFrame) -> dict[str, tuple[Fault, ...]]:
    """Return the faults of files with values that are too long for a path, by file version."""
    names = ", ".join(map(display_name, _written_texts(plan)))
    of = f"its values of the partition columns {names}"
    advice = Advice(
        vendor=f"write shorter values in {names}",
        contract="partition the table by the beginning of them, before it is made, at the column in the contract",
        lines=setting("partitionTransform", "truncate[20]"),
    )
    return {
        file: (Fault(f"{of} take {size:,} bytes in a path, and the most is {LONGEST}", advice),)
        for file, size in longest_values(plan, rows).items()
        if size > LONGEST
    }


def longest_values(plan: Plan, rows: DataFrame) -> dict[str, int]:
    """Return the most bytes that a row's values take in a path, by file version; nothing if no partition column is text
    or bytes.
    """
    texts = _written_texts(plan).values()
    if not texts:
        return {}
    size = sum_sql([f"coalesce(octet_length(url_encode({text})), 0)" for text in texts])
    return dict(rows.groupBy(FILE_COLUMN).agg(F.max(F.expr(size))).collect())


def _written_texts(plan: Plan) -> Mapping[str, str]:
    """Return the SQL of the text that Iceberg writes, by partition column of text or bytes."""
    kinds, texts = {column.name: column.type for column in plan.columns}, {}
    for part in map(partition, plan.partitions):
        kind, value = kinds.get(part.column), spark_identifier(part.column)
        if kind in ("string", "binary") and part.transform in (IDENTITY, "truncate"):
            text = f"substring({value}, 1, {part.width})" if part.width else value
            texts[part.column] = f"replace(base64({text}), '\\r\\n', '')" if kind == "binary" else text
    return texts
