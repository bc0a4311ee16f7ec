"""SQL over the lake's tables at one commit: the lake reads the named columns, and DuckDB answers. It only reads.

A statement may be a stranger's. DuckDB runs nothing but one SELECT (or DESCRIBE, SUMMARIZE), has no access to files,
networks, extensions and this process, sees only the tables that the statement names, and its settings are locked.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from sys import getsizeof
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakegate.adapters.decoding import MOST_BYTES
from lakegate.adapters.spool import spool
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.counts import count
from lakegate.duckdb.macros import MACROS
from lakegate.errors import Misconfigured
from lakegate.ports import MAIN, Branches, Ref
from lakegate.ports.lake import Lake, Rows

READING_ALONE = "give one statement that reads: SELECT, WITH, FROM, DESCRIBE or SUMMARIZE"
READS = (exp.Query, exp.Describe, exp.Summarize)
MEMORY, THREADS = 512 * 1024**2, 2
"""Bytes of DuckDB's memory: what is beyond them is on disk, in `TMPDIR`. Each thread holds rows of its own beside."""
SANDBOX = (
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "enable_external_access = false",
    "python_enable_replacements = false",
    "TimeZone = 'UTC'",
    "lock_configuration = true",
)
ANSWER_SIZE, ANSWER_SECONDS = 32 * 1024**2, 120.0
"""Bytes of the values that the function answers with, and seconds that it reads a table, and that DuckDB answers."""
MOST_BRANCHES = 10  # that an error names
HINT = "ask for fewer rows by LIMIT, for fewer columns, or for the beginning of a text by left(column, 100)"
_PLAIN = 16  # bytes of a value without a length
PLAIN_SELECT = {"expressions", "from_", "limit"}
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One reading statement, with the tables, columns, files and rows that it needs."""

    sql: str
    tree: exp.Expr

    @classmethod
    def parse(cls, sql: str) -> "Statement":
        try:
            trees = [tree for tree in sqlglot.parse(sql, dialect="duckdb") if tree is not None]
        except (SqlglotError, RecursionError) as error:
            raise Misconfigured(f"this SQL cannot be parsed: {_short(error)}") from error
        if len(trees) != 1 or not isinstance(trees[0], READS):
            raise Misconfigured(READING_ALONE)
        return cls(sql=sql, tree=trees[0])

    @property
    def tables(self) -> list[str]:
        """Return the tables named with a namespace. A name without one is a common table expression's."""
        names = (".".join(part.name for part in table.parts) for table in self.tree.find_all(exp.Table) if table.db)
        return list(dict.fromkeys(names))

    def columns(self, available: Sequence[str]) -> list[str]:
        """Return the table's columns that the statement names anywhere, or all if it may read unnamed ones."""
        if self._reads_unnamed():
            return list(available)
        identifiers = {identifier.name.lower() for identifier in self.tree.find_all(exp.Identifier)}
        return [column for column in available if column.lower() in identifiers] or list(available[:1])

    def _reads_unnamed(self) -> bool:
        if not isinstance(self.tree, exp.Query) or self.tree.find(exp.Pivot, exp.Columns):
            return True
        stars = any(not isinstance(star.parent, exp.Count) for star in self.tree.find_all(exp.Star))
        natural = any(join.method == "NATURAL" for join in self.tree.find_all(exp.Join))
        tables = {name.lower() for table in self.tree.find_all(exp.Table) for name in (table.name, table.alias)}
        whole_rows = any(column.name.lower() in tables for column in self.tree.find_all(exp.Column))
        return stars or natural or whole_rows

    @property
    def limit(self) -> int | None:
        """Return the number of rows that suffice, which a plain `SELECT … FROM table LIMIT n` tells; otherwise None."""
        clauses = {name for name, value in self.tree.args.items() if value}
        limit = self.tree.args.get("limit")
        plain_clauses = PLAIN_SELECT | ({"where"} if len(self._conditions) == 1 and self.files else set())
        if not (isinstance(self.tree, exp.Select) and isinstance(limit, exp.Limit) and clauses <= plain_clauses):
            return None
        if self.tree.find(exp.Func, exp.Window, exp.Subquery) or limit.args.get("limit_options"):
            return None
        amount = limit.expression
        return int(amount.name) if isinstance(amount, exp.Literal) and amount.name.isdigit() else None

    @property
    def files(self) -> tuple[str, ...]:
        """Return the file versions whose rows suffice, if a SELECT from one table names them; otherwise none."""
        return next((ids for condition in self._conditions if (ids := _file_ids(condition))), ())

    @cached_property
    def _conditions(self) -> list[exp.Expr]:
        """Return the conditions that every row must meet, if the statement reads a single table."""
        condition, source = self.tree.args.get("where"), self.tree.args.get("from_")
        of_one = isinstance(self.tree, exp.Select) and source and isinstance(source.this, exp.Table)
        if condition is None or not of_one or len(list(self.tree.find_all(exp.Table))) > 1:
            return []
        return list(condition.this.flatten()) if isinstance(condition.this, exp.And) else [condition.this]


def _file_ids(condition: exp.Expr) -> tuple[str, ...]:
    """Return the ids of `_lakegate_file = 'id'` or `_lakegate_file IN ('id', …)`."""
    if not (isinstance(condition, exp.EQ | exp.In) and isinstance(condition.this, exp.Column)):
        return ()
    values = [condition.expression] if isinstance(condition, exp.EQ) else condition.expressions
    are_texts = all(isinstance(value, exp.Literal) and value.is_string for value in values)
    return tuple(value.name for value in values) if are_texts and condition.this.name.lower() == FILE_COLUMN else ()


@dataclass(frozen=True, kw_only=True)
class Result:
    """DuckDB's answer. No two columns have the same name. `rest` rows of it are left out."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    rest: int = 0


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Bounds of an answer: its `size` in bytes, `rows` that are kept, and `seconds` of DuckDB's time."""

    size: int
    rows: int | None = None
    seconds: float | None = None


_NO_FILES: Mapping[str, Sequence[str]] = {}


def run(
    lake: Lake,
    statement: Statement,
    ref: Ref,
    files: Mapping[str, Sequence[str]] = _NO_FILES,
    before: Sequence[str] = (),
    bounds: Bounds | None = None,
) -> Result:
    """Run the statement on the tables of one commit. `files` limits a table to the rows of these file versions, and
    `before` holds statements to execute first. Raise Misconfigured if DuckDB refuses the statement, or for an answer
    out of bounds.
    """
    bounds = bounds or Bounds(size=MOST_BYTES)
    with duckdb.connect() as engine, TemporaryDirectory(prefix="lakegate-query-") as folder:
        spill = exp.Literal.string(folder).sql(dialect="duckdb")
        for setting in (
            *MACROS,
            *before,
            f"SET memory_limit = '{MEMORY // 1024**2}MiB'",
            f"SET threads = {THREADS}",
            f"SET temp_directory = {spill}",
        ):
            engine.execute(setting)
        for name in statement.tables:
            _offer(engine, name, _load(lake, statement, ref, name, files.get(name, statement.files)))
        for setting in SANDBOX:
            engine.execute(f"SET {setting}")
        try:
            with _interrupting(engine, bounds.seconds):
                answer = engine.execute(_only_statement(engine, statement.sql))
                (rows, rest), names = _fetch(answer, bounds), [column[0] for column in answer.description or ()]
        except duckdb.InterruptException as error:
            raise Misconfigured(f"the query takes longer than {bounds.seconds:g} s: {HINT}") from error
        except duckdb.CatalogException as error:
            tables = ", ".join(lake.tables(ref)) or "none"
            raise Misconfigured(f"the query failed: {_short(error)} Tables on {ref}: {tables}") from error
        except (MemoryError, duckdb.OutOfMemoryException) as error:
            raise Misconfigured(f"the query takes more memory than there is for it: {HINT}") from error
        except duckdb.Error as error:
            raise Misconfigured(f"the query failed on {ref}: {_short(error)}") from error
    return Result(columns=_distinct(names), rows=rows, rest=rest)


def _only_statement(engine: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """Return the one statement that DuckDB reads in the text, where our own parser may read another."""
    statements = engine.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise Misconfigured(READING_ALONE)
    return statements[0]


@contextmanager
def _interrupting(engine: duckdb.DuckDBPyConnection, seconds: float | None) -> Iterator[None]:
    """Interrupt DuckDB after so many seconds, if any."""
    if seconds is None:
        yield
        return
    timer = Timer(seconds, engine.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _fetch(answer: duckdb.DuckDBPyConnection, bounds: Bounds) -> tuple[list[tuple[Any, ...]], int]:
    """Return the answer's first rows, and the number of those after them. Raise Misconfigured once the texts of the
    first take more memory than they may.
    """
    rows, size, rest = list[tuple[Any, ...]](), 0, 0
    while (row := answer.fetchone()) is not None:
        if bounds.rows is not None and len(rows) >= bounds.rows:
            rest += 1
            continue
        size += _size(row)
        if size > bounds.size:
            raise Misconfigured(f"the answer has more than {count(bounds.size, 'byte')}: {HINT}")
        rows.append(row)
    return rows, rest


def _size(value: Any) -> int:
    """Return about how many bytes a value of DuckDB takes in the answer: a text with one wide letter, four for each."""
    if isinstance(value, str | bytes):
        return getsizeof(value)
    if isinstance(value, dict):
        return sum(_size(part) for pair in value.items() for part in pair)
    return sum(map(_size, value)) if isinstance(value, list | tuple) else _PLAIN


def _load(lake: Lake, statement: Statement, ref: Ref, name: str, files: Sequence[str]) -> Any:
    return lake.rows(ref, name, statement.columns(columns_of(lake, ref, name)), statement.limit, files)


def columns_of(lake: Lake, ref: Ref, name: str) -> list[str]:
    """Return the names of a table's columns. Raise Misconfigured if there is no such table."""
    columns = lake.columns(ref, name)
    if columns is None:
        tables = ", ".join(lake.tables(ref)) or "none; a contract's table appears with its first file"
        raise Misconfigured(f"there is no table {name} on {ref}. Tables there: {tables}")
    return columns


def _offer(engine: duckdb.DuckDBPyConnection, name: str, rows: Any) -> None:
    """Offer the rows to DuckDB under the statement's name for the table."""
    namespace, _, table = name.rpartition(".")
    if "." in namespace:
        raise Misconfigured(f"{name}: a table is addressed as namespace.table")
    schema, view, source = (exp.to_identifier(part, quoted=True).sql("duckdb") for part in (namespace, table, name))
    engine.register(name, _readable(rows))
    try:
        engine.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        engine.execute(f"CREATE VIEW {schema}.{view} AS SELECT * FROM {source}")  # noqa: S608
    except duckdb.BinderException as error:
        has = f"DuckDB, which answers queries, has a namespace {namespace} of its own"
        raise Misconfigured(f"{name} can't be queried here: {has}. Other engines can read it") from error
    except duckdb.Error as error:
        raise Misconfigured(f"{name} can't be queried here: {_short(error)}") from error


def _readable(rows: pa.Table) -> pa.Table:
    """Return the rows with a mark for bytes that are not UTF-8, because DuckDB would refuse such a text."""
    if all(map(_is_readable, rows.columns)):
        return rows
    return spool(rows.schema, map(_mark_rows, rows.to_batches()))


def _is_readable(column: pa.ChunkedArray | pa.Array) -> bool:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return False
    return True


def _mark_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    columns = [column if _is_readable(column) else _marked_texts(column) for column in rows.columns]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def _marked_texts(column: pa.Array) -> pa.Array:
    texts = (value.as_buffer() for value in column)
    texts_with_marks = [None if text is None else text.to_pybytes().decode(errors="replace") for text in texts]
    return pa.array(texts_with_marks, column.type)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with `a_2` for the second `a`, because a JSON object holds each name once."""
    result: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in result:
            number += 1
            candidate = f"{name}_{number}"
        result.append(candidate)
    return result


def _short(error: Exception) -> str:
    """Return an engine's message on one line, without its excerpt of the statement and without colours."""
    return " ".join(_STYLE.sub("", str(error)).split("\n\nLINE")[0].split())


def plain(value: Any) -> Any:
    """Return DuckDB's value for JSON: times as ISO text, and decimals as numbers if a float holds them exactly."""
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def _number(value: Decimal) -> int | float | str:
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def pin(branches: Branches, ref: Ref) -> Ref:
    """Return the ref pinned to its present head, so that all tables are read at one commit."""
    head = ref.commit or branches.head(ref.branch)
    if head is None or not ref.branch:
        names = [MAIN, *(branch.name for branch in branches.list_branches())]
        rest = f" and {len(names) - MOST_BRANCHES:,} more (lakegate status)" if len(names) > MOST_BRANCHES else ""
        raise Misconfigured(f"there is no branch {ref}; open are: {', '.join(names[:MOST_BRANCHES])}{rest}")
    return Ref(ref.branch, head)


@dataclass(frozen=True, kw_only=True)
class SqlReading:
    """`Reading` by DuckDB, of what one identity may see."""

    branches: Branches
    lake: Lake
    bounds: Bounds

    def sees(self, branch: str) -> bool:
        try:
            return self.branches.head(branch) is not None
        except Misconfigured:
            return False

    def reads(self, sql: str) -> dict[str, list[str]]:
        statement = Statement.parse(sql)
        columns = {name: self.lake.columns(Ref(MAIN), name) or [] for name in statement.tables}
        return {name: statement.columns(names) for name, names in columns.items()}

    def answer(self, sql: str, ref: Ref, limit: int | None) -> Rows:
        statement, bounds = Statement.parse(sql), replace(self.bounds, rows=limit)
        result = run(self.lake, statement, pin(self.branches, ref), bounds=bounds)
        rows = tuple(tuple(map(plain, row)) for row in result.rows)
        return Rows(columns=tuple(result.columns), rows=rows, rest=result.rest)
