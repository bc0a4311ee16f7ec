"""Partition specs of one table beside its default one. A data file that an earlier release registered, and did not
write, is under such a spec: it does not hold the id of its file version, and readers take that from its partition.
"""

from collections.abc import Iterable, Sequence

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.name_mapping import NameMapping
from pyiceberg.table.update import AddPartitionSpecUpdate

NAMES = TableProperties.DEFAULT_NAME_MAPPING


def spec_like(table: Table, fields: Sequence[PartitionField]) -> PartitionSpec:
    """Return the table's spec with these fields, or what is to become it."""
    target = PartitionSpec(*fields)
    specs = table.specs()
    for spec in (table.spec(), *specs.values()):
        if spec.compatible_with(target):
            return spec
    return PartitionSpec(*_with_numbers(table, fields), spec_id=max(specs) + 1)


def _with_numbers(table: Table, fields: Iterable[PartitionField]) -> list[PartitionField]:
    """Return the fields with the table's own ids of them: a field is one and the same in all of its specs."""
    ids_by_field = {
        (field.source_id, str(field.transform)): field.field_id
        for spec in table.specs().values()
        for field in spec.fields
    }
    new = max(table.metadata.last_partition_id or 0, PARTITION_FIELD_ID_START - 1)
    fields_with_ids = []
    for field in fields:
        number = ids_by_field.get((field.source_id, str(field.transform)))
        if number is None:
            number = new = new + 1
        fields_with_ids.append(field.model_copy(update={"field_id": number}))
    return fields_with_ids


def with_specs_of(
    origin: Table, target: Table, files: Iterable[DataFile]
) -> tuple[list[DataFile], list[PartitionSpec]]:
    """Rewrite the files' spec ids, in place, to the target table's. Return files and specs."""
    files, origin_specs = list(files), origin.specs()
    specs = {number: spec_like(target, origin_specs[number].fields) for number in {file.spec_id for file in files}}
    for file in files:
        file.spec_id = specs[file.spec_id].spec_id
    return files, list(specs.values())


def add_specs(table: Table, transaction: Transaction, specs: Iterable[PartitionSpec]) -> None:
    """Let the transaction give the table those of the specs that it lacks. Its default one stays."""
    for spec in specs:
        if spec.spec_id not in table.specs():
            transaction._apply((AddPartitionSpecUpdate(spec=spec),))  # noqa: SLF001 - it has no name for a spec alone


def ids_by_name(mapping: NameMapping | None) -> dict[str, int]:
    """Return the field ids that a mapping has for names of columns."""
    numbers_by_name = {name: field.field_id for field in (mapping.root if mapping else ()) for name in field.names}
    return {name: number for name, number in numbers_by_name.items() if number is not None}


def names_of(table: Table) -> str:
    """Return the property by which readers find the columns of data files without field ids; "" if it has none."""
    return str(table.properties.get(NAMES, ""))
