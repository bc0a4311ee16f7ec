"""SQL of contracts: what is allowed is written anew, and all else is refused with a reason."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import physical
from lakegate.contracts.regex.like import once_through
from lakegate.contracts.sql.allowlist import NotAllowed
from lakegate.contracts.sql.statements import DEEPEST, LONGEST, Form, predicate, scalar

TYPES = {
    "a": "int",
    "b": "bigint",
    "x": "double",
    "d": "decimal(10,2)",
    "s": "string",
    "t": "string",
    "ok": "boolean",
    "day": "date",
    "at": "timestamp",
    "clock": "timestamp_ntz",
    "raw": "binary",
    "odd `name": "int",
}
FIELDS = [Field(label=name, name=name, type=physical(kind)) for name, kind in TYPES.items()]
TABLES = {"shop.orders", "orders"}


def rewritten(text: str) -> str:
    return predicate(text, FIELDS)[0].sql(dialect="spark")


def like(pattern: str, text: str) -> bool:
    """Return what LIKE means, said as slowly as can be."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and like(pattern[1:], text[1:])


@given(st.text("ab%%_[\n", max_size=9), st.text("ab[\n", max_size=9))
def test_a_like_that_is_gone_through_once_means_the_same(pattern: str, text: str) -> None:
    found = once_through(pattern, "\\")
    if found is not None:
        assert bool(re.search(found.replace(r"\z", r"\Z"), text)) == like(pattern, text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("s like 'a%b'", "`s` LIKE 'a%b'"),
        ("s like '%a_b%'", "`s` LIKE '%a_b%'"),
        ("s like '%a%%'", "`s` LIKE '%a%%'"),
        ("s like '%a%b%'", r"`s` RLIKE '(?s)\\A(?>.*?a)(?>.*?b)'"),
        ("ok and s not like '%a%%_!%' escape '!'", r"`ok` AND (NOT `s` RLIKE '(?s)\\A(?>.*?a).*.%\\z')"),
        ("a >= b or a is null", "`a` >= `b` OR `a` IS NULL"),
        ("A >= `B`", "`a` >= `b`"),
        ("day >= '2013-01-01'", "`day` >= CAST('2013-01-01' AS DATE)"),
        ("`odd ``name` > 1", "`odd ``name` > 1"),
        ("(s is null) = (t is null)", "(`s` IS NULL) = (`t` IS NULL)"),
        ("ok in (a = 1, b = 2)", "`ok` IN (`a` = 1, `b` = 2)"),
        ("ok is true and not s is not null", "`ok` IS TRUE AND NOT NOT `s` IS NULL"),
        ("day >= date '2013-01-31'", "`day` >= CAST('2013-01-31' AS DATE)"),
        ("at >= timestamp '2013-01-31 10:00'", "`at` >= CAST('2013-01-31T10:00:00+00:00' AS TIMESTAMP)"),
        ("a > cast('12' as int)", "`a` > CAST('12' AS INT)"),
        ("x < cast('12.50' as decimal(4,2))", "`x` < CAST('12.50' AS DECIMAL(4, 2))"),
        ("x < cast(-1e3 as double)", "`x` < CAST(-1e3 AS DOUBLE)"),
        ("x <> cast('NaN' as double)", "`x` <> CAST('NaN' AS DOUBLE)"),
        ("s = 'it\\'s'", "`s` = 'it\\'s'"),
        ("date_sub(day, 3) < at", "DATE_ADD(`day`, -3) < `at`"),
    ],
)
def test_what_is_allowed_is_written_anew_with_the_table_s_names_in_quotes(text: str, written: str) -> None:
    assert rewritten(text) == written


def test_a_column_goes_by_its_name_in_the_table_or_in_the_contract() -> None:
    fields = [
        Field(label="amount", name="Amount in CHF", type=physical("double")),
        Field(label="other", name="total", type=physical("double")),
    ]

    tree, columns = predicate("amount > TOTAL", fields)

    assert (tree.sql(dialect="spark"), columns) == ("`Amount in CHF` > `total`", ("Amount in CHF", "total"))


REFUSED = {
    # what would reach beyond the rows
    "reflect('java.lang.System', 'getProperty', s) = 'y'": "the function reflect is not allowed",
    "java_method('java.lang.Runtime', 'x') = 'y'": "the function java_method is not allowed",
    "input_file_name() = s": "the function input_file_name is not allowed",
    "my_udf(a) > 1": "the function my_udf is not allowed",
    "a <> null": "a <> NULL compares with NULL",
    "a not in (1, null)": "a IN (1, NULL) compares with NULL",
    "a in (select a from other)": "(SELECT a FROM other) is not allowed",
    "a = (select max(a) from orders)": "a subquery is not allowed",
    "exists(select 1 from orders)": "the function exists is not allowed",
    "a > (select 1)": "a subquery is not allowed",
    "from_json(s, 'a int') is null": "is not allowed",
    "spark_catalog.x(a) = 1": "is not allowed",
    "date_add(day, -least(3, (select max(a) from other))) < day": "a whole number, written out, not -LEAST",
    "round(x, -rand(3)) > 1": "a whole number, written out, not -RAND",
    "trunc(day, coalesce('month', reflect('java.lang.System', 'exit', '0'))) = day": "the unit is one of",
    "date_trunc(replace('month', 'month', 'year'), at) = at": "wants a unit that is written out",
    # what would be another thing than it seems
    "date_add(day, 7 * -2) < day": "a whole number, written out, not 7 * -2",
    "s not in ('a', (null))": "compares with NULL",
    "s <> cast(null as string)": "compares with NULL",
    "a = cast(('one') as int)": "'one' is not a number",
    "a = cast(-3000000000 as int)": "does not fit in 32 bits",
    "s = '\0'": "the character U+0000",
    # what would be another thing tomorrow
    "rand() > x": "the function rand is not allowed",
    "uuid() = s": "the function uuid is not allowed",
    "current_date > day": "the function current_date is not allowed",
    "now() > at": "the function now is not allowed",
    "current_user() = s": "the function current_user is not allowed",
    "monotonically_increasing_id() = b": "is not allowed",
    # what a reader may overlook
    "a > 1 -- or true": "has a comment or a hint in it",
    "a > 1 /* or true */": "has a comment or a hint in it",
    "/*+ broadcast(a) */ a > 1": "has a comment or a hint in it",
    "# a > 1": "",
    "a > 1; drop table shop.orders": "must be one statement",
    "a > 1;": "must be one statement",
    "drop table shop.orders": "DROP TABLE shop.orders is not allowed",
    "set x = 1": "is not allowed",
    "a > ${x}": "is not allowed",
    "a > @x": "is not allowed",
    "a > :x": "is not allowed",
    "a > ?": "is not allowed",
    "s = 'it''s'": "a quote in a text is written \\'",
    "1 = 1": "names no column",
    # what is no condition on a row
    "": "is empty",
    "a": "a rule about a row wants a condition, and `a` is a number",
    "a >": "is no SQL that can be read",
    "a > 1 > ": "is no SQL that can be read",
    "sum(a) > 1": "is an aggregate",
    "count(*) over () > 1": "is not allowed",
    "select a from orders": "a query is not allowed",
    "a > 1 as yes": "is not allowed",
    # what the table doesn't have
    "amuont > 1": "the table has no column 'amuont'",
    "clokc is null": "did you mean 'clock'?",
    "o.a > 1": "there is no table or alias 'o'",
    "_lakegate_file = s": "the table has no column '_lakegate_file'",
    "a[0] > 1": "is not allowed",
    # what Spark would stumble over, or quietly make a null of
    "s > 1": "`s` is text and 1 is a number: cast one of them",
    "ok > 1": "`ok` is a condition and 1 is a number",
    "a and ok": "wants a condition, and `a` is a number",
    "day >= '2013-02-30'": "'2013-02-30' is not a date such as",
    "at >= 'yesterday'": "'yesterday' is not a timestamp such as",
    "day > a": "cast one of them",
    "day >= date '2013-02-30'": "'2013-02-30' is not a date such as",
    "at >= timestamp '2013-01-31 24:00'": "'2013-01-31 24:00' is not a timestamp such as",
    "a > cast('one' as int)": "'one' is not a number",
    "a < cast('3000000000' as int)": "'3000000000' does not fit in 32 bits",
    "a < cast(3000000000 as int)": "'3000000000' does not fit in 32 bits",
    "a < cast('1_000' as int)": "'1_000' is not a number",
    "x < cast(100000 as decimal(7,2))": "'100000' is not a decimal(7,2)",
    "x < -cast('0.005' as decimal(7,2))": "'0.005' is not a decimal(7,2)",
    "year() = 2013": "wants a date or a timestamp, and nothing is there",
    "datediff(day) > 1": "wants a date or a timestamp, and nothing is there",
    "substring(s) = 'a'": "the function substring wants a number, and nothing is there",
    "date_trunc() = day": "wants a unit that is written out",
    "mod(a, b, (x)) = 1": "the function mod takes 2 values here",
    "a in ()": "IN () has nothing in its list",
    # what Spark reads in another order than others, or not at all
    "s is null is not true": "put (s IS NULL) in parentheses",
    "a in (1, 2) = ok": "put (a IN (1, 2)) in parentheses",
    "ok = a > b": "put (a > b) in parentheses",
    "ok <> not ok": "put (NOT ok) in parentheses",
    "a between 1 and 2 is true": "in parentheses",
    "cast(day as int) > 1": "can't be cast",
    "cast(s as array<int>) is null": "is not allowed",
    "raw = s": "bytes",
    "round(x, a) > 1": "written out",
    "date_add(day, a) > day": "written out",
    "s like t": "a pattern that is written out",
    "s like 'a\\\\b'": "comes %, _ or",
    "trunc(day, 'hour') = day": "the unit is one of YEAR, QUARTER, MONTH, WEEK",
    "day + interval a days > day": "write an interval as INTERVAL 3 DAYS",
    "day + interval 999999 years > day": "write an interval as INTERVAL 3 DAYS",
    "greatest(a) > 1": "two values or more",
    "x > 1e999": "no number that Spark can hold",
    f"d > {'9' * 39}": "no number that Spark can hold",
    " or ".join(["a = 1"] * (DEEPEST + 2)): "nested too deep",
    "(" * 3000: "",
    "a = " + "1" * LONGEST: "the limit is",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_rule_that_is_not_on_the_list_is_refused_with_its_reason(text: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        predicate(text, FIELDS)

    assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize(
    ("query", "form", "written"),
    [
        ("SELECT COUNT(*) FROM {object}", Form.COUNT, ""),
        ("select count(*) from orders where a > 1", Form.AGGREGATE, "COUNT(*) FILTER(WHERE `a` > 1)"),
        (
            "SELECT COUNT(*) FROM {object} WHERE {property} IS NULL",
            Form.AGGREGATE,
            "COUNT(*) FILTER(WHERE `a` IS NULL)",
        ),
        ("SELECT COUNT(*) FROM ${table} WHERE ${column} > 1", Form.AGGREGATE, "COUNT(*) FILTER(WHERE `a` > 1)"),
        ("SELECT SUM(o.a) / COUNT(*) AS mean FROM shop.orders o", Form.AGGREGATE, "SUM(`a`) / COUNT(*)"),
        (
            "SELECT SUM(a) FILTER (WHERE a > 2) FROM {object} WHERE ok OR b > 1",
            Form.AGGREGATE,
            "SUM(`a`) FILTER(WHERE `a` > 2 AND (`ok` OR `b` > 1))",
        ),
        ("SELECT MAX(a) > 3 FROM {object}", Form.AGGREGATE, "MAX(`a`) > 3"),
        ("SELECT COUNT(DISTINCT a, s) FROM {object}", Form.HEAVY, "COUNT(DISTINCT `a`, `s`)"),
        ("SELECT PERCENTILE(x, 0.9) FROM {object}", Form.HEAVY, "PERCENTILE(`x`, 0.9)"),
        (
            "SELECT MAX(n) FROM (SELECT s k, COUNT(*) n FROM {object} GROUP BY s HAVING MIN(a) > 1) d WHERE d.k > 'x'",
            Form.QUERY,
            (
                "SELECT MAX(`n`) FROM (SELECT `s` AS `k`, COUNT(*) AS `n` FROM `_lakegate_rows` GROUP BY `s` "
                "HAVING MIN(`a`) > 1) WHERE `k` > 'x'"
            ),
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT a, s FROM {object})",
            Form.QUERY,
            "SELECT COUNT(*) FROM (SELECT DISTINCT `a`, `s` FROM `_lakegate_rows`)",
        ),
        (
            "SELECT COUNT({property}) FROM {object} WHERE s = '{object}'",
            Form.AGGREGATE,
            "COUNT(`a`) FILTER(WHERE `s` = '{object}')",
        ),
    ],
)
def test_a_query_is_as_cheap_as_it_can_be(query: str, form: Form, written: str) -> None:
    found = scalar(query, FIELDS, TABLES, FIELDS[0])

    assert (found.form, found.sql) == (form, written)


REFLECTED = "least(0, ascii(reflect('java.lang.System', 'getenv', 'HOME')))"
QUERIES = {
    "SELECT COUNT() FROM {object}": "the function count takes * or a value",
    "SELECT PERCENTILE(a) FROM {object}": "the function quantile wants a number from 0 to 1",
    "SELECT PERCENTILE(a, 0.5, b) FROM {object}": "the function percentile takes 2 values here",
    "SELECT COUNT(*) FROM other": "the contract names no table 'other'",
    "SELECT COUNT(*) FROM shop.other": "the contract names no table 'shop.other'",
    "SELECT COUNT(*) FROM lake.shop.orders": "lake is not allowed in lake.shop.orders",
    "SELECT COUNT(*) FROM parquet.`/etc/passwd`": "the contract names no table 'parquet./etc/passwd'",
    "SELECT COUNT(*) FROM `s3://landing/x.csv`": "the contract names no table",
    "SELECT COUNT(*) FROM range(10)": "RANGE(10) is no table of this contract",
    "SELECT COUNT(*) FROM read_files('/etc/passwd')": "is no table of this contract",
    "SELECT COUNT(*) FROM orders.files": "the contract names no table 'orders.files'",
    "SELECT COUNT(*) FROM VALUES (1) AS t(a)": "is not allowed",
    "SELECT COUNT(*) FROM (VALUES (1))": "is no table of this contract",
    "SELECT COUNT(*) FROM {object}, other": "JOINS is not allowed",
    "SELECT COUNT(*) FROM {object} JOIN other ON true": "JOINS is not allowed",
    "SELECT COUNT(*) FROM {object} LATERAL VIEW explode(array(1)) e": "LATERALS is not allowed",
    "SELECT COUNT(*) FROM {object} TABLESAMPLE (10 PERCENT)": "TABLESAMPLE (10 PERCENT) is not allowed",
    "SELECT COUNT(*) FROM {object} VERSION AS OF 1": "VERSION AS OF 1 is not allowed",
    "SELECT COUNT(*) FROM {object} PIVOT (sum(a) FOR s IN ('x'))": "PIVOTS is not allowed",
    "SELECT COUNT(*) FROM (SELECT a FROM other)": "the contract names no table 'other'",
    "SELECT COUNT(*) FROM {object} WHERE a IN (SELECT a FROM other)": "is not allowed",
    "SELECT (SELECT MAX(a) FROM other) + COUNT(*) FROM {object}": "a subquery is not allowed",
    "SELECT COUNT(*) FROM {object} UNION SELECT 1": "must be a query: SELECT",
    "WITH o AS (SELECT 1) SELECT COUNT(*) FROM o": "WITH o AS (SELECT 1) is not allowed",
    "SELECT COUNT(*) FROM {object}; SELECT 1": "must be one statement",
    "SELECT /*+ BROADCAST(orders) */ COUNT(*) FROM orders": "a comment or a hint",
    "SELECT COUNT(*) OVER () FROM {object}": "is not allowed",
    "SELECT COUNT(*) FROM {object} LIMIT 1": "LIMIT 1 is not allowed",
    "SELECT COUNT(*) FROM {object} ORDER BY 1": "ORDER BY 1 is not allowed",
    "SELECT TRANSFORM(a) USING 'cat' FROM {object}": "is not allowed",
    "SELECT COUNT(*) INTO x FROM {object}": "is not allowed",
    "INSERT INTO orders SELECT 1": "must be a query",
    "SELECT a FROM {object}": "must give one number",
    "SELECT 1 FROM {object}": "must give one number",
    "SELECT *  FROM {object}": "* is not allowed",
    "SELECT COUNT(*), MAX(a) FROM {object}": "must give one number",
    "SELECT COUNT(*) FROM {object} GROUP BY a": "must give one number",
    "SELECT COUNT(*) FROM {object} HAVING COUNT(*) > 1": "HAVING without GROUP BY",
    "SELECT MAX(day) FROM {object}": "must give a number, and it gives a date",
    "SELECT a + COUNT(*) FROM {object}": "the column 'a' is outside an aggregate",
    "SELECT COUNT(*) FROM {object} WHERE COUNT(*) > 1": "is an aggregate",
    "SELECT SUM(SUM(a)) FROM {object}": "is an aggregate",
    "SELECT PERCENTILE(x, a) FROM {object}": "a number from 0 to 1, written out",
    "SELECT MAX(m) FROM (SELECT COUNT(*) AS n FROM {object} GROUP BY a)": "the table has no column 'm'",
    "SELECT COUNT(*) FROM (SELECT a, A FROM {object})": "two columns of one name",
    "SELECT COUNT(*) FROM (SELECT a AS i, a AS \u0131 FROM {object})": "two columns of one name",
    "SELECT COUNT(*) FROM (SELECT COUNT(*) FROM {object} GROUP BY 1)": "GROUP BY takes columns",
    "SELECT COUNT(*)": "has no FROM",
    "SELECT FROM {object}": "selects nothing",
    f"SELECT MAX(datediff(day, x)) FROM (SELECT day, date_add(day, -{REFLECTED}) AS x FROM {{object}})": "written out",
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_that_is_not_on_the_list_is_refused_with_its_reason(query: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        scalar(query, FIELDS, TABLES, FIELDS[0])

    assert QUERIES[query] in str(caught.value)


def test_a_check_of_the_table_has_no_property() -> None:
    with pytest.raises(NotAllowed, match="name the column"):
        scalar("SELECT SUM({property}) FROM {object}", FIELDS, TABLES)


PIECES = (  # noqa: SIM905 - read as a line
    "a b x s day at ok ( ) , . ; ' \" ` > = <> + - * / and or not in is null like between case when then else end "
    "select count(*) sum( from where group by having distinct {object} {property} orders 1 '2013-01-01' /* */ -- "
    "reflect( cast( as int) interval 3 days over() filter( [ ] { } $ @ : ? \\ || -> with join union exists any("
).split()


@given(st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join) | st.text(max_size=30))
def test_any_text_is_refused_or_written_as_spark_reads_it_again(text: str) -> None:
    for read in (rewritten, lambda query: scalar(query, FIELDS, TABLES, FIELDS[0]).sql):
        try:
            written = read(text)
        except NotAllowed:
            continue
        again = sqlglot.parse(written, read="spark")
        assert not written or [tree.sql(dialect="spark") for tree in again if tree] == [written]


def test_a_decimal_is_read_to_its_last_digit() -> None:
    wide = physical("decimal(38,0)")
    for text in ("9" * 38, "-" + "9" * 37 + "1", "1E+37"):
        assert wide.parse(text) == Decimal(text)
    for text in ("9" * 39, "1E+38", "0.1"):
        with pytest.raises(ValueError, match="not a decimal"):
            wide.parse(text)
