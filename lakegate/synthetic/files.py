"""Made-up rows as a file in their contract's format: of Arrow, or text."""

import csv
import json
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.errors import Misconfigured
from lakegate.reading.moments import PIECE

_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zstd": "zstd"}
_JAVA = "yyyy yy MMM MM M dd d HH H hh h mm m ss s a X XX XXX x xx xxx"
_PYTHON = "%Y %y %b %m %-m %d %-d %H %-H %I %-I %M %-M %S %-S %p Z Z Z +00 +0000 +00:00"
_SPELLINGS = dict(zip(_JAVA.split(), _PYTHON.split(), strict=True))  # of dates, in the letters of strftime


def write(rows: pa.Table, plan: Plan, target: Path) -> None:
    """Write the rows, and text packed as the contract or `out` says. Raise Misconfigured beyond its limits."""
    if plan.files.kind is FileKind.PARQUET:
        parquet.write_table(rows, target)
    elif plan.files.kind.is_text:
        with pa.output_stream(target, compression=_CODECS.get(Path(plan.files.suffix(target.name)).suffix)) as stream:
            stream.write(_text(rows, plan.files).encode(plan.files.encoding, "replace"))
    else:
        raise Misconfigured(f"{plan.table}: generate writes no {plan.files.kind}: say format: parquet in a copy of it")
    if faults := beyond_limits(plan.files.limits, rows=rows.num_rows, bytes=target.stat().st_size):
        raise Misconfigured(f"{plan.table}: such a file is rejected: {faults[0]}; or ask for fewer with --rows")


def _text(rows: pa.Table, form: FileFormat) -> str:
    lines = ({name: _plain(of, form.patterns.get(name, "")) for name, of in row.items()} for row in rows.to_pylist())
    if form.kind is FileKind.JSON:
        return "".join(f"{json.dumps(line)}\n" for line in lines)
    doubles, quoting = form.escape == form.quote, csv.QUOTE_MINIMAL if form.quote else csv.QUOTE_NONE
    options: dict[str, Any] = {"delimiter": form.delimiter, "quotechar": form.quote or None, "quoting": quoting}
    options |= {"doublequote": doubles, "escapechar": None if doubles else form.escape, "lineterminator": "\n"}
    writer = csv.writer(text := StringIO(), **options)
    writer.writerows([rows.column_names] if form.header else [])
    nulls = {name: "".join(form.nulls_of(name)[:1]) for name in rows.column_names}
    writer.writerows([nulls[name] if of is None else of for name, of in line.items()] for line in lines)
    return text.getvalue()


def _plain(value: Any, pattern: str) -> Any:
    """Return a value as text files have it: dates as the contract spells them, decimals without an exponent."""
    if isinstance(value, date):
        text = value.isoformat().replace("+00:00", "Z")
        return "".join(_piece(value, piece) for piece in PIECE.findall(pattern)) or text
    return format(value, "f") if isinstance(value, Decimal) else value


def _piece(moment: date, piece: str) -> str:
    if piece[0] == "S":
        return f"{moment:%f}"[: len(piece)]
    literal = (piece[1:-1].replace("''", "'") or "'") if piece[0] == "'" else piece
    return moment.strftime(_SPELLINGS[piece]) if piece in _SPELLINGS else literal
