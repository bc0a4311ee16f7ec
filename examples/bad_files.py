"""Files that no contract can let through, each made from a good one, and good files' names that are hard to handle.

They are made properly: a corrupt file has a valid footer, an encrypted one is really encrypted.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

_LONGEST = 1000  # bytes in a key; S3 allows 1,024


@dataclass(frozen=True, kw_only=True)
class BadFile:
    """A file to drop, and what is wrong with it."""

    name: str
    body: bytes
    wrong: str


def bad_files(good: pa.Table, *, missing: str, wrong: str) -> tuple[BadFile, ...]:
    """Every kind of bad file, made of good rows: without the column `missing`, with `wrong` as text, and so on."""
    body = parquet(good)
    text = pa.array([str(value) for value in good[wrong].to_pylist()])
    position = good.schema.get_field_index(wrong)
    return tuple(
        BadFile(name=f"{name.replace(' ', '-')}.parquet", body=made, wrong=name)
        for name, made in {
            "empty object": b"",
            "truncated parquet": body[: len(body) // 2],
            "text named parquet": b"year,month,day\n2013,1,1\n" * 20,
            "zero rows": parquet(good.slice(0, 0)),
            "missing column": parquet(good.drop_columns([missing])),
            "extra column": parquet(good.append_column("surprise", pa.array(range(good.num_rows), pa.int32()))),
            "wrong type": parquet(good.set_column(position, wrong, text)),
            "encrypted parquet": encrypted(good),
            "encrypted columns": encrypted(good, plaintext_footer=True),
            "corrupt page": corrupt(body),
        }.items()
    )


def awkward_keys(prefix: str) -> tuple[str, ...]:
    """Keys that S3 takes and that a careless program mishandles; the last is 1,000 bytes long."""
    names = (
        "with a space.parquet",
        "plus+and%percent%20.parquet",
        "hash#and=equals&and.parquet",
        "glob*?[a-z]{b,c}.parquet",
        "Zürich ✈ 東京 e\u0301.parquet",
        'it\'s "quoted" `here`.parquet',
        "back\\slash and $dollar;semicolon,comma.parquet",
        "_hidden.parquet",
        ".dotted.parquet",
        "colon: at@ <angle> |pipe|.parquet",
    )
    room = _LONGEST - len(f"{prefix}.parquet".encode())
    return (*(f"{prefix}{name}" for name in names), f"{prefix}{'long-' * (room // 5)}{'x' * (room % 5)}.parquet")


def parquet(table: pa.Table) -> bytes:
    """The table as a file's bytes."""
    return _written(lambda out: pq.write_table(table, out, compression="zstd", coerce_timestamps="us"))


def corrupt(body: bytes) -> bytes:
    """The same file with its first column's data overwritten: the footer is valid, reading the rows is not possible."""
    chunk = pq.read_metadata(BytesIO(body)).row_group(0).column(0)
    start: int = min(offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset)
    length = int(chunk.total_compressed_size)
    return body[:start] + b"\xa5" * length + body[start + length :]


def encrypted(table: pa.Table, *, plaintext_footer: bool = False) -> bytes:
    """Modular encryption with a key that nobody else has: of the footer too, or under a readable one."""
    factory = pe.CryptoFactory(lambda _config: _Keys())
    names = table.schema.names
    config = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"columns": names[:1]}, plaintext_footer=plaintext_footer
    )
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    return _written(lambda out: pq.write_table(table, out, encryption_properties=properties, coerce_timestamps="us"))


def _written(write: Callable[[BytesIO], object]) -> bytes:
    out = BytesIO()
    write(out)
    return out.getvalue()


class _Keys(pe.KmsClient):  # type: ignore[misc] # pyarrow carries no annotations
    """A key management service in memory. It only encodes keys: enough to write a file that others can't read."""

    def __init__(self) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, _master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)
