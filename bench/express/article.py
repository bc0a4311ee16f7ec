"""The article's own shape, in a warm process: read the whole file, make a branch, append, read one column back, merge.

One check, of nulls, and no promise: no receipt, no claim, no proof. What it reads back is a column of the whole table.
It takes orders from standard input, a JSON object a line, and answers each with a line.
"""

import json
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import requests
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import MonthTransform

from lakegate.adapters.http import TimeoutAdapter, door, mount
from lakegate.adapters.lake import storage
from lakegate.adapters.tokens import tokens_of
from lakegate.audit.model.catalog import CatalogAddress

CHECKED, BY_MONTH = "carrier", "time_hour"
MAIN = "main"


@dataclass(frozen=True, kw_only=True)
class Article:
    """The shape on one Nessie and one S3. `audience` is what tokens are asked for."""

    nessie: str
    warehouse: str
    audience: str

    def make(self, table: str, key: str, bucket: str, version: str) -> None:
        """Make a table for the file, empty."""
        schema = self._read(bucket, key, version).schema
        catalog = self._catalog(MAIN)
        catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
        made = catalog.create_table(table, schema)
        field = PartitionField(made.schema().find_field(BY_MONTH).field_id, 1000, MonthTransform(), f"{BY_MONTH}_month")
        catalog.drop_table(table)
        catalog.create_table(table, made.schema(), partition_spec=PartitionSpec(field))

    def publish(self, table: str, key: str, bucket: str, version: str) -> None:
        """Bring the file to main. Raise ValueError if a value is null."""
        rows, branch = self._read(bucket, key, version), f"wap-article-{time.monotonic_ns()}"
        main = self._head(MAIN)
        self._post("trees", {"type": "BRANCH", **main}, name=branch, type="BRANCH")
        there = self._catalog(branch).load_table(table)
        there.append(rows)
        if there.scan(selected_fields=(CHECKED,)).to_arrow()[CHECKED].null_count:
            raise ValueError(f"{key} has a null in {CHECKED}")
        merged = {"fromRefName": branch, "fromHash": self._head(branch)["hash"]}
        self._post(f"trees/{MAIN}@{main['hash']}/history/merge", merged)

    @cached_property
    def _http(self) -> TimeoutAdapter:
        return door(self.nessie, tokens_of(CatalogAddress(uri=self.nessie, warehouse="", audience=self.audience)), "")

    @cached_property
    def _session(self) -> requests.Session:
        return mount(requests.Session(), self._http)

    @cached_property
    def _s3(self) -> Any:
        return boto3.client("s3")

    @cached_property
    def _storage(self) -> dict[str, str]:
        return {**storage(), "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"}

    def _read(self, bucket: str, key: str, version: str) -> pa.Table:
        found = self._s3.get_object(Bucket=bucket, Key=key, VersionId=version)
        return pq.read_table(BytesIO(found["Body"].read()))

    def _catalog(self, branch: str) -> RestCatalog:
        http = self._http

        class Catalog(RestCatalog):
            """One whose calls have this process's identity."""

            def _create_session(self) -> requests.Session:
                return mount(super()._create_session(), http)

        return Catalog(branch, uri=f"{self.nessie}/iceberg/{branch}", warehouse=self.warehouse, **self._storage)

    def _head(self, branch: str) -> dict[str, str]:
        answer = self._session.get(f"{self.nessie}/api/v2/trees/{branch}")
        answer.raise_for_status()
        found: dict[str, str] = answer.json()["reference"]
        return {"name": found["name"], "hash": found["hash"]}

    def _post(self, path: str, body: dict[str, str], **query: str) -> None:
        answer = self._session.post(f"{self.nessie}/api/v2/{path}", json=body, params=query)
        answer.raise_for_status()


def main() -> None:
    article = Article(**json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        order = json.loads(line)
        if order.pop("is_new"):
            article.make(**order)
        began, used = time.monotonic(), time.process_time()
        article.publish(**order)
        print(json.dumps([time.monotonic() - began, time.process_time() - used]), flush=True)


if __name__ == "__main__":
    main()
