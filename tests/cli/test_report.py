"""A report as a person reads it: in a terminal, as a page, as JSON, and all the rows that fail a check."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from jsonschema import Draft202012Validator, FormatChecker
from rich.console import Console

from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.report import DataFile, Verdict
from lakegate.audit.schema import faults as told_by
from lakegate.audit.schema.types import Atom
from lakegate.cli import show
from lakegate.cli.page.document import page
from lakegate.cli.rows import FailingCheck, _failing_checks, _why_others, statement_for
from lakegate.contracts import load
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import TYPES
from lakegate.contracts.metrics.rows import in_future
from lakegate.landing.lifecycle import Decision
from lakegate.operations.batch import view_batch
from lakegate.ports import Record, Ref
from lakegate.workflow.attempts.reports import read_report, report_name
from tests.cli.batch_report import BATCH, add_batch
from tests.cli.desk import Desk
from tests.support import schemas

SHOP = (Path(__file__).parents[1] / "contracts" / "shop.yaml").read_text()
SHOP = SHOP.replace("        partitioned: true\n", "").replace(
    SHOP[SHOP.index("        customProperties:") : SHOP.index("    quality:\n      - metric: rowC")], ""
)
ODD = "<script>alert(1)</script>\u202e.parquet"


def orders(*rows: tuple[int | None, float | None, str | None]) -> pa.Table:
    ids, amounts, states = zip(*rows, strict=True)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "amount": pa.array(amounts, pa.float64()),
            "state": pa.array(states, pa.string()),
            "placed": pa.array([None] * len(rows), pa.timestamp("us", tz="UTC")),
        }
    )


GOOD = orders((1, 2.5, "open"), (2, 3.5, "paid"))
BAD = orders((3, None, "open"), (4, -1.0, "paid"), (4, 5.0, "lost"), (5, None, "<b>&</b>"))


@pytest.fixture
def batch(desk: Desk) -> str:
    return add_batch(
        desk, SHOP, {"shop/orders/1.parquet": GOOD, "shop/orders/2.parquet": BAD}, {f"shop/{ODD}": "empty"}
    )


def check_id(desk: Desk, name: str) -> str:
    report = desk.json("show", BATCH)["attempts"][0]["report"]
    return next(str(check["check"]) for file in report["files"] for check in file["checks"] if check["name"] == name)


def drawn(desk: Desk, width: int) -> str:
    out = StringIO()
    console = Console(file=out, width=width, markup=False, emoji=False, no_color=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(show, "console", lambda: console)
        for line in show._pages(view_batch(desk.world.service, BATCH), every_check=False):
            console.print(line, soft_wrap=isinstance(line, str))
    return out.getvalue()


# In a terminal.


@pytest.mark.usefixtures("batch")
def test_what_failed_comes_first_and_what_to_do_comes_last(desk: Desk) -> None:
    told = desk.run("show", BATCH).stdout
    order = ["3 files: 2 failed, 1 passed", "fail  shop/orders/2.parquet", "pass  shop/orders/1.parquet", "Next"]
    places = [told.index(words) for words in order]
    assert places == sorted(places)
    assert told.rstrip().endswith(f"lakegate wait {BATCH}")
    assert "2 of 4 rows" in told
    assert "append 2.5 s" in told


@pytest.mark.usefixtures("batch")
def test_each_failing_check_names_the_command_that_lists_its_rows(desk: Desk) -> None:
    told = desk.run("show", BATCH).stdout
    for name in ("amount required", "amount > 0", "state one of open, paid", "primary key id unique"):
        assert f"lakegate show {BATCH} --rows {check_id(desk, name)}" in told


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.usefixtures("batch")
def test_tables_keep_to_the_terminal(desk: Desk, width: int) -> None:
    free = ("lakegate ", "branch:", "failing row", "shop/")
    lines = [line for line in drawn(desk, width).splitlines() if not any(words in line for words in free)]
    assert max(map(len, lines)) <= width


def test_many_good_files_take_few_lines(desk: Desk) -> None:
    add_batch(desk, SHOP, {f"shop/orders/{number}.parquet": GOOD for number in range(50)} | {"shop/orders/x": BAD})
    told = desk.run("show", BATCH).stdout
    assert told.count("pass  shop/orders/") == 5
    assert "and 45 more files passed" in told
    assert desk.run("show", BATCH, "--all").stdout.count("pass  shop/orders/") == 50


DATE = told_by.wrong_type("date", "date", Atom("timestamp_ntz"), Atom("timestamp"), "the contract says", is_fixed=False)
LINES = ["- name: date", "  logicalType: timestamp", "  logicalTypeOptions:", "    timezone: false"]


def test_each_reason_says_once_what_to_write_next(desk: Desk) -> None:
    add_batch(desk, SHOP, {"shop/orders/2.parquet": BAD}, {"shop/orders/3.parquet": DATE})
    told, text = desk.run("show", BATCH).stdout, unescape(desk.run("show", BATCH, "--html", "-").stdout)
    for words in (
        'Ask the vendor to write column "date" as timestamps with a time zone (UTC).',
        'If the file is right, write the type of "date" as the file has it:',
        'Ask the vendor to write a value of "amount" in the 2 rows that have none.',
        "required: false",
        "timezone: false",
    ):
        assert (words, told.count(words), text.count(words)) == (words, 1, 1)
    assert "\n".join(f"          {line}" for line in LINES) in told
    assert "\n".join(LINES) in text


def test_a_reason_of_an_older_report_has_no_advice_and_is_shown(desk: Desk) -> None:
    add_batch(desk, SHOP, {"shop/orders/2.parquet": BAD}, {"shop/orders/3.parquet": DATE})
    name = report_name(desk.world.attempts()[0])
    stored = json.loads(desk.world.store.objects[name])
    for file in stored["files"]:
        del file["advice"]
        for check in file["checks"]:
            del check["advice"]
    del stored["advice"]
    desk.world.store.write(name, json.dumps(stored | {"format": 1}).encode())
    for told in (desk.run("show", BATCH).stdout, unescape(desk.run("show", BATCH, "--html", "-").stdout)):
        assert str(DATE) in told
        assert "Ask the vendor" not in told


# All the rows that fail a check.


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("amount required", [3, 5]),
        ("amount > 0", [4]),
        ("state one of open, paid", [4, 5]),
        ("primary key id unique", [4, 4]),
    ],
)
@pytest.mark.usefixtures("batch")
def test_exactly_the_failing_rows_are_listed(desk: Desk, name: str, ids: list[int]) -> None:
    rows = desk.json("show", BATCH, "--rows", check_id(desk, name))
    assert sorted(row["id"] for row in rows) == ids
    assert {row["file"] for row in rows} == {"shop/orders/2.parquet"}
    assert list(rows[0])[:2] == ["file", "id"]
    assert desk.json("show", BATCH, "--rows", name) == rows
    assert "differs" not in desk.run("show", BATCH, "--rows", name).stdout


@pytest.mark.usefixtures("batch")
def test_the_query_that_is_named_runs_and_gives_the_same_rows(desk: Desk) -> None:
    told = desk.run("show", BATCH, "--rows", "amount required").stdout
    [line] = [line for line in told.splitlines() if "lakegate query" in line]
    command = shlex.split(line.partition("lakegate ")[2])
    assert desk.json(*command) == desk.json("show", BATCH, "--rows", "amount required")


@pytest.mark.usefixtures("batch")
def test_files_that_are_not_at_stake_are_not_read(desk: Desk) -> None:
    read: list[tuple[str, ...]] = []
    rows = desk.rows.rows

    def watched(ref: Ref, table: str, columns: Sequence[str], limit: int | None, files: Sequence[str] = ()) -> pa.Table:
        read.append(tuple(files))
        return rows(ref, table, columns, limit, files)

    desk.rows.rows = watched  # type: ignore[method-assign]
    desk.run("show", BATCH, "--rows", "amount required")
    bad, good = (
        next(file["id"] for file in desk.json("show", BATCH)["attempts"][0]["report"]["files"] if file["key"] == key)
        for key in ("shop/orders/2.parquet", "shop/orders/1.parquet")
    )
    assert read == [(bad, good)]


@pytest.mark.usefixtures("batch")
def test_a_count_that_is_not_the_audits_is_told(desk: Desk) -> None:
    branch = desk.json("show", BATCH)["attempts"][0]["branch"]
    held = desk.rows.held[branch, "shop.orders"]
    desk.rows.held[branch, "shop.orders"] = held.slice(0, held.num_rows - 1)
    assert "The audit counted 2" in desk.run("show", BATCH, "--rows", "amount required").stdout


def test_a_warning_about_rows_that_were_quarantined_says_why_they_are_not_listed(desk: Desk) -> None:
    add_batch(desk, SHOP, {"1": BAD})
    report = view_batch(desk.world.service, BATCH).attempts[0].report
    assert report is not None
    [line] = [it for it in _failing_checks(report).values() if it.check.name == "amount required"]
    aside = replace(line.files[0], quarantined=line.files[0].data_files)
    warned = replace(line, check=replace(line.check, verdict=Verdict.WARN), files=(aside,))
    pairs = replace(line.check, check="duplicates-1")
    assert "quarantined" in _why_others(warned)
    assert "quarantined" in _why_others(replace(warned, check=replace(pairs, verdict=Verdict.WARN)))
    assert "differs" in _why_others(line)
    assert _why_others(replace(line, check=pairs)) == ""


@pytest.mark.usefixtures("batch")
def test_a_check_that_no_row_fails_names_those_that_some_do(desk: Desk) -> None:
    told = desk.run("show", BATCH, "--rows", "id ≥ 1")
    assert told.exit_code == 2
    assert "amount required" in told.stderr


@pytest.mark.usefixtures("batch")
def test_an_ambiguous_check_names_those_it_may_be(desk: Desk) -> None:
    told = desk.run("show", BATCH, "--rows", "failing-")
    assert told.exit_code == 2
    assert check_id(desk, "amount > 0") in told.stderr


def test_a_key_of_an_earlier_good_file_is_found_and_one_of_a_bad_file_is_not(desk: Desk) -> None:
    again = orders((1, 1.0, "open"), (3, 1.0, "open"), (9, 1.0, "open"))
    scope = "    customProperties: [{property: scope, vendor: lakegate, value: table}]\n"
    shop = SHOP.replace("    properties:\n", f"{scope}    properties:\n", 1)
    add_batch(desk, shop, {"1": GOOD, "2": BAD, "3": again})
    report = view_batch(desk.world.service, BATCH).attempts[0].report
    assert report is not None
    [repeated] = [check for check in report.files[2].checks if check.name.startswith("primary key id unique")]
    third = replace(report.files[2], checks=(replace(repeated, verdict=Verdict.FAIL, failing_rows=1),))
    failing = FailingCheck(report=report, check=repeated, files=(third,), row_count=1)
    for by, ids in ((shop, [1]), (SHOP, [])):
        plan = load(by, "shop.yaml").plan
        metric = next(check.metric for check in plan.checks if check.name.startswith("primary key id unique"))
        asked = replace(failing, check=replace(repeated, metric=metric))
        assert [row["id"] for row in desk.json("query", statement_for(plan, asked).sql, "--ref", report.branch)] == ids


def test_rows_ahead_of_the_audit_are_those_ahead_of_when_it_began(desk: Desk) -> None:
    add_batch(desk, SHOP, {"1": BAD})
    report = read_report(desk.world.store, desk.world.attempts()[0])
    assert report is not None
    check = report.files[0].checks[0]
    late = in_future(Field(label="placed", name="placed", type=TYPES["timestamp"]))
    plan = replace(load(SHOP, "shop.yaml").plan, metrics=(late,))
    failing = FailingCheck(report=report, check=replace(check, metric=late.id), files=report.files, row_count=1)

    said = statement_for(plan, failing).sql

    assert "CURRENT_TIMESTAMP" not in said
    assert report.started_at.isoformat() in said


def put_aside(rows: pa.Table, reason: str) -> pa.Table:
    """The rows as the quarantine table has them."""
    files = rows["_lakegate_file"].to_pylist()
    texts = [json.dumps(row, default=str) for row in rows.drop_columns(["_lakegate_file"]).to_pylist()]
    return pa.table({"_lakegate_file": files, "reasons": [[reason]] * len(files), "row_json": texts})


def test_rows_in_quarantine_are_listed_too(desk: Desk) -> None:
    add_batch(desk, SHOP, {"1": GOOD, "2": BAD})
    branch, _ = rows_aside(desk, "amount required")
    held = desk.rows.held[branch, "shop.orders"]
    is_wrong = pc.is_null(held["amount"])
    desk.rows.held[branch, "_quarantine.shop_orders"] = put_aside(held.filter(is_wrong), "amount required")
    desk.rows.held[branch, "shop.orders"] = held.filter(pc.invert(is_wrong))
    assert [row["id"] for row in desk.json("show", BATCH, "--rows", "amount required")] == [3, 5]


STATES = pa.table({"name": ["open", "paid", None]})
REFERRING = SHOP.replace(
    "        enum: [{value: open}, {value: paid}]\n", "        relationships: [{to: shop.states.name}]\n"
)
IN_TABLE = SHOP.replace(
    "    properties:\n",
    "    customProperties: [{property: scope, vendor: lakegate, value: table}]\n    properties:\n",
    1,
)


def counted(desk: Desk, check: str, failing: dict[str, int], **changes: object) -> None:
    """The stored report, with so many rows of each file (by key) failing a check."""
    [attempt] = desk.world.attempts()
    report = read_report(desk.world.store, attempt)
    assert report is not None
    files = []
    for file in report.files:
        rows = failing.get(file.key, 0)
        verdict = Verdict.FAIL if rows else Verdict.PASS
        checks = [replace(it, failing_rows=rows, verdict=verdict) if it.name == check else it for it in file.checks]
        of_file = {"checks": tuple(checks), "verdict": verdict} | (changes if rows else {})
        files.append(replace(file, **of_file))  # type: ignore[arg-type]
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=tuple(files))).encode())


def test_rows_that_refer_to_nothing_are_listed(desk: Desk) -> None:
    add_batch(desk, REFERRING, {"1": GOOD, "2": BAD}, others={"shop.states": STATES})
    name = "state refers to shop.states.name"
    rows = desk.json("show", BATCH, "--rows", name)
    assert [(row["file"], row["id"], row["state"]) for row in rows] == [("2", 4, "lost"), ("2", 5, "<b>&</b>")]
    assert "differs" not in desk.run("show", BATCH, "--rows", name).stdout


def test_rows_that_refer_to_nothing_in_their_own_table_are_listed(desk: Desk) -> None:
    """The first file's are parents; the bad second one's are not, nor are those of a file that came later."""
    staff = SHOP.replace("        required: true\n", "        relationships: [{to: orders.id}]\n").replace(
        "      - name: amount\n        logicalType: number\n",
        "      - name: amount\n        physicalType: bigint\n",
    ).replace("        logicalTypeOptions: {exclusiveMinimum: 0, maximum: 1000.5}\n", "")  # fmt: skip
    one, two, three, four = (
        orders(*rows).set_column(1, "amount", pa.array([boss for _, boss, _ in rows], pa.int64()))
        for rows in (
            [(1, None, "open"), (2, 2, "open")],
            [(3, 9, "open"), (4, 3, "open")],
            [(5, 2, "open"), (6, 7, "open"), (8, 4, "open")],
            [(7, 90, "open"), (10, 11, "open"), (11, 1, "open")],
        )
    )
    there = one.slice(0, 0).append_column("_lakegate_file", pa.array([], pa.string()))
    add_batch(desk, staff, {"1": one, "2": two, "3": three, "4": four}, others={"shop.orders": there})
    [attempt] = desk.world.attempts()
    held = desk.rows.held[attempt.branch, "shop.orders"]
    on_main = orders((90, None, "open")).set_column(1, "amount", pa.array([None], pa.int64()))
    on_main = on_main.append_column("_lakegate_file", pa.array(["earlier"]))
    desk.rows.held[attempt.branch, "shop.orders"] = pa.concat_tables([held, on_main])
    counted(desk, "amount refers to shop.orders.id", {"2": 1, "3": 2})
    rows = desk.json("show", BATCH, "--rows", "amount refers to shop.orders.id")
    assert [(row["file"], row["id"]) for row in rows] == [("2", 3), ("3", 6), ("3", 8)]


def test_rows_with_a_key_that_the_table_has_are_listed(desk: Desk) -> None:
    again = orders((1, 1.0, "open"), (8, 1.0, "open"), (90, 1.0, "open"))
    add_batch(desk, IN_TABLE, {"1": GOOD, "2": again, "3": orders((8, 1.0, "open"))})
    [attempt] = desk.world.attempts()
    before = orders((90, 1.0, "open"), (91, 1.0, "open")).append_column("_lakegate_file", pa.array(["earlier"] * 2))
    held = desk.rows.held[attempt.branch, "shop.orders"]
    desk.rows.held[attempt.branch, "shop.orders"] = pa.concat_tables([before, held])
    name = "primary key id unique in the table"
    counted(desk, name, {"2": 2})
    rows = desk.json("show", BATCH, "--rows", name)
    assert [(row["file"], row["id"]) for row in rows] == [("2", 1), ("2", 90)]


def test_rows_of_a_file_that_was_published_are_listed_as_main_was_then(desk: Desk) -> None:
    add_batch(desk, IN_TABLE, {"1": GOOD, "2": orders((1, 1.0, "open"))})
    name = "primary key id unique in the table"
    [attempt] = desk.world.attempts()
    counted(desk, name, {"2": 1})
    report = read_report(desk.world.store, attempt)
    assert report is not None
    files = tuple(replace(file, verdict=Verdict.WARN) for file in report.files)
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=files)).encode())
    note = Record(decision=Decision.PUBLISHED, table=attempt.table, batch=BATCH, attempt=1, files=())
    service, held = desk.world.service, desk.rows.held[attempt.branch, attempt.table]
    service.publisher.merge(attempt.branch, report.audited, note)
    service.branches.delete_branch(attempt.branch)
    desk.rows.held["main", attempt.table] = held
    [commit] = [decided.commit for decided in service.ledger.decisions(10)]
    told = desk.run("show", BATCH, "--rows", name).stdout
    assert told.rstrip().endswith(f"--ref main@{commit}")


def test_rows_that_do_not_parse_are_listed_once_they_are_in_quarantine(desk: Desk) -> None:
    text = SHOP.replace("    format: parquet\n", "    format: csv\n")
    add_batch(desk, text, {"1": GOOD, "2": BAD})
    data = (DataFile(path="s3://lake/q.parquet", rows=1),)
    [attempt] = desk.world.attempts()
    report = read_report(desk.world.store, attempt)
    assert report is not None
    good, bad = report.files
    checks = tuple(
        replace(it, verdict=Verdict.QUARANTINE, failing_rows=1) if it.name == "rows that do not parse" else it
        for it in bad.checks
    )
    aside = replace(bad, verdict=Verdict.QUARANTINE, checks=checks, quarantined=data)
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=(good, aside))).encode())
    desk.rows.held[attempt.branch, "_quarantine.shop_orders"] = pa.table(
        {
            "_lakegate_file": [bad.id, bad.id],
            "reasons": [["rows that do not parse"], ["amount required"]],
            "line": [7, None],
            "why": ["it does not have 4 fields", None],
            "text": ["1;x", None],
        }
    )
    assert ", 1 row in quarantine" in desk.run("show", BATCH).stdout
    rows = desk.json("show", BATCH, "--rows", "rows that do not parse")
    assert rows == [{"file": "2", "line": 7, "why": "it does not have 4 fields", "text": "1;x"}]
    assert "--rows malformed-" in desk.run("show", BATCH).stdout


def test_rows_that_never_got_to_the_table_are_shown_from_the_report_alone(desk: Desk) -> None:
    add_batch(desk, SHOP, {"1": GOOD, "2": BAD})
    [attempt] = desk.world.attempts()
    report = read_report(desk.world.store, attempt)
    assert report is not None
    good, bad = report.files
    lines = ({"line": 7, "text": "1;x;<i>", "why": "amount is not a valid double"},)
    check = replace(bad.checks[0], check="malformed-0123", name="rows that do not parse", verdict=Verdict.FAIL,
                    metric="malformed-0123", failing_rows=1, sample=lines)  # fmt: skip
    files = (good, replace(bad, checks=(check,)))
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=files)).encode())
    told, text = desk.run("show", BATCH).stdout, desk.run("show", BATCH, "--html", "-").stdout
    assert "1;x;<i>" in told
    assert "1;x;&lt;i&gt;" in text
    assert "--rows" not in told + text
    for asked in ("malformed-0123", "malformed", "rows that do not parse"):
        refused = desk.run("show", BATCH, "--rows", asked)
        assert refused.exit_code == 2
        assert "rows that do not parse are in no table" in " ".join(refused.output.split())
        assert f"lakegate show {BATCH}" in refused.output


# Masks.


def test_masked_values_are_nowhere_and_nulls_are_nulls(desk: Desk) -> None:
    hidden = SHOP.replace("      - name: state\n", "      - name: state\n        classification: confidential\n")
    add_batch(desk, hidden, {"shop/orders/2.parquet": BAD})
    rows = desk.json("show", BATCH, "--rows", "amount required")
    assert {row["state"] for row in rows} == {MASK}
    assert [row["amount"] for row in rows] == [None, None]
    for told in (desk.run("show", BATCH), desk.run("show", BATCH, "--json"), desk.run("show", BATCH, "--html", "-"),
                 desk.run("show", BATCH, "--rows", "amount required")):  # fmt: skip
        assert MASK in told.stdout
        assert "lost" not in told.stdout
        assert "state" in told.stdout


@pytest.mark.parametrize("name", ["file", "File", "line", "_KEY", "text"])
@pytest.mark.parametrize("files", [1, 2])
def test_a_masked_column_is_masked_whatever_it_is_called(desk: Desk, name: str, files: int) -> None:
    hidden = SHOP.replace("      - name: state\n", f"      - name: {name}\n        classification: confidential\n")
    rows = BAD.rename_columns(["id", "amount", name, "placed"])
    add_batch(desk, hidden, {f"shop/{number}": rows for number in range(files)})
    listed = desk.json("show", BATCH, "--rows", "amount required")
    key = "_lakegate_key" if name.lower() == "file" else "file"
    assert {(row[key], row[name]) for row in listed} == {(f"shop/{number}", MASK) for number in range(files)}
    assert "open" not in desk.run("show", BATCH, "--rows", "amount required").stdout


def rows_aside(desk: Desk, failed: str) -> tuple[str, str]:
    """The second of two files with the rows that fail a check put aside. Returns the branch and the file's id."""
    [attempt] = desk.world.attempts()
    report = read_report(desk.world.store, attempt)
    assert report is not None
    good, bad = report.files
    checks = tuple(replace(it, verdict=Verdict.QUARANTINE) if it.name == failed else it for it in bad.checks)
    data = (DataFile(path="s3://lake/q.parquet", rows=2),)
    aside = replace(bad, verdict=Verdict.QUARANTINE, checks=checks, quarantined=data)
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=(good, aside))).encode())
    return attempt.branch, bad.id


@pytest.mark.parametrize("masked", [False, True])
def test_an_engines_error_says_no_masked_value(desk: Desk, masked: bool) -> None:  # noqa: FBT001
    hidden = "        classification: confidential\n" if masked else ""
    shop = SHOP.replace("      - name: amount\n", f"      - name: amount\n{hidden}")
    add_batch(desk, shop, {"1": GOOD, "2": BAD})
    branch, file = rows_aside(desk, "amount required")
    odd = pa.table({"_lakegate_file": [file], "amount": ["none of mine"]})
    desk.rows.held[branch, "_quarantine.shop_orders"] = put_aside(odd, "amount required")
    told = desk.run("show", BATCH, "--rows", "amount required")
    assert told.exit_code == 2
    assert ("none of mine" in told.stderr) is not masked
    assert (f"lakegate show {BATCH}" in told.stderr) is masked


def test_rows_that_refer_to_a_table_which_is_not_there_are_all_listed(desk: Desk) -> None:
    add_batch(desk, REFERRING, {"1": GOOD}, others={"shop.states": STATES.slice(0, 0)})
    [attempt] = desk.world.attempts()
    del desk.rows.held[attempt.branch, "shop.states"]
    rows = desk.json("show", BATCH, "--rows", "state refers to shop.states.name")
    assert [row["id"] for row in rows] == [1, 2]


# Columns that the contract does not have.


def test_what_the_table_gains_and_what_is_not_read_is_told(desk: Desk) -> None:
    add_batch(desk, SHOP, {"shop/orders/1.parquet": GOOD, "shop/orders/2.parquet": BAD})
    [attempt] = desk.world.attempts()
    report = read_report(desk.world.store, attempt)
    assert report is not None
    good, bad = report.files
    evolves = ('"zip" string', '"n" bigint, was int', '"<b>" int')
    files = (replace(good, evolves=evolves), replace(bad, evolves=evolves[:1], discards=("note",)))
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=files)).encode())
    told, text = desk.run("show", BATCH).stdout, desk.run("show", BATCH, "--html", "-").stdout
    for words in (
        '    the table gains column "zip" (string)',
        'column "n" of the table widens from int to bigint',
        'on its branch, the table gains column "zip" (string)',
        'column "note" of the file is not read',
    ):
        assert words in told
        assert words.strip().replace('"', "&#34;") in text
    assert "&lt;b&gt;" in text


# As a page.


@pytest.mark.usefixtures("batch")
def test_the_page_needs_nothing_but_itself(desk: Desk) -> None:
    text = page(view_batch(desk.world.service, BATCH))
    for word in ("<script", "http:", "https:", "<link", "<img", "<iframe", "@import", "url(", "onload", "onclick"):
        assert word not in text


@pytest.mark.usefixtures("batch")
def test_the_page_has_each_next_command_on_a_line_of_its_own(desk: Desk) -> None:
    view = view_batch(desk.world.service, BATCH)
    told = page(view).split("What to do next:</p>")[1].split("<article")[0]
    assert re.findall("<pre>(.*)</pre>", unescape(told)) == list(view.next)
    assert len(view.next) > 1
    assert "\\n" not in told


@pytest.mark.usefixtures("batch")
def test_what_strangers_wrote_is_text_in_the_page(desk: Desk) -> None:
    text = desk.run("show", BATCH, "--html", "-").stdout
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e.parquet" in text
    assert "&lt;b&gt;&amp;&lt;/b&gt;" in text
    assert "\u202e" not in text


def test_the_page_is_written_to_a_file(desk: Desk, batch: str) -> None:
    to = desk.folder / "page.html"
    told = desk.run("show", batch, "--html", to)
    assert (told.exit_code, told.stdout) == (0, "")
    assert str(to) in told.stderr
    text = to.read_text(encoding="utf-8")
    for words in (
        "amount required",
        "2 of 4 rows",
        BATCH,
        "shop/orders/1.parquet",
        f"--rows {check_id(desk, 'amount > 0')}",
    ):
        assert words in text or words.replace(">", "&gt;") in text


def test_a_page_of_what_never_ran_is_a_page(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    batch = desk.json("status")["in_flight"][0]["batch"]
    assert "It left no report" in desk.run("show", batch, "--html", "-").stdout


def test_json_of_a_report_is_the_report(desk: Desk, batch: str) -> None:
    told = json.loads(desk.run("show", batch, "--json").stdout)
    checks = told["attempts"][0]["report"]["files"][1]["checks"]
    assert [row["id"] for check in checks if check["name"] == "amount required" for row in check["sample"]] == [3, 5]


@pytest.mark.parametrize("what", ["a judged batch", "published", "rejected", "a job that died", "in flight", "no job"])
def test_json_keeps_to_its_schema(desk: Desk, what: str) -> None:
    schema = Draft202012Validator(schemas.schema(), format_checker=FormatChecker())
    schema.validate(desk.json("show", _batch(desk, what)))


def _batch(desk: Desk, what: str) -> str:
    match what:
        case "a judged batch":
            return add_batch(desk, SHOP, {"shop/orders/1.parquet": GOOD, "shop/orders/2.parquet": BAD}, {"x": "empty"})
        case "published":
            return desk.published()
        case "rejected":
            return desk.rejected()
        case "no job":
            desk.published("1.parquet")
            desk.world.push_contract(reuploads="reject")
            desk.run("drop", desk.file("1.parquet", b"other"), "--table", "nyc.flights", "--wait")
            return str(desk.json("status")["rejected"][0]["batch"])
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    if what == "a job that died":
        desk.world.kill_jobs("killed by signal 9")
    return str(desk.json("status")["in_flight"][0]["batch"])


@pytest.mark.usefixtures("batch")
def test_the_schema_refuses_what_is_no_report(desk: Desk) -> None:
    schema = Draft202012Validator(schemas.schema())
    told = desk.json("show", BATCH)
    check = told["attempts"][0]["report"]["files"][1]["checks"][0]
    for member, wrong in (("verdict", "perhaps"), ("value", "much"), ("sample", [{"a": []}]), ("undocumented", 1)):
        before = dict(check)
        check[member] = wrong
        assert not schema.is_valid(told)
        check.clear()
        check |= before
    assert schema.is_valid(told)


def test_the_schema_in_the_docs_is_that_of_the_code() -> None:
    assert schemas.written() == schemas.text(), "run: make reference"


def test_stored_reports_keep_to_the_schema_whatever_their_format() -> None:
    for number in (1, 2):
        stored = json.loads((Path(__file__).parents[1] / "formats" / f"report-{number}.json").read_text())
        Draft202012Validator(schemas.of_report()).validate(stored)
