"""An allow-list of the SQL that a contract may say, each piece of syntax with the kinds of its operands.

Accepted SQL runs, because operands are checked as Spark would check them, and unchecked pieces are not let through. It
parses no text and knows nothing of checks.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlglot import exp

from lakegate.audit.model.plan import ROWS_VIEW
from lakegate.audit.schema.names import fold
from lakegate.audit.schema.owners import reserved_for
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.columns.types import TYPES, Type, physical
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.contracts.regex.like import once_through
from lakegate.contracts.sql.functions import AGGREGATES, FUNCTIONS, MAY_BE_LEFT_OUT, Kind, Signature

_DIGITS = 38


class NotAllowed(ValueError):
    """SQL that is none, or none that a contract may say; the message goes on after its name."""


_KINDS = {
    "whole": Kind.NUMBER,
    "float": Kind.NUMBER,
    "decimal": Kind.NUMBER,
    "string": Kind.TEXT,
    "boolean": Kind.TRUTH,
    "date": Kind.DATE,
    "instant": Kind.INSTANT,
    "clock": Kind.CLOCK,
    "binary": Kind.BYTES,
}
_TIMES = {Kind.DATE: "date", Kind.INSTANT: "timestamp", Kind.CLOCK: "timestamp_ntz"}
_EMPTY_VALUES: tuple[object, ...] = (None, False, [], "")
_LITERAL_FORMS = {Kind.STEP: r"-?\d{1,4}", Kind.PLACES: r"-?\d{1,2}", Kind.FRACTION: r"0|1|0?\.\d{1,9}|1\.0"}
_SPANS = ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")  # of an interval
_STARTS: Mapping[type[exp.Expr], Collection[str]] = {
    exp.DateTrunc: ("YEAR", "QUARTER", "MONTH", "WEEK"),
    exp.TimestampTrunc: (*_SPANS, "QUARTER"),
}


_TRUTHS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_COMPARISONS = (*_TRUTHS, exp.Nullif)

_MINUS_ONE = exp.Neg(this=exp.Literal.number(1))

# One of these beside another operator is read in different orders by different readers, or not at all.
_LOOSE = (exp.And, exp.Or, exp.Not, exp.Between, exp.In, exp.Is, exp.Like, exp.Escape, exp.RegexpLike, *_TRUTHS)


def columns_of(fields: Sequence[Field]) -> Mapping[str, tuple[str, Kind | None]]:
    """Return the columns by every name that SQL may call them, without case: the table's names win over the
    contract's.
    """
    return fields.result_of(_columns_of) if isinstance(fields, Fields) else _columns_of(fields)


def _columns_of(fields: Sequence[Field]) -> dict[str, tuple[str, Kind | None]]:
    by_name: dict[str, tuple[str, Kind | None]] = {}
    for name, owner in [(owner.label, owner) for owner in fields] + [(owner.name, owner) for owner in fields]:
        by_name[fold(name)] = (owner.name, _KINDS.get(owner.type.kind))
    return by_name


@dataclass(kw_only=True)
class Reader:
    """Reads a tree from the top, with the columns that are known there, and says of each piece which kind it gives.

    Columns are written anew with the table's names, in quotes; dates given as text become dates. `bare` are the columns
    that may be outside an aggregate (None: all), `aggregates` says whether there may be one here.
    """

    columns: Mapping[str, tuple[str, Kind | None]]
    tables: Collection[str] = ()
    aliases: set[str] = field(default_factory=set)
    bare: Collection[str] | None = None
    aggregates: bool = False
    read_columns: dict[str, None] = field(default_factory=dict)
    is_derived: bool = False

    def want(self, node: exp.Expr, kind: Kind, asker: exp.Expr | str) -> Kind:
        """Return the kind that the node gives, which must be the wanted one; a null is of any. `asker` wants it."""
        if kind in _LITERAL_FORMS:
            return _written_out(node, kind, asker)
        actual = self.kind(node)
        fits = kind in (Kind.ANY, actual) or actual is Kind.NULL or (kind is Kind.TIME and actual in _TIMES)
        if not fits:
            raise NotAllowed(f"{_node_name(asker)} wants {kind}, and {node_text(node)} is {actual}")
        return actual

    def kind(self, node: exp.Expr) -> Kind:
        special = _SPECIAL.get(type(node))
        if special is not None:
            return special(self, node)
        if isinstance(node, _COMPARISONS):
            return self._comparison(node)
        if type(node) in AGGREGATES:
            return self._aggregate(node)
        if type(node) in FUNCTIONS:
            return self._call(node, FUNCTIONS[type(node)])
        raise NotAllowed(f"{_node_name(node)} is not allowed here")

    def select(self, select: exp.Select) -> list[tuple[str, Kind]]:
        """Return a query's columns with their names (none: ""), checked from its source upwards."""
        require_arguments(select, "expressions", "from_", "where", "group", "having", "distinct")
        if (source := select.args.get("from_")) is None:
            raise NotAllowed("has no FROM: the rows are {object}'s")
        self._source(source)
        if clause := select.args.get("where"):
            self.want(clause.this, Kind.TRUTH, "WHERE")
        if distinct := select.args.get("distinct"):
            require_arguments(distinct)
        keys = self._keys(select.args.get("group"))
        if keys is None and select.args.get("having"):
            raise NotAllowed("has HAVING without GROUP BY")
        is_grouped = keys is not None or any(item.find(exp.AggFunc) for item in select.expressions)
        if not select.expressions:
            raise NotAllowed("selects nothing")
        with self._scope(bare=(keys or []) if is_grouped else None, aggregates=is_grouped):
            if having_clause := select.args.get("having"):
                self.want(having_clause.this, Kind.TRUTH, "HAVING")
            columns = [(self._name(item), self.kind(item.unalias())) for item in select.expressions]
        names = [fold(name) for name, _ in columns if name]
        if len(set(names)) < len(names):
            raise NotAllowed("has two columns of one name: give one another name with AS")
        return columns

    def _source(self, source: exp.Expr) -> None:
        require_arguments(source, "this")
        inner, self.aliases = source.this, set()
        if alias := inner.args.get("alias"):
            require_arguments(alias, "this")
            self.aliases.add(alias.name.lower())
        if isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Select):
            require_arguments(inner, "this", "alias")
            inner_reader = Reader(columns=self.columns, tables=self.tables, read_columns=self.read_columns)
            inner_columns = inner_reader.select(inner.this)
            self.columns, self.is_derived = {fold(name): (name, kind) for name, kind in inner_columns if name}, True
            inner.set("alias", None)
            return
        self._table(inner)
        source.set("this", exp.Table(this=exp.Identifier(this=ROWS_VIEW, quoted=True)))

    def _table(self, table: exp.Expr) -> None:
        parts = [table.args.get(name) for name in ("catalog", "db", "this")]
        identifiers = [part for part in parts if part is not None]
        if not isinstance(table, exp.Table) or not all(isinstance(part, exp.Identifier) for part in identifiers):
            raise NotAllowed(f"{node_text(table)} is no table of this contract: read FROM {{object}}")
        require_arguments(table, "this", "db", "alias")
        name = ".".join(part.name for part in identifiers)
        if name.lower() not in {table_name.lower() for table_name in self.tables}:
            raise NotAllowed(f"the contract names no table {name!r}: read FROM {{object}}")
        self.aliases |= {name.lower(), table.name.lower()}

    def _keys(self, group: exp.Expr | None) -> list[str] | None:
        if group is None:
            return None
        require_arguments(group, "expressions")
        for key in group.expressions:
            if not isinstance(key, exp.Column):
                raise NotAllowed(f"GROUP BY takes columns, and {node_text(key)} is none")
            self.kind(key)
        return [key.name for key in group.expressions]

    @contextmanager
    def _scope(self, *, bare: Collection[str] | None, aggregates: bool) -> Iterator[None]:
        """Set which columns may be bare, and whether there may be aggregates, within the block."""
        before = self.bare, self.aggregates
        self.bare, self.aggregates = bare, aggregates
        yield
        self.bare, self.aggregates = before

    def _name(self, item: exp.Expr) -> str:
        """Return the column's name to the query around it, kept in quotes."""
        if isinstance(item, exp.Alias):
            require_arguments(item, "this", "alias")
            item.set("alias", exp.Identifier(this=item.alias, quoted=True))
            if not item.alias or reserved_for(item.alias) == "lakegate":
                raise NotAllowed(f"{item.alias!r}: names that begin with _lakegate are lakegate's own")
            return item.alias
        return self._column_kind(item)[0] if isinstance(item, exp.Column) else ""

    def _column_kind(self, node: exp.Column) -> tuple[str, Kind | None]:
        if node.args.get("db") or (node.table and node.table.lower() not in self.aliases):
            raise NotAllowed(
                f"{node_text(node)}: there is no table or alias {node.table!r} (a column's dot goes in ``)"
            )
        if not isinstance(node.this, exp.Identifier):
            raise NotAllowed(f"{node_text(node)} is not allowed here")
        column_and_kind = self.columns.get(fold(node.name))
        if column_and_kind is None:
            names = [name for name, _ in self.columns.values()]
            raise NotAllowed(f"the table has no column {node.name!r}{hint(node.name, names)}")
        return column_and_kind

    def column(self, node: exp.Column) -> Kind:
        require_arguments(node, "this", "table", "db")
        name, kind = self._column_kind(node)
        if kind is None:
            raise NotAllowed(f"the column {name!r} is of a type that SQL in a contract can't use")
        if self.bare is not None and name not in self.bare:
            raise NotAllowed(f"the column {name!r} is outside an aggregate and is no key of GROUP BY")
        node.set("this", exp.Identifier(this=name, quoted=True))
        node.set("table", None)
        if not self.is_derived:
            self.read_columns[name] = None
        return kind

    def literal(self, node: exp.Expr) -> Kind:
        if node.is_string and "\0" in node.name:
            raise NotAllowed("a text with the character U+0000 in it is not supported")
        if node.is_string:
            return Kind.TEXT
        digits = sum(letter.isdigit() for letter in node.name)
        if not math.isfinite(float(node.name)) or digits > _DIGITS:
            raise NotAllowed(f"{node.name[:60]} is no number that Spark can hold")
        return Kind.NUMBER

    def cast(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this", "to", "safe")
        try:
            kind = _KINDS[physical(node.args["to"].sql(dialect="spark")).kind]
        except (ValueError, KeyError):
            raise NotAllowed(f"a cast to {node.args['to'].sql(dialect='spark')} is not allowed here") from None
        operand_kind = self.kind(node.this)
        if (literal := _literal(node.this, exp.Paren)) is not None:
            _refuse_unreadable(node, kind, literal)
        if (
            operand_kind in (kind, Kind.TEXT, Kind.NULL)
            or kind is Kind.TEXT
            or (operand_kind in _TIMES and kind in _TIMES)
        ):
            return kind
        if {operand_kind, kind} == {Kind.NUMBER, Kind.TRUTH}:
            return kind
        raise NotAllowed(f"{node_text(node.this)} is {operand_kind}, which can't be cast to {kind}")

    def choice(self, node: exp.Expr) -> Kind:
        """Return the kind of CASE, with or without a subject."""
        require_arguments(node, "this", "ifs", "default")
        subject = node.args.get("this")
        for branch in node.args["ifs"]:
            require_arguments(branch, "this", "true")
            if subject is None:
                self.want(branch.this, Kind.TRUTH, "WHEN")
        if subject is not None:
            self._alike([subject, *(branch.this for branch in node.args["ifs"])])
        default = node.args.get("default")
        return self._alike([*(branch.args["true"] for branch in node.args["ifs"]), *([default] if default else [])])

    def condition(self, node: exp.Expr) -> Kind:
        """Return the kind of IF(condition, value, value)."""
        require_arguments(node, "this", "true", "false")
        self.want(node.this, Kind.TRUTH, "IF")
        if node.args.get("false") is None:
            raise NotAllowed("IF takes a condition and two values")
        return self._alike([node.args["true"], node.args["false"]])

    def first(self, node: exp.Expr) -> Kind:
        """Return the kind of COALESCE, GREATEST or LEAST, of values of one kind."""
        require_arguments(node, "this", "expressions", "ignore_nulls")
        if not node.expressions:
            raise NotAllowed(f"{_node_name(node)} takes two values or more")
        return self._alike([node.this, *node.expressions])

    def _comparison(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this", "expression")
        if isinstance(node, _TRUTHS):
            _refuse_loose([node.this, node.expression])
        if not isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ | exp.Nullif):
            _refuse_null(node, [node.this, node.expression])
        kind = self._alike([node.this, node.expression])
        return kind if isinstance(node, exp.Nullif) else Kind.TRUTH

    def in_range(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this", "low", "high")
        _refuse_loose([node.this, node.args["low"], node.args["high"]])
        self._alike([node.this, node.args["low"], node.args["high"]])
        return Kind.TRUTH

    def among(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this", "expressions")
        _refuse_loose([node.this])
        if not node.expressions:
            raise NotAllowed(f"{node_text(node)} has nothing in its list")
        _refuse_null(node, node.expressions)
        self._alike([node.this, *node.expressions])
        return Kind.TRUTH

    def state(self, node: exp.Expr) -> Kind:
        """Return the kind of IS NULL, IS TRUE or IS FALSE."""
        require_arguments(node, "this", "expression")
        _refuse_loose([node.this])
        if isinstance(node.expression, exp.Null):
            self.kind(node.this)
        elif isinstance(node.expression, exp.Boolean):
            self.want(node.this, Kind.TRUTH, "IS")
        else:
            raise NotAllowed(f"{node_text(node)} is not allowed here")
        return Kind.TRUTH

    def like(self, node: exp.Expr) -> Kind:
        return self._like(node, node, "\\")

    def escape(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this", "expression")
        letter = node.expression
        if not isinstance(node.this, exp.Like) or not letter.is_string or len(letter.name) != 1:
            raise NotAllowed("ESCAPE takes one letter, after a LIKE")
        return self._like(node, node.this, letter.name)

    def _like(self, whole: exp.Expr, node: exp.Expr, escape: str) -> Kind:
        """Refuse a pattern that Spark would fail on when it meets the first row, and rewrite one that Spark would be
        long busy with.
        """
        require_arguments(node, "this", "expression", "negate")
        self.want(node.this, Kind.TEXT, "LIKE")
        pattern = node.expression
        if not isinstance(pattern, exp.Literal) or not pattern.is_string:
            raise NotAllowed(f"LIKE takes a pattern that is written out, not {node_text(pattern)}")
        sign = re.escape(escape)
        if not re.fullmatch(rf"(?:[^{sign}]|{sign}[%_{sign}])*", pattern.name, re.DOTALL):
            raise NotAllowed(f"LIKE {node_text(pattern)}: after {escape} comes %, _ or {escape}")
        if faster := once_through(pattern.name, escape):
            matches: exp.Expr = exp.RegexpLike(this=node.this.copy(), expression=exp.Literal.string(faster))
            whole.replace(exp.Paren(this=exp.Not(this=matches)) if node.args.get("negate") else matches)
        return Kind.TRUTH

    def sum_of(self, node: exp.Expr) -> Kind:
        """Return the kind of + and -: of numbers, or of a date or timestamp and an interval."""
        if not isinstance(node.expression, exp.Interval):
            return self._call(node, FUNCTIONS[type(node)])
        require_arguments(node, "this", "expression")
        self.kind(node.expression)
        return self.want(node.this, Kind.TIME, node)

    def interval(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this", "unit")
        unit = node.args.get("unit")
        number = node.this
        is_known = isinstance(unit, exp.Var) and unit.name.upper().removesuffix("S") in _SPANS
        if not is_known or not isinstance(number, exp.Literal) or not re.fullmatch(r"\d{1,5}", number.name):
            raise NotAllowed(f"{node_text(node)}: write an interval as INTERVAL 3 DAYS")
        return Kind.INTERVAL

    def truncation(self, node: exp.Expr) -> Kind:
        """Return the kind of DATE_TRUNC('month', x) or TRUNC(x, 'month')."""
        require_arguments(node, "this", "unit")
        unit = node.args["unit"]
        if not isinstance(unit, exp.Literal | exp.Var) or unit.name.upper() not in _STARTS[type(node)]:
            raise NotAllowed(f"{node_text(node)}: the unit is one of {', '.join(_STARTS[type(node)])}")
        self.want(node.this, Kind.TIME, node)
        return Kind.DATE if isinstance(node, exp.DateTrunc) else Kind.INSTANT

    def shift(self, node: exp.Expr) -> Kind:
        """Return the kind of DATE_ADD(x, 3), or of DATE_SUB(x, 3), which is read as DATE_ADD(x, 3 * -1)."""
        require_arguments(node, "this", "expression", "unit")
        days = node.expression
        if isinstance(days, exp.Mul) and days.expression == _MINUS_ONE:
            back = days.this
            days.replace(back.this.copy() if isinstance(back, exp.Neg) else exp.Neg(this=back.copy()))
        self.want(node.expression, Kind.STEP, "a shift of a date")
        self.want(node.this, Kind.TIME, "a shift of a date")
        return Kind.DATE

    def count(self, node: exp.Expr) -> Kind:
        """Return the kind of COUNT(*), COUNT(x) or COUNT(DISTINCT x, y)."""
        require_arguments(node, "this", "big_int")
        if node.this is None:
            raise NotAllowed("the function count takes * or a value")
        if isinstance(node.this, exp.Star):
            require_arguments(node.this)
            return self._arguments(node, [])
        if isinstance(node.this, exp.Distinct):
            require_arguments(node.this, "expressions")
            return self._arguments(node, node.this.expressions)
        return self._arguments(node, [node.this])

    def _arguments(self, node: exp.Expr, parts: Sequence[exp.Expr]) -> Kind:
        with self._in_aggregate(node):
            for part in parts:
                self.kind(part)
        return Kind.NUMBER

    def aggregate_filter(self, node: exp.Expr) -> Kind:
        """Return the kind of an aggregate with FILTER (WHERE …)."""
        require_arguments(node, "this", "expression")
        if type(node.this) not in AGGREGATES:
            raise NotAllowed(f"{node_text(node)}: FILTER belongs to an aggregate")
        kind = self.kind(node.this)
        with self._in_aggregate(node):
            self.want(node.expression.this, Kind.TRUTH, "FILTER")
        return kind

    def _aggregate(self, node: exp.Expr) -> Kind:
        with self._in_aggregate(node):
            kind = self._call(node, AGGREGATES[type(node)])
            return self.kind(node.this) if kind is Kind.ANY else kind

    def _in_aggregate(self, node: exp.Expr) -> AbstractContextManager[None]:
        if not self.aggregates:
            raise NotAllowed(f"{_node_name(node)} is an aggregate, and there can be none here")
        return self._scope(bare=None, aggregates=False)

    def _call(self, node: exp.Expr, signature: Signature) -> Kind:
        require_arguments(node, *signature.takes, *signature.flags)
        if isinstance(node, exp.Concat) and all(isinstance(part, exp.Literal) for part in node.expressions):
            raise NotAllowed(f"{node_text(node)}: a quote in a text is written \\'")
        for name, argument_kind in signature.takes.items():
            argument = node.args.get(name)
            if argument in (None, []) and MAY_BE_LEFT_OUT.get(type(node)) != name:
                raise NotAllowed(f"{_node_name(node)} wants {argument_kind}, and nothing is there")
            for value in argument if isinstance(argument, list) else [argument] if argument is not None else []:
                self.want(value, argument_kind, node)
        return signature.gives

    def _alike(self, nodes: Sequence[exp.Expr]) -> Kind:
        """Return the one kind of all these; a date or timestamp given as text beside others becomes one."""
        kinds = [self.kind(node) for node in nodes]
        times = [kind for kind in kinds if kind in _TIMES]
        if times:
            kinds = [self._as_time(node, kind, times[0]) for node, kind in zip(nodes, kinds, strict=True)]
        real_kinds = [kind for kind in kinds if kind is not Kind.NULL]
        odd = next(
            (at for at, kind in enumerate(kinds) if kind is not Kind.NULL and not _like(kind, real_kinds[0])), None
        )
        if odd is not None:
            first_node = nodes[kinds.index(real_kinds[0])]
            raise NotAllowed(
                f"{node_text(first_node)} is {real_kinds[0]} and {node_text(nodes[odd])} is {kinds[odd]}: "
                "cast one of them"
            )
        return real_kinds[0] if real_kinds else Kind.NULL

    def _as_time(self, node: exp.Expr, kind: Kind, target: Kind) -> Kind:
        if kind is not Kind.TEXT or not isinstance(node, exp.Literal):
            return kind
        column_type = TYPES[_TIMES[target]]
        try:
            node.replace(column_type.literal(column_type.parse(node.name)))
        except ValueError as error:
            raise NotAllowed(f"{node.name!r} {error}") from None
        return target

    def group(self, node: exp.Expr) -> Kind:
        require_arguments(node, "this")
        return self.kind(node.this)


_SPECIAL: Mapping[type[exp.Expr], Callable[[Reader, Any], Kind]] = {
    exp.Column: Reader.column,
    exp.Literal: Reader.literal,
    exp.Boolean: lambda _, __: Kind.TRUTH,
    exp.Null: lambda _, __: Kind.NULL,
    exp.Paren: Reader.group,
    exp.Cast: Reader.cast,
    exp.TryCast: Reader.cast,
    exp.Case: Reader.choice,
    exp.If: Reader.condition,
    exp.Coalesce: Reader.first,
    exp.Greatest: Reader.first,
    exp.Least: Reader.first,
    exp.Between: Reader.in_range,
    exp.In: Reader.among,
    exp.Is: Reader.state,
    exp.Like: Reader.like,
    exp.Escape: Reader.escape,
    exp.Add: Reader.sum_of,
    exp.Sub: Reader.sum_of,
    exp.Interval: Reader.interval,
    exp.TimestampTrunc: Reader.truncation,
    exp.DateTrunc: Reader.truncation,
    exp.TsOrDsAdd: Reader.shift,
    exp.Count: Reader.count,
    exp.Filter: Reader.aggregate_filter,
}


_PARTS = (exp.Identifier, exp.DataType, exp.DataTypeParam, exp.Var, exp.Star, exp.Distinct, exp.RegexpLike)
_CLAUSES = (exp.Select, exp.Alias, exp.From, exp.Table, exp.Subquery, exp.Where, exp.Group, exp.Having)
_PIECES = frozenset((*FUNCTIONS, *AGGREGATES, *_SPECIAL, *_COMPARISONS, *_PARTS, *_CLAUSES))


def check_pieces(tree: exp.Expr) -> None:
    """Check the whole tree once more, as it will run: every piece that a reader may have passed over is of the list
    too, and a query may be in another one's FROM alone.
    """
    for node in tree.walk():
        is_inner = isinstance(node, exp.Query | exp.Table) and node is not tree
        if type(node) not in _PIECES or (is_inner and not isinstance(node.parent, exp.From | exp.Subquery)):
            raise NotAllowed(f"{_node_name(node)} is not allowed here")


def require_arguments(node: exp.Expr, *names: str) -> None:
    """Raise ValueError if the node has any argument but these, because unchecked arguments are not let through."""
    for name, value in node.args.items():
        if name not in names and not any(value is empty or value == empty for empty in _EMPTY_VALUES):
            problem = node_text(value) if isinstance(value, exp.Expr) else name.rstrip("_").upper()
            raise NotAllowed(f"{problem} is not allowed in {_node_name(node)}")


def _refuse_null(node: exp.Expr, parts: Sequence[exp.Expr]) -> None:
    """Refuse a comparison with null: it is neither true nor false, so that no row would ever fail."""
    if any(isinstance(_inner(part, exp.Paren, exp.Cast), exp.Null) for part in parts):
        raise NotAllowed(f"{node_text(node)} compares with NULL, which settles nothing: say IS NULL or IS NOT NULL")


def _inner(node: exp.Expr, *wrappers: type[exp.Expr]) -> exp.Expr:
    """Return the node without the parentheses and such around it."""
    while isinstance(node, wrappers):
        node = node.this
    return node


def _literal(node: exp.Expr, *wrappers: type[exp.Expr]) -> exp.Literal | None:
    """Return a value that is written out, a number with its sign; None if it is anything else."""
    bare = _inner(node, *wrappers)
    if not isinstance(bare, exp.Neg):
        return bare if isinstance(bare, exp.Literal) else None
    number = _inner(bare.this, *wrappers)
    is_number = isinstance(number, exp.Literal) and not number.is_string
    return exp.Literal(this=f"-{number.name}", is_string=False) if is_number else None


def _refuse_unreadable(node: exp.Expr, kind: Kind, literal: exp.Literal) -> None:
    """Refuse a cast of a written-out text or number that is no such value: Spark would make a null or another value of
    it, and no row would fail.
    """
    text = literal.name
    try:
        if kind in _TIMES and literal.is_string:
            column_type = TYPES[_TIMES[kind]]
            node.replace(column_type.literal(column_type.parse(text)))
        elif kind is Kind.NUMBER:
            _refuse_beyond(physical(node.args["to"].sql(dialect="spark")), text)
    except ValueError as error:
        raise NotAllowed(f"{text!r} {error}") from None


def _refuse_beyond(of: Type, text: str) -> None:
    """Raise ValueError unless the text is a number that the type holds as it is."""
    if of.has_nan and re.fullmatch(r"[+-]?inf(inity)?|nan", text, re.IGNORECASE):
        return
    if not re.fullmatch(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?", text):
        raise ValueError("is not a number")
    number = Decimal(text)
    of.parse(number if of.kind == "decimal" else int(number) if number == number.to_integral_value() else float(number))


def _refuse_loose(operands: Sequence[exp.Expr]) -> None:
    if loose := next((operand for operand in operands if isinstance(operand, _LOOSE)), None):
        raise NotAllowed(f"put ({node_text(loose)}) in parentheses: it is beside another operator")


def _like(first: Kind, other: Kind) -> bool:
    return first is other or (first in _TIMES and other in _TIMES)


def _written_out(node: exp.Expr, kind: Kind, asker: exp.Expr | str) -> Kind:
    number = _literal(node)
    if number is None or number.is_string or not re.fullmatch(_LITERAL_FORMS[kind], number.name):
        raise NotAllowed(f"{_node_name(asker)} wants {kind}, not {node_text(node)}")
    return kind


def _node_name(node: exp.Expr | str) -> str:
    if isinstance(node, str):
        return node
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name.lower()}"
    if isinstance(node, exp.Func) and not isinstance(node, exp.And | exp.Or):
        return f"the function {node.sql_name().lower()}"
    if isinstance(node, exp.Query):
        return "a subquery" if isinstance(node, exp.Subquery) else "a query"
    return node_text(node)


def node_text(node: exp.Expr) -> str:
    text = " ".join(node.sql(dialect="spark", comments=False).split())
    return text if len(text) <= 60 else f"{text[:57]}…"  # noqa: PLR2004 - as much as a person reads in a sentence
