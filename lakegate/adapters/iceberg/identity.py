"""A table's identity: what must be equal on two sides before data files move between them."""

from collections.abc import Mapping

from pyiceberg.schema import index_by_id, index_name_by_id
from pyiceberg.table import Table

from lakegate.adapters.iceberg.specs import names_of
from lakegate.audit.schema.fit import CONTRACT_HASH
from lakegate.publishing.port import TableIdentity


def table_identity(table: Table) -> TableIdentity:
    """Return what must be equal on two sides before data files move between them."""
    schema = table.schema()
    names: Mapping[int, str] = index_name_by_id(schema)
    fields = tuple(
        (number, names[number], f"{field.field_type}{' not null' if field.required else ''}")
        for number, field in sorted(index_by_id(schema).items())
    )
    return TableIdentity(
        uuid=str(table.metadata.table_uuid),
        fields=fields,
        last_id=table.metadata.last_column_id,
        partitions=str(table.spec()),
        contract_hash=table.properties.get(CONTRACT_HASH, ""),
        names=names_of(table),
    )
