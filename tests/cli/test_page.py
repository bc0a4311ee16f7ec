"""The report as a page: its head, its drawings, what it folds, and that it can be read without colours or a mouse."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakegate.cli.page as room
from lakegate.audit.evaluation.verdicts import _bounds
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.plan import Check, Operator, Severity, Unit
from lakegate.audit.model.report import CheckResult, FileReport, Report, Source, Verdict
from lakegate.cli.page.document import page
from lakegate.cli.page.plots import HIGH, WIDE, bar, scale, trend
from lakegate.cli.page.summary import failures, files_with_remarks, quiet_files
from lakegate.operations.batch import BatchView, Try, view_batch
from lakegate.operations.past import past_values
from tests.cli.batch_report import BATCH, add_batch
from tests.cli.desk import Desk
from tests.cli.test_report import BAD, GOOD, SHOP

STYLE = (Path(room.__file__ or "").parent / "style.css").read_text()
HOSTILE = "<script>alert(1)</script>\"' onload=x\u202e\n.parquet"


def check(**changed: Any) -> CheckResult:
    made = CheckResult(
        check="value-1", name="mean", columns=("a",), severity=Severity.ERROR, verdict=Verdict.FAIL, value=5.0,
        expected="10 to 50", failing_rows=0, rows=100, source=Source.AGGREGATE, unit=Unit.NUMBER, low=10.0, high=50.0,
    )  # fmt: skip
    return replace(made, **changed)


class Parsed(HTMLParser):
    """A page's elements with their attributes, and those that were never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "rect", "line", "path", "polyline", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [its for tag, its in self.found if tag in tags]


@pytest.fixture
def text(desk: Desk) -> str:
    good = {f"shop/orders/{number}.parquet": GOOD for number in range(3)}
    add_batch(desk, SHOP, good | {"shop/orders/bad.parquet": BAD}, {HOSTILE: "it is encrypted"})
    view = view_batch(desk.world.service, BATCH)
    return page(replace(view, past=dict.fromkeys(_checks(view), (1.0, 2.0, 3.0))))


def _checks(view: BatchView) -> list[str]:
    reports = [attempt.report for attempt in view.attempts if attempt.report]
    return [it.check for report in reports for file in report.files for it in file.checks]


def test_the_head_counts_the_files_and_leads_to_what_failed(text: str) -> None:
    head = text[: text.index("<article")]
    assert "5 files: 2 failed, 3 passed" in head
    for name in ("amount required", "amount &gt; 0", "it is encrypted"):
        assert f">{name}</a>" in head
    places = re.findall('href="#([^"]+)"', head)
    assert set(places) <= {its["id"] for its in Parsed(text).all("article")}


def test_files_that_passed_are_one_line_that_opens(text: str) -> None:
    assert text.count("<article") == 2
    [line] = re.findall('<details class="passed"><summary>(.*)</summary>', text)
    assert line == "✓ 3 files passed, 6 rows"


def test_a_file_with_a_remark_is_not_folded_away() -> None:
    quiet = FileReport(id="1", key="1", verdict=Verdict.PASS)
    files = [quiet, replace(quiet, discards=("note",)), replace(quiet, evolves=('"zip" string',))]
    assert (quiet_files(files), [at for at, _ in files_with_remarks(files)]) == ([quiet], [1, 2])


def test_a_check_that_failed_in_several_files_is_named_once_with_its_rows() -> None:
    files = [
        FileReport(id=str(at), key=str(at), verdict=verdict, checks=(check(verdict=verdict, failing_rows=at),))
        for at, verdict in enumerate((Verdict.WARN, Verdict.FAIL, Verdict.PASS, Verdict.FAIL))
    ]
    [found] = failures(files)
    assert (found.name, found.verdict, found.rows, found.files) == ("mean", Verdict.FAIL, 4, [0, 1, 3])


def test_a_page_is_well_formed_and_has_nothing_that_runs_or_is_fetched(text: str) -> None:
    parsed = Parsed(text)
    assert parsed.open == []
    assert {"script", "img", "link", "iframe", "object", "form", "style"} & {tag for tag, _ in parsed.found} == {
        "style"
    }
    names = {name for _, its in parsed.found for name in its}
    assert not [name for name in names if name.startswith("on") or name in ("src", "xlink:href", "action")]
    assert all((its["href"] or "").startswith("#a1-") for its in parsed.all("a"))
    assert "\u202e" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39; onload=x\\u202e\\n.parquet" in text


def test_drawings_and_tables_are_told_to_those_who_do_not_see_them(text: str) -> None:
    parsed = Parsed(text)
    drawn = [its for its in parsed.all("svg", "div") if its.get("role") == "img"]
    assert len(drawn) > 5
    assert all(its["aria-label"] for its in drawn)
    rolled = [its for its in parsed.all("div") if its.get("class") == "scroll"]
    assert all((its["tabindex"], its["role"], bool(its["aria-label"])) == ("0", "region", True) for its in rolled)
    assert ":focus-visible" in STYLE


def test_no_verdict_is_told_by_colour_alone(text: str) -> None:
    told = re.findall('<span class="verdict (fail|warn|quarantine|pass)">(.*?)</span>', text)
    assert {word for word, _ in told} == {"fail"}
    assert {said for _, said in told} == {"✕ fail"}
    assert re.findall("<b>(.*?)</b></span>", text) == ["✕ 2", "✓ 3"]


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z]+): (#[0-9a-f]{3,6})", block))


def _light(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (it / 12.92 if it <= 0.03928 else ((it + 0.055) / 1.055) ** 2.4 for it in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("where", ["light", "dark", "print"])
def test_all_text_stands_out_from_its_ground(where: str) -> None:
    """By WCAG's level AA, which asks for 4.5."""
    light, dark, printed = (_colours(block) for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL))
    of = {"light": light, "dark": light | dark, "print": light | printed}[where]
    for name in ("ink", "soft", "fail", "warn", "quarantine", "pass"):
        for ground in ("paper", "card", "mark") if name == "ink" else ("paper", "card"):
            low, high = sorted((_light(of[name]), _light(of[ground])))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ground)


def test_a_share_is_as_wide_as_it_is_and_never_too_narrow_to_see() -> None:
    rows = {"unit": Unit.ROWS, "rows": 2_000}
    found = [bar(check(failing_rows=failing, **rows)) for failing in (1000, 1, 0)]
    assert [it and (it.width, it.text) for it in found] == [(50.0, "50% of its rows"), (0.5, "0.05% of its rows"), None]
    assert bar(check(failing_rows=1, rows=0)) is None


def test_a_value_stands_outside_of_the_bounds_that_it_breaks() -> None:
    below, within, above = (scale(check(value=value)) for value in (5.0, 30.0, 60.0))
    assert below
    assert within
    assert above
    assert below.value < below.low < below.high
    assert within.low < within.value < within.high
    assert above.value > above.high
    least = scale(check(value=800.0, low=1000.0, high=None))
    assert least
    assert (least.value < least.low, least.high) == (True, 100)


def test_a_number_without_bounds_or_a_count_of_failing_rows_has_no_scale() -> None:
    for odd in ({"low": None, "high": None}, {"failing_rows": 3}, {"value": None}, {"value": nan}, {"high": inf}):
        assert scale(check(**odd)) is None


def test_a_trend_ends_with_the_file_itself_and_needs_a_past() -> None:
    made = trend(check(value=60.0), {"value-1": (20.0, 30.0, nan, 25.0)})
    assert made
    points = [tuple(map(float, point.split(","))) for point in made.line.split()]
    assert (len(points), points[-1]) == (4, made.last)
    assert made.last[1] < made.top < made.bottom
    assert made.text == "60 after 20, 30, 25"
    assert trend(check(), {"value-1": (20.0,)}) is None
    assert trend(check(), {}) is None


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@given(st.one_of(st.none(), NUMBERS), st.one_of(st.none(), NUMBERS), NUMBERS, st.lists(NUMBERS, max_size=30))
def test_drawings_of_any_numbers_stay_within_their_edges(
    low: float | None, high: float | None, value: float, past: list[float]
) -> None:
    of = check(value=value, low=low, high=high)
    if line := scale(of):
        assert all(0 <= place <= 100 for place in (line.value, line.low, line.high))
    if made := trend(of, {of.check: past}):
        points = [tuple(map(float, point.split(","))) for point in made.line.split()]
        assert all(0 <= x <= WIDE and 0 <= y <= HIGH for x, y in points)


@pytest.mark.parametrize(
    ("operator", "threshold", "bounds"),
    [
        (Operator.MUST_BE, (3,), (3, 3)),
        (Operator.IN_RANGE, (1, 2), (1, 2)),
        (Operator.GREATER_THAN, (1,), (1, None)),
        (Operator.GREATER_OR_EQUAL, (1,), (1, None)),
        (Operator.LESS_THAN, (1,), (None, 1)),
        (Operator.LESS_OR_EQUAL, (1,), (None, 1)),
        (Operator.MUST_NOT_BE, (1,), (None, None)),
        (Operator.OUT_OF_RANGE, (1, 2), (None, None)),
    ],
)
def test_the_bounds_of_a_check_are_those_of_its_comparison(
    operator: Operator, threshold: tuple[float, ...], bounds: tuple[float | None, float | None]
) -> None:
    assert _bounds(Check(id="c", name="c", metric="m", operator=operator, threshold=threshold)) == bounds


def test_the_past_is_that_of_the_files_published_before(desk: Desk) -> None:
    store = desk.world.store
    batches = [desk.published(f"{number}.parquet") for number in range(4)]
    for number, batch in enumerate(batches):
        [name] = [name for name in store.names("reports/") if batch in name]
        report = from_json(Report, store.objects[name])
        files = tuple(replace(file, checks=(check(value=float(number)),)) for file in report.files)
        store.write(name, to_json(replace(report, files=files)).encode())
    pasts = [past_values(desk.world.service, view_batch(desk.world.service, batch)) for batch in batches]
    assert pasts == [{}, {"value-1": (0.0,)}, {"value-1": (0.0, 1.0)}, {"value-1": (0.0, 1.0, 2.0)}]
    assert "2 after 0, 1" in desk.run("show", batches[2], "--html", "-").stdout


def test_a_page_of_an_attempt_without_a_report_says_what_to_do_next() -> None:
    tried = Try(attempt=1, branch="b", kept=True, claims=("k",), job="failed", usage=None, report=None)
    view = BatchView(batch=BATCH, table="t", attempts=(tried,), decisions=(), next=("lakegate retry x",))
    assert "<pre>lakegate retry x</pre>" in page(view)
