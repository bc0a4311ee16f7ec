"""Registered files, as earlier releases made them: a copy of the landed parquet file itself is a data file. It has no
field ids and no column of the file version, which readers find in its partition.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import compute_statistics_plan, data_file_statistics_from_parquet_metadata
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.iceberg.commits import append, one_commit
from lakegate.adapters.iceberg.specs import NAMES, add_specs, spec_like
from lakegate.audit.ref import Ref
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.express.appending import partition_key
from lakegate.express.objects import Objects
from tests.support.nessie import Lake, unique


def register(lake: Lake, branch: str, name: str, files: Mapping[str, bytes]) -> dict[str, DataFile]:
    """Make each file, by file version, a data file of a table on a branch, in one commit. Return the entries."""
    table = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(branch)).load_table(name)
    spec = spec_by_file(table)
    entries = {file: _entry(table, spec, file, body) for file, body in files.items()}
    for file, body in files.items():
        Objects().write(entries[file].file_path, body)
    with one_commit(table) as transaction:
        add_specs(table, transaction, [spec])
        transaction.set_properties({NAMES: table.schema().name_mapping.model_dump_json()})
        append(table, transaction, entries.values())
    return entries


def spec_by_file(table: Table) -> PartitionSpec:
    """Return the table's partitions followed by the file version."""
    column = table.schema().find_field(FILE_COLUMN).field_id
    by_file = PartitionField(source_id=column, field_id=0, transform=IdentityTransform(), name=FILE_COLUMN)
    return spec_like(table, [*table.spec().fields, by_file])


def _entry(table: Table, spec: PartitionSpec, file: str, body: bytes) -> DataFile:
    about, schema = pq.read_metadata(io.BytesIO(body)), table.schema()
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=about,
        stats_columns=compute_statistics_plan(schema, table.properties),
        parquet_column_mapping={field.name: field.field_id for field in schema.fields},
    ).to_serialized_dict()
    column = schema.find_field(FILE_COLUMN).field_id
    statistics["value_counts"][column], statistics["null_value_counts"][column] = about.num_rows, 0
    statistics["lower_bounds"][column] = statistics["upper_bounds"][column] = file.encode()
    entry = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=table.location_provider().new_data_location(f"{unique('registered')}.parquet"),
        file_format=FileFormat.PARQUET,
        partition=partition_key(spec, schema, _partition(table, file, body)).partition,
        file_size_in_bytes=len(body),
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **statistics,
    )
    entry.spec_id = spec.spec_id
    return entry


def _partition(table: Table, file: str, body: bytes) -> list[object]:
    """Return the values of the table's partition fields in the file's first row, and the file version."""
    row, schema = pq.read_table(io.BytesIO(body)).slice(0, 1), table.schema()
    sources = [(field, schema.find_field(field.source_id)) for field in table.spec().fields]
    values = [
        field.transform.pyarrow_transform(source.field_type)(row.column(source.name).combine_chunks())
        for field, source in sources
    ]
    return [*(value[0].as_py() for value in values), file]
