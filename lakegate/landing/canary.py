"""Canary: a small file of the service's own, which must reach main as a vendor's does.

It lands under one key, so each one replaces the rows of the one before. Its namespace begins with `_`, which no
contract of people's does, so readers of tables see none of it.
"""

from datetime import datetime

TABLE, KEY = "_canary.heartbeat", "_canary/heartbeat.parquet"
ROWS = 10
CONTRACT = f"""\
# lakegate's own: the function `canary` pushes it again wherever it differs.
apiVersion: v3.1.0
kind: DataContract
id: lakegate-canary
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/{KEY}
    format: parquet
schema:
  - name: heartbeat
    physicalName: {TABLE}
    customProperties:
      - {{property: branchDays, vendor: lakegate, value: 2}}
    properties:
      - {{name: beat, logicalType: integer, required: true, unique: true}}
      - {{name: sent_at, logicalType: timestamp, required: true}}
    quality:
      - {{metric: rowCount, mustBe: {ROWS}}}
"""


def heartbeat(at: datetime) -> bytes:
    """Return a canary's bytes, parquet with ROWS rows, which differ from those of every other time."""
    import pyarrow as pa  # noqa: PLC0415 (few functions have it)
    import pyarrow.parquet as pq  # noqa: PLC0415

    moments = pa.array([at] * ROWS, pa.timestamp("us", tz="UTC"))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"beat": pa.array(range(ROWS), pa.int32()), "sent_at": moments}), sink)
    return bytes(sink.getvalue())
