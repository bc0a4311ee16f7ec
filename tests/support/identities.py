"""A table's identity as a job changes it, wherever a test plays the job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lakegate.ports import TableIdentity


def grown(table: TableIdentity, columns: Iterable[str], contract_hash: str | None = None) -> TableIdentity:
    """The table brought up to its files, and to its contract where one is given: each new column, of text, gets an id
    that none had. Empty names are none.
    """
    there = {name for _, name, _ in table.fields}
    new = [column for column in dict.fromkeys(columns) if column and column not in there]
    fields = tuple((number, name, "string") for number, name in enumerate(new, table.last_id + 1))
    by = table.contract_hash if contract_hash is None else contract_hash
    return replace(table, fields=table.fields + fields, last_id=table.last_id + len(new), contract_hash=by)
