"""`query`: SQL in, rows out; the columns that are read, what JSON says of each type, and what is refused."""

import shlex
from dataclasses import replace
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest
from sqlglot.dialects.duckdb import DuckDB

from lakegate.adapters.sql import Statement
from lakegate.workflow.notices.messages import rows_query
from tests.cli.desk import Desk
from tests.world.world import CONTRACT

HOUR = datetime(2013, 1, 1, 10, tzinfo=UTC)


@pytest.fixture
def flights(desk: Desk) -> Desk:
    hours = pa.array([HOUR, HOUR, None], pa.timestamp("us", tz="UTC"))
    columns = {"carrier": ["UA", "AA", "UA"], "dep_delay": [2.5, None, float("nan")], "time_hour": hours}
    desk.rows.held["main", "nyc.flights"] = pa.table(columns)
    for name in ("temp.flights", "pg_catalog.flights"):
        desk.rows.held["main", name] = pa.table({"carrier": ["UA"]})
    desk.rows.held["main", "nyc.airlines"] = pa.table({"carrier": ["UA"], "name": ["United"]})
    return desk


def test_rows_are_objects_with_iso_timestamps_and_nulls(flights: Desk) -> None:
    rows = flights.json("query", "SELECT * FROM nyc.flights")
    assert rows == [
        {"carrier": "UA", "dep_delay": 2.5, "time_hour": "2013-01-01T10:00:00+00:00"},
        {"carrier": "AA", "dep_delay": None, "time_hour": "2013-01-01T10:00:00+00:00"},
        {"carrier": "UA", "dep_delay": "nan", "time_hour": None},
    ]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("sum(length(carrier))", 6),
        ("1.25", 1.25),
        ("count(*)", 3),
        ("DATE '2013-01-01'", "2013-01-01"),
        ("[1, NULL]", [1, None]),
        ("{'a': DATE '2013-01-01'}", {"a": "2013-01-01"}),
        ("true", True),
        ("'\\xAA'::BLOB", "aa"),
        ("CAST('0.12345678901234567890' AS DECIMAL(30, 20))", "0.12345678901234567890"),
    ],
)
def test_a_value_is_what_json_calls_it(flights: Desk, expression: str, value: object) -> None:
    assert flights.json("query", f"SELECT {expression} AS x FROM nyc.flights LIMIT 1") == [{"x": value}]


def test_only_the_columns_that_are_named_are_read(flights: Desk) -> None:
    flights.run("query", "SELECT f.Carrier, count(*) FROM nyc.flights f JOIN nyc.airlines USING (carrier) GROUP BY 1")
    assert sorted(flights.rows.asked) == [("nyc.airlines", ("carrier",), None), ("nyc.flights", ("carrier",), None)]


def test_a_count_reads_one_column(flights: Desk) -> None:
    assert flights.json("query", "SELECT count(*) AS n FROM nyc.flights") == [{"n": 3}]
    assert flights.rows.asked == [("nyc.flights", ("carrier",), None)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM nyc.flights",
        "FROM nyc.flights",
        "SELECT f.* FROM nyc.flights f",
        "SELECT f FROM nyc.flights f",
        "SELECT COLUMNS('d.*') FROM nyc.flights",
        "SUMMARIZE nyc.flights",
        "DESCRIBE nyc.flights",
        "SELECT carrier FROM nyc.flights NATURAL JOIN nyc.flights AS other",
    ],
)
def test_all_columns_are_read_where_they_are_asked_for_unnamed(flights: Desk, sql: str) -> None:
    assert flights.run("query", sql).exit_code == 0
    assert {len(columns) for _, columns, _ in flights.rows.asked} == {3}


@pytest.mark.parametrize(
    ("sql", "limit"),
    [
        ("SELECT * FROM nyc.flights LIMIT 2", 2),
        ("SELECT carrier FROM nyc.flights WHERE dep_delay > 1 LIMIT 2", None),
        ("SELECT carrier FROM nyc.flights ORDER BY 1 LIMIT 2", None),
        ("SELECT DISTINCT carrier FROM nyc.flights LIMIT 2", None),
        ("SELECT count(*) FROM nyc.flights LIMIT 2", None),
        ("SELECT carrier FROM nyc.flights LIMIT 2 OFFSET 1", None),
        ("SELECT carrier FROM nyc.flights, nyc.airlines LIMIT 2", None),
        ("SELECT (SELECT 1) FROM nyc.flights LIMIT 2", None),
        ("WITH x AS (SELECT * FROM nyc.flights) SELECT * FROM x LIMIT 2", None),
        ("SELECT * FROM nyc.flights LIMIT 50%", None),
    ],
)
def test_rows_are_limited_at_the_source_only_where_any_rows_will_do(sql: str, limit: int | None) -> None:
    assert Statement.parse(sql).limit == limit


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO nyc.flights VALUES (1)",
        "DROP TABLE nyc.flights",
        "SELECT 1; SELECT 2",
        "COPY nyc.flights TO 'x.csv'",
        "ATTACH 'x.db'",
        "SET memory_limit = '1GB'",
        "",
    ],
)
def test_what_does_not_read_is_refused(flights: Desk, sql: str) -> None:
    told = flights.run("query", sql)
    assert told.exit_code == 2
    assert told.stdout == ""


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT * FROM nyc.flight", "Tables there: nyc.airlines, nyc.flights"),
        ("SELECT * FROM flights", "nyc.airlines, nyc.flights"),
        ("SELECT nothing FROM nyc.flights", "nothing"),
        ("SELEC 1", "SQL"),
        ("SELECT * FROM a.b.c", "no table a.b.c"),
        ("SELECT * FROM read_text('pyproject.toml')", "disabled"),
        ("SELECT carrier FROM temp.flights", "temp.flights can't be queried here"),
        ("SELECT carrier FROM pg_catalog.flights", "pg_catalog.flights can't be queried here"),
    ],
)
def test_a_query_that_cannot_be_answered_says_why(flights: Desk, sql: str, says: str) -> None:
    told = flights.run("query", sql)
    assert told.exit_code == 2
    assert says in told.stderr
    assert "Traceback" not in told.stderr


def test_a_table_whose_name_duckdb_cannot_bear_is_told_and_ends_nothing(flights: Desk) -> None:
    flights.rows.held["main", "nyc."] = pa.table({"carrier": ["UA"]})
    told = flights.run("query", 'SELECT * FROM "nyc".""')
    assert (told.exit_code, "unexpected" in told.stderr) == (2, False)
    assert "nyc. can't be queried here: Parser Error" in told.stderr


def test_a_mistake_is_said_without_the_codes_that_underline_it(flights: Desk) -> None:
    told = flights.run("query", "SELEC * FROM nyc.flights").stderr
    assert "SELEC * FROM nyc.flights" in told
    assert "x1b" not in told


def test_the_query_that_messages_recommend_reads_a_table_whatever_it_is_called(flights: Desk) -> None:
    with duckdb.connect() as engine:
        words = {word for (word,) in engine.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()}
        words |= {word.lower() for word in DuckDB.Tokenizer.KEYWORDS if word.isidentifier()}
        for word in sorted(words):
            sql = asked(f"{word}.{word}")
            assert Statement.parse(sql).tables == [f"{word}.{word}"]
            assert len(engine.extract_statements(sql)) == 1
    flights.rows.held["main", "default.order"] = pa.table({"id": [1, 2], "_lakegate_file": ["a", "b"]})
    assert flights.json("query", asked("default.order")) == [{"id": 1, "_lakegate_file": "a"}]
    assert "FROM nyc.flights WHERE" in asked("nyc.flights")


def asked(table: str) -> str:
    """The SQL of the command, as a shell hands it on."""
    [command] = rows_query(table, "", ["a"])
    return shlex.split(command)[2]


def test_an_unknown_branch_names_those_that_are_open(flights: Desk) -> None:
    flights.rejected()
    [branch] = flights.world.branches()
    told = flights.run("query", "SELECT 1", "--ref", "wap-none")
    assert told.exit_code == 2
    assert branch in told.stderr


def test_a_branch_is_read_at_its_head(flights: Desk) -> None:
    flights.rejected()
    [branch] = flights.world.branches()
    flights.rows.held[branch, "nyc.flights"] = pa.table({"carrier": ["??"]})
    assert flights.json("query", "SELECT carrier FROM nyc.flights", "--ref", branch) == [{"carrier": "??"}]


def test_columns_of_one_name_are_told_apart(flights: Desk) -> None:
    assert flights.json("query", "SELECT 1 AS a, 2 AS a") == [{"a": 1, "a_2": 2}]


def test_a_wide_row_is_shown_line_by_line(flights: Desk) -> None:
    names = [f"column_{number}" for number in range(300)]
    told = flights.run("query", "SELECT " + ", ".join(f"'value' AS {name}" for name in names)).stdout
    assert "── row 1 ──" in told
    assert "column_299  value" in told


def test_long_answers_are_cut_for_a_person_and_whole_for_a_script(flights: Desk) -> None:
    told = flights.run("query", "SELECT range AS n FROM range(300)").stdout
    assert "100 more are not shown" in told
    assert len(flights.json("query", "SELECT range AS n FROM range(300)")) == 300


@pytest.mark.parametrize(
    ("sql", "files", "limit"),
    [
        ("SELECT * FROM n.t WHERE _lakegate_file = 'a' LIMIT 3", ("a",), 3),
        ("SELECT * FROM n.t WHERE _lakegate_file IN ('a', 'b') LIMIT 3", ("a", "b"), 3),
        ("SELECT x FROM n.t WHERE x > 1 AND \"_LAKEGATE_FILE\" IN ('a') LIMIT 3", ("a",), None),
        ("SELECT count(*) FROM n.t WHERE _lakegate_file = 'a'", ("a",), None),
        ("SELECT * FROM n.t WHERE _lakegate_file = 'a' OR x > 1 LIMIT 3", (), None),
        ("SELECT * FROM n.t WHERE NOT _lakegate_file = 'a' LIMIT 3", (), None),
        ("SELECT * FROM n.t WHERE _lakegate_file NOT IN ('a') LIMIT 3", (), None),
        ("SELECT * FROM n.t WHERE _lakegate_file = x LIMIT 3", (), None),
        ("SELECT * FROM n.t JOIN n.u USING (x) WHERE _lakegate_file = 'a'", (), None),
        ("SELECT * FROM (SELECT x AS _lakegate_file FROM n.t) WHERE _lakegate_file = 'a' LIMIT 3", (), None),
        ("SELECT * FROM n.t WHERE _lakegate_file IN (SELECT f FROM n.u) LIMIT 3", (), None),
    ],
)
def test_of_a_large_table_only_the_files_that_are_named_are_read(
    sql: str, files: tuple[str, ...], limit: int | None
) -> None:
    statement = Statement.parse(sql)
    assert (statement.files, statement.limit) == (files, limit)


def test_text_that_is_no_utf8_hides_no_other_row(flights: Desk) -> None:
    text = pa.array([b"good", b"b\xffd", None]).view(pa.string())
    flights.rows.held["main", "nyc.odd"] = pa.table({"id": [1, 2, 3], "name": text})
    rows = flights.json("query", "SELECT id, name FROM nyc.odd ORDER BY id")
    assert [row["name"] for row in rows] == ["good", "b\ufffdd", None]


def test_sql_without_end_is_a_mistake_of_the_asker(flights: Desk) -> None:
    told = flights.run("query", "SELECT " + "(" * 3000 + "1" + ")" * 3000)
    assert told.exit_code == 2
    assert flights.run("query", "SELECT 1", "--ref", "@abc").exit_code == 2


MASKED = CONTRACT.replace("      - name: b", "      - name: b\n        classification: personal")


@pytest.fixture
def nobody(desk: Desk) -> Desk:
    """A person who may ask and has no role in the catalog, before a table whose column `b` is masked."""
    desk.token = ""
    desk.world.store.write("contracts/nyc.flights.yaml", MASKED.encode())
    desk.rows.held["main", "nyc.flights"] = pa.table({"a": [1], "b": [2], "old": [3], "_lakegate_file": ["f"]})
    for name in ("_lakegate.receipts", "_quarantine.nyc.flights", "_audits.checks", "nyc.others"):
        desk.rows.held["main", name] = pa.table({"a": [1]})
    return desk


@pytest.mark.parametrize("token", ["", "stranger"])
@pytest.mark.parametrize("sql", ["SELECT a, _lakegate_file FROM nyc.flights", "SELECT a FROM _audits.checks"])
def test_whoever_may_ask_reads_what_of_main_is_public(nobody: Desk, sql: str, token: str) -> None:
    nobody.token = token
    assert nobody.json("query", sql)[0]["a"] == 1


SECRETS = [
    ("SELECT a FROM nyc.flights WHERE b = 2", "main", "b in nyc.flights is masked"),
    ("SELECT * FROM nyc.flights", "main", "b in nyc.flights is masked"),
    ("SELECT f FROM nyc.flights f", "main", "b in nyc.flights is masked"),
    ("SELECT old FROM NYC.flights", "main", "there is no table NYC.flights"),
    ("SELECT old FROM nyc.flights", "main", "old in nyc.flights is masked by the contract, or named by none"),
    ("SELECT a FROM nyc.others", "main", "named by none"),
    ("SELECT a FROM nyc.flights, _lakegate.receipts", "main", "_lakegate.receipts is a table of lakegate's own"),
    ("SELECT 1 WHERE EXISTS (FROM _quarantine.nyc.flights)", "main", "_quarantine.nyc.flights is a table"),
    ("SELECT 1", "wap-none", "wap-none is not the head of main"),
    ("SELECT 1", "main@0123", "main@0123 is not the head of main"),
]


@pytest.mark.parametrize("token", ["", "stranger"])
@pytest.mark.parametrize(("sql", "ref", "says"), SECRETS)
def test_whoever_has_no_role_sees_no_masked_value_no_branch_and_nothing_of_lakegate_s(
    nobody: Desk, sql: str, ref: str, says: str, token: str
) -> None:
    nobody.token = token
    asked = nobody.run("query", sql, "--ref", ref)
    assert (asked.exit_code, asked.stdout) == (2, "")
    assert says in asked.stderr
    assert ("token.audience" in asked.stderr) == ("no table" not in says)


def test_with_identities_whoever_has_no_role_is_referred_to_one(nobody: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = replace(nobody.world.service.catalog, audience="lakegate")
    monkeypatch.setattr(nobody.world, "service", replace(nobody.world.service, catalog=catalog))
    assert "a role with the tag lakegate=observer" in nobody.run("query", "SELECT 1", "--ref", "wap-x").stderr


def test_a_reader_sees_the_values_of_main_and_is_refused_branches_by_the_catalog_s_rules(nobody: Desk) -> None:
    nobody.token = "reader"
    assert nobody.json("query", "SELECT * EXCLUDE (_lakegate_file) FROM nyc.flights") == [{"a": 1, "b": 2, "old": 3}]
    nobody.rejected()
    [branch] = nobody.world.branches()
    refused = nobody.run("query", "SELECT 1", "--ref", branch)
    assert (refused.exit_code, "'VIEW_REFERENCE' is not allowed for role 'reader'" in refused.stderr) == (2, True)


def test_an_answer_that_no_function_can_send_is_refused_with_what_to_ask_for(flights: Desk) -> None:
    refused = flights.run("query", "SELECT sha256(range::TEXT) AS x FROM range(150000)", "--json")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "and the limit is 6,290,432: ask for fewer rows by LIMIT" in refused.stderr
    shown = flights.run("query", "SELECT sha256(range::TEXT) AS x FROM range(150000)")
    assert "150,000 rows; 149,800 more are not shown" in shown.stdout
