"""Attempts for the express engine to work on: its tables as Spark would make them, and its runs in this process.

It judges nothing.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pyiceberg import types as iceberg
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import NestedField

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.definition import properties
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.ref import Ref
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.partitions import partition
from lakegate.audit.schema.types import canonical, digits, kept, parse
from tests.support.nessie import Lake

_CALLS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_TYPES = {
    "boolean": iceberg.BooleanType(),
    "int": iceberg.IntegerType(),
    "bigint": iceberg.LongType(),
    "float": iceberg.FloatType(),
    "double": iceberg.DoubleType(),
    "string": iceberg.StringType(),
    "binary": iceberg.BinaryType(),
    "date": iceberg.DateType(),
    "timestamp": iceberg.TimestamptzType(),
    "timestamp_ntz": iceberg.TimestampType(),
}


def schema_of(plan: Plan) -> Schema:
    """The plan's columns, and lakegate's, as Iceberg has them."""
    types = [(column.name, _type(column.type)) for column in plan.columns]
    every = [*types, (FILE_COLUMN, iceberg.StringType())]
    return Schema(*(NestedField(at, name, kind, required=False) for at, (name, kind) in enumerate(every, 1)))


def _type(spelled: str) -> Any:
    atom: Any = kept(parse(spelled))
    size = digits(atom)
    return iceberg.DecimalType(*size) if size else _TYPES[canonical(str(atom))]


def spec_of(plan: Plan, schema: Schema) -> PartitionSpec:
    """The plan's partitions as Iceberg has them."""
    found = [partition(spelled) for spelled in plan.partitions]
    return PartitionSpec(
        *(
            PartitionField(
                schema.find_field(each.column).field_id,
                1000 + at,
                parse_transform(_CALLS.get(each.transform, each.transform) + (f"[{each.width}]" if each.width else "")),
                each.field,
            )
            for at, each in enumerate(found)
        )
    )


def make_table(lake: Lake, plan: Plan, branch: str) -> None:
    """Make the plan's table on a branch, empty."""
    catalog = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(branch))
    catalog.create_namespace_if_not_exists(plan.table.rpartition(".")[0])
    schema = schema_of(plan)
    own = {"format-version": "2", **properties(plan, plan.columns)}
    catalog.create_table(plan.table, schema, partition_spec=spec_of(plan, schema), properties=own)


def handed_over(lake: Lake, job: Job) -> str:
    """The reason for which the job was handed over; "" if it was not."""
    key = job.handover_uri.removeprefix(f"s3://{lake.bucket}/")
    if "Contents" not in lake.s3().list_objects_v2(Bucket=lake.bucket, Prefix=key):
        return ""
    return str(json.loads(lake.s3().get_object(Bucket=lake.bucket, Key=key)["Body"].read())["reason"])


def for_express(lake: Lake, job: Job) -> Job:
    """The same job, with a place for a hand-over."""
    return replace(job, handover_uri=f"s3://{lake.bucket}/handovers/{job.branch}.json")
