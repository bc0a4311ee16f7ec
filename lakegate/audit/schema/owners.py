"""Names that no column of a table may have, because readers of the lake have columns of these names for themselves."""

from lakegate.audit.schema.names import fold

_OWN_PREFIX = "_lakegate"  # and every name that begins with it
_OWNERS = {
    "_file": "Iceberg",
    "_pos": "Iceberg",
    "_partition": "Iceberg",
    "_deleted": "Iceberg",
    "_spec_id": "Iceberg",
    "_row_id": "Iceberg",
    "_last_updated_sequence_number": "Iceberg",
    "_metadata": "Spark",
}


def reserved_for(name: str) -> str:
    """Return the owner of a reserved name, or nothing if it is free. Engines compare names without case."""
    plain = fold(name)
    return "lakegate" if plain.startswith(_OWN_PREFIX) else _OWNERS.get(plain, "")
