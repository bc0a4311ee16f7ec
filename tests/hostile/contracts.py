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
    "ends": (30, _patterned(lambda size: "(?:^|$)" * size)),
    "ends within groups": (5, _patterned(lambda size: "(" * size + "^|a" + ")" * size)),
    "groups of all characters": (10, _patterned(lambda size: "^" + r"(?:.|\s)*" * size + "$")),
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
    "escaped quotes": (1_200, _queried(lambda size: "\\'" * size)),
    "escaped quotes within a text": (1_200, _queried(lambda size: "'" + "\\'" * size + "\\")),
    "quotes": (50, _queried(lambda size: "'" * size)),
    "names that stay open": (1_200, _queried(lambda size: "`a" * size)),
    "placeholders that stay open": (1_200, _queried(lambda size: "{ " * size)),
    "a placeholder with spaces": (1_200, _queried(lambda size: "{" + " " * size + "x")),
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
    "casts to arrays of arrays": (30, _ruled(lambda size: "cast(id as " + "array<" * size + "int" + ">" * size + ")")),
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
    "comparisons of one column": (10, _ruled(lambda size: " AND ".join(f"id <> {at}" for at in range(size)))),
    "comparisons of one column that all rows meet": (
        10,
        _ruled(lambda size: "id = 0 OR id <> 0" + "".join(f" OR id = {at}" for at in range(size))),
    ),
    "comparisons of three columns": (
        5,
        _ruled(
            lambda size: " AND ".join(f"(id <> {at} OR state = '{at}' OR day > '2013-01-01')" for at in range(size))
        ),
    ),
    "comparisons of constants": (10, _ruled(lambda size: "1 = 1 AND " * size + "id = 1")),
    "texts in double quotes": (
        20,
        _ruled(lambda size: f"state IN ({', '.join(chr(34) + f's{at}' + chr(34) for at in range(size))})"),
    ),
    "aggregates that are compared": (
        3,
        _queried(lambda size: f"SELECT {' + '.join(f'COUNT_IF(id > {at})' for at in range(size))} FROM {{object}}"),
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
    "unknown words": (100, _rooted(lambda size: _many(size, "word#: x\n"))),
    "unknown words of a description": (100, _rooted(lambda size: f"description: {{{_many(size, 'word#: x', ', ')}}}")),
    "the same word": (100, lambda size: contract() + "id: x\n" * size),
    "aliases": (100, _rooted(lambda size: f"tags: [&a b{', *a' * size}]")),
    "anchors": (100, _rooted(lambda size: f"tags: [{_many(size, '&a# b', ', ')}]")),
    "tags of YAML": (100, _rooted(lambda size: f"tags: [{'!x b, ' * size}]")),
    "lists in lists": (100, _rooted(lambda size: f"tags: {'[' * size}{']' * size}")),
    "lists that stay open": (100, lambda size: "[" * size),
    "mappings in mappings": (100, lambda size: "{a: " * size),
    "lists of one line in each other": (20, lambda size: "- " * size + "a"),
    "keys of a mapping": (20, lambda size: "? " * size + "a"),
    "keys without values": (100, lambda size: f"{{{_many(size, 'k#', ', ')}}}"),
    "a key": (500, _rooted(lambda size: f"? {'k' * size}\n: x")),
    "a value": (5_000, _rooted(lambda size: f"name: {'x' * size}")),
    "a value of many words": (2_000, _rooted(lambda size: f"name: {'x ' * size}")),
    "escapes": (1_000, _rooted(lambda size: 'name: "' + "\\x41" * size + '"')),
    "a text over many lines": (1_000, _rooted(lambda size: "name: >\n" + "  x\n" * size)),
    "a comment": (5_000, _rooted(lambda size: "#" * size)),
    "comments": (1_000, _rooted(lambda size: "# x\n" * size)),
    "empty lines": (2_000, _rooted(lambda size: "\r\n" * size)),
    "directives": (100, lambda size: "%X y\n" * size + "---\n" + contract()),
    "documents": (100, lambda size: contract() + "---\n" * size),
    "digits": (100, _rooted(lambda size: f"tags: [{'1' * size}]")),
    "hexadecimal digits": (100, _rooted(lambda size: f"tags: [0x{'f' * size}]")),
    "digits behind a point": (100, _rooted(lambda size: f"tags: [1.{'1' * size}]")),
    "sexagesimal digits": (100, lambda size: "%YAML 1.1\n---\n" + contract(root=f"tags: [1{':1' * size}]\n")),
    "columns": (12, _columned("{name: c#, logicalType: date}")),
    "columns of one name": (12, _columned("{name: c, logicalType: integer}")),
    "columns without a type": (12, _columned("{name: c#}")),
    "columns of a key": (12, _columned("{name: c#, logicalType: date, primaryKey: true, primaryKeyPosition: 1#}")),
    "arrays in arrays": (
        5,
        lambda size: contract(
            f"      - {{name: c, logicalType: array, items: {_NESTED * size}{{logicalType: date}}{'}' * size}}}\n"
        ),
    ),
    "values of an enum": (60, _valued("v#")),
    "wrong values of an enum": (60, _valued("#")),
    "checks": (12, _columned("{name: c#, logicalType: date}", "{metric: rowCount, mustBeGreaterThan: #}")),
    "checks of no metric": (12, _columned("{name: c#, logicalType: date}", "{metric: rowCuont, mustBe: 0}")),
    "queries": (
        8,
        _columned("{name: c#, logicalType: date}", "{type: sql, query: 'SELECT MAX(id) + # FROM {object}', mustBe: 0}"),
    ),
    "foreign keys": (12, _columned("{name: c#, logicalType: date, relationships: [{to: shop.other.day}]}")),
    "misspelt columns of long names": (
        6,
        _columned(f"{{name: {'c' * 300}#, logicalType: date}}", _RULE % ("c" * 299 + "#")),
    ),
    "misspelt columns": (6, _columned("{name: column_of_number_#, logicalType: date}", _RULE % "column_fo_number_#")),
    "settings": (
        30,
        lambda size: contract(
            table="    customProperties:\n" + "      - {property: batchFiles, vendor: lakegate, value: 5}\n" * size
        ),
    ),
}

NUMBERS = (
    *("1.0e-99999999999999999999", "1.0e+99999999999999999999", "1e400", "-1e400", "1.0e-400", ".inf", "-.inf", ".nan"),
    *("0x7fffffffffffffff", "0o777", "0777", "0b11", "190:20:30", "1_000", "1__0", "-0.0", "1e5", "+1", "2147483648"),
    *(
        "9223372036854775808",
        "9" * 38,
        "9" * 39,
        "9" * 5_000,
        "0x" + "f" * 5_000,
        "0." + "1" * 60,
        "1." + "0" * 60 + "1",
    ),
    *("1.0e" + "9" * 300, "1" + "0" * 300 + ".0", "1e-45", "3.5e38", "1.7976931348623157e308", "5e-324", "-1", "0"),
    *("'1e999999999999'", "'1e-999999999999'", "'1e99999999999999999999'", "'nan'", "'-inf'", "'1_000'", "'\u0661'"),
)
MOMENTS = (
    *("0000-01-01", "0001-01-01", "9999-12-31", "99999-01-01", "2013-02-30", "-2013-01-01", "2013-W01-1", "20131231"),
    *("'2013-12-31T23:00:00+99:99'", "'9999-12-31T23:59:59-14:00'", "'0001-01-01T00:00:00+14:00'", "'24:00:00'"),
    *("'2013-12-31T23:59:60Z'", "'2013-12-31T23:00:00.1234567Z'", "'2013-12-31T23:00:00+00:00:00.5'", "'0000-00-00'"),
    *("2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "'\uff12013-12-31'", "'2013-12-31T'"),
)
NAMES = (
    *(
        "''",
        "' '",
        "'\\0'",
        '"\\0"',
        '"a\\nb"',
        '"\\e[31m"',
        '"\\u202e"',
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        "é",
        "İ",
        "ß",
    ),
    *(
        "'`'",
        "'\"'",
        "''''",
        "'${x}'",
        "'{object}'",
        "'a.b.c'",
        "'..'",
        "'a/b'",
        "_lakegate_0",
        "_lakegate_file",
        "x" * 600,
    ),
    *(
        "'%'",
        "'*'",
        '"\\x85"',
        '"\\u2028x:1: sound"',
        "null",
        "~",
        "true",
        "yes",
        "no",
        "lakegate",
        "LAKEGATE",
        "landing",
    ),
    *("s3://landing/**/**/**", "UTF-8", "rot13", "'" + "e" * 5_000 + "'", '"' + "\\n" * 5_000 + '"', "x" * 70_000),
)
TEXTS = (
    *(
        "'((('",
        "'['",
        "'[]a]'",
        "'a{1001}'",
        "'(?=a)'",
        "'\\'",
        "'(a*)*'",
        "'" + "(" * 60 + ")?" * 60 + "'",
        "'(?:a?){1000}'",
    ),
    *("'a{99999999999999999999}'", "'" + "a?" * 3_000 + "'", "'" + "x" * 11_000 + "'", "'[\\d-z]'", "'\\u'", "'\\x'"),
    *("SELECT 1", "SELECT COUNT(*) FROM {object}", "'SELECT MAX({property}) FROM {object}'", "'((('", "'id = 1e999'"),
    *("\"cast('1e999999999999' as decimal(10,2)) = 1\"", "\"day > '99999-01-01'\"", "\"cast('x' as date) = day\""),
    *("'id = 1 -- x'", "'id IN (NULL)'", "'" + "NOT " * 500 + "id = 1'", "'" + "id+" * 500 + "id = 1'", "'id = 0x1'"),
    *(
        "'round(id, -99) = 1'",
        "'" + "{object}" * 400 + "'",
        "dd/MM/yyyy",
        "\"yyyy-MM-dd'T'HH:mm:ss\"",
        "decimal(38,38)",
    ),
    *(
        "decimal(0,0)",
        "decimal(99,99)",
        "array<int>",
        "'" + "array<" * 300 + "'",
        "bucket[0]",
        "bucket[999999]",
        "binary",
    ),
)
SHAPES = (
    *(
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[null]",
        "{a: 1}",
        "{'': {}}",
        "[1, a, {}]",
        "!x y",
        "!!binary aGVsbG8=",
        "!!set {a}",
    ),
    *(
        "&a b",
        "*a",
        "[" * 45 + "]" * 45,
        "{x: {y: {z: []}}}",
        "{<<: {}}",
        "{value: {value: {}}}",
        "[{name: a}, {name: A}]",
    ),
    *("{logicalType: object, properties: [{name: a}]}", "{logicalType: map, map: {key: 1, value: {}}}", "{rows: -1}"),
    *("{metric: nullValues, mustBe: 1}", "{of: mean, files: 0}", "[{value: 1}, {value: a}]", "{percent: 1e300}"),
    *('"\\U00110000"', '"\\UFFFFFFFF"', '"\\xzz"', "!%ff b", "|9", "%YAML 1.3"),
)
CORPUS = (*NUMBERS, *MOMENTS, *NAMES, *TEXTS, *SHAPES)
"""Scalars and shapes as YAML has them, each wrong, odd or at the end of what is right at some place of a contract."""

DEEP: Mapping[str, str] = {
    "columns": contract(
        f"      - {{name: c, logicalType: array, items: {_NESTED * 33}{{logicalType: date}}{'}' * 33}}}\n"
    ),
    "values": contract(root=f"customProperties: [{{property: p, value: {'[' * 37}a{']' * 37}}}]\n"),
    "groups": of_pattern("(" * 30 + "a" + ")?" * 30 + "b"),
    "parentheses": of_rule("(" * 24 + "id" + ")" * 24 + " = 1"),
    "functions": of_rule("coalesce(" * 24 + "id" + ", 1)" * 24 + " = 1"),
    "CASE": of_rule("CASE WHEN id = 1 THEN " * 24 + "state" + " END" * 24 + " = 'x'"),
    "signs": of_rule("NOT (" * 12 + "id = 1" + ")" * 12),
    "queries": of_query(f"SELECT MAX(x) FROM {'(SELECT x FROM ' * 23}(SELECT id AS x FROM {{object}}){')' * 23}"),
    "a chain": of_rule("||".join(["state"] * 97) + " = 'x'"),
}
"""Contracts that nest as deep as they may."""
