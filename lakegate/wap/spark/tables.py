"""Tables that PyIceberg has loaded, as Iceberg's Java has them: at the same state, and without a catalog.

Spark reads their data files, and writes new ones that no commit names yet. PyIceberg commits them.
"""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.manifest import DataFile, ManifestContent, ManifestFile
from pyiceberg.table import Table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.adapters.lake import storage
from lakegate.audit.data_files.difference import Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.wap.history import Append
from lakegate.wap.table import OF_APPEND, with_appends
from spark_jobs.engine import SparkTable
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.gateway import jvm

_KEY, _REGION, _JAVAS_REGION = "s3.access-key-id", "s3.region", "client.region"
_HISTORY = ("refs", "snapshot-log", "metadata-log")  # what says of another state that it is the table's


@dataclass(frozen=True, kw_only=True)
class SparkRunTable(SparkTable):
    """See `RunTable`."""

    appends: Sequence[Append] = ()

    def fields(self) -> dict[str, IcebergField]:
        return OF_APPEND | super().fields()

    def read(self, entries: Mapping[str, Any], files: Mapping[str, str], *, per_file: bool) -> DataFrame:
        ids = F.create_map(*(F.lit(part) for pair in files.items() for part in pair))
        rows = super().read(entries, files, per_file=per_file)
        return rows.withColumn(FILE_COLUMN, F.element_at(ids, F.col("_file")))

    def changes_since(self, before: SparkTable | None) -> Difference:
        return with_appends(super().changes_since(before), self.fields()[FILE_COLUMN].id, self.appends)


def in_java(spark: SparkSession, table: Table) -> Any:
    """Return the table, at its state, as a Java object that changes nothing in a catalog."""
    java = jvm(spark).org.apache.iceberg
    state = json.loads(table.metadata.model_dump_json())
    text = json.dumps({name: value for name, value in state.items() if name not in _HISTORY})
    metadata = java.TableMetadataParser.fromJson(table.metadata_location, text)
    places = java.LocationProviders.locationsFor(metadata.location(), metadata.properties())
    operations = java.StaticTableOperations(metadata, _storage(spark, table), places)
    return java.BaseTable(operations, ".".join(table.name()))


def _storage(spark: SparkSession, table: Table) -> Any:
    """Return Java's access to the table's files."""
    settings = jvm(spark).java.util.HashMap()
    for name, value in _settings(table).items():
        settings.put(name, value)
    resolving = "org.apache.iceberg.io.ResolvingFileIO"
    return jvm(spark).org.apache.iceberg.CatalogUtil.loadFileIO(resolving, settings, hadoop.configuration(spark))


def _settings(table: Table) -> dict[str, str]:
    """Return the settings by which PyIceberg reaches the files, in Java's words. If it has none for S3, those of this
    process are taken, as PyIceberg takes them.
    """
    options = {name: str(value) for name, value in table.io.properties.items() if value is not None}
    if table.location().startswith("s3") and _KEY not in options:
        options |= storage()
    options |= {_JAVAS_REGION: options[_REGION]} if _REGION in options else {}
    return {"s3.path-style-access": str("s3.force-virtual-addressing" not in options).lower(), **options}


def in_python(spark: SparkSession, table: Any, files: Iterable[Any]) -> list[DataFile]:
    """Return data files of Java's as PyIceberg has them: both read manifests, and one in memory is enough."""
    java, spec = jvm(spark).org.apache.iceberg, table.spec()
    output = java.inmemory.InMemoryOutputFile()
    writer = java.ManifestFiles.write(2, spec, output, None)
    try:
        for file in files:
            writer.add(file)
    finally:
        writer.close()
    body = bytes(output.toByteArray())
    manifest = ManifestFile.from_args(
        manifest_path="", manifest_length=len(body), partition_spec_id=int(spec.specId()), content=ManifestContent.DATA
    )
    return [entry.data_file for entry in manifest.fetch_manifest_entry(_Memory(body))]


class _Memory(FileIO):
    """One file, whatever its name."""

    def __init__(self, body: bytes) -> None:
        super().__init__({})
        self._body = body

    def new_input(self, location: str) -> "_Body":
        return _Body(location, self._body)

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError(location)


class _Body(InputFile):
    def __init__(self, location: str, body: bytes) -> None:
        super().__init__(location)
        self._body = body

    def __len__(self) -> int:
        return len(self._body)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002, FBT001, FBT002 - PyIceberg's
        return io.BytesIO(self._body)
