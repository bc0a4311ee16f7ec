"""A contract as YAML with comments, made of suggestions. It decides nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.lines import words
from lakegate.audit.schema.types import Atom, Type, storage_of
from lakegate.contracts.odcs.writing import braces, dump, remark
from lakegate.inference.suggestions import Suggestion, Suggestions
from lakegate.visibility import code_point, visible

MOST_LINED = 1_000
"""Columns of which each has lines of its own, with its checks."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column with what is said of it."""

    name: str
    kind: Type
    suggestions: Suggestions
    pattern: str = ""
    nulls: Suggestion | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A contract before it is text. `samples` says what it rests on. `rows` are the fewest that a file may have, and
    `fresh` is a column with the days that its newest value may be old.
    """

    table: str
    route: str
    form: FileFormat
    columns: Sequence[Column]
    samples: str
    rows: Suggestion | None = None
    fresh: tuple[str, Suggestion] | None = None


def write_contract(draft: Draft) -> str:
    """Return the contract's text."""
    namespace, _, name = draft.table.partition(".")
    contract = CommentedMap(
        apiVersion="v3.2.0",
        kind="DataContract",
        id=f"{namespace}-{name}".replace("_", "-"),
        version="1.0.0",
        status="draft",
        servers=[_server(draft)],
        schema=[_table(draft, name)],
    )
    if draft.fresh:
        contract["slaProperties"] = [_freshness(name, *draft.fresh)]
    contract.yaml_set_start_comment(
        f"Inferred from {visible(draft.samples, code_point)}.\n"
        "Each comment gives the number that its line rests on: edit what you know better, and describe what it is."
    )
    for word in ("servers", "schema", "slaProperties"):
        contract.yaml_set_comment_before_after_key(word, before="\n")
    return dump(contract)


def _server(draft: Draft) -> CommentedMap:
    form, usual = draft.form, FileFormat(kind=draft.form.kind)
    server = CommentedMap(server="landing", type="s3", location=f"s3://landing/{draft.route}", format=str(form.kind))
    if form.encoding != usual.encoding:
        server["encoding"] = form.encoding
    if form.kind is FileKind.CSV and form.delimiter != usual.delimiter:
        server["delimiter"] = form.delimiter
    if form.kind is FileKind.CSV and (settings := list(_dialect(form))):
        server["customProperties"] = _settings(settings)
    return server


def _dialect(form: FileFormat) -> Iterator[tuple[str, Any, str]]:
    """Yield the settings that differ from what a contract has by itself, each with a remark."""
    if not form.header:
        yield "header", False, "the first line holds values"
    if form.quote != '"':
        yield "quote", form.quote, "" if form.quote else "quotes are letters"
    if form.escape != (form.quote or '"'):
        yield "escape", form.escape, ""
    if form.multiline:
        yield "multiLine", True, "a field holds line ends"


def _settings(settings: Sequence[tuple[str, Any, str]]) -> CommentedSeq:
    """Return lakegate's own settings, each on a line with its remark."""
    node = CommentedSeq(braces({"property": word, "vendor": "lakegate", "value": value}) for word, value, _ in settings)
    for at, (_, _, reason) in enumerate(settings):
        remark(node, at, reason)
    return node


def _table(draft: Draft, name: str) -> CommentedMap:
    is_wide = len(draft.columns) > MOST_LINED
    columns = CommentedSeq(
        _in_braces(column, column.kind) if is_wide and isinstance(column.kind, Atom) else _column(column)
        for column in draft.columns
    )
    table = CommentedMap(name=name, physicalName=draft.table, properties=columns)
    table.yaml_set_comment_before_after_key(
        "properties",
        before="To publish everything at first, and see what would have been rejected, uncomment the next line.\n"
        "customProperties: [{property: mode, vendor: lakegate, value: observe}]",
        indent=4,
    )
    if is_wide:
        remark(table, "properties", f"over {MOST_LINED:,} columns: their types, and no checks but the key")
        for at, column in enumerate(draft.columns):
            if isinstance(column.kind, Atom):
                remark(columns, at, column.remark)
    if draft.rows:
        table["quality"] = [_with_reason({"metric": "rowCount"}, "mustBeGreaterOrEqualTo", draft.rows)]
    return table


def _with_reason(first: dict[str, Any], word: str, suggestion: Suggestion) -> CommentedMap:
    node = CommentedMap(first | {word: suggestion.value})
    remark(node, word, suggestion.reason)
    return node


def _freshness(table: str, column: str, suggestion: Suggestion) -> CommentedMap:
    node = _with_reason({"property": "latency", "element": f"{table}.{column}"}, "value", suggestion)
    node["unit"] = "d"
    return node


def _column(column: Column) -> CommentedMap:
    suggestions, node = column.suggestions, CommentedMap(name=column.name, **words(column.kind))
    remark(node, "logicalType", column.remark)
    options = CommentedMap(node.pop("logicalTypeOptions", {}))
    if str(column.kind) == "timestamp_ntz":
        remark(options, "timezone", "no time zone")
    if column.pattern:
        options["format"] = column.pattern
        remark(options, "format", "how the samples spell it")
    _add(options, suggestions.options)
    if options:
        node["logicalTypeOptions"] = options
    if column.nulls:
        node["customProperties"] = _settings([("nullValues", column.nulls.value, column.nulls.reason)])
    _add(node, suggestions.words)
    if suggestions.values:
        node["enum"] = [{"value": value} for value in suggestions.values.value]
        remark(node, "enum", suggestions.values.reason)
    if suggestions.personal:
        node.yaml_set_comment_before_after_key(
            "logicalType",
            before="The name sounds personal: to mask its values in reports, uncomment the next line.\n"
            "classification: restricted",
            indent=8,
        )
    return node


def _add(node: CommentedMap, suggestions: Mapping[str, Suggestion]) -> None:
    for word, suggestion in suggestions.items():
        node[word] = suggestion.value
        remark(node, word, suggestion.reason)


def _in_braces(column: Column, kind: Atom) -> CommentedMap:
    """Return one of very many columns, on one line: a contract has a limit of bytes, and of words."""
    node = {"name": column.name, **words(kind)}
    if len(node) > 2:  # noqa: PLR2004 - with more than its logical type
        node = {"name": column.name, "logicalType": node["logicalType"], "physicalType": str(storage_of(kind))}
    if column.pattern:
        node["logicalTypeOptions"] = {"format": column.pattern}
    if column.nulls:
        node["customProperties"] = [{"property": "nullValues", "vendor": "lakegate", "value": column.nulls.value}]
    if "primaryKey" in column.suggestions.words:
        node["primaryKey"] = True
    return braces(node)
