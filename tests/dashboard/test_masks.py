"""Rows that people see: no look at a branch or at main shows a value that a contract of today or of then masks."""

from __future__ import annotations

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.dashboard import session
from lakegate.ports import MAIN
from lakegate.workflow.attempts.job import job_name
from lakegate.workflow.attempts.reports import report_name
from lakegate.workflow.registry import contract_name
from tests.cli.batch_report import add_batch
from tests.cli.test_masks import (
    ANYONES,
    ATTEMPT,
    CONTRACT,
    MASKED,
    NESTED,
    NOW,
    SECRET,
    SPELLINGS,
    TABLE,
    THEN,
)
from tests.dashboard.screen import Screen, text

pytestmark = pytest.mark.dashboard


def people(spelling: str, *more: str) -> pa.Table:
    """Rows of a table that has the classified column under these names."""
    person = pa.array([{"born": NESTED}, None], pa.struct([("born", pa.string())]))
    secrets = {name: pa.array([SECRET, None]) for name in (spelling, *more)}
    nested = {"PERSON" if spelling.isupper() else "person": person}
    ids = {FILE_COLUMN: pa.array(["f", "f"])}
    return pa.table({"id": pa.array([ANYONES, None], pa.int64()), **secrets, **nested, **ids})


def look(screen: Screen, branch: str, then: str, now: str | None, spelling: str) -> AppTest:
    """The page of a branch whose attempt was by the contract `then`, while that of today is `now`."""
    desk, store = screen.desk, screen.desk.world.store
    rows = people("social_i").drop_columns([FILE_COLUMN])
    add_batch(desk, then, {"shop/people/1.parquet": rows})
    on = ATTEMPT.branch
    if branch in ("under way", "died"):
        store.objects.pop(report_name(ATTEMPT))
    if branch == "died":
        store.objects.pop(job_name(ATTEMPT))
    if branch == "foreign":
        on = "sandbox"
        desk.world.service.branches.create_branch(on, desk.world.service.branches.head(MAIN) or "")
    ids = desk.rows.held[ATTEMPT.branch, TABLE][FILE_COLUMN]
    desk.rows.held[on, TABLE] = people(spelling).drop_columns([FILE_COLUMN]).append_column(FILE_COLUMN, ids)
    desk.rows.held[MAIN, TABLE] = people("social_i", spelling) if spelling != "social_i" else people("social_i")
    if now is not None:
        store.write(contract_name(TABLE), now.encode())
    at = screen.open("rows", branch=on)
    return at.selectbox[1].select(TABLE).run() if branch == "foreign" else at


TRIED = ("report", "under way")


@pytest.mark.parametrize("branch", ["report", "under way", "died", "foreign"])
@pytest.mark.parametrize("now", NOW)
@pytest.mark.parametrize("then", THEN)
def test_a_value_is_shown_only_where_a_plan_that_is_known_leaves_it_open(
    screen: Screen, branch: str, now: str, then: str
) -> None:
    spelling = SPELLINGS[(len(branch) + len(now) + len(then)) % len(SPELLINGS)]
    at = look(screen, branch, THEN[then], NOW[now], spelling)
    assert not at.exception
    shown = text(at)
    is_known = now in ("masks now", "masks nothing now") or (now == "gone" and branch in TRIED)
    masks = now == "masks now" or (then == "masked then" and branch in TRIED)
    assert (str(ANYONES) in shown) == is_known
    assert (SECRET in shown) == (NESTED in shown) == (is_known and not masks)
    if not is_known:
        assert "string" in shown, "names and types are shown"
        for toggle in at.toggle:
            at = toggle.set_value(True).run()
        shown = text(at)
        assert str(ANYONES) in shown
        assert (SECRET in shown) == (NESTED in shown) == (not masks)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("branch", ["report", "foreign"])
def test_no_spelling_of_a_masked_name_shows_its_values(screen: Screen, branch: str, spelling: str) -> None:
    shown = text(look(screen, branch, CONTRACT, MASKED, spelling))
    assert SECRET not in shown
    assert NESTED not in shown
    assert MASK in shown
    assert str(ANYONES) in shown


def test_a_column_that_no_contract_names_waits_until_a_person_asks(screen: Screen) -> None:
    at = look(screen, "report", CONTRACT, CONTRACT, "social_insurance")
    assert SECRET in text(at), "main has the column of the contract"
    assert [toggle.value for toggle in at.toggle] == [False, False]
    held = screen.desk.rows.held
    held[MAIN, TABLE] = held[ATTEMPT.branch, TABLE]
    session.forget()
    at = screen.open("rows", branch=ATTEMPT.branch)
    assert SECRET not in text(at)
    assert str(ANYONES) in text(at)
    assert SECRET in text(at.toggle[0].set_value(True).run())


def test_values_that_were_asked_for_on_one_branch_are_not_shown_on_the_next(screen: Screen) -> None:
    branches, held = screen.desk.world.service.branches, screen.desk.rows.held
    branches.create_branch("other", branches.head(MAIN) or "")
    at = look(screen, "foreign", CONTRACT, None, "social_i")
    held["other", TABLE] = held["sandbox", TABLE]
    at = at.toggle[0].set_value(True).run()
    assert SECRET in text(at)
    at = at.selectbox[0].select("other").run()
    at = at.selectbox[1].select(TABLE).run()
    assert "On this branch" in text(at)
    assert SECRET not in text(at)
