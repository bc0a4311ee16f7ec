"""A run of lakegate.wap in a folder: what reaches main, what does not, and what becomes of the branch."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, LongType, NestedField, StringType

from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.report import Verdict
from lakegate.contracts import Contract
from lakegate.errors import Conflict, Misconfigured, OutcomeUnknown, Refused
from lakegate.wap import AuditFailed, Branch, Published, Report, resume, start, wap
from lakegate.wap.data import files_of
from lakegate.wap.history import appends_on
from lakegate.wap.iceberg import IcebergPlace
from lakegate.wap.place import still_open
from lakegate.wap.publishing import LOSSES
from tests.support.runs import (
    CONTRACT,
    REFERRING,
    TABLE,
    UNIQUE,
    FolderCatalog,
    branches_of,
    catalog,
    contract,
    on_main,
    orders,
    place,
)

ORDERS = contract()
SETTING_ASIDE = contract(
    CONTRACT.replace(
        "    properties:\n",
        "    customProperties: [{property: quarantineBudget, vendor: lakegate, value: {rows: 1}}]\n    properties:\n",
    ).replace(
        "{minimum: 0}}", "{minimum: 0}, customProperties: [{property: severity, vendor: lakegate, value: quarantine}]}"
    )
)
WIDER = contract(
    CONTRACT.replace("bigint, required: true}", "bigint, required: true}\n      - {name: zip, logicalType: string}")
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[FolderCatalog]:
    found = catalog(tmp_path)
    yield found
    found.close()


def publish(here: Catalog, *steps: Any, by: Contract = ORDERS, **how: Any) -> Published:
    """A whole run. Each step is data to append, or a function of the branch."""
    with wap(here, by, **how) as branch:
        for step in steps:
            if callable(step):
                step(branch)
            else:
                branch.append(step)
        return branch.publish()


def test_what_passes_its_audit_is_on_main_and_its_branch_is_gone(here: FolderCatalog) -> None:
    with wap(here, ORDERS) as branch:
        branch.append(orders(1, 2))
        branch.append(orders(3))
        assert on_main(here) == []
        report = branch.audit()
        published = branch.publish()
    table = here.load_table(TABLE)
    assert (on_main(here), branches_of(table), published.rows) == ([1, 2, 3], [], 3)
    assert [(entry.key, entry.verdict, entry.rows) for entry in report.files] == [
        ("append 1", Verdict.PASS, 2),
        ("append 2", Verdict.PASS, 1),
    ]
    assert table.schema().column_names == ["id", "amount", "note"]


def test_a_null_stops_the_publish(here: FolderCatalog) -> None:
    """The samples that people copy have this the wrong way round: what failed was published."""
    publish(here, orders(1))
    audits: list[Report] = []
    with pytest.raises(AuditFailed, match="id required: 1 of 2 rows, expected none") as failed:
        publish(here, orders(2, None), lambda branch: audits.append(branch.audit()))
    assert [report.passed for report in audits] == [False]
    assert on_main(here) == [1]
    assert branches_of(here.load_table(TABLE)) == []
    [entry] = failed.value.report.files
    [check] = [check for check in entry.checks if check.verdict is Verdict.FAIL]
    assert check.sample == ({"id": None, "amount": 1.0, "note": "a"},)


def test_rows_that_the_service_would_put_aside_stop_the_publish_and_it_says_what_to_do(here: FolderCatalog) -> None:
    with pytest.raises(AuditFailed, match=r"1 of 1 row.*take them out and append the rest"):
        publish(here, orders(1, amount=-1.0), by=SETTING_ASIDE)
    with pytest.raises(AuditFailed) as failed:
        publish(here, orders(None), by=SETTING_ASIDE)
    assert "quarantines" not in str(failed.value)
    assert on_main(here) == []


def test_a_failed_audit_is_still_one_where_an_orchestrator_has_kept_it(here: FolderCatalog) -> None:
    with pytest.raises(AuditFailed) as failed:
        publish(here, orders(1, amount=-1.0), by=SETTING_ASIDE)
    kept: AuditFailed = pickle.loads(pickle.dumps(failed.value))
    assert (str(kept), kept.report) == (str(failed.value), failed.value.report)


def test_a_failed_audit_of_many_reasons_names_three_and_has_all_in_its_report(here: FolderCatalog) -> None:
    with pytest.raises(AuditFailed, match=r"and 2 more: print the error's report$") as failed:
        publish(here, *[orders(None) for _ in range(5)])
    assert str(failed.value).count("id required") == 3
    assert str(failed.value.report).count("fail  id required") == 5


def test_a_publish_without_an_audit_audits(here: FolderCatalog) -> None:
    with pytest.raises(AuditFailed):
        publish(here, orders(1, amount=-1.0))
    assert on_main(here) == []


def test_a_report_of_an_earlier_state_is_not_trusted(here: FolderCatalog) -> None:
    run = start(here, ORDERS)
    run.append(orders(1))
    before = run.audit()
    run.append(orders(None))
    with pytest.raises(AuditFailed):
        run.publish(before)
    assert on_main(here) == []


@pytest.mark.parametrize("keep", [False, True])
def test_an_exception_publishes_nothing_and_keeps_the_branch_if_asked(here: FolderCatalog, *, keep: bool) -> None:
    names: list[str] = []

    def fail(branch: Branch) -> None:
        names.append(branch.name)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        publish(here, orders(1), fail, keep=keep)
    assert (on_main(here), branches_of(here.load_table(TABLE))) == ([], names if keep else [])


def test_a_block_that_does_not_publish_leaves_nothing(here: FolderCatalog) -> None:
    with wap(here, ORDERS) as branch:
        branch.append(orders(1))
    assert (on_main(here), branches_of(here.load_table(TABLE))) == ([], [])


def paths(folder: Path) -> list[Path]:
    for number in (1, 2):
        pq.write_table(orders(number), folder / f"{number}.parquet")
    return [folder / "1.parquet", folder / "2.parquet"]


VALUES = {"id": [1, 2], "amount": [1.0, 1.0], "note": ["a", None]}
FRAMES: dict[str, Callable[[Path], Any]] = {
    "arrow": lambda _: pa.table(VALUES),
    "batch": lambda _: pa.table(VALUES).to_batches()[0],
    "reader": lambda _: pa.table(VALUES).to_reader(),
    "pandas": lambda _: pd.DataFrame(VALUES, index=[7, 8]),
    "polars": lambda _: pl.DataFrame(VALUES),
    "lazy": lambda _: pl.LazyFrame(VALUES),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_data_frames_of_every_kind_are_the_same_rows(tmp_path: Path, kind: str) -> None:
    [given] = files_of(FRAMES[kind](tmp_path))
    assert pq.read_table(pa.BufferReader(given.body)).to_pydict() == VALUES


@pytest.mark.parametrize("how", ["paths", "folder", "address"])
def test_files_are_taken_as_they_are(tmp_path: Path, how: str) -> None:
    found = paths(tmp_path)
    given = {"paths": found, "folder": str(tmp_path), "address": tmp_path.as_uri()}[how]
    assert [each.body for each in files_of(given)] == [path.read_bytes() for path in found]


@pytest.mark.parametrize(
    ("data", "why"),
    [(object(), "object is no data"), ("/nowhere.parquet", "there is no file"), ("file:///a b", "is no address")],
)
def test_what_is_no_data_is_refused(data: Any, why: str) -> None:
    with pytest.raises(Misconfigured, match=why):
        list(files_of(data))


def test_paths_and_a_data_frame_reach_main(here: FolderCatalog, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    publish(here, paths(tmp_path / "data"), pl.DataFrame({**VALUES, "id": [3, 4]}))
    assert on_main(here) == [1, 2, 3, 4]


def test_data_that_does_not_fit_is_refused_before_it_is_written(here: FolderCatalog) -> None:
    run = start(here, ORDERS)
    misfits: list[tuple[dict[str, Any], str]] = [
        ({"note": [1]}, '"note" is bigint'),
        ({}, '"note" is missing'),
        ({"note": ["a"], "zip": ["b"]}, '"zip"'),
        ({"note": pa.array([[1]])}, "nested columns"),
    ]
    for columns, why in misfits:
        with pytest.raises(Refused, match=why):
            run.append(pa.table({"id": [1], "amount": [1.0], **columns}))
    with pytest.raises(Refused, match="holds nothing to audit"):
        run.audit()


def test_text_that_is_not_utf_8_is_told_by_its_column_and_rows(here: FolderCatalog) -> None:
    texts = pa.array([b"caf\xe9", b"a", None, b"\xed\xa0\x80"], pa.binary()).view(pa.string())
    rows = pa.table({"id": [1, 2, 3, 4], "amount": [1.0] * 4, "note": texts})
    with pytest.raises(Refused, match='column "note" has text that is not UTF-8, in 2 rows') as refused:
        publish(here, rows)
    assert "session" not in str(refused.value)
    assert on_main(here) == []


def other_table(here: Catalog, *more: NestedField, required: bool = False) -> None:
    """A table that somebody else has made: other field ids, a partition, no column of lakegate's."""
    schema = Schema(
        NestedField(field_id=1, name="note", field_type=StringType()),
        NestedField(field_id=2, name="amount", field_type=DoubleType()),
        NestedField(field_id=3, name="id", field_type=LongType(), required=required),
        *more,
    )
    here.create_namespace("shop")
    with here.create_table_transaction(TABLE, schema) as made, made.update_spec() as spec:
        spec.add_field("note", IdentityTransform(), "note")
    kind = pa.schema(
        [("note", pa.string()), ("amount", pa.float64()), pa.field("id", pa.int64(), nullable=not required)]
    )
    here.load_table(TABLE).append(pa.Table.from_pylist([{"note": "x", "amount": 9.0, "id": 9}], kind))


def test_a_table_of_somebody_else_s_keeps_its_columns_and_partitions(here: FolderCatalog) -> None:
    other_table(here, required=True)
    before = here.load_table(TABLE)
    publish(here, orders(1), orders(2, note="b"))
    after = here.load_table(TABLE)
    assert on_main(here) == [1, 2, 9]
    assert (after.schema(), after.spec(), after.properties) == (before.schema(), before.spec(), before.properties)
    assert {task.file.partition[0] for task in after.scan().plan_files()} == {"a", "b", "x"}


def test_columns_that_main_has_not_are_refused(here: FolderCatalog) -> None:
    """A branch has the columns of its table, so readers of main would see them before the audit."""
    other_table(here)
    before = here.load_table(TABLE).metadata
    with pytest.raises(Refused, match="differs from the contract or the data in"):
        publish(here, orders(1).append_column("zip", pa.array(["b"])), by=WIDER)
    assert here.load_table(TABLE).schema() == before.schema()


def test_columns_that_are_named_are_added_for_all(here: FolderCatalog) -> None:
    other_table(here)
    publish(here, orders(1).append_column("zip", pa.array(["b"])), by=WIDER, allow_new_columns=["zip"])
    rows = here.load_table(TABLE).scan().to_arrow().select(["id", "zip"]).sort_by("id").to_pylist()
    assert rows == [{"id": 1, "zip": "b"}, {"id": 9, "zip": None}]


def test_a_key_that_main_has_already_is_told_with_its_rows(here: FolderCatalog) -> None:
    publish(here, orders(1, 2), by=UNIQUE)
    with pytest.raises(AuditFailed, match="2 of 3 rows"):
        publish(here, orders(2, 3, 1), by=UNIQUE)
    assert on_main(here) == [1, 2]


def test_a_row_counts_once_whose_key_is_on_main_and_repeats(here: FolderCatalog) -> None:
    publish(here, orders(1), by=UNIQUE)
    with pytest.raises(AuditFailed, match="2 of 3 rows"):
        publish(here, orders(1, 1, 2), by=UNIQUE)


def test_a_key_in_two_appends_counts_against_the_later(here: FolderCatalog) -> None:
    with pytest.raises(AuditFailed) as failed:
        publish(here, orders(1), orders(2, 1, 1), orders(None), by=UNIQUE)
    told = [[it.failing_rows for it in each.checks if "id" in it.columns] for each in failed.value.report.files]
    assert told == [[0, 0], [0, 2], [1, 0]]


def test_a_run_that_is_overtaken_is_audited_against_what_main_has_then(tmp_path: Path, here: FolderCatalog) -> None:
    """Alone it passes: the other run has published the same key meanwhile."""
    publish(here, orders(1), by=UNIQUE)
    fast = catalog(tmp_path)

    def overtake(write: int) -> None:
        if write == 3:
            publish(fast, orders(2), by=UNIQUE)

    here.writes, here.before = 0, overtake
    with pytest.raises(AuditFailed, match="1 of 2 rows"):
        publish(here, orders(2, 3), by=UNIQUE)
    fast.close()
    assert on_main(here) == [1, 2]
    assert branches_of(here.load_table(TABLE)) == []


def notes(here: Catalog, *texts: str) -> None:
    """A table that orders refer to."""
    if not here.table_exists("shop.notes"):
        here.create_namespace_if_not_exists("shop")
        here.create_table("shop.notes", Schema(NestedField(field_id=1, name="text", field_type=StringType())))
    here.load_table("shop.notes").append(pa.table({"text": texts}))


def test_a_key_that_refers_to_nothing_fails_until_it_is_there(here: FolderCatalog) -> None:
    notes(here, "b")
    with pytest.raises(AuditFailed, match="1 of 2 rows"):
        publish(here, pa.concat_tables([orders(1), orders(2, note="b")]), by=REFERRING)
    publish(here, orders(1), lambda _: notes(here, "a"), by=REFERRING)
    assert on_main(here) == [1]


def test_a_table_that_is_referred_to_is_looked_at_again_before_the_publish(here: FolderCatalog) -> None:
    notes(here, "a")
    run = start(here, REFERRING)
    run.append(orders(1))
    assert run.audit().passed
    here.load_table("shop.notes").delete()
    with pytest.raises(AuditFailed):
        run.publish()
    assert on_main(here) == []


def test_rows_that_others_write_to_the_branch_are_audited_and_published(here: FolderCatalog) -> None:
    publish(here, orders(1))
    with wap(here, ORDERS) as branch:
        branch.append(orders(2))
        here.load_table(TABLE).append(orders(3), branch=branch.name)
        assert [entry.rows for entry in branch.audit().files] == [1, 1]
        branch.publish()
    assert on_main(here) == [1, 2, 3]
    with pytest.raises(AuditFailed):
        publish(here, lambda branch: here.load_table(TABLE).append(orders(None), branch=branch.name))
    assert on_main(here) == [1, 2, 3]


def test_an_append_s_rows_are_told_without_reading_what_the_table_had_before(here: FolderCatalog) -> None:
    """A manifest for each append of the table's whole life would be read at each step of a run."""
    for number in range(4):
        publish(here, orders(number))
    with wap(here, ORDERS) as branch:
        here.load_table(TABLE).append(orders(9), branch=branch.name)
        [step] = branch._terms.place.steps(still_open(branch._terms.place, branch.name))
        with mock.patch.object(step.io, "new_input", wraps=step.io.new_input) as opened:
            [append] = appends_on([step])
    manifests = [call for call in opened.call_args_list if "-m" in str(call)]
    assert (append.rows, len(manifests)) == (1, 1)


class Unsure(IcebergPlace):
    """A catalog whose answers to so many publishes are lost, and which made none of them."""

    lost: ClassVar[list[str]]

    def merge(self, branch: str, head: str, note: Mapping[str, str]) -> None:
        if self.lost:
            raise OutcomeUnknown(self.lost.pop())
        super().merge(branch, head, note)


@pytest.mark.parametrize(("lost", "published"), [(LOSSES, True), (LOSSES + 1, False)])
def test_so_many_lost_answers_are_looked_for_and_no_more(here: FolderCatalog, *, lost: int, published: bool) -> None:
    Unsure.lost = ["no answer"] * lost
    with contextlib.suppress(OutcomeUnknown), wap(Unsure(branches=place(here).branches), ORDERS) as branch:
        branch.append(orders(1))
        branch.publish()
    assert (on_main(here), Unsure.lost) == ([1] if published else [], [])


def test_a_branch_that_was_changed_after_its_audit_is_audited_again(here: FolderCatalog) -> None:
    publish(here, orders(1))
    run = start(here, ORDERS)
    run.append(orders(2))
    assert run.audit().passed
    here.load_table(TABLE).append(orders(None), branch=run.name)
    with pytest.raises(AuditFailed):
        run.publish()
    assert on_main(here) == [1]


def test_rows_taken_off_the_branch_are_not_published(here: FolderCatalog) -> None:
    publish(here, orders(1))
    with pytest.raises(Refused, match="its base has lost 1 data file"):
        publish(here, orders(2), lambda branch: here.load_table(TABLE).delete("id = 1", branch=branch.name))
    assert on_main(here) == [1]


def test_a_run_of_a_key_publishes_once(here: FolderCatalog) -> None:
    for again in (False, True):
        with wap(here, ORDERS, key="monday") as branch:
            branch.append(orders(1, 2))
            report = branch.audit()
            assert branch.publish().is_repeat is again
        assert (report.passed, sum(entry.rows for entry in report.files)) == (True, 2)
    publish(here, orders(3))
    publish(here, orders(4), key="monday")
    assert on_main(here) == [1, 2, 3]


def test_steps_of_a_run_may_be_processes_of_their_own_and_run_again(here: FolderCatalog) -> None:
    name = start(here, ORDERS, key="k").name
    for _ in range(2):
        resume(here, ORDERS, name, key="k").append(orders(1))
    report = to_json(resume(here, ORDERS, name, key="k").audit())
    for again in (False, True):
        step = resume(here, ORDERS, name, key="k")
        assert step.publish(from_json(Report, report)).is_repeat is again
        step.discard()
    assert (on_main(here), branches_of(here.load_table(TABLE))) == ([1], [])


def test_a_step_on_a_branch_that_is_gone_says_so(here: FolderCatalog) -> None:
    run = start(here, ORDERS)
    run.append(orders(1))
    run.discard()
    with pytest.raises(Conflict, match="there is no branch"):
        run.append(orders(1))


def test_a_function_is_a_check(here: FolderCatalog) -> None:
    def notes_are_short(rows: pa.Table) -> Any:
        return [len(note) < 2 for note in rows.column("note").to_pylist()]

    bad = pa.concat_tables([orders(1), orders(2, note="long")])
    with pytest.raises(AuditFailed, match="notes are short: 1 of 2 rows") as failed:
        publish(here, bad, checks=[notes_are_short])
    [check] = [it for it in failed.value.report.files[0].checks if it.verdict is Verdict.FAIL]
    assert check.sample == ({"id": 2, "amount": 1.0, "note": "long"},)
    publish(here, orders(1), checks=[notes_are_short])
    assert on_main(here) == [1]


def test_a_function_that_says_nothing_stops_the_publish(here: FolderCatalog) -> None:
    def forgetful(rows: pa.Table) -> Any:
        rows.column("id")

    with pytest.raises(Misconfigured, match="returned None"):
        publish(here, orders(1), checks=[forgetful])
    assert on_main(here) == []


class Positive:
    """A check that is an object."""

    def __call__(self, rows: pa.Table) -> bool:
        return bool(rows.num_rows)


def passes(rows: pa.Table) -> bool:
    return bool(rows.num_rows)


def namesake() -> Callable[[pa.Table], bool]:
    def passes(rows: pa.Table) -> bool:
        return not rows.num_rows

    return passes


@pytest.mark.parametrize(
    ("checks", "why"),
    [
        ([partial(passes)], "has no name of its own"),
        ([Positive()], "has no name of its own"),
        ([lambda rows: True], "has no name of its own"),  # noqa: ARG005
        ([lambda rows: True, lambda rows: False], "has no name of its own"),  # noqa: ARG005
        ([passes, namesake()], "two checks are called passes"),
        ([passes, passes], "two checks are called passes"),
        (["passes"], "is no check"),
    ],
)
def test_a_check_without_a_name_of_its_own_is_refused_at_the_start(
    here: FolderCatalog, checks: Sequence[Any], why: str
) -> None:
    """Of two of one name, the second was never asked; one without a name broke the publish."""
    for begin in (start, partial(resume, name="wap-shop.orders-20260101T000000-1a2b3c4d")):
        with pytest.raises(Misconfigured, match=why) as refused:
            begin(here, ORDERS, checks=checks)
    assert why == "is no check" or "write it as a function" in str(refused.value)
    assert not here.table_exists(TABLE)


def test_a_report_is_printed_as_a_person_reads_it(here: FolderCatalog) -> None:
    with wap(here, ORDERS) as branch:
        branch.append(pa.concat_tables([orders(None, 2, amount=-1.0), orders(3)]), name="monday")
        report = branch.audit()
    text = str(report)
    assert text.splitlines()[:2] == [
        "shop.orders, contract 1.0.0: 1 append: 1 failed",
        "  fail  monday  3 rows, 0 of 2 checks passed",
    ]
    assert "    fail  id required  1 of 3 rows  none" in text.splitlines()
    assert "      2 failing rows" in text.splitlines()
    assert [word for word in ("the vendor", "lane:", "Spark", "..") if word in text] == []
    assert report.lane is None
    assert report._repr_html_().startswith("<pre>shop.orders")


def test_what_strangers_wrote_neither_leaves_its_cell_nor_is_obeyed(here: FolderCatalog) -> None:
    with wap(here, ORDERS) as branch:
        branch.append(orders(None, note="\x1b[2J<b>\n" + "x" * 500), name="a\nb")
        report = branch.audit()
    assert "\x1b" not in str(report)
    assert max(map(len, str(report).splitlines())) < 200
    assert "<b>" not in report._repr_html_()


def test_a_published_run_s_report_is_printed_too(here: FolderCatalog) -> None:
    publish(here, orders(1), key="k")
    with wap(here, ORDERS, key="k") as branch:
        assert str(branch.audit()).splitlines()[0].endswith("1 append: 1 passed")
