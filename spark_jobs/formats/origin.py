"""The file version of a row: a staged file is named by its id."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.schema.fit import FILE_COLUMN


def origin(read: DataFrame) -> Column:
    """Return the file version of rows that a reader returns, from the reader's hidden column: a file may have one of
    the same name.
    """
    metadata = Column(read._jdf.metadataColumn("_metadata"))  # noqa: SLF001 - there is no public name for it
    return F.substring_index(metadata.getField("file_name"), ".", 1).alias(FILE_COLUMN)
