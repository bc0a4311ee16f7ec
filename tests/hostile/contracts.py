"""Contracts that would hold up or bring down whoever reads them: each the text of a whole one, by the size of its part.

It loads none. A size is how often something is repeated; the text is of the order of it.
"""

import json
from collections.abc import Callable, Mapping

Made = Callable[[int], str]

_CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: shop-orders
version: 1.0.0
status: active
servers:
  - {server: landing, type: s3, location: 's3://landing/shop/*.parquet', format: parquet}
schema:
  - name: orders
    physicalName: shop.orders
    properties:
"""
_COLUMNS = """\
      - {name: id, logicalType: integer}
      - {name: state, logicalType: string}
      - {name: day, logicalType: date}
"""


def contract(columns: str = "", table: str = "", root: str = "") -> str:
    """A contract that is good but for what is added: columns, words of the table, words of the contract."""
    return f"{_CONTRACT}{_COLUMNS}{columns}{table}{root}"


def of_pattern(pattern: str) -> str:
    options = json.dumps({"pattern": pattern})
    return contract(columns=f"      - {{name: p, logicalType: string, logicalTypeOptions: {options}}}\n")


def _patterned(pattern: Callable[[int], str]) -> Made:
    return lambda size: of_pattern(pattern(size))


PATTERNS: Mapping[str, tuple[int, Made]] = {
    "letters that may be left out": (50, _patterned(lambda size: "a?" * size)),
    "empty groups": (50, _patterned(lambda size: "()" * size)),
    "groups that may be left out": (30, _patterned(lambda size: "(a?)" * size)),
    "choices that may be left out": (30, _patterned(lambda size: "(a|b)?" * size)),
    "repetitions": (50, _patterned(lambda size: "a*" * size)),
    "repeated groups": (20, _patterned(lambda size: "(a*b)*" * size)),
    "repeated groups of a fixed number": (10, _patterned(lambda size: "(?:ab){1000}" * size)),
    "groups within groups": (15, _patterned(lambda size: "(" * size + "a" + ")?" * size)),
    "choices within choices": (15, _patterned(lambda size: "(a|" * size + "b" + ")" * size)),
    "groups that stay open": (15, _patterned(lambda size: "(" * size)),
    "classes that stay open": (50, _patterned(lambda size: "[a" * size)),
    "escaped signs": (50, _patterned(lambda size: "\\\\" * size + "\\")),
    "braces that repeat nothing": (50, _patterned(lambda size: "a{1" * size)),
    "classes of all of ASCII": (20, _patterned(lambda size: r"[\u0001-\u007f]" * size)),
    "a number of repetitions": (50, _patterned(lambda size: "a{1," + "9" * size + "}")),
    "branches": (50, _patterned(lambda size: "|".join(f"a{at}" for at in range(size)))),
}


def of_query(query: str) -> str:
    check = json.dumps({"type": "sql", "query": query, "mustBe": 0})
    return contract(table=f"    quality:\n      - {check}\n")


def _queried(query: Callable[[int], str]) -> Made:
    return lambda size: of_query(query(size))


def of_rule(rule: str) -> str:
    check = json.dumps({"type": "custom", "engine": "lakegate", "implementation": {"row": rule}})
    return contract(table=f"    quality:\n      - {check}\n")


def _ruled(rule: Callable[[int], str]) -> Made:
    return lambda size: of_rule(rule(size))


SQL: Mapping[str, tuple[int, Made]] = {
    "escaped quotes": (50, _queried(lambda size: "\\'" * size)),
    "escaped quotes within a text": (50, _queried(lambda size: "'" + "\\'" * size + "\\")),
    "quotes": (50, _queried(lambda size: "'" * size)),
    "names that stay open": (50, _queried(lambda size: "`a" * size)),
    "placeholders that stay open": (50, _queried(lambda size: "{ " * size)),
    "a placeholder with spaces": (50, _queried(lambda size: "{" + " " * size + "x")),
    "placeholders": (50, _queried(lambda size: "{object}" * size)),
    "parentheses": (20, _ruled(lambda size: "(" * size + "id" + ")" * size + " = 1")),
    "parentheses that stay open": (20, _ruled(lambda size: "(" * size)),
    "NOT": (20, _ruled(lambda size: "NOT " * size + "id = 1")),
    "signs": (20, _ruled(lambda size: "- " * size + "id = 1")),
    "CASE": (10, _ruled(lambda size: "CASE WHEN id = 1 THEN " * size + "id" + " END" * size + " = 1")),
    "CASE that stays open": (20, _ruled(lambda size: "CASE " * size)),
    "branches of a CASE": (20, _ruled(lambda size: "CASE" + " WHEN id = 1 THEN 1" * size + " END = 1")),
    "AND": (20, _ruled(lambda size: "id = 1" + " AND id = 1" * size)),
    "AND and OR": (10, _ruled(lambda size: "id = 1" + " AND id = 1 OR id = 1" * size)),
    "texts put together": (20, _ruled(lambda size: "state" + "||state" * size + " = 'x'")),
    "sums": (20, _ruled(lambda size: "id" + "+id" * size + " = 1")),
    "casts": (10, _ruled(lambda size: "cast(" * size + "id" + " as int)" * size + " = 1")),
    "casts to arrays of arrays": (10, _ruled(lambda size: "cast(id as " + "array<" * size + "int" + ">" * size + ")")),
    "structs of structs": (10, _ruled(lambda size: "cast(id as " + "struct<a:" * size + "int" + ">" * size + ")")),
    "values in a list": (50, _ruled(lambda size: f"id IN ({','.join(map(str, range(size)))})")),
    "queries in queries": (5, _queried(lambda size: "SELECT COUNT(*) FROM (" * size + "{object}" + ")" * size)),
    "functions in functions": (10, _ruled(lambda size: "coalesce(" * size + "id" + ", 1)" * size + " = 1")),
    "dots": (20, _ruled(lambda size: "id" + ".id" * size + " = 1")),
    "indices": (20, _ruled(lambda size: "id" + "[1]" * size + " = 1")),
    "comments": (20, _ruled(lambda size: "/*" * size)),
    "digits": (20, _ruled(lambda size: "id = " + "1" * size)),
    "an exponent": (20, _ruled(lambda size: "id = 1e" + "9" * size)),
    "replacements": (1, _ruled(lambda size: "replace(" * size + "state" + ", 'a', 'aaaaaaaaaa')" * size + " = 'x'")),
    "sums of queries in queries": (
        3,
        _queried(
            lambda size: (
                f"SELECT MAX(x) FROM {'(SELECT x + x AS x FROM ' * size}(SELECT id AS x FROM {{object}})" + ")" * size
            )
        ),
    ),
    "aggregates over a long condition": (
        2,
        _queried(
            lambda size: (
                f"SELECT GREATEST({', '.join(['MAX(id)'] * size)}, 1) FROM {{object}} "
                f"WHERE id IN ({', '.join('1' * (size + 1))})"
            )
        ),
    ),
    "a LIKE": (20, _ruled(lambda size: "state LIKE '" + "%a" * size + "'")),
}

_NESTED = "{logicalType: array, items: "


def _many(size: int, text: str, between: str = "") -> str:
    """The text so many times, each with its number for a #."""
    return between.join(text.replace("#", str(at)) for at in range(size))


def _rooted(root: Callable[[int], str]) -> Made:
    return lambda size: contract(root=f"{root(size)}\n")


def _columned(column: str, quality: str = "") -> Made:
    """So many columns, and as many checks of the table."""

    def made(size: int) -> str:
        table = f"    quality:\n{_many(size, f'      - {quality}{chr(10)}')}" if quality else ""
        return contract(_many(size, f"      - {column}\n"), table)

    return made


def _valued(value: str) -> Made:
    return lambda size: contract(
        f"      - {{name: c, logicalType: string, enum: [{_many(size, f'{{value: {value}}}', ', ')}]}}\n"
    )


_RULE = "{type: custom, engine: lakegate, implementation: {row: '%s = 1'}}"
DOCUMENTS: Mapping[str, tuple[int, Made]] = {
    "unknown words": (200, _rooted(lambda size: _many(size, "word#: x\n"))),
    "unknown words of a description": (200, _rooted(lambda size: f"description: {{{_many(size, 'word#: x', ', ')}}}")),
    "the same word": (200, lambda size: contract() + "id: x\n" * size),
    "aliases": (200, _rooted(lambda size: f"tags: [&a b{', *a' * size}]")),
    "anchors": (200, _rooted(lambda size: f"tags: [{_many(size, '&a# b', ', ')}]")),
    "tags of YAML": (200, _rooted(lambda size: f"tags: [{'!x b, ' * size}]")),
    "lists in lists": (20, _rooted(lambda size: f"tags: {'[' * size}{']' * size}")),
    "lists that stay open": (20, lambda size: "[" * size),
    "mappings in mappings": (20, lambda size: "{a: " * size),
    "lists of one line in each other": (20, lambda size: "- " * size + "a"),
    "keys of a mapping": (20, lambda size: "? " * size + "a"),
    "keys without values": (200, lambda size: f"{{{_many(size, 'k#', ', ')}}}"),
    "a key": (500, _rooted(lambda size: f"? {'k' * size}\n: x")),
    "a value": (5_000, _rooted(lambda size: f"name: {'x' * size}")),
    "a value of many words": (2_000, _rooted(lambda size: f"name: {'x ' * size}")),
    "escapes": (1_000, _rooted(lambda size: 'name: "' + "\\x41" * size + '"')),
    "a text over many lines": (1_000, _rooted(lambda size: "name: >\n" + "  x\n" * size)),
    "a comment": (5_000, _rooted(lambda size: "#" * size)),
    "comments": (1_000, _rooted(lambda size: "# x\n" * size)),
    "empty lines": (2_000, _rooted(lambda size: "\r\n" * size)),
    "directives": (200, lambda size: "%X y\n" * size + "---\n" + contract()),
    "documents": (200, lambda size: contract() + "---\n" * size),
    "digits": (100, _rooted(lambda size: f"tags: [{'1' * size}]")),
    "hexadecimal digits": (100, _rooted(lambda size: f"tags: [0x{'f' * size}]")),
    "digits behind a point": (100, _rooted(lambda size: f"tags: [1.{'1' * size}]")),
    "sexagesimal digits": (100, lambda size: "%YAML 1.1\n---\n" + contract(root=f"tags: [1{':1' * size}]\n")),
    "columns": (20, _columned("{name: c#, logicalType: date}")),
    "columns of one name": (20, _columned("{name: c, logicalType: integer}")),
    "columns without a type": (20, _columned("{name: c#}")),
    "columns of a key": (20, _columned("{name: c#, logicalType: date, primaryKey: true, primaryKeyPosition: 1#}")),
    "arrays in arrays": (
        5,
        lambda size: contract(
            f"      - {{name: c, logicalType: array, items: {_NESTED * size}{{logicalType: date}}{'}' * size}}}\n"
        ),
    ),
    "values of an enum": (100, _valued("v#")),
    "wrong values of an enum": (100, _valued("#")),
    "checks": (20, _columned("{name: c#, logicalType: date}", "{metric: rowCount, mustBeGreaterThan: #}")),
    "checks of no metric": (20, _columned("{name: c#, logicalType: date}", "{metric: rowCuont, mustBe: 0}")),
    "queries": (
        20,
        _columned("{name: c#, logicalType: date}", "{type: sql, query: 'SELECT MAX(id) + # FROM {object}', mustBe: 0}"),
    ),
    "foreign keys": (20, _columned("{name: c#, logicalType: date, relationships: [{to: shop.other.day}]}")),
    "misspelt columns of long names": (
        10,
        _columned(f"{{name: {'c' * 300}#, logicalType: date}}", _RULE % ("c" * 299 + "#")),
    ),
    "misspelt columns": (10, _columned("{name: column_of_number_#, logicalType: date}", _RULE % "column_fo_number_#")),
    "settings": (
        50,
        lambda size: contract(
            table="    customProperties:\n" + "      - {property: batchFiles, vendor: lakegate, value: 5}\n" * size
        ),
    ),
}
