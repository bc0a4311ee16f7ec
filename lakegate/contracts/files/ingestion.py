"""A table's settings for ingesting its files. They concern no row, so the contract's hash leaves them out."""

from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import setting, whole_number
from lakegate.landing.ingestion import MOST_FILES, Ingestion, Reuploads

_REUPLOADS = "reuploads"


def ingestion_of(table: Item) -> Ingestion:
    """Return the table's settings or the usual ones; note a fault for one that cannot be kept to."""
    usual = Ingestion()
    return Ingestion(
        reuploads=_reuploads(table),
        batch_files=whole_number(table, "batchFiles", usual.batch_files, most=MOST_FILES),
        batch_bytes=whole_number(table, "batchBytes", usual.batch_bytes),
    )


def _reuploads(table: Item) -> Reuploads:
    said = setting(table, _REUPLOADS)
    value = said.plain("value") if said else Reuploads.REPLACE.value
    if said and value not in list(Reuploads):
        known, near = " or ".join(Reuploads), vocabulary.hint(str(value), Reuploads)
        said.fault(f"{_REUPLOADS} is {value!r}, and it can be {known}{near}")
        return Reuploads.REPLACE
    return Reuploads(value)
