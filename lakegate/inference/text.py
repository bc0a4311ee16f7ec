"""Text files before and after their columns have types. `delimited` and `json_lines` take their text apart."""

# ruff: noqa: S608 - columns are quoted, and conditions are ours

import bz2
import gzip
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.fit import NOTHING
from lakegate.audit.schema.types import Atom, Type
from lakegate.duckdb.dialect import duckdb_identifier
from lakegate.inference.sample import Sample, unfit
from lakegate.inference.spelled import Column, Spelled, remark_of_nulls, spelled, with_nulls

_ENCODINGS = {"utf-8-sig": "UTF-8", "cp1252": "windows-1252"}
_OTHERWISE = ("iso8859-1", "ISO-8859-1")
MIXED = "values of other kinds than text: kept as their JSON"


@dataclass(frozen=True, kw_only=True)
class Texts:
    """One text file before its columns have types: `rows` are texts, but for columns of `kinds`, whose types are known
    without a look at texts: JSON's numbers and truth values.
    """

    name: str
    form: FileFormat
    rows: pa.Table
    size: int
    kinds: Mapping[str, Type]


def _unpacked_zstd(packed: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read())


_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".zstd": _unpacked_zstd,
}


def decoded(path: Path, kind: FileKind) -> tuple[str, FileFormat]:
    """Return a file's text, and its format with the encoding. Raise NoContract if it is compressed otherwise than its
    name says.
    """
    form, body = FileFormat(kind=kind), path.read_bytes()
    try:
        body = _UNPACK.get(Path(form.suffix(path.name)).suffix, bytes)(body)
    except (OSError, EOFError, ValueError, pa.ArrowException) as error:
        raise unfit(path.name, f"it is not compressed as its name says ({error})") from error
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise unfit(path.name, "it is UTF-16, which is not read: write it in UTF-8")
    for encoding, name in _ENCODINGS.items():
        with suppress(UnicodeDecodeError):
            return body.decode(encoding), replace(form, encoding=name)
    encoding, name = _OTHERWISE
    return body.decode(encoding), replace(form, encoding=name)


def typed(found: Sequence[Texts]) -> list[Sample]:
    """Return the files as samples of one table: a column has the type that all of their texts are of."""
    is_csv = found[0].form.kind is FileKind.CSV
    found = found if is_csv else _with_all_keys(found)
    together = _together(found)
    with closing(duckdb.connect()) as con:
        con.execute("SET TimeZone = 'UTC'")
        if together.num_columns:
            con.register("texts", together)
        columns = [Column(con=con, name=name, is_csv=is_csv) for name in together.column_names]
        nulls = with_nulls(columns) if is_csv else {}
        types = {column.name: spelled(replace(column, nulls=tuple(nulls))) for column in columns}
        form = replace(
            _one_form(found),
            nulls=("", *nulls),
            patterns={name: each.pattern for name, each in types.items() if each.pattern},
        )
        remarks = {name: each.remark for name, each in types.items() if each.remark}
        remarks |= {name: MIXED for texts in found for name, kind in texts.kinds.items() if kind == Atom("string")}
        if nulls:
            remarks[""] = remark_of_nulls(nulls)
        return [_sample(con, texts, form, types, remarks) for texts in found]


def _with_all_keys(found: Sequence[Texts]) -> list[Texts]:
    """Return the files with all of their keys: an object of JSON may lack one, which is a null then."""
    names = dict.fromkeys(name for texts in found for name in texts.rows.column_names)
    return [_with_keys(texts, [name for name in names if name not in texts.rows.column_names]) for texts in found]


def _with_keys(texts: Texts, lacking: Sequence[str]) -> Texts:
    rows = texts.rows
    for name in lacking:
        rows = rows.append_column(name, pa.nulls(rows.num_rows))
    return replace(texts, rows=rows, kinds={**texts.kinds, **dict.fromkeys(lacking, Atom(NOTHING))})


def _together(found: Sequence[Texts]) -> pa.Table:
    """Return the texts of all files, and no columns whose types are known."""
    own = [texts.rows.select([name for name in texts.rows.column_names if name not in texts.kinds]) for texts in found]
    return pa.concat_tables(own, promote_options="permissive")


def _one_form(found: Sequence[Texts]) -> FileFormat:
    """Return the dialect of all files. Raise NoContract if two differ."""
    first, *others = found
    for texts in others:
        one, other = (replace(each.form, multiline=False) for each in (first, texts))
        if one != other:
            raise unfit(texts.name, f"it is written in another way than {first.name}: {_difference(one, other)}")
    return replace(first.form, multiline=any(texts.form.multiline for texts in found))


def _difference(one: FileFormat, other: FileFormat) -> str:
    words = ("delimiter", "quote", "escape", "encoding", "header")
    return ", ".join(
        f"{word} {getattr(other, word)!r}, not {getattr(one, word)!r}"
        for word in words
        if getattr(one, word) != getattr(other, word)
    )


def _sample(
    con: duckdb.DuckDBPyConnection,
    texts: Texts,
    form: FileFormat,
    types: Mapping[str, Spelled],
    remarks: dict[str, str],
) -> Sample:
    kinds = {name: texts.kinds.get(name) or types[name].type for name in texts.rows.column_names}
    con.register("own", texts.rows)
    values = [duckdb_identifier(name) if name in texts.kinds else types[name].value for name in kinds]
    said = ", ".join(f"{value} AS {duckdb_identifier(name)}" for name, value in zip(kinds, values, strict=True))
    rows = con.sql(f"SELECT {said} FROM own").to_arrow_table()
    return Sample(name=texts.name, form=form, columns=kinds, rows=rows, size=texts.size, remarks=remarks)
