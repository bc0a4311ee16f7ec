"""CSV files in whatever dialect: one is proposed by a file's first lines, and the whole file is the judge of it. Their
fields have no types yet.

DuckDB's sniffer is no help: it takes a file with one short line, or a last line of totals, for one of a single column.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.inspection import NO_ROWS
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Atom
from lakegate.counts import count
from lakegate.inference.sample import NoContract, check_names, unfit
from lakegate.inference.text import UNTOLD, form_of, place_of, plan_of, read, source
from lakegate.inference.text_types import type_of_texts
from lakegate.reading.fields import quoted_fields
from lakegate.reading.lines import lines
from lakegate.reading.text import Malformed

USUAL = ",;\t|"
"""Delimiters that no name of a column has."""
_DELIMITERS = f"{USUAL}:~^"
_LOOKED_AT, _LETTERS = 2_000, 4 * 1024**2  # of the first lines, by which a dialect is proposed
_QUOTES = re.compile('"(?:[^"]|"")*"')
_SEPARATOR = re.compile('(?i)"?sep=."?')  # a word to one program alone
_YEAR = re.compile("(19|20)[0-9]{2}")
_NAME = re.compile(r"[^\W\d]")
_SPACE_BESIDE_QUOTE = re.compile('[,;\t|] +"|[,;|][ \t]+"')
_LEAST_SHARE = 0.5  # of lines, which have as many fields as the first one


@dataclass(frozen=True, kw_only=True)
class Texts:
    """One CSV before its columns have types: `rows` are texts, without the header."""

    path: Path
    form: FileFormat
    rows: pa.Table


def texts_of(path: Path) -> Texts:
    """Return a CSV file's fields. Raise NoContract if a line does not have those of the first one."""
    form = replace(form_of(path, FileKind.CSV), header=False)
    head = _head(path, form)
    if not any(head):
        raise unfit(path.name, NO_ROWS)
    if _SEPARATOR.fullmatch(head[0]):
        raise unfit(path.name, f"its first line says {head[0]!r}: remove it, because the first line is the header")
    space_line = next(
        (number for number, line in enumerate(head, 1) if _SPACE_BESIDE_QUOTE.search(_QUOTES.sub('""', line))), 0
    )
    form, rows = _choose_dialect(path, _proposals(path, form, head), space_line)
    if space_line and any(map(_is_spaced, rows.columns)):
        raise unfit(path.name, _beside_quote(space_line))
    has_header = _has_header(rows)
    names = _names(path, rows, has_header=has_header)
    rows = rows.rename_columns(names).slice(int(has_header))
    if not rows.num_rows:
        raise unfit(path.name, NO_ROWS)
    return Texts(path=path, form=replace(form, header=has_header), rows=rows)


def _head(path: Path, form: FileFormat) -> list[str]:
    texts, size = list[str](), 0
    for line in islice(lines(source(path).blocks(), form), _LOOKED_AT):
        texts.append(line.text)
        size += len(line.text)
        if size > _LETTERS:
            break
    return texts


def _proposals(path: Path, form: FileFormat, head: Sequence[str]) -> Iterator[tuple[FileFormat, int]]:
    """Yield dialects with the number of fields in a line, the likeliest first."""
    for delimiter, width in _delimiters(path, head):
        for quote, escape in (('"', '"'), ('"', "\\"), ("'", "'")):
            for multiline in (False, True):
                yield replace(form, delimiter=delimiter, quote=quote, escape=escape, multiline=multiline), width


def _delimiters(path: Path, head: Sequence[str]) -> Sequence[tuple[str, int]]:
    """Return delimiters by which most lines have as many fields as the first, and how many. Without any, the file has
    one column. Raise NoContract if its fields are uncertain.
    """
    bare = _QUOTES.sub('""', "\n".join(head)).split("\n")
    counts = {
        (sign, was_bare): [line.count(sign) + 1 for line in texts if line]
        for sign in _DELIMITERS
        for was_bare, texts in ((True, bare), (False, head))
    }
    shares = {key: numbers.count(numbers[0]) / len(numbers) for key, numbers in counts.items() if numbers[0] > 1}
    likely = sorted((key for key, share in shares.items() if share >= _LEAST_SHARE), key=lambda key: -shares[key])
    if likely:
        return list(dict.fromkeys((sign, counts[sign, was_bare][0]) for sign, was_bare in likely))[:3]
    _check_one_column(path, head, {sign: counts[sign, True] for sign in _DELIMITERS})
    return [(",", 1)]


def _check_one_column(path: Path, head: Sequence[str], counts: dict[str, list[int]]) -> None:
    """Raise NoContract if a file without a delimiter may have one all the same."""
    for sign in USUAL:
        numbers = counts[sign]
        [(width, frequency)] = Counter(numbers).most_common(1)
        if numbers[0] == 1 and width > 1 and frequency >= 2 * len(numbers) / 3:
            before = numbers.index(width)
            message = f"it begins with {count(before, 'line')} that hold no rows"
            raise unfit(path.name, f"{message}: remove them, because the first line is the header")
        if numbers[0] > 1:
            at = next(at for at, number in enumerate(numbers) if number != numbers[0])
            other = [number for number, line in enumerate(head, 1) if line][at]
            message = f"line {other:,} has {count(numbers[at], 'field')}, not {numbers[0]}"
            raise unfit(
                path.name, f"{message}: if {sign!r} is its delimiter, each line has as many fields as its header"
            )


def _beside_quote(line: int) -> str:
    """Return what is wrong with a line in which a field begins with a space and goes on with a quote."""
    message = f"line {line:,} has a space before a quote, which the job then takes for a sign of the value"
    return f"{message}: write no space between a delimiter and a quote"


def _is_spaced(values: pa.ChunkedArray) -> bool:
    """Return True if at least every other value is in quotes behind a space, or the first one, which may be a name."""
    matches = pc.match_substring_regex(values, r'(?s)^[ \t]+".*"[ \t]*$')
    return bool(matches[0].as_py()) or 2 * (pc.sum(matches).as_py() or 0) >= max(len(values) - values.null_count - 1, 1)


def _choose_dialect(
    path: Path, proposals: Iterator[tuple[FileFormat, int]], space_line: int
) -> tuple[FileFormat, pa.Table]:
    """Return the first dialect that the whole file is in, and its fields. Raise NoContract, with the first line that is
    not, if there is none, or with the `space_line`, in which a space precedes a quote.
    """
    wrong: list[str] = []
    for form, width in proposals:
        rows = _texts(path, form, width)
        if isinstance(rows, str):
            wrong.append(rows)
        elif form.quote == '"' or not any(pc.any(pc.starts_with(column, '"')).as_py() for column in rows.columns):
            return _with_quote(path, form, rows)
    unreadable = next((reason for reason in wrong if reason.startswith(UNTOLD)), "")
    if space_line:
        raise unfit(path.name, _beside_quote(space_line))
    raise unfit(path.name, unreadable if "quote" in wrong[0] and unreadable else wrong[0])


def _texts(path: Path, form: FileFormat, width: int) -> pa.Table | str:
    """Return the file's fields as a dialect has them, or why it has none."""
    names = [f"c{at}" for at in range(width)]
    plan = plan_of(replace(form, nulls=("",)), dict.fromkeys(names, Atom("string")))
    batches = []
    try:
        for part in read(path, plan):
            if part.malformed:
                return _reason(form, width, part.malformed[0])
            batches.append(part.rows)
    except NoContract as error:
        return str(error).partition(": ")[2]
    return pa.Table.from_batches(batches)


def _reason(form: FileFormat, width: int, row: Malformed) -> str:
    if "field" not in row.reason:
        return f"{place_of(form, row)}: {row.reason}: close each quote, and double the quotes within a value"
    fields = count(len(quoted_fields(form)(row.text)), "field")
    return f"{place_of(form, row)} has {fields}, not {width}: mend it, or remove it"


def _with_quote(path: Path, form: FileFormat, rows: pa.Table) -> tuple[FileFormat, pa.Table]:
    """Return the dialect with single quotes if they are around all values of a column."""
    if form.quote == '"' and any(map(_is_in_quotes, rows.columns)):
        for multiline in (False, True):
            other = replace(form, quote="'", escape="'", multiline=multiline)
            texts = _texts(path, other, rows.num_columns)
            if isinstance(texts, pa.Table):
                return other, texts
    return form, rows


def _is_in_quotes(values: pa.ChunkedArray) -> bool:
    rest = values.drop_null().slice(1)  # the first one may be a name
    return len(rest) > 1 and bool(pc.all(pc.match_substring_regex(rest, "(?s)^'.*'$")).as_py())


def _has_header(rows: pa.Table) -> bool:
    """Return True if the first line holds names: one is no value of its column's type, or all look like names."""
    first = [column[0].as_py() for column in rows.columns]
    kinds = [type_of_texts("", column.slice(1).unique().drop_null().to_pylist()) for column in rows.columns]
    typed_names = [
        (name, kind) for name, kind in zip(first, kinds, strict=True) if name and kind.type != Atom("string")
    ]
    if not typed_names or _are_years([name for name, _ in typed_names], first):
        names = [name for name in first if not name or not _YEAR.fullmatch(name)]
        return all(name and _NAME.match(name) for name in names) and len(set(names)) == len(names)
    return any(not kind.has(name) for name, kind in typed_names)


def _are_years(names: Sequence[str], first: Sequence[str | None]) -> bool:
    """Return True if the values of numbers in a first line are years, one after the other, behind something else."""
    if len(names) < 2 or len(names) == len(first) or not all(map(_YEAR.fullmatch, names)):  # noqa: PLR2004 - a series
        return False
    return {int(other) - int(previous) for previous, other in pairwise(names)} in ({1}, {-1})


def _names(path: Path, rows: pa.Table, *, has_header: bool) -> list[str]:
    if not has_header:
        return [f"column{at}" for at in range(1, rows.num_columns + 1)]
    names = [column[0].as_py() or "" for column in rows.columns]
    counts = Counter(names)
    if duplicates := [name for name in names if name and counts[name] > 1]:
        raise unfit(path.name, f"column {display_name(duplicates[0])} is there {count(counts[duplicates[0]], 'time')}")
    check_names(path.name, names)
    return names
