"""A trial of drawn files by drawn contracts says what their words say, of every check that it asks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.audit.model.plan import Metric, MetricKind, Plan
from lakegate.audit.model.report import Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.contracts import load
from lakegate.errors import Misconfigured
from lakegate.express import footer
from lakegate.express.rows import parts_of
from lakegate.inference.contract import infer
from lakegate.reading.arrow import arrow_type
from lakegate.trial.local import job_files, map_file
from lakegate.trial.trial import try_files
from lakegate.wap.spool import Spool
from tests.spark.test_differential import differences
from tests.support.meanings import POOLS
from tests.support.oracle import Oracle, expressions, judge, settle
from tests.support.plans import failing, none_of, nulls
from tests.support.plans import plan as made
from tests.support.random_tables import Contract, Files, Table, contract, parents, table
from tests.support.synthetic.rows import Maker

ROOT = Path(__file__).parents[2]
SEED = 20261127
TABLES, CONTRACTS, MORE = 3, 12, 20
HALF = "it was asked of these files together, and not of the rows on main"


def written(plan: Plan, files: Files, columns: Sequence[str], folder: Path) -> list[Path]:
    """The files in the columns of a plan, as parquet."""
    kinds = {column.name: arrow_type(column.type) for column in plan.columns}
    places = [columns.index(name) for name in kinds]
    paths = [folder / f"{name}.parquet" for name in files]
    for path, rows in zip(paths, files.values(), strict=True):
        arrays = [
            pa.array([row[at] for row in rows], kind, from_pandas=False)
            for at, kind in zip(places, kinds.values(), strict=True)
        ]
        pq.write_table(pa.table(arrays, names=list(kinds)), path)
    return paths


def differing(drawn: Table, each: Contract, oracle: Oracle, folder: Path) -> Iterator[str]:
    """Yield where a trial says something else of the files than the contract's words."""
    plan = load(each.text, "drawn").plan
    files = {name: rows for name, rows in drawn.files.items() if rows}
    trial = try_files(plan, written(plan, files, [column.name for column in drawn.columns], folder))
    unasked = {it.check for it in trial.omissions if it.why != HALF}
    words = settle(each, oracle) if each.budget else judge(each, oracle)
    known = {name: [said for said in words[name] if _name(plan, said) not in unasked] for name in files}
    found = {Path(file.key).stem: file.checks for file in trial.report.files}
    yield from (f"{each.text}\n{it}" for it in differences(known, found))


def _name(plan: Plan, said: Any) -> str:
    return said.check.name or next(check.name for check in plan.checks if check.name.startswith("primary key "))


@pytest.mark.parametrize("number", range(TABLES))
@pytest.mark.share(1)
def test_a_trial_says_what_the_words_of_drawn_contracts_say(number: int, tmp_path: Path, *, extended: bool) -> None:
    dice = random.Random(SEED + number)
    others = parents(dice)
    drawn = replace(table(dice, others), before={})
    flat = replace(drawn, columns=[column for column in drawn.columns if column.type in POOLS])
    contracts = [contract(dice, flat, quarantines=at % 4 == 0) for at in range(CONTRACTS * (MORE if extended else 1))]
    oracle = Oracle(
        columns=drawn.columns, before={}, files=drawn.files, parents=others, expressions=expressions(contracts)
    )
    assert [said for each in contracts for said in differing(drawn, each, oracle, tmp_path)] == []


REPOSITORY = sorted((ROOT / "contracts").glob("*.yaml"))
ROWS, CHECKS = {"nyc.flights": 1_100}, 4  # of fewer rows that contract warns


@pytest.mark.parametrize("path", REPOSITORY, ids=lambda path: path.stem)
def test_made_up_files_of_the_repository_s_contracts_are_judged_as_they_were_made(path: Path, tmp_path: Path) -> None:
    plan = load(path.read_bytes(), path.name).plan
    maker, rows, good = Maker(plan=plan, seed=1), ROWS.get(plan.table, 100), tmp_path / "good.parquet"
    pq.write_table(maker.good(rows), good)
    [file] = try_files(plan, [good]).report.files
    assert (file.verdict, len(file.checks)) == (Verdict.PASS, len(plan.checks))
    for check in plan.checks[:: max(1, len(plan.checks) // CHECKS)]:
        bad = tmp_path / "bad.parquet"
        pq.write_table(maker.failing(rows, check), bad)
        [file] = try_files(plan, [bad]).report.files
        assert [each.name for each in file.checks if each.verdict is not Verdict.PASS] == [check.name]


def test_a_file_is_appended_in_parts_of_bounded_size_and_read_from_the_disk(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), (FILE_COLUMN, pa.string())])
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"n": pa.array(range(700_000), pa.int64())}), path)
    plan = made("random.t", {"n": "bigint"}, [])
    body = map_file(path)
    inspection = footer.inspect(job_files([path])[0], body, plan.files.limits)
    sizes = [part.num_rows for part in parts_of(plan, inspection, body, schema, 2**20)]
    assert sum(sizes) == 700_000
    assert max(sizes) * 8 <= 2**20 + 64 * 1024 * 8
    before = pa.total_allocated_bytes()
    parts = (pa.table({"n": pa.array(range(at, at + 100_000), pa.int64())}) for at in range(0, 700_000, 100_000))
    table = Spool(tmp_path).table(("n",), pa.schema([("n", pa.int64())]), parts)
    assert (table.num_rows, pa.total_allocated_bytes() - before) == (700_000, 0)


def test_a_check_that_duckdb_cannot_compute_with_these_values_is_left_out_and_the_others_are_asked(
    tmp_path: Path,
) -> None:
    mean = Metric(id="mean", kind=MetricKind.VALUE, columns=("price",), sql="AVG(price)")
    metrics = [nulls("price"), mean, failing("price", "COALESCE(price < 0, FALSE)")]
    plan = made("random.t", {"price": "decimal(7,2)"}, metrics)
    plan = replace(plan, checks=tuple(none_of(metric) for metric in metrics))
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"price": pa.array([Decimal("1.10"), None], pa.decimal128(7, 2))}), path)
    trial = try_files(plan, [path])
    [file] = trial.report.files
    assert [(check.metric, check.verdict) for check in file.checks] == [
        (metrics[0].id, Verdict.FAIL),
        (metrics[2].id, Verdict.PASS),
    ]
    assert [each.why for each in trial.omissions] == ["Only Spark has the places of a mean of decimals."]


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"ok\xf5"])
def test_text_that_is_not_utf_8_is_the_fault_of_its_file_alone(tmp_path: Path, bad: bytes) -> None:
    plan, paths = made("random.t", {"word": "string"}, [nulls("word")]), [tmp_path / "1", tmp_path / "2"]
    for path, words in zip(paths, ([b"fine"], [b"fine", bad, bad]), strict=True):
        pq.write_table(pa.table({"word": pa.array(words, pa.binary()).view(pa.string())}), path)
    good, broken = try_files(plan, paths).report.files
    assert (good.verdict, broken.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert [fault for fault in broken.faults if "UTF-8" in fault and "2 rows" in fault] == list(broken.faults)
    assert [file.verdict for file in try_files(plan, paths[1:]).report.files] == [Verdict.FAIL]


HANDED_OVER: dict[str, tuple[pa.Array, dict[str, Any]]] = {
    "int96": (pa.array([0, None], pa.timestamp("us")), {"use_deprecated_int96_timestamps": True}),
    "unsigned": (pa.array([2**64 - 1, 0], pa.uint64()), {}),
    "fixed": (pa.array([b"abcd", b"1234"], pa.binary(4)), {}),
    "duration": (pa.array([1, None], pa.duration("us")), {}),
    "codec": (pa.array([1, 2], pa.int64()), {"compression": "lz4"}),
    "nested": (pa.array([[1], None], pa.list_(pa.int64())), {}),
}


@pytest.mark.parametrize("kind", HANDED_OVER)
def test_a_file_that_only_spark_reads_is_refused_with_its_reason(tmp_path: Path, kind: str) -> None:
    values, options = HANDED_OVER[kind]
    path = tmp_path / f"{kind}.parquet"
    pq.write_table(pa.table({"v": values}), path, **options)
    plan = load(infer([path]), path.name).plan
    with pytest.raises(Misconfigured, match=r"nothing was tried, because DuckDB alone cannot: .*Spark"):
        try_files(plan, [path])
