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
