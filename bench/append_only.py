"""A comparison for the audited job: a Spark job that appends its files to the table without an audit.

It is written in the usual way, and takes the address of the same job.json.
"""

import sys

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from lakegate.audit.model.codec import from_json
from lakegate.audit.model.job import Job
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.ports import Ref
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.session import LAKE, build, open_catalog

spark = build("append only")
job = from_json(Job, hadoop.read(spark, sys.argv[1]))
open_catalog(spark, LAKE, job.catalog, Ref(job.branch))
rows = spark.read.parquet(*(file.uri for file in job.files))
file_id = F.substring_index(F.col("_metadata.file_name"), ".", 1).alias(FILE_COLUMN)
rows.select("*", file_id).writeTo(f"{LAKE}.{job.plan.table}").append()
spark.stop()
