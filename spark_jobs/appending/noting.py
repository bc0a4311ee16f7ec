"""Noting: what the audit found becomes rows of the audits table, in one commit. No task writes two files' rows."""

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
from spark_jobs.tables import own
from spark_jobs.tables.ddl import table_name

_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
_ROW = ", ".join(f"{column.name}: {column.type}" for column in AUDITS)


def note(spark: SparkSession, job: Job, rows: Mapping[str, Sequence[Row]]) -> None:
    """Append these rows, by file version, to the audits table on the branch."""
    name = audits_of(job.plan.table, distinct=job.distinct)
    own.check(spark, name, AUDITS)
    own.prepare(spark, job, name, AUDITS)
    files = [[{FILE_COLUMN: file, **row} for row in its] for file, its in rows.items()]
    told = one_text_per_task(spark, [json.dumps(its, default=_spelled) for its in files])
    its_rows = F.inline(F.from_json("value", f"array<struct<{_ROW}>>", _OPTIONS))
    told.select(its_rows).writeTo(table_name(LAKE, name)).append()


def _spelled(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
