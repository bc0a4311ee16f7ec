"""A table of one test's own: its contract, and rows for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/{prefix}/**
    format: parquet
schema:
  - name: things
    physicalName: {table}
    properties:
      - name: id
        logicalType: integer
        primaryKey: true
        primaryKeyPosition: 1
      - name: name
        logicalType: string
        required: true
      - name: weight
        logicalType: number
        logicalTypeOptions: {{minimum: 0}}
"""

BY_SPARK = "    customProperties:\n      - {property: engine, vendor: lakegate, value: spark}\n"


def on_spark(contract: str) -> str:
    """The same contract, which asks for Spark: for a test that is about it."""
    before, properties, after = contract.partition("    properties:\n")
    return before + BY_SPARK + properties + after


@dataclass(frozen=True, kw_only=True)
class Things:
    """A table of one test's own, with its contract pushed."""

    table: str
    prefix: str
    contract: Path


def rows(start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    weights = [None if number % 7 == 0 else number * 0.5 for number in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "name": [f"thing {number}" for number in ids],
            "weight": pa.array(weights, pa.float64()),
        }
    )
