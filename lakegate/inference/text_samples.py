"""Samples of text, CSV or JSON lines: types by all their texts, and rows as the job reads them by these types."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Atom
from lakegate.counts import count
from lakegate.inference.csv_dialect import Texts, texts_of
from lakegate.inference.json_lines import objects_of
from lakegate.inference.sample import Sample, unfit
from lakegate.inference.text import plan_of, rows, with_encodings_agreed
from lakegate.inference.text_types import TextType, type_of_texts
from lakegate.visibility import code_point, visible

_WORDS = ("delimiter", "quote", "escape", "encoding", "header")


def of(paths: Sequence[Path], kind: FileKind) -> list[Sample]:
    """Return the files as samples of one table. Raise NoContract if they are written in several ways."""
    if kind is FileKind.JSON:
        forms, keys = objects_of(paths)
        return _samples(paths, _one_form(list(zip(paths, forms, strict=True))), keys, {})
    texts = [texts_of(path) for path in paths]
    form = _one_form([(text.path, text.form) for text in texts])
    columns = _columns(texts)
    kinds = {name: type_of_texts(name, values.unique().drop_null().to_pylist()) for name, values in columns.items()}
    null_remarks = {
        name: _remark_of_nulls(columns[name], column.nulls) for name, column in kinds.items() if column.nulls
    }
    return _samples(paths, form, kinds, null_remarks)


def _columns(texts: Sequence[Texts]) -> Mapping[str, pa.ChunkedArray]:
    """Return the texts of all files by column. Raise NoContract if a file has other columns."""
    first, *rest = texts
    for other in rest:
        if strange := sorted(set(first.rows.column_names) ^ set(other.rows.column_names)):
            message = f"column {display_name(strange[0])} is not in all of these files"
            raise unfit(other.path.name, message)
    table = pa.concat_tables([text.rows.select(first.rows.column_names) for text in texts])
    return dict(zip(table.column_names, table.columns, strict=True))


def _samples(
    paths: Sequence[Path], form: FileFormat, kinds: Mapping[str, TextType], nulls: Mapping[str, str]
) -> list[Sample]:
    form = replace(
        form,
        patterns={name: column.pattern for name, column in kinds.items() if column.pattern},
        column_nulls={name: ("", *column.nulls) for name, column in kinds.items() if column.nulls},
    )
    types = {name: column.type for name, column in kinds.items()}
    read = {name: Atom("string") if kind == Atom(UNKNOWN_TYPE) else kind for name, kind in types.items()}
    remarks = {name: column.remark for name, column in kinds.items() if column.remark}
    plan = plan_of(form, read)
    return [
        Sample(
            name=path.name,
            form=form,
            columns=dict(types),
            rows=rows(path, plan),
            size=path.stat().st_size,
            remarks=remarks,
            nulls=nulls,
        )
        for path in paths
    ]


def _one_form(forms: Sequence[tuple[Path, FileFormat]]) -> FileFormat:
    """Return the dialect of all files. Raise NoContract if two differ."""
    (first, form), *rest = with_encodings_agreed(forms)
    for path, other in rest:
        if differences := [word for word in _WORDS if getattr(form, word) != getattr(other, word)]:
            message = ", ".join(f"{word} {getattr(other, word)!r}, not {getattr(form, word)!r}" for word in differences)
            raise unfit(path.name, f"it is written in another way than {first.name}: {message}")
    return replace(form, multiline=any(form.multiline for _, form in forms))


def _remark_of_nulls(values: pa.ChunkedArray, nulls: Sequence[str]) -> str:
    """Return how often the texts mean no value, for a person."""
    counts = {text: pc.sum(pc.equal(values, text)).as_py() or 0 for text in nulls}
    phrases = (f"{count(times, 'field', 'says', 'say')} {visible(text, code_point)}" for text, times in counts.items())
    return ", ".join(phrases)
