"""Bad files that no contract lets through, each made from a good one, and keys that are hard to handle.

The faults are real: a corrupt file has a valid footer, and an encrypted one is encrypted.
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
    """A file to drop, and its fault."""

    name: str
    body: bytes
    wrong: str


def bad_files(good: pa.Table, *, missing: str, wrong: str) -> tuple[BadFile, ...]:
    """Return every kind of bad file, made of good rows. One lacks the column `missing`, one has `wrong` as text."""
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
    """Return keys that S3 accepts and a careless program mishandles. The last one is 1,000 bytes long."""
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
    """Return the table as a parquet file's bytes."""
    return _written(lambda out: pq.write_table(table, out, compression="zstd", coerce_timestamps="us"))


def corrupt(body: bytes) -> bytes:
    """Return the file with its first column's data overwritten. Its footer is valid, but its rows can't be read."""
    chunk = pq.read_metadata(BytesIO(body)).row_group(0).column(0)
    start: int = min(offset for offset in (chunk.dictionary_page_offset, chunk.data_page_offset) if offset)
    length = int(chunk.total_compressed_size)
    return body[:start] + b"\xa5" * length + body[start + length :]


def encrypted(table: pa.Table, *, plaintext_footer: bool = False) -> bytes:
    """Return a file under parquet's modular encryption, with its footer encrypted, too, or in plain text."""
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
    """A key management service in memory. Encoding the keys suffices, because a reader has none of them."""

    def __init__(self) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, _master_key_identifier: str) -> bytes:
        return base64.b64decode(wrapped_key)
