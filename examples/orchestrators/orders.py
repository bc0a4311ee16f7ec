"""The four examples share this: the catalog that the settings name, the contract, the rows of a file and the key of
their run, and the lines of a report for people.
"""

import io
import os
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from pyarrow.fs import FileSystem, LocalFileSystem

from lakegate.adapters.clock import SystemClock
from lakegate.adapters.tokens import StsTokens
from lakegate.audit.model.report import CheckResult, Verdict
from lakegate.contracts import Contract, load
from lakegate.errors import Misconfigured, Refused
from lakegate.ports import Tokens
from lakegate.reading.arrow import arrow_type
from lakegate.wap import Nessie, Report

TABLE = "shop.orders"
_FILE = Path(__file__).with_name("orders.yaml")
_SHOWN = 5  # failing rows of a check


def catalog() -> Nessie:
    """Return the catalog of LAKEGATE_NESSIE_URI and LAKEGATE_WAREHOUSE. With LAKEGATE_TOKEN_AUDIENCE, Nessie is sent
    tokens of this process's IAM role, which must be tagged `lakegate=publish`.
    """
    try:
        uri, warehouse = os.environ["LAKEGATE_NESSIE_URI"], os.environ["LAKEGATE_WAREHOUSE"]
    except KeyError as missing:
        raise Misconfigured(f"{missing} is missing: README.md says how an example is run") from missing
    caller = tokens()
    return Nessie(uri=uri, warehouse=warehouse, token=caller.token if caller else None)


def tokens() -> Tokens | None:
    """Return the tokens of this process for LAKEGATE_TOKEN_AUDIENCE; None if Nessie asks for none."""
    audience = os.environ.get("LAKEGATE_TOKEN_AUDIENCE", "")
    return StsTokens(audience, SystemClock()) if audience else None


@cache
def contract() -> Contract:
    """Return the contract of orders."""
    return load(_FILE.read_bytes(), _FILE.name)


def key_of(path: str) -> str:
    """Return the key of a file's run, by its name and content: the same file is published once, whoever finds it."""
    return _key(path, _body(path))


def rows_of(path: str, key: str) -> pa.Table:
    """Return the rows of a parquet or CSV file. Raise Refused if it is no longer the file that the key is of."""
    body = _body(path)
    if _key(path, body) != key:
        raise Refused(f"{path} has changed since the run {key!r} was begun: nothing is published. Run it again")
    return _rows(path, body)


def told(report: Report) -> Iterator[str]:
    """Yield a line for each check that failed, with some of the rows that it failed for."""
    if report.error:
        yield report.error
    for entry in report.files:
        failed = [check for check in entry.checks if check.verdict is Verdict.FAIL]
        yield from (f"{check.name}: {check.failing_rows} of {check.rows} rows, {_sample(check)}" for check in failed)


def _sample(check: CheckResult) -> str:
    return "such as " + ", ".join(str(row) for row in check.sample[:_SHOWN]) if check.sample else "none to show"


def _key(path: str, body: bytes) -> str:
    return f"{PurePosixPath(path).name}-{sha256(body).hexdigest()[:16]}"


def _body(path: str) -> bytes:
    files, place = FileSystem.from_uri(path) if "://" in path else (LocalFileSystem(), str(Path(path).absolute()))
    try:
        with files.open_input_stream(place) as stream:
            return bytes(stream.read())
    except FileNotFoundError as error:
        raise Misconfigured(f"there is no file {path}") from error


def _rows(path: str, body: bytes) -> pa.Table:
    if path.endswith(".parquet"):
        return pq.read_table(io.BytesIO(body))
    if path.endswith(".csv"):
        types = {column.name: arrow_type(column.type) for column in contract().plan.columns}
        options = csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        return csv.read_csv(io.BytesIO(body), convert_options=options)
    raise Misconfigured(f"{path} is neither a parquet file nor CSV")
