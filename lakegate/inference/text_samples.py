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
from lakegate.inference.delimited import Texts, texts_of
from lakegate.inference.json_lines import objects_of
from lakegate.inference.sample import Sample, unfit
from lakegate.inference.spelled import Spelled, spelled
from lakegate.inference.text import plan_of, rows, with_encodings_agreed
from lakegate.shown import shown, spelt

_WORDS = ("delimiter", "quote", "escape", "encoding", "header")


def of(paths: Sequence[Path], kind: FileKind) -> list[Sample]:
    """Return the files as samples of one table. Raise NoContract if they are written in several ways."""
    if kind is FileKind.JSON:
        forms, keys = objects_of(paths)
        return _samples(paths, _one_form(list(zip(paths, forms, strict=True))), keys, {})
    texts = [texts_of(path) for path in paths]
    form = _one_form([(each.path, each.form) for each in texts])
    columns = _columns(texts)
    kinds = {name: spelled(name, values.unique().drop_null().to_pylist()) for name, values in columns.items()}
    counted = {name: _remark_of_nulls(columns[name], each.nulls) for name, each in kinds.items() if each.nulls}
    return _samples(paths, form, kinds, counted)


def _columns(texts: Sequence[Texts]) -> Mapping[str, pa.ChunkedArray]:
    """Return the texts of all files by column. Raise NoContract if a file has other columns."""
    first, *others = texts
    for each in others:
        if strange := sorted(set(first.rows.column_names) ^ set(each.rows.column_names)):
            said = f"column {display_name(strange[0])} is not in all of these files"
            raise unfit(each.path.name, said)
    together = pa.concat_tables([each.rows.select(first.rows.column_names) for each in texts])
    return dict(zip(together.column_names, together.columns, strict=True))


def _samples(
    paths: Sequence[Path], form: FileFormat, kinds: Mapping[str, Spelled], nulls: Mapping[str, str]
) -> list[Sample]:
    form = replace(
        form,
        patterns={name: each.pattern for name, each in kinds.items() if each.pattern},
        column_nulls={name: ("", *each.nulls) for name, each in kinds.items() if each.nulls},
    )
    types = {name: each.type for name, each in kinds.items()}
    read = {name: Atom("string") if kind == Atom(UNKNOWN_TYPE) else kind for name, kind in types.items()}
    remarks = {name: each.remark for name, each in kinds.items() if each.remark}
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


def _one_form(found: Sequence[tuple[Path, FileFormat]]) -> FileFormat:
    """Return the dialect of all files. Raise NoContract if two differ."""
    (first, form), *others = with_encodings_agreed(found)
    for path, other in others:
        if differing := [word for word in _WORDS if getattr(form, word) != getattr(other, word)]:
            told = ", ".join(f"{word} {getattr(other, word)!r}, not {getattr(form, word)!r}" for word in differing)
            raise unfit(path.name, f"it is written in another way than {first.name}: {told}")
    return replace(form, multiline=any(each.multiline for _, each in found))


def _remark_of_nulls(values: pa.ChunkedArray, nulls: Sequence[str]) -> str:
    """Return how often the texts stand for no value, for a person."""
    numbers = {text: pc.sum(pc.equal(values, text)).as_py() or 0 for text in nulls}
    said = (f"{count(many, 'field', 'says', 'say')} {shown(text, spelt)}" for text, many in numbers.items())
    return ", ".join(said)
