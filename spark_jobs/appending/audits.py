"""Rows of the audits table from what an audit found, in one commit. No task writes two files' rows."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.definition import AUDITS
from lakegate.audit.evaluation.audits import Row, audits_of
from lakegate.audit.model.job import Job
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.jvm.gateway import one_text_per_task
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import own_tables
from spark_jobs.tables.ddl import table_name

_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
_ROW = ", ".join(f"{column.name}: {column.type}" for column in AUDITS)


def append(spark: SparkSession, job: Job, rows: Mapping[str, Sequence[Row]]) -> None:
    """Append these rows, by file version, to the audits table on the branch."""
    name = audits_of(job.plan.table, distinct=job.distinct)
    own_tables.check(spark, name, AUDITS)
    own_tables.prepare(spark, job, name, AUDITS)
    files = [[{FILE_COLUMN: file, **row} for row in file_rows] for file, file_rows in rows.items()]
    texts = one_text_per_task(spark, [json.dumps(part, default=_iso) for part in files])
    parts = F.inline(F.from_json("value", f"array<struct<{_ROW}>>", _OPTIONS))
    texts.select(parts).writeTo(table_name(LAKE, name)).append()


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
