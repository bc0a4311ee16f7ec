"""Every kind of file and its format. What text has of its own stands in `text` and `staged_text`."""

from collections.abc import Mapping

from lakegate.audit.model.files import FileKind
from spark_jobs.formats import orc, parquet
from spark_jobs.formats.avro import header as avro
from spark_jobs.formats.format import Format

FORMATS: Mapping[FileKind, Format] = {
    FileKind.PARQUET: parquet.FORMAT,
    FileKind.ORC: orc.FORMAT,
    FileKind.AVRO: avro.FORMAT,
    FileKind.CSV: Format(),
    FileKind.JSON: Format(),
}
