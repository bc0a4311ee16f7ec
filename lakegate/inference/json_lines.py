"""Files of JSON lines. Numbers and truth values have types, and texts have none yet."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakegate.audit.model.files import FileKind
from lakegate.audit.schema.fit import NOTHING
from lakegate.audit.schema.inspection import NO_ROWS
from lakegate.audit.schema.types import Atom, Type
from lakegate.inference.sample import check_names, held, unfit
from lakegate.inference.text import Texts, decoded

_INT, _BIGINT = (range(-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (32, 64))


def texts_of(path: Path) -> Texts:
    """Return the values of JSON lines as texts. Raise NoContract at the first line that is no object."""
    text, form = decoded(path, FileKind.JSON)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    objects = [_object(path.name, at, line) for at, line in enumerate(lines, 1) if line.strip(" ")]
    if not objects:
        raise unfit(path.name, NO_ROWS)
    names = dict.fromkeys(name for each in objects for name in each)
    if not names:
        raise unfit(path.name, "its objects have no keys")
    check_names(path.name, list(names))
    found = {name: _of_json([each.get(name) for each in objects]) for name in names}
    arrays = {name: pa.array(values, held(kind or Atom("string"))) for name, (kind, values) in found.items()}
    return Texts(
        name=path.name,
        form=form,
        rows=pa.table(arrays),
        size=path.stat().st_size,
        kinds={name: kind for name, (kind, _) in found.items() if kind},
    )


def _object(name: str, at: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line, object_pairs_hook=_once, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise unfit(name, f"line {at:,} is not a JSON object: a file of json has an object a line ({error})") from error
    if not isinstance(found, dict):
        raise unfit(name, f"line {at:,} is not a JSON object: a file of json has an object a line")
    try:
        line.encode()
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise unfit(name, f"line {at:,} has half of a surrogate pair, such as \\ud83d") from error
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a key twice")
    return found


def _refuse(said: str) -> None:
    raise ValueError(f"JSON has no {said}")


def _of_json(values: list[Any]) -> tuple[Type | None, list[Any]]:
    """Return a column's type, None if texts decide it, and its values; mixed ones are the texts that stand there."""
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if not kinds:
        return Atom(NOTHING), values
    if kinds == {bool}:
        return Atom("boolean"), values
    if kinds == {int} and all(value in _BIGINT for value in there):
        return Atom("int" if all(value in _INT for value in there) else "bigint"), values
    if kinds <= {int, float} and float in kinds and all(map(_is_double, there)):
        return Atom("double"), [None if value is None else float(value) for value in values]
    if kinds == {str}:
        return None, values
    told = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
    return Atom("string"), told


def _is_double(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
