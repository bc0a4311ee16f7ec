"""The product's generator: rows that pass, one fault at a time, and files that are read as they were drawn."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import MetricKind, Plan
from lakegate.contracts import load
from lakegate.contracts.regex.portable import portable
from lakegate.duckdb.dialect import backtracking
from lakegate.errors import Misconfigured
from lakegate.inference import text
from lakegate.synthetic.files import write
from lakegate.synthetic.patterns import example, tree
from lakegate.synthetic.rows import Maker
from tests.support.duck import failed_checks
from tests.support.plans import plan as plan_by
from tests.synthetic.test_nested import PLAN as NESTED
from tests.synthetic.test_nested import failed as failed_parts
from tests.synthetic.test_rows import CONTRACTS, HEAD, IMPOSSIBLE, plan_of

ROWS = 30
ABOUT_ALL = {"some nulls", "repeats wanted"}
"""Contracts whose checks ask for a number of nulls or repeated keys."""
BREAKABLE = (MetricKind.NULLS, MetricKind.FAILING, MetricKind.DUPLICATES)


def failed(plan: Plan, rows: pa.Table, folder: Path) -> set[str]:
    parquet.write_table(rows, folder / "rows.parquet")
    return set(failed_checks(plan, folder / "rows.parquet"))


@pytest.mark.parametrize("name", CONTRACTS)
def test_rows_fail_what_the_generator_says_and_by_rules_nothing(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    maker = Maker(plan, 7, ROWS)
    rows = maker.good()
    assert rows.num_rows == ROWS
    assert not [column for column in rows.column_names if rows[column].null_count == ROWS]
    assert set(maker.fails(rows)) == failed(plan, rows, tmp_path)
    assert not maker.fails(rows) or name in ABOUT_ALL


@pytest.mark.parametrize("name", [name for name in CONTRACTS if name not in ABOUT_ALL])
def test_each_null_value_and_key_can_be_the_one_fault(name: str, tmp_path: Path) -> None:
    plan = plan_of(name)
    maker = Maker(plan, 7, ROWS)
    for check in plan.checks:
        metric = plan.metric(check.metric)
        if metric.kind not in BREAKABLE or (name, check.name) in IMPOSSIBLE:
            continue
        if metric.kind is MetricKind.FAILING and len(metric.columns) > 1:
            with pytest.raises(Misconfigured, match=r"has no check .* that 30 rows with a fault fail"):
                maker.bad(check.name)
        else:
            assert failed(plan, maker.bad(check.name), tmp_path) == {check.name}


def test_parts_of_nested_columns_pass_and_fail_like_columns() -> None:
    maker = Maker(NESTED, 7, ROWS)
    assert failed_parts(maker.good()) == set()
    for check in NESTED.checks:
        assert failed_parts(maker.bad(check.name)) == {check.name}


def test_a_fault_of_a_share_of_the_rows_is_as_large_as_it_has_to_be() -> None:
    column = "{name: a, logicalType: string, quality: [{metric: nullValues, mustBeLessThan: 100, unit: percent}]}"
    plan = load(f"{HEAD}      - {column}\n", "share.yaml").plan
    assert Maker(plan, 1, ROWS).bad(plan.checks[0].name)["a"].null_count == ROWS


def test_the_same_seed_makes_the_same_rows_and_another_one_others() -> None:
    plan = plan_of("compound key")
    assert Maker(plan, 1, ROWS).good() == Maker(plan, 1, ROWS).good()
    assert Maker(plan, 1, ROWS).good() != Maker(plan, 2, ROWS).good()


@pytest.mark.parametrize("least", [5, 95])
def test_more_unique_rows_than_there_are_values_is_refused(least: int) -> None:
    bounds = f"logicalTypeOptions: {{minimum: {least}, maximum: 99}}"
    column = f"{{name: a, logicalType: integer, unique: true, required: true, {bounds}}}"
    plan, many = load(f"{HEAD}      - {column}\n", "few.yaml").plan, 100 - least
    assert sorted(Maker(plan, 1, many).good()["a"].to_pylist()) == list(range(least, 100))
    with pytest.raises(Misconfigured, match=f"only {many} rows were found that pass 'a unique'; ask for fewer"):
        Maker(plan, 1, many + 1).good()


# Files of text.

SPELLINGS = [
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "d.M.yy H:m:s X", "MMM d yyyy 'at' hh:mm:ss.SS a xx", "dd/MM/yyyy''HH-mm-ss xxx",
    "yyyyMMdd HHmmss", "d 'o''clock' M yyyy HH:mm:ss", "yyyy/M/d h:mm:ss a XX", "yyyy-MM-dd HH:mm:ss,SSSSSS x",
]  # fmt: skip
TYPES = {
    "a": "int", "b": "decimal(9,3)", "c": "double", "d": "string", "e": "boolean", "f": "date", "g": "timestamp",
    "h": "timestamp_ntz", "i": "bigint", "j": "float", "k": "decimal(38,0)",
}  # fmt: skip


def zoneless(pattern: str) -> str:
    return re.sub(r"[ ]?[Xx]+", "", pattern)


@st.composite
def forms(draw: st.DrawFn) -> FileFormat:
    """A format of text, with another spelling of each moment."""
    spelled = draw(st.sampled_from(SPELLINGS))
    patterns = {"f": "dd.MM.yyyy", "g": spelled, "h": zoneless(spelled)} if draw(st.booleans()) else {}
    kind = draw(st.sampled_from([FileKind.CSV, FileKind.CSV, FileKind.JSON]))
    more: dict[str, Any] = {"kind": kind, "patterns": patterns}
    more["encoding"] = draw(st.sampled_from(["UTF-8", "US-ASCII", "ISO-8859-1", "windows-1252"]))
    if kind is FileKind.CSV:
        more["delimiter"] = draw(st.sampled_from([",", ";", "\t", "|", "-", ".", ":", " "]))
        more["quote"] = draw(st.sampled_from(['"', "'"]))
        more["escape"] = draw(st.sampled_from([more["quote"], "\\"]))
        more["nulls"] = draw(st.sampled_from([("",), ("NA",), ("", "-")]))
        more["header"] = draw(st.booleans())
    return FileFormat(**more)


@cache
def made(seed: int) -> pa.Table:
    return Maker(plan_by("nyc.t", TYPES), seed, 12).good()


@given(form=forms(), seed=st.integers(0, 3), suffix=st.sampled_from(["", ".gz", ".bz2", ".zst"]))
def test_text_is_read_as_it_was_drawn(
    tmp_path_factory: pytest.TempPathFactory, form: FileFormat, seed: int, suffix: str
) -> None:
    plan = replace(plan_by("nyc.t", TYPES), files=form)
    file = tmp_path_factory.mktemp("made") / f"made.{form.kind}{suffix}"
    write(made(seed), plan, file)
    assert text.rows(file, plan).to_pylist() == made(seed).to_pylist()


# Patterns.

LITERALS = st.sampled_from(["a", "Z", "7", "_", "-", "ü", " ", r"\.", r"\\", r"\+"])
CLASSES = st.sampled_from(["[a-f]", "[^a-z]", "[0-9A-F_]", r"\d", r"\w", r"[\s,]", ".", "[à-ý]", r"[^\d]", r"\S"])
TIMES = st.sampled_from(["", "", "?", "*", "+", "{3}", "{2,4}", "{1,}", "+?"])


def longer(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.tuples(parts.map(lambda part: f"({part})"), TIMES).map("".join)
    branch = st.tuples(parts, parts).map(lambda pair: f"(?:{'|'.join(pair)})")
    return st.lists(st.one_of(group, branch, parts), min_size=1, max_size=3).map("".join)


PATTERNS = st.recursive(st.tuples(st.one_of(LITERALS, CLASSES), TIMES).map("".join), longer, max_leaves=6)


@given(pattern=PATTERNS, whole=st.booleans(), more=st.sampled_from([0, 3, 40]), seed=st.integers(0, 2**32))
def test_a_text_of_a_pattern_matches_it(pattern: str, whole: bool, more: int, seed: int) -> None:  # noqa: FBT001
    asked = f"^{pattern}$" if whole else pattern
    try:
        written = portable(asked).text
    except ValueError:
        return  # a contract may not say it
    drawn = example(tree(backtracking(written)), Random(seed), more)
    assert re.search(asked, drawn, re.ASCII), drawn


@pytest.mark.parametrize(
    ("pattern", "length"), [("^[0-9]+$", 40), ("^([A-Z]{2}[0-9]+-?)+$", 31), ("^[a-f]*[x-z]*$", 25), ("^(ab|c)+$", 12)]
)
def test_a_text_of_a_pattern_can_have_about_a_length(pattern: str, length: int) -> None:
    nodes, random = tree(portable(pattern).text), Random(1)
    assert {len(example(nodes, random, length)) for _ in range(500)} & {*range(length - 2, length + 3)}
