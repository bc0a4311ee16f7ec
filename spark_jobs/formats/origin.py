"""Which file version a row was read from: its staged file is named by the id."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.schema.fit import FILE_COLUMN


def origin(read: DataFrame) -> Column:
    """The id, of rows as a reader gives them: by the reader's own column, whatever the file calls one of its own."""
    hidden = Column(read._jdf.metadataColumn("_metadata"))  # noqa: SLF001 - there is no public name for it
    return F.substring_index(hidden.getField("file_name"), ".", 1).alias(FILE_COLUMN)
