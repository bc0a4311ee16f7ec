"""File formats of a contract, from the landing server's words. It reads no file.

Settings that the readers could not hold to are refused here, by line: they would take a file for something else.
"""

import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from lakegate.audit.model import limits
from lakegate.audit.model.files import SUFFIXES, FileFormat, FileKind
from lakegate.audit.model.plan import Severity
from lakegate.contracts.checks.check import CheckWithMetric, check_of
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import boolean
from lakegate.contracts.metrics.metric import malformed
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.examples import EXAMPLES
from lakegate.contracts.odcs.settings import setting

_CSV, _TEXT, _ALL_KINDS = (FileKind.CSV,), (FileKind.CSV, FileKind.JSON), tuple(FileKind)
_TYPED_KINDS = tuple(kind for kind in FileKind if not kind.is_text)
_SIZE_LIMITS = {
    "row_groups": (FileKind.PARQUET, FileKind.ORC),
    "blocks": (FileKind.AVRO,),
    "nesting": _TYPED_KINDS,
    "footer": _TYPED_KINDS,
    "line": _TEXT,
}
_ENCODINGS = {
    "utf-8": "UTF-8",
    "ascii": "US-ASCII",
    "iso8859-1": "ISO-8859-1",
    "iso8859-15": "ISO-8859-15",
    "cp1252": "windows-1252",
}
_PIECE = re.compile(
    r"yyyy|yy|M{1,3}|d{1,2}|H{1,2}|h{1,2}|m{1,2}|s{1,2}|S{1,6}|a|X{1,3}|x{1,3}|'[^']*'|[^A-Za-z'\[\]{}#]"
)
_GREATEST = 2**63 - 1
_LAST_SIGN = "\uffff"
_CLOCK = set("HhmsSaXx")


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """A server's settings for how its files are written; columns may spell their dates in other ways.

    `severity` is that of the check that every row parses.
    """

    form: FileFormat
    date: str = ""
    timestamp: str = ""
    severity: Severity = Severity.ERROR
    line: int = 0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A word of the server: the `field` that it sets, of the format, its limits or FileSettings, the formats that it is
    for, and the reader of its value. ValueError says why not.
    """

    field: str
    kinds: Sequence[FileKind]
    read: Callable[[Any], Any]


def _letter(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value in "\r\n" or value > _LAST_SIGN:
        raise ValueError("is not one character, such as ';' or \"\\t\"")
    return value


def _nulls(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError('is not a list of texts, such as ["", "NA"]')
    return tuple(dict.fromkeys(value))


def _encoding(value: Any) -> str:
    try:
        return _ENCODINGS[codecs.lookup(str(value)).name]
    except LookupError:
        raise ValueError(f"is not supported: {', '.join(_ENCODINGS.values())} are") from None


def _compression(value: Any) -> str:
    if not isinstance(value, str) or value not in SUFFIXES:
        raise ValueError(f"is not supported: {', '.join(SUFFIXES)} are")
    return value


def _severity(value: Any) -> Severity:
    if value not in (Severity.ERROR, Severity.QUARANTINE):
        raise ValueError("is neither error nor quarantine: a row that does not parse cannot be published")
    return Severity(value)


def _limit(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _GREATEST:
        raise ValueError("is no whole number above 0")
    return value


SETTINGS: Mapping[str, Setting] = {
    "delimiter": Setting(field="delimiter", kinds=_TEXT, read=_letter),
    "encoding": Setting(field="encoding", kinds=_TEXT, read=_encoding),
    "header": Setting(field="header", kinds=_CSV, read=boolean),
    "quote": Setting(field="quote", kinds=_CSV, read=lambda value: value if value == "" else _letter(value)),
    "escape": Setting(field="escape", kinds=_CSV, read=_letter),
    "nullValues": Setting(field="nulls", kinds=_CSV, read=_nulls),
    "multiLine": Setting(field="multiline", kinds=_CSV, read=boolean),
    "compression": Setting(field="compression", kinds=_TEXT, read=_compression),
    "dateFormat": Setting(field="date", kinds=_TEXT, read=lambda value: date_spelling(value, "date")),
    "timestampFormat": Setting(field="timestamp", kinds=_TEXT, read=lambda value: date_spelling(value, "timestamp")),
    "severity": Setting(field="severity", kinds=_TEXT, read=_severity),
} | {
    name: Setting(field=field, kinds=_SIZE_LIMITS.get(field, _ALL_KINDS), read=_limit)
    for field, name in limits.SETTINGS.items()
}


def date_spelling(value: Any, kind: str) -> str:
    """Return a spelling of dates or timestamps in the letters of Java's DateTimeFormatter. Raise ValueError if it is
    none.
    """
    pieces = _PIECE.findall(str(value))
    letters = [piece[0] for piece in pieces if piece[0].isalpha()]
    if "".join(pieces) != value or len(letters) != len(set(letters)):
        raise ValueError("is not a spelling such as dd/MM/yyyy, or yyyy-MM-dd'T'HH:mm:ss.SSSXXX")
    if re.search("(?<![.,S])S", value):
        raise ValueError("spells fractions of a second, which stand after a point or a comma")
    if not {"y", "M", "d"} <= set(letters):
        raise ValueError("does not spell a year, a month and a day")
    if kind == "date" and _CLOCK & set(letters):
        raise ValueError("spells more than a date")
    if kind != "date" and "H" not in letters and not {"h", "a"} <= set(letters):
        raise ValueError("does not spell the time of day: HH, or hh and a")
    return str(value)


def file_settings(server: Item) -> FileSettings | None:
    """Return how the landing server says that its files are written; return None, and note faults, if it cannot be
    told.
    """
    format_entry = server.get("format")
    if format_entry is None:
        if not server.has("format"):
            server.fault(f"'format' is missing: {', '.join(FileKind)}", EXAMPLES["format"])
        return None
    if (kind := vocabulary.one_of(format_entry, FileKind, "the landing server's format")) is None:
        return None
    members = dict[str, Any]()
    for name, item in _settings_of(server):
        members |= _value(name, item, kind)
    spellings = {name: members.pop(name) for name in ("date", "timestamp", "severity") if name in members}
    if "quote" in members and "escape" not in members:
        members["escape"] = members["quote"]  # a quote within quotes is doubled
    limits_of_file = {limit.name: members.pop(limit.name) for limit in fields(limits.Limits) if limit.name in members}
    form = FileFormat(kind=kind, limits=limits.Limits(**limits_of_file), **members)
    if form.delimiter in (form.quote, form.escape):
        server.fault(f"the delimiter {form.delimiter!r} cannot be the quote or the escape, too")
    return FileSettings(form=form, line=format_entry.line, **spellings)


def _settings_of(server: Item) -> list[tuple[str, Item]]:
    """Return the words that say how files are written: the standard's, then ours."""
    settings = [(name, item) for name in ("delimiter", "encoding") if (item := server.get(name))]
    for entry in server.entries("customProperties"):
        name, value = entry.plain("property"), entry.get("value")
        if entry.plain("vendor") == vocabulary.OWN_VENDOR and name in SETTINGS and value:
            if name in dict(settings):
                entry.fault(f"{name} is given twice")
            settings.append((name, value))
    return settings


def _value(name: str, item: Item, kind: FileKind) -> dict[str, Any]:
    known_setting = SETTINGS[name]
    if kind not in known_setting.kinds:
        item.fault(f"{name!r} is for {' and '.join(known_setting.kinds)} files, and these are {kind}")
        return {}
    if name == "delimiter" and kind is FileKind.JSON:
        if item.value != "new_line":
            item.fault(f"{name} {item.value!r} is not supported: json files have an object a line, which is 'new_line'")
        return {}
    try:
        return {known_setting.field: known_setting.read(item.value)}
    except ValueError as error:
        item.fault(f"{name} {item.value!r} {error}")
        return {}


def with_spellings(files: FileSettings, columns: Sequence[tuple[Field, Item]]) -> FileFormat:
    """Return the format with each column's spellings in text; note a fault at each column that text cannot hold."""
    patterns = {}
    for field, item in columns if files.form.kind.is_text else ():
        if field.type.kind in ("date", "instant", "clock"):
            patterns[field.name] = _column_pattern(files, field, item)
        elif field.type.name == "binary":
            item.fault(f"a column of type {field.type.name} cannot be read from {files.form.kind} files")
    return replace(
        files.form,
        patterns={name: pattern for name, pattern in patterns.items() if pattern},
        column_nulls=_column_nulls(files, columns),
    )


def _column_nulls(files: FileSettings, columns: Sequence[tuple[Field, Item]]) -> dict[str, tuple[str, ...]]:
    """Return the texts of null of the columns that have their own."""
    own_nulls = {field.name: entry for field, item in columns if (entry := setting(item, "nullValues"))}
    read = {
        name: _value("nullValues", entry.get("value") or entry, files.form.kind) for name, entry in own_nulls.items()
    }
    return {name: value["nulls"] for name, value in read.items() if value}


def _column_pattern(files: FileSettings, field: Field, item: Item) -> str:
    kind = "date" if field.type.kind == "date" else "timestamp"
    options = item.get("logicalTypeOptions")
    own_format = options.get("format") if options else None
    spelling = files.date if kind == "date" else files.timestamp
    try:
        spelling = date_spelling(own_format.value, kind) if own_format else spelling
    except ValueError as error:
        (own_format or item).fault(f"format {own_format.value if own_format else ''!r} {error}")
        return ""
    if field.type.kind == "clock" and re.search("[Xx]", spelling):
        (own_format or item).fault(f"{spelling!r} has an offset, and the column {field.label!r} has no timezone")
    return spelling


def parse_checks(files: FileSettings) -> list[CheckWithMetric]:
    """Return the check that every row parses, for text alone: a row that does not cannot become a row."""
    if not files.form.kind.is_text:
        return []
    return [check_of("rows that do not parse", malformed(), files.line, severity=files.severity)]
