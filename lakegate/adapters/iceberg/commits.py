"""Commits to a table by PyIceberg, each sent once."""

from pyiceberg.table import Table, TableProperties


def sent_once(table: Table) -> Table:
    """Return the loaded table with PyIceberg's retries off. They may take longer than a function lives, and repeat an
    append for others' sake. The table in the catalog keeps its own setting.
    """
    properties = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    table.metadata = table.metadata.model_copy(update={"properties": properties})
    return table
