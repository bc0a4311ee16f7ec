"""Names of the quarantine and the audits table beside a contract's table. They are one namespace deep, as Glue and S3
Tables have no more, so a dot becomes `_` and two tables may have one plain name: `a.b_c` and `a_b.c`.
"""

import re
from collections.abc import Sequence

_TABLE = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def plain_name(table: str) -> str:
    """Return the plain name: `nyc_flights` for `nyc.flights`."""
    return table.replace(".", "_")


def distinct_name(table: str) -> str:
    """Return a name that no other table has, plain or distinct: `_3_nyc_flights` for `nyc.flights`. No plain name has
    a number there, and the number says where the namespace ends.
    """
    return f"_{len(table.partition('.')[0])}_{plain_name(table)}"


def name_beside(table: str, *, distinct: bool) -> str:
    """Return the name that a table's quarantine and audits have in their namespaces."""
    return distinct_name(table) if distinct else plain_name(table)


def namesakes(table: str) -> list[str]:
    """Return the other tables that have the table's plain name."""
    plain = plain_name(table)
    tables = (f"{plain[:at]}.{plain[at + 1 :]}" for at, sign in enumerate(plain) if sign == "_")
    return [other for other in tables if other != table and _TABLE.fullmatch(other)]


def owner_of_name(table: str, tables: Sequence[str], with_quarantine: Sequence[str], *, is_in_use: bool) -> str:
    """Return the table that a plain name without an owner is for; "" if for none, for good.

    Of the `tables` that have the name, the only one `with_quarantine` gets it, or else the only one. If there
    are none, it is for the `table` that needs it first, unless the name `is_in_use`: its owner is gone.
    """
    candidates = with_quarantine or tables
    if candidates:
        return candidates[0] if len(candidates) == 1 else ""
    return "" if is_in_use else table
