"""CSV files in whatever dialect, as DuckDB sniffs it. Their fields have no types yet."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.inspection import NO_ROWS
from lakegate.audit.schema.names import display_name
from lakegate.counts import count
from lakegate.duckdb.dialect import duckdb_text
from lakegate.inference.sample import check_names, unfit
from lakegate.inference.text import Texts, decoded
from lakegate.shown import shown, spelt

_NAME = re.compile(r"[^\W\d]")
_NONE = ("(empty)", "")  # DuckDB's words for a sign that is not there
_LONGEST_LINE = 64 * 1024**2
_WHY = 300  # letters of DuckDB's own message


def texts_of(path: Path) -> Texts:
    """Return a CSV file's fields. Raise NoContract if they do not stand in one order."""
    text, packed = decoded(path, FileKind.CSV)
    if not text.strip("\r\n"):
        raise unfit(path.name, NO_ROWS)
    with TemporaryDirectory(prefix="lakegate-") as folder, closing(duckdb.connect()) as con:
        plain = Path(folder) / "plain.csv"
        plain.write_text(text, encoding="utf-8", newline="")
        form, width, has_header = _dialect(con, path.name, plain, text)
        rows = _fields(con, path.name, plain, form, width)
    has_header = has_header or _are_names([column[0].as_py() for column in rows.columns])
    names, rows = _with_names(path.name, rows, has_header=has_header)
    if width == 1:
        rows = rows.filter(pc.is_valid(rows.column(0)))  # an empty line
    if not rows.num_rows:
        raise unfit(path.name, NO_ROWS)
    holds_ends = any(_has_line_ends(column) for column in rows.columns)
    form = replace(form, encoding=packed.encoding, header=has_header, multiline=holds_ends)
    return Texts(name=path.name, form=form, rows=rows.rename_columns(names), size=path.stat().st_size, kinds={})


def _dialect(con: duckdb.DuckDBPyConnection, name: str, plain: Path, text: str) -> tuple[FileFormat, int, bool]:
    asked = 'SELECT Delimiter, Quote, Escape, SkipRows, HasHeader, Comment, len("Columns") FROM sniff_csv(?)'
    try:
        [row] = con.execute(asked, [str(plain)]).fetchall()
    except duckdb.Error as error:
        raise unfit(name, f"its dialect cannot be told ({_told(error)})") from error
    delimiter, quote, escape, skipped, has_header, comment, width = row
    if skipped or comment not in _NONE:
        lines = f"begins with {count(skipped, 'line')} that hold no rows"
        what = lines if skipped else f"has comments behind {comment!r}"
        raise unfit(name, f"it {what}: remove them, because the first line is the header")
    quote = quote if quote not in _NONE else "" if '"' in text else '"'
    escape = escape if quote and escape not in _NONE else quote or '"'
    form = FileFormat(kind=FileKind.CSV, delimiter=delimiter, quote=quote, escape=escape)
    return form, width, has_header


def _fields(con: duckdb.DuckDBPyConnection, name: str, plain: Path, form: FileFormat, width: int) -> pa.Table:
    columns = ", ".join(f"'c{at}': 'VARCHAR'" for at in range(width))
    options = {
        "delim": form.delimiter,
        "quote": form.quote,
        "escape": form.escape if form.quote else "",
        "nullstr": "",
    }
    said = ", ".join(f"{word} = {duckdb_text(value)}" for word, value in options.items())
    fixed = f"header = false, auto_detect = false, allow_quoted_nulls = false, max_line_size = {_LONGEST_LINE}"
    try:
        query = f"FROM read_csv({duckdb_text(str(plain))}, columns = {{{columns}}}, {said}, {fixed}, parallel = false)"
        return con.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise unfit(name, f"its lines do not all have {count(width, 'field')} ({_told(error)})") from error


def _told(error: Exception) -> str:
    return shown(str(error).partition("\n\n")[0][:_WHY].replace("\n", " "), spelt)


def _with_names(name: str, rows: pa.Table, *, has_header: bool) -> tuple[list[str], pa.Table]:
    if not has_header:
        return [f"column{at}" for at in range(1, rows.num_columns + 1)], rows
    names = [str(column[0].as_py() or "") for column in rows.columns] if rows.num_rows else []
    if twice := [said for said in names if said and names.count(said) > 1]:
        raise unfit(name, f"column {display_name(twice[0])} is there {count(names.count(twice[0]), 'time')}")
    check_names(name, names)
    return names, rows.slice(1)


def _are_names(first: list[str | None]) -> bool:
    """Return True if a first line looks like a header. If all columns are text, DuckDB takes it for a row."""
    return all(said and _NAME.match(said) for said in first) and len(set(first)) == len(first)


def _has_line_ends(column: pa.ChunkedArray) -> bool:
    return bool(pc.any(pc.match_substring_regex(column, "[\r\n]")).as_py())
