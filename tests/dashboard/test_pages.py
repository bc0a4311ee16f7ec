"""Pages of the dashboard: what each asks, what it shows, and what a person may do there."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pyarrow as pa
import pytest

from lakegate.adapters.sql import Statement, run
from lakegate.audit.model.report import Report, Verdict
from lakegate.dashboard import session
from lakegate.dashboard.trends import trend, trend_sql
from lakegate.errors import Retryable
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, Ref
from lakegate.workflow.registry import contract_name
from lakegate.workflow.status import status
from tests.cli.batch_report import BATCH, add_batch
from tests.cli.test_page import Parsed
from tests.cli.test_report import BAD, GOOD, SHOP, orders
from tests.dashboard.screen import REFUSED, Screen, button, labels, text
from tests.hostile.names import DECEIVING, MARKUP
from tests.world.world import CONTRACT, TABLE

pytestmark = pytest.mark.dashboard


def links(at: object) -> list[str]:
    return [it.label for it in at.get("page_link")]  # type: ignore[attr-defined]


def rejected(screen: Screen) -> str:
    return screen.desk.rejected()


# What is shown.


def test_the_overview_has_every_list_with_reasons_and_a_way_to_each_batch(screen: Screen) -> None:
    good, bad = screen.desk.published(), rejected(screen)
    screen.desk.world.drop("elsewhere", rows=1, under="elsewhere/x.csv")
    screen.desk.is_working = False
    screen.desk.run("drop", screen.desk.file("late.parquet"), "--table", "nyc.flights")
    at = screen.open("overview")
    shown = text(at)
    for words in ("In flight", "Unrouted", "Rejected", "Published", "late.parquet"):
        assert words in shown
    assert {good, bad} <= set(links(at))
    assert "reason fail" in shown


def test_a_look_at_another_page_asks_nothing_again_until_a_person_asks_to(screen: Screen) -> None:
    screen.desk.published()
    at = screen.open("overview")
    assert screen.asked.count("ShowStatus") == 1
    button(at, "Look again").click()
    at.run()
    assert screen.asked.count("ShowStatus") == 2


def test_a_batch_has_its_timeline_checks_and_failing_rows(screen: Screen) -> None:
    add_batch(screen.desk, SHOP, {"shop/orders/1.parquet": GOOD, "shop/orders/2.parquet": BAD})
    at = screen.open("batch", batch=BATCH)
    shown = text(at)
    for words in ("attempt a1 began", "a1 audited: 2 files: 1 failed, 1 passed", "shop/orders/2.parquet"):
        assert words in shown
    [checks] = at.selectbox
    at = checks.select_index(checks.options.index("amount required")).run()
    assert "amount required: 2 rows" in text(at)
    assert "lakegate query" in text(at)


def test_rows_of_a_branch_stand_beside_mains_and_masked_values_do_not(screen: Screen) -> None:
    masked = SHOP.replace("name: state", "name: state\n        classification: restricted")
    add_batch(screen.desk, masked, {"shop/orders/2.parquet": BAD})
    branch = f"wap-shop.orders-{BATCH}-a1"
    at = screen.open("rows", branch=branch)
    shown = text(at)
    assert "Columns that failed" in shown
    assert "there is no table shop.orders on main" in shown
    assert "-1.0" in shown
    assert ("lost" in shown) == (masked == SHOP)


def test_rows_that_fail_come_first_beside_mains(screen: Screen) -> None:
    many = pa.concat_tables([orders(*[(number, 1.0, "open") for number in range(100, 160)]), BAD])
    add_batch(screen.desk, SHOP, {"shop/orders/2.parquet": many})
    at = screen.open("rows", branch=f"wap-shop.orders-{BATCH}-a1")
    assert not at.exception
    [shown] = [part for part in text(at).split("<div") if "rows of shop.orders on this branch" in part]
    ids = [int(row) for row in re.findall(r"<tr>\s*<td[^>]*>\s*(\d+)", shown)]
    assert (set(ids[:4]), len(ids)) == ({3, 4, 5}, 50)
    assert set(ids[4:]) <= set(range(100, 160))
    assert "those that fail first" in text(at)


def test_a_long_text_of_a_row_is_cut_and_says_so(screen: Screen) -> None:
    add_batch(screen.desk, SHOP, {"shop/orders/2.parquet": orders((1, -1.0, "x" * 5_000))})
    at = screen.open("rows", branch=f"wap-shop.orders-{BATCH}-a1")
    assert not at.exception
    assert "x" * 1_000 + "… and 4,000 more characters" in text(at)
    assert "x" * 1_001 not in text(at)


def test_rows_are_shown_where_the_job_that_knows_the_checks_is_gone(screen: Screen) -> None:
    add_batch(screen.desk, SHOP, {"shop/orders/2.parquet": BAD})
    branch = f"wap-shop.orders-{BATCH}-a1"
    screen.desk.world.store.delete(f"attempts/{branch}/job.json")
    assert "-1.0" in text(screen.open("rows", branch=branch))


def test_rows_of_a_huge_batch_are_not_read_for_those_that_fail(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Report, "rows", 200_001)
    add_batch(screen.desk, SHOP, {"shop/orders/2.parquet": BAD})
    at = screen.open("rows", branch=f"wap-shop.orders-{BATCH}-a1")
    assert "those that fail first" not in text(at)
    assert [limit for _, _, limit in screen.desk.rows.asked] == [0, 50]


def test_a_table_has_its_verdicts_and_numbers_over_time(screen: Screen) -> None:
    screen.desk.published("1.parquet")
    screen.desk.published("2.parquet")
    at = screen.open("table", table="nyc.flights")
    assert not at.exception
    assert text(at).count("verdict pass") >= 2


def test_a_number_over_time_is_that_of_every_audit_where_a_table_of_audits_has_them(screen: Screen) -> None:
    screen.desk.world.want_unique_keys()
    screen.desk.published()
    at = screen.open("table", table="nyc.flights")
    assert [it.label for it in at.toggle] == []
    check = at.selectbox[1].value
    screen.desk.rows.held[MAIN, "_audits.nyc_flights"] = audits(check, days=70, table="nyc.flights")
    session.is_there.clear()
    at = screen.open("table", table="nyc.flights")
    [every] = at.toggle
    assert every.label == "Every audit, from _audits.nyc_flights"
    assert screen.desk.rows.asked == []
    at = every.set_value(True).run()
    assert not at.exception
    assert [table for table, _, _ in screen.desk.rows.asked] == ["_audits.nyc_flights"]


def test_the_trend_has_an_audit_for_each_attempt_with_its_worst_verdict(screen: Screen) -> None:
    screen.desk.rows.held[MAIN, "_audits.shop_orders"] = audits("c1", days=3)
    found = trend("c1", run(screen.desk.rows, Statement.parse(trend_sql("shop.orders", "c1")), Ref(MAIN)))
    assert [it.batch for it in found] == ["b0", "b1", "b2"]
    [number] = found[2].numbers
    assert (number.verdict, number.failing_rows, number.rows) == (Verdict.FAIL, 2, 20)
    assert (number.least, number.most, number.low, number.high) == (0.0, 2.0, None, 1.0)


def test_a_trend_has_no_audits_of_a_table_of_almost_the_same_name(screen: Screen) -> None:
    both = pa.concat_tables(
        [audits("c1", days=3, table="shop_eu.orders"), audits("c1", days=1, table="shop.eu_orders")]
    )
    screen.desk.rows.held[MAIN, "_audits.shop_eu_orders"] = both
    found = trend("c1", run(screen.desk.rows, Statement.parse(trend_sql("shop.eu_orders", "c1")), Ref(MAIN)))
    assert [it.batch for it in found] == ["b0"]


def audits(check: str, days: int, table: str = "shop.orders") -> pa.Table:
    """Two files an attempt, and one attempt a day, of which the second file fails; beside them another check."""
    rows = [
        {
            "_lakegate_file": f"f{day}-{file}", "table_name": table,
            "batch": f"b{day}", "attempt": 1, "check_id": its, "check_name": its,
            "verdict": "fail" if file else "pass", "value": 2.0 * file, "unit": "rows", "low": None, "high": 1.0,
            "failing_rows": 2 * file, "row_count": 10,
            "audited_at": datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=day),
        }
        for day in range(days) for file in range(2) for its in (check, "other")
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


def test_the_history_goes_back_page_by_page(screen: Screen) -> None:
    ledger, world = screen.desk.world.service.ledger, screen.desk.world
    for number in range(60):
        world.drop(f"{number}", rows=1)
        world.run()
    newest = [it.record.batch for it in ledger.decisions(100)]
    at = screen.open("history")
    assert links(at) == newest[:50]
    at = button(at, "Older").click().run()
    assert links(at) == newest[50:]
    at = button(at, "Newer").click().run()
    assert links(at) == newest[:50]


def test_the_history_says_what_was_replaced_superseded_and_overruled(screen: Screen) -> None:
    desk = screen.desk
    desk.published("2.parquet")
    overruled = desk.rejected("1.parquet")
    assert desk.run("approve", overruled, "--why", "known at the vendor's").exit_code == 0
    desk.run("drop", desk.file("2.parquet", b"other"), "--table", "nyc.flights", "--wait")
    superseded = desk.rejected("3.parquet")
    desk.run("drop", desk.file("3.parquet", b"mended"), "--table", "nyc.flights", "--wait")
    for page in ("history", "table"):
        shown = text(screen.open(page, table="nyc.flights"))
        [badged] = [part for part in shown.split('<div class="line">') if "overruled" in part]
        assert "known at the vendor&#39;s" in badged
        assert "10 rows in place of 10 rows" in shown
        assert shown.count(">- superseded</span>") == 1
    for batch, words in ((overruled, "overruled"), (superseded, "superseded")):
        assert words in text(screen.open("batch", batch=batch))
    assert "Superseded" in text(screen.open("overview"))


# What may be done.


def test_a_rejected_batch_has_the_acts_that_its_next_commands_name(screen: Screen) -> None:
    assert labels(screen.open("batch", batch=rejected(screen)))[:3] == ["Retry", "Approve", "Discard"]
    assert not {"Retry", "Approve", "Discard"} & set(labels(screen.open("batch", batch=screen.desk.published())))


def test_an_act_is_asked_for_once_more_and_then_done(screen: Screen) -> None:
    batch = rejected(screen)
    at = button(screen.open("batch", batch=batch), "Retry").click().run()
    assert "Retry" not in screen.asked
    at = button(at, "Retry this batch").click().run()
    assert screen.asked.count("Retry") == 1
    assert "In progress on wap-nyc.flights-" in text(at)


@pytest.mark.parametrize("act", ["Approve", "Discard"])
def test_an_act_that_main_keeps_needs_a_reason(screen: Screen, act: str) -> None:
    batch = rejected(screen)
    at = button(screen.open("batch", batch=batch), act).click().run()
    at = button(at, f"{act} this batch").click().run()
    assert act not in screen.asked
    assert "write the reason in a few words" in text(at)
    at.text_input[0].set_value("the vendor said so")
    at = button(at, f"{act} this batch").click().run()
    assert screen.asked.count(act) == 1
    [newest, *_] = screen.desk.world.service.ledger.decisions(1)
    assert newest.record.reason == "the vendor said so"
    assert newest.record.decision is (Decision.PUBLISHED if act == "Approve" else Decision.DISCARDED)


@pytest.mark.parametrize("act", ["Approve", "Discard", "Retry"])
def test_of_several_files_some_are_chosen_by_their_numbers(screen: Screen, act: str) -> None:
    world = screen.desk.world
    for name in ("1", "2", "3"):
        world.drop(name, rows=2, bad="drifts", deliver=False)
    world.drop_together("1", "2", "3")
    world.run()
    batch = screen.desk.json("status")["rejected"][0]["batch"]
    at = button(screen.open("batch", batch=batch), act).click().run()
    assert all(world.key(name) in text(at) for name in ("1", "2", "3"))
    at.multiselect[0].set_value([1, 3])
    if act != "Retry":
        at.text_input[0].set_value("the vendor said so")
    at = button(at, f"{act} this batch").click().run()
    assert not at.exception
    assert screen.asked.count(act) == 1
    if act == "Retry":
        [attempt] = [it for it in world.attempts() if it.number > 1]
        assert [world.names[file.id] for file in world.claims(attempt)] == ["1", "3"]
    else:
        decided = {name: entry.decision for name, entry in world.entries().items() if entry}
        assert [name for name, decision in decided.items() if decision is Decision.REJECTED] == ["2"]


def test_a_reader_sees_no_buttons_and_why(screen: Screen) -> None:
    batch = rejected(screen)
    screen.is_reader = True
    at = screen.open("batch", batch=batch)
    assert not {"Retry", "Approve", "Discard"} & set(labels(at))
    assert f"You may look, and not act: {REFUSED}" in unescape(text(at))


def test_what_cannot_be_answered_is_a_paragraph_and_no_traceback(screen: Screen) -> None:
    screen.failing = Retryable("Nessie does not answer")
    at = screen.open("overview")
    assert not at.exception
    assert "Nessie does not answer" in text(at)


# Strangers' text.

OURS = {
    "a link": "[click](https://evil.example)",
    "a picture": "![x](https://evil.example/x.png)",
    "a formula": "$\\frac{1}{2}$ $$x$$",
    "a colour": ":red[x] :red-background[y] :material/delete: :smile:",
    "a heading": "# x\n## y",
    "code": "`x` ```y```",
    "HTML": '<a href="javascript:alert(1)">x</a><iframe src="//evil.example"></iframe>',
    "the end of ours": '</code></p></div><style>* { display: none }</style><b onmouseover="x()">',
    "a template's words": "{{ 7 * 7 }}{% raw %}",
    "an address": "https://evil.example www.evil.example me@evil.example",
}
HOSTILE = {kind: odd for kind, odd in (DECEIVING | MARKUP | OURS).items() if kind != "half letters"}


@pytest.mark.parametrize("page", ["overview", "batch", "rows"])
def test_no_name_or_reason_of_strangers_does_anything(screen: Screen, page: str) -> None:
    for name, odd in HOSTILE.items():
        screen.desk.world.drop(name, rows=1, under=f"nyc/flights/{odd}", deliver=False, bad=odd)
    screen.desk.world.drop_together(*HOSTILE)
    screen.desk.world.run()
    [line] = status(screen.desk.world.service).rejected
    at = screen.open(page, batch=line.batch, branch=line.branch)
    assert not at.exception
    for shown in at.get("html"):
        if "<style>" not in shown.value:
            _is_ours(shown.value)
    told = [it for kind in NOT_MARKUP for it in at.get(kind)]
    assert [it for it in told if "evil.example" in repr(it)] == []


def _is_ours(markup: str) -> None:
    """Every element and attribute is one of our templates'."""
    parsed = Parsed(markup)
    assert parsed.open == []
    assert {tag for tag, _ in parsed.found} <= OUR_TAGS
    names = {name for _, its in parsed.found for name in its}
    assert [name for name in names if name.startswith("on") or name in ("srcset", "action")] == []
    assert all((its["src"] or "").startswith("data:image/svg+xml;base64,") for its in parsed.all("img"))
    assert all((its["href"] or "").startswith("#") for its in parsed.all("a"))
    assert not re.search("[\u200b-\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x1b]", markup)


NOT_MARKUP = (
    "markdown",
    "page_link",
    "button",
    "toggle",
    "text_input",
    "alert",
    "text",
    "heading",
    "caption",
    "dialog",
)
OUR_TAGS = {
    "div", "header", "section", "article", "h1", "h2", "h3", "h4", "p", "span", "b", "code", "pre", "time",
    "dl", "dt", "dd", "ol", "ul", "li", "a", "details", "summary", "table", "thead", "tbody", "tr", "th", "td",
    "img",
}  # fmt: skip


def test_the_overview_names_a_table_whose_contract_is_refused_from_now_on(screen: Screen) -> None:
    register = "    customProperties:\n      - {property: write, vendor: lakegate, value: register}\n"
    screen.desk.world.store.write(contract_name(TABLE), (CONTRACT + register).encode())
    screen.desk.world.drop("1.parquet", rows=3)

    shown = text(screen.open("overview"))

    assert f"The contract of {TABLE} does not load" in shown
    assert "write: register is refused" in shown
