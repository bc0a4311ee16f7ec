"""Superseded files: rejected versions that other versions of their key decide. No retry and no approval publishes them.

Nothing is decided here: they stay rejected until a person discards them.
"""

from collections.abc import Mapping
from contextlib import suppress

from lakegate.errors import Misconfigured
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt
from lakegate.landing.standing import standing_of
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service


def superseded_files(service: Service, receipts: Mapping[str, Receipt]) -> list[FileVersion]:
    """Return the rejected versions in these receipts, by key, that are superseded by the contract of now; none of a
    table without a contract that loads.

    A version that the contract refuses is not superseded: its reason says how a retry becomes possible.
    """
    rejected = [
        (entry.file(receipt.bucket, receipt.key), entry.table)
        for receipt in receipts.values()
        for entry in receipt.entries
        if entry.decision is Decision.REJECTED
    ]
    reuploads = {table: _reuploads(service, table) for table in {table for _, table in rejected}}
    return [
        file
        for file, table in rejected
        if (by := reuploads[table]) and standing_of(receipts[file.key], file, table, by).decision is Decision.DISCARDED
    ]


def _reuploads(service: Service, table: str) -> Reuploads | None:
    with suppress(Misconfigured):
        return contract_of(service.store, table).ingestion.reuploads
    return None
