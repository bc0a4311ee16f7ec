"""A table's settings for ingesting its files. They concern no row, so the contract's hash leaves them out."""

from lakegate.audit.model.files import FileKind
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Atom, parse
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import choice, setting, whole_number
from lakegate.landing.ingestion import MOST_FILES, Engine, Ingestion, Reuploads, Write


def ingestion_of(table: Item, plan: Plan) -> Ingestion:
    """Return the table's settings or the usual ones; note a fault for one that cannot be kept to."""
    usual = Ingestion()
    found = Ingestion(
        reuploads=choice(table, "reuploads", Reuploads),
        engine=choice(table, "engine", Engine),
        write=choice(table, "write", Write),
        batch_files=whole_number(table, "batchFiles", usual.batch_files, most=MOST_FILES),
        batch_bytes=whole_number(table, "batchBytes", usual.batch_bytes),
    )
    said = setting(table, "write")
    if said and found.write is Write.REGISTER and (why := _never_registered(found, plan)):
        said.fault(f"no file of this table could be registered: {why}; write: append is the default")
    return found


def _never_registered(ingestion: Ingestion, plan: Plan) -> str:
    """Return why no file could ever be a data file of the table; "" if that depends on the file."""
    if plan.files.kind is not FileKind.PARQUET:
        return f"its files are {plan.files.kind}, and data files are parquet"
    if ingestion.engine is Engine.SPARK:
        return "engine is spark, and only the express lane registers files"
    for column in plan.columns:
        if not isinstance(parse(column.type), Atom):
            return f"column {display_name(column.name)} is nested, and only Spark audits such tables"
    return ""
