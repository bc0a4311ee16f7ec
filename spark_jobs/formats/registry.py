"""One row per kind of file: its format. To add a kind, write one module with a FORMAT, and its row here."""

from collections.abc import Mapping

from lakegate.audit.model.files import FileKind
from spark_jobs.formats import orc, parquet
from spark_jobs.formats.avro import header as avro
from spark_jobs.formats.format import Format
from spark_jobs.formats.text import csv_text, json_lines

FORMATS: Mapping[FileKind, Format] = {
    FileKind.PARQUET: parquet.FORMAT,
    FileKind.ORC: orc.FORMAT,
    FileKind.AVRO: avro.FORMAT,
    FileKind.CSV: csv_text.FORMAT,
    FileKind.JSON: json_lines.FORMAT,
}
