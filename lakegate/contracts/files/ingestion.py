"""A table's settings for ingesting its files. They concern no row, so the contract's hash leaves them out."""

from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import choice, setting, whole_number
from lakegate.landing.ingestion import MOST_FILES, Engine, Ingestion, Reuploads

_REGISTER = (
    "write: register is refused, because readers disagree about a stranger's bytes, so that rows that no check had "
    "seen were published: write append, or leave it out"
)


def ingestion_of(table: Item) -> Ingestion:
    """Return the table's settings or the usual ones; note a fault for one that cannot be kept to."""
    usual = Ingestion()
    _check_write(table)
    return Ingestion(
        reuploads=choice(table, "reuploads", Reuploads),
        engine=choice(table, "engine", Engine),
        batch_files=whole_number(table, "batchFiles", usual.batch_files, limit=MOST_FILES),
        batch_bytes=whole_number(table, "batchBytes", usual.batch_bytes),
    )


def _check_write(table: Item) -> None:
    """Note a fault unless rows are written anew: earlier releases took `register`, too."""
    entry = setting(table, "write")
    value = entry.plain("value", "append") if entry else "append"
    if entry and value != "append":
        reason = _REGISTER if value == "register" else f"write is {value!r}, and it can only be append"
        entry.fault(reason, "value: append")
