"""Names of the tables of lakegate's own beside a contract's table. They are one namespace deep, as Glue and S3 Tables
have no more, so a dot becomes `_` and two tables may have one plain name: `a.b_c` and `a_b.c`.
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


def own_name(table: str, *, distinct: bool) -> str:
    return distinct_name(table) if distinct else plain_name(table)


def namesakes(table: str) -> list[str]:
    """Return the other tables that have the table's plain name."""
    plain = plain_name(table)
    every = (f"{plain[:at]}.{plain[at + 1 :]}" for at, sign in enumerate(plain) if sign == "_")
    return [other for other in every if other != table and _TABLE.fullmatch(other)]


def owner_of_name(asking: str, tables: Sequence[str], quarantining: Sequence[str], *, is_in_use: bool) -> str:
    """Return the table that a plain name is for, of which nobody has taken note yet; "" if it is for none any more.

    Of the `tables` that have the name and exist, some may have rows in quarantine: it is for the only one of those, or
    else for the only one that exists. If none exists, it is for the table that is `asking`, unless it `is_in_use`.
    """
    claiming = quarantining or tables
    if claiming:
        return claiming[0] if len(claiming) == 1 else ""
    return "" if is_in_use else asking
