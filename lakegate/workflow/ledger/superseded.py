"""Rejected file versions that are overtaken: their key's other versions on main decide them, so that no retry and no
approval publishes them any more. It decides nothing: rejected they stay, until a person discards them.
"""

from collections.abc import Mapping
from contextlib import suppress

from lakegate.errors import Misconfigured
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt
from lakegate.landing.standing import standing
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service


def superseded_files(service: Service, receipts: Mapping[str, Receipt]) -> list[FileVersion]:
    """Those of the versions that these receipts (by key) call rejected which are superseded by the contract of now;
    none of a table whose contract does not load. One that a contract refuses is not among them: its reason says how it
    may be retried.
    """
    rejected = [
        (entry.file(receipt.bucket, receipt.key), entry.table)
        for receipt in receipts.values()
        for entry in receipt.entries
        if entry.decision is Decision.REJECTED
    ]
    words = {table: _reuploads(service, table) for table in {table for _, table in rejected}}
    return [file for file, table in rejected if _is_superseded(receipts[file.key], file, table, words[table])]


def _reuploads(service: Service, table: str) -> Reuploads | None:
    with suppress(Misconfigured):
        return contract_of(service.store, table).ingestion.reuploads
    return None


def _is_superseded(receipt: Receipt, file: FileVersion, table: str, reuploads: Reuploads | None) -> bool:
    return reuploads is not None and standing(receipt, file, table, reuploads).decision is Decision.DISCARDED
