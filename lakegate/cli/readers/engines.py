"""Engines that read tables, in the order in which they are shown, and their texts: templates of `texts`.

A name of a stranger comes into a text by a filter of `quoting` alone.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlparse

from jinja2 import Environment, PackageLoader, StrictUndefined

from lakegate.audit.schema.types import spark_identifier
from lakegate.bundles import EMR_7, EMR_SPARK_8
from lakegate.cli.readers import quoting
from lakegate.cli.readers.reading import Reading

PAGES = "docs/readers"
TESTED_REMARK = "The tests of lakegate run this text, on main and on a branch."
TRIED_ON_MAIN = "The tests of lakegate run this text, on main."
FILTERS: Mapping[str, Callable[[Any], str]] = {
    "comment": lambda text: quoting.comment(str(text)),
    "java_property": quoting.java_property,
    "json": json.dumps,
    "python": quoting.python,
    "shell": quoting.shell,
    "snowflake": quoting.snowflake,
    "spark_name": spark_identifier,
    "sql": quoting.sql,
    "sql_name": quoting.sql_name,
}


@dataclass(frozen=True, kw_only=True)
class Engine:
    """`word` names it on the command line, `template` its text and `page` its page in the documentation. `comment`
    begins a comment of its language. A text `is_python` if it is a program in Python.
    """

    word: str
    name: str
    template: str
    page: str
    comment: str = "#"
    remark: str = ""
    reads_branches: bool = True
    is_python: bool = False

    def text(self, reading: Reading) -> str:
        """Return what a person pastes, with its head as comments."""
        place = reading.place
        values = {"engine": self, "reading": reading, "place": place, "client": place.client(reading.role)}
        values |= {"s3": urlparse(place.s3_endpoint), "usual": EMR_7, "newer": EMR_SPARK_8}
        parts = (_environment().get_template(f"{name}.txt").render(values) for name in ("head", self.template))
        return "".join(parts).removesuffix("\n")


@cache
def _environment() -> Environment:
    environment = Environment(  # noqa: S701 - no text is HTML
        loader=PackageLoader("lakegate.cli.readers", "texts"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment


def _program(word: str, name: str, page: str, template: str = "pyiceberg") -> Engine:
    page = f"{PAGES}/{page}.md"
    return Engine(word=word, name=name, page=page, template=template, remark=TESTED_REMARK, is_python=True)


ENGINES = (
    _program("pyiceberg", "PyIceberg", "pyiceberg"),
    _program("pandas", "Pandas", "pandas-polars"),
    _program("polars", "Polars", "pandas-polars"),
    _program("duckdb", "DuckDB through PyIceberg", "duckdb"),
    Engine(
        word="duckdb-sql",
        name="DuckDB's own Iceberg",
        template="duckdb-sql",
        page=f"{PAGES}/duckdb.md",
        comment="--",
        remark=TRIED_ON_MAIN,
        reads_branches=False,
    ),
    _program("spark", "Spark", "spark", "spark"),
    Engine(word="trino", name="Trino", template="trino", page=f"{PAGES}/trino.md"),
    Engine(word="snowflake", name="Snowflake", template="snowflake", page=f"{PAGES}/snowflake.md", comment="--"),
    Engine(word="athena", name="Athena", template="glue", page=f"{PAGES}/athena-redshift.md", reads_branches=False),
    Engine(word="redshift", name="Redshift", template="glue", page=f"{PAGES}/athena-redshift.md", reads_branches=False),
    Engine(word="dremio", name="Dremio", template="dremio", page=f"{PAGES}/dremio.md"),
)
