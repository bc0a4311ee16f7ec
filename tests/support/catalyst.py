"""Spark's own evaluator of expressions, Catalyst, asked in a plain JVM without a session, by the ten thousand.

It has the options of the job's session.

It knows no contract and no DuckDB. Days and moments are whole numbers here, as Spark has them: days and microseconds
since 1970.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from pyspark.java_gateway import launch_gateway

from spark_jobs.jvm.session import OPTIONS
from spark_jobs.jvm.spark_sql import literal

Rows = Sequence[Sequence[Any]]
_CATALYST = "org.apache.spark.sql.catalyst"
_RULES = (
    "analysis.EliminateSubqueryAliases",
    "optimizer.ReplaceExpressions",
    "optimizer.ConvertToLocalRelation",  # of the inner query
    "optimizer.ConvertToLocalRelation",
)


class Catalyst:
    """One JVM, without a session. Its thread's options are those of the job."""

    def __init__(self, gateway: Any) -> None:
        self._jvm = gateway.jvm
        options = self._object("org.apache.spark.sql.internal.SQLConf").get()
        for name, value in OPTIONS.items():
            if name.startswith("spark.sql."):
                options.setConfString(name, value)
        catalyst = self._jvm.org.apache.spark.sql.catalyst
        functions = [self._object(f"{_CATALYST}.analysis.{name}FunctionRegistry").builtin() for name in ("", "Table")]
        empty = catalyst.catalog.InMemoryCatalog(self._jvm.org.apache.spark.SparkConf(), self._hadoop())
        self._analyzer = catalyst.analysis.Analyzer(catalyst.catalog.SessionCatalog(empty, *functions))
        self._parser = self._object(f"{_CATALYST}.parser.CatalystSqlParser")
        self._rules = [self._object(f"{_CATALYST}.{name}") for name in _RULES]

    def answers(self, types: Mapping[str, str], rows: Rows, expressions: Sequence[str]) -> list[list[Any]]:
        """Every expression of every row: a list for each expression."""
        named = ", ".join(f"{text} AS _{at}" for at, text in enumerate(expressions))
        kinds = self.types(types, expressions)
        read = ", ".join(f"{_readable(kind).format(f'_{at}')} AS _{at}" for at, kind in enumerate(kinds))
        plan = self._analyzed(f"SELECT {read} FROM (SELECT {named} FROM {_relation(types, rows)})")
        for rule in self._rules:
            plan = rule.apply(plan)
        lines = plan.data().mkString("\n").splitlines()
        given = zip(*(line[1:-1].split(",") for line in lines), strict=True)
        return [[_value(kind, text) for text in column] for kind, column in zip(kinds, given, strict=True)]

    def types(self, types: Mapping[str, str], expressions: Sequence[str]) -> list[str]:
        """The types that Spark gives the expressions."""
        named = ", ".join(f"{text} AS _{at}" for at, text in enumerate(expressions))
        output = self._analyzed(f"SELECT {named} FROM {_relation(types, [[None] * len(types)])}").output()
        return [output.apply(at).dataType().catalogString() for at in range(len(expressions))]

    def aggregates(self, types: Mapping[str, str], rows: Rows, expressions: Sequence[str]) -> list[Any]:
        """Every aggregate of all rows, added one by one. Each is a function whose state Spark keeps in a row."""
        plan = self._analyzed(f"SELECT {', '.join(expressions)} FROM {_relation(types, rows)}")
        relation = self._rules[0].apply(plan.child())
        named = [plan.aggregateExpressions().apply(at).child() for at in range(len(expressions))]
        return [self._aggregate(found.aggregateFunction(), relation) for found in named]

    def _aggregate(self, function: Any, relation: Any) -> Any:
        expressions = self._jvm.org.apache.spark.sql.catalyst.expressions
        kept = function.aggBufferAttributes()
        every = self._jvm.scala.collection.mutable.ArrayBuffer()
        every.appendAll(kept)
        every.appendAll(relation.output())

        def projection(of: Any, over: Any) -> Any:
            return expressions.InterpretedMutableProjection(of, over.toSeq())

        update, empty = projection(function.updateExpressions(), every), expressions.GenericInternalRow(0)
        row = projection(function.initialValues(), every).apply(empty).copy()
        data = relation.data()
        for at in range(data.size()):
            row = update.apply(expressions.JoinedRow(row, data.apply(at))).copy()
        one = self._jvm.scala.collection.mutable.ArrayBuffer()
        getattr(one, "$plus$eq")(function.evaluateExpression())
        return _value(function.dataType().catalogString(), projection(one.toSeq(), kept).apply(row).toString()[1:-1])

    @property
    def java(self) -> str:
        return str(self._jvm.java.lang.System.getProperty("java.version"))

    def _analyzed(self, query: str) -> Any:
        plan = self._analyzer.execute(self._parser.parsePlan(query))
        self._analyzer.checkAnalysis(plan)
        return plan

    def _object(self, name: str) -> Any:
        """The one object of a Scala class."""
        return self._jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)

    def _hadoop(self) -> Any:
        return self._jvm.org.apache.hadoop.conf.Configuration()


@contextmanager
def opened() -> Iterator[Catalyst]:
    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    try:
        yield Catalyst(gateway)
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()  # ends the JVM
        gateway.proc.wait()


def _relation(types: Mapping[str, str], rows: Rows) -> str:
    kinds = list(types.values())
    said = ", ".join(f"({', '.join(map(_literal, kinds, row))})" for row in rows)
    return f"VALUES {said} AS t({', '.join(f'`{name}`' for name in types)})"


def _literal(kind: str, value: Any) -> str:
    if value is None:
        return f"CAST(NULL AS {kind})"
    if kind == "string":
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    if kind in _MADE:
        return _MADE[kind].format(value)
    if kind in ("double", "float"):
        return f"CAST({value!r}D AS {kind})" if math.isfinite(value) else f"CAST('{value}' AS {kind})"
    return f"CAST({literal(str(value))} AS {kind})"


_MADE = {
    "date": "date_from_unix_date({})",
    "timestamp": "timestamp_micros({}L)",
    "timestamp_ntz": "CAST(timestamp_micros({}L) AS TIMESTAMP_NTZ)",
}


def _readable(kind: str) -> str:
    """A text may hold a comma or a line's end."""
    return "hex(CAST({} AS BINARY))" if kind in ("string", "binary") else "{}"


def _value(kind: str, text: str) -> Any:
    if text == "null":
        return None
    if kind == "string":
        return bytes.fromhex(text).decode()
    if kind == "boolean":
        return text == "true"
    if kind == "float":
        return struct.unpack("<f", struct.pack("<f", float(text)))[0]
    if kind == "double":
        return float(text)
    return Decimal(text) if kind.startswith("decimal") else int(text)
