"""All engines, in the order in which they are shown."""

from lakegate.cli.readers import dremio, duckdb, glue, python, snowflake, spark, trino
from lakegate.cli.readers.engine import TRIED, TRIED_ON_MAIN, Engine

PAGES = "docs/readers"
FRAMES = f"{PAGES}/pandas-polars.md"
IN_DUCKDB = f"{PAGES}/duckdb.md"
OF_GLUE = f"{PAGES}/athena-redshift.md"

ENGINES = (
    Engine(
        word="pyiceberg",
        name="PyIceberg",
        page=f"{PAGES}/pyiceberg.md",
        comment="#",
        lines=python.pyiceberg,
        tried=TRIED,
        is_python=True,
    ),
    Engine(word="pandas", name="Pandas", page=FRAMES, comment="#", lines=python.pandas, tried=TRIED, is_python=True),
    Engine(word="polars", name="Polars", page=FRAMES, comment="#", lines=python.polars, tried=TRIED, is_python=True),
    Engine(
        word="duckdb",
        name="DuckDB through PyIceberg",
        page=IN_DUCKDB,
        comment="#",
        lines=python.duckdb,
        tried=TRIED,
        is_python=True,
    ),
    Engine(
        word="duckdb-sql",
        name="DuckDB's own Iceberg",
        page=IN_DUCKDB,
        comment="--",
        lines=duckdb.duckdb,
        tried=TRIED_ON_MAIN,
        reads_branches=False,
    ),
    Engine(
        word="spark",
        name="Spark",
        page=f"{PAGES}/spark.md",
        comment="#",
        lines=spark.spark,
        tried=TRIED,
        is_python=True,
    ),
    Engine(word="trino", name="Trino", page=f"{PAGES}/trino.md", comment="#", lines=trino.trino),
    Engine(
        word="snowflake",
        name="Snowflake",
        page=f"{PAGES}/snowflake.md",
        comment="--",
        lines=snowflake.statements,
    ),
    Engine(word="athena", name="Athena", page=OF_GLUE, comment="#", lines=glue.athena, reads_branches=False),
    Engine(word="redshift", name="Redshift", page=OF_GLUE, comment="#", lines=glue.redshift, reads_branches=False),
    Engine(word="dremio", name="Dremio", page=f"{PAGES}/dremio.md", comment="#", lines=dremio.dremio),
)
