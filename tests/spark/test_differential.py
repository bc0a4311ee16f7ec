"""Random contracts over random tables: every number, verdict and row put aside is what an evaluation of the words says.

The contract goes through the compiler, the audit and the verdicts; its words are evaluated in DuckDB and plain Python
(tests/support/oracle.py), which know none of that. And of one file of each table the express engine says the same of
every contract as Spark, or hands it over. The seed is the same in every run; `DIFFERENTIAL_SEED=random`
(`make search`) takes another, which the failing message names: `DIFFERENTIAL_SEED=…` repeats that run, and
`DIFFERENTIAL_TABLES=…` makes it longer.
"""

from __future__ import annotations

import logging
import math
import os
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial, reduce
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.definition import FIXED_PROPERTIES
from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.drift import Past
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.evaluation.quarantine import BUDGET, afterwards, leaving_checks, without_budget
from lakegate.audit.evaluation.verdicts import Dependent, Measurements, evaluate, good
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.plan import Metric, Plan, TableColumn
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Report, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.contracts import load
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import DecidedFile, LogEntry, Record
from lakegate.testing import MemoryStore
from lakegate.workflow.attempts.baseline import baseline
from lakegate.workflow.attempts.reports import report_name
from spark_jobs.jvm.session import LAKE
from spark_jobs.metrics import quarantine
from spark_jobs.metrics.measure import measure_all, row_metrics
from spark_jobs.tables import iceberg
from spark_jobs.tables.base import Base
from spark_jobs.tables.ddl import create_table_sql, prepare
from tests.support import branch_table, express_files
from tests.support.meanings import Age, Column, Repeats, Wording
from tests.support.oracle import Aside, Judgement, Oracle, Value, aside_of, expressions, judge, settle
from tests.support.plans import plan as made
from tests.support.random_tables import PARENTS, Contract, Files, Parents, Table, contract, parents, table

pytestmark = pytest.mark.spark
MOST_HANDED_OVER = 0.07
TABLES = int(os.environ.get("DIFFERENTIAL_TABLES") or 0)
IN_THE_GATE, BESIDE_IT = 2, 20  # one by generated code, and one interpreted
# What is asked of a table by many is measured once: twice the contracts cost half as much again.
CONTRACTS, QUARANTINING = 100, 17  # every seventeenth contract may put rows aside
OBSERVED = 3  # in every third table what is left is measured where it is, too, as of a contract that observes
ASKED = os.environ.get("DIFFERENTIAL_SEED") or "20130131"
SEED = random.randrange(2**32) if ASKED == "random" else int(ASKED)
MOMENT = datetime(2013, 1, 31, tzinfo=UTC)
Results = Mapping[str, tuple[CheckResult, ...]]


# ------------------------------------------------------------------ what lakegate says


@dataclass(kw_only=True)
class Audit:
    """One table with all of its contracts' plans: appended once, measured once for all of them."""

    spark: SparkSession
    name: str
    drawn: Table
    plans: Sequence[Plan]
    parents: Any

    def __post_init__(self) -> None:
        self.every = self._every(self.plans, self.name)
        self.past = self._written(self.name, self.drawn.before)
        self.before = iceberg.load(self.spark, LAKE, self.name)
        self.base = Base(spark=self.spark, catalog=LAKE, tables={self.name: self.before, PARENTS: self.parents})
        there = branch_table.Table(spark=self.spark, plan=self.every, before=self.before)
        branch_table.write(self.spark, self.name, self.every.columns, self.drawn.files)
        self.batch = replace(there.batch, files={file: there.files.get(file, []) for file in self.drawn.files})
        self.measured = measure_all(self.every, self.batch, self.base)

    def _every(self, plans: Sequence[Plan], name: str) -> Plan:
        return branch_table.together(plans, name, _columns(self.drawn.columns))

    def _written(self, name: str, files: Files) -> branch_table.Table:
        prepare(self.spark, replace(self.every, table=name), None)
        branch_table.write(self.spark, name, self.every.columns, files)
        return branch_table.Table(spark=self.spark, plan=replace(self.every, table=name))

    # What was published before, as reports tell it.

    @cached_property
    def _published(self) -> list[Measurements]:
        drifting = {check.metric for plan in self.plans for check in plan.checks if check.drift}
        asked = [metric for metric in self.every.metrics if metric.id in drifting]
        if not self.drawn.before or not asked:
            return []
        columns = iceberg.fields(self.spark, self.before)
        files = {file: self.past.files[file] for file in self.drawn.before}
        return row_metrics(replace(self.every, metrics=tuple(asked)), files, columns, self.past.read)

    def history(self, plan: Plan) -> Past:
        """As the workflow reads it, from main's log and the reports of the files before, one a batch."""
        drifting = tuple(check for check in plan.checks if check.drift)
        if not drifting:
            return {}
        store, decided = MemoryStore(), []
        for at, file in enumerate(self._published):
            [checks] = evaluate(replace(plan, checks=drifting), [file], {}).values()
            attempt = Attempt(table=self.name, batch=f"20130131T0405-{at:08x}", number=1)
            store.write(report_name(attempt), to_json(_report(plan, attempt, file, checks)).encode())
            entry = DecidedFile(key=file.file, version_id="v")
            note = Record(decision=Decision.PUBLISHED, table=self.name, batch=attempt.batch, attempt=1, files=(entry,))
            decided.append(LogEntry(record=note, commit="", at=MOMENT))
        log = SimpleNamespace(decisions=lambda *_, **__: reversed(decided))
        return baseline(SimpleNamespace(store=store, ledger=log), plan)  # type: ignore[arg-type]

    # The audit of one contract's plan.

    def judge(self, plan: Plan) -> Results:
        measured, dependents = self.measured
        mine = {metric.id: dependents[metric.id] for metric in plan.metrics if metric.id in dependents}
        return evaluate(plan, measured, mine, self.history(plan), partial(quarantine.failing_rows, self._view(plan)))

    def _view(self, plan: Plan) -> quarantine.View:
        return quarantine.View(plan=plan, batch=self.batch, base=self.base, read=self.batch.read)

    def aside(self, found: Mapping[int, Results]) -> dict[int, dict[str, dict[int, frozenset[str]]]]:
        """Of each plan (by its place) that puts rows aside: its files' rows that leave, by their places, and why."""
        marks = [
            quarantine.with_reasons(self._view(self.plans[at]), good(results), failed).select(
                F.lit(at), FILE_COLUMN, "_pos", "_lakegate_reasons"
            )
            for at, results in found.items()
            if (failed := {file: ids for file, checks in results.items() if (ids := leaving_checks(checks))})
        ]
        gone: dict[int, dict[str, dict[int, frozenset[str]]]] = {at: {} for at in found}
        for at, file, place, reasons in reduce(DataFrame.union, marks).collect() if marks else ():
            if reasons:
                gone[at].setdefault(file, {})[place] = frozenset(reasons)
        return gone

    def settle(self, found: Mapping[int, Results], gone: Mapping[int, Mapping[str, Any]]) -> dict[int, Results]:
        """Return what is said of the files once these rows have left: the files of all plans, side by side in one
        table.
        """
        plans = {at: self.plans[at] for at in found}
        left = {
            f"{at} {file}": [
                row for place, row in enumerate(self.drawn.files[file]) if place not in gone[at].get(file, {})
            ]
            for at, results in found.items()
            for file in good(results)
        }
        there = self._written(f"{self.name}_left", left)
        batch = replace(there.batch, files={file: there.files.get(file, []) for file in left})
        every = self._every(list(plans.values()), self.name)
        measured, dependents = measure_all(every, batch, self.base)
        after = {at: self._left(at, plan, measured, dependents) for at, plan in plans.items()}
        return {at: afterwards(results, after[at]) for at, results in found.items()}

    def observed(self, at: int, results: Results) -> Results:
        """Return what is said of the files as if their rows had left, although they are there."""
        plan = self.plans[at]
        failed = {file: ids for file, checks in results.items() if (ids := leaving_checks(checks))}
        left = quarantine.without(self._view(plan), good(results), failed)
        measured, dependents = measure_all(plan, left.batch, left.base)
        return afterwards(results, evaluate(without_budget(plan), measured, dependents, self.history(plan)))

    def _left(
        self, at: int, plan: Plan, measured: Sequence[Measurements], dependents: Mapping[str, Dependent]
    ) -> Results:
        mine = [
            replace(each, file=file)
            for each in measured
            for place, _, file in [each.file.partition(" ")]
            if place == str(at)
        ]
        of_others = {
            metric.id: partial(_renamed, dependents[metric.id], at)
            for metric in plan.metrics
            if metric.id in dependents
        }
        return evaluate(without_budget(plan), mine, of_others, self.history(plan))


def _columns(columns: Sequence[Column]) -> list[TableColumn]:
    return [TableColumn(name=column.name, type=column.type) for column in columns]


def _renamed(dependent: Dependent, at: int, file: str, earlier: Sequence[str]) -> Any:
    return dependent(f"{at} {file}", [f"{at} {each}" for each in earlier])


def _report(plan: Plan, attempt: Attempt, file: Measurements, checks: tuple[CheckResult, ...]) -> Report:
    of_file = FileReport(id=file.file, key=file.file, verdict=Verdict.PASS, rows=file.rows, checks=checks)
    return Report(
        branch=attempt.branch, batch=attempt.batch, attempt=1, table=plan.table, base="", audited="", plan_hash="",
        contract_hash="", contract_version="", started_at=MOMENT, finished_at=MOMENT,
        files=(replace(of_file, data_files=(DataFile(path="", rows=file.rows),)),),
    )  # fmt: skip


# ------------------------------------------------------------------ and that both say the same


def differences(words: Mapping[str, Sequence[Judgement]], found: Results) -> Iterator[str]:
    """Yield where lakegate says another number, verdict or count of failing rows than the words, or what nothing asks
    for.
    """
    for file, checks in words.items():
        asked = [said.check for said in checks]
        for said in checks:
            own = _results(said.check, asked, found[file])
            if len(own) != 1 or not _says(own[0], said):
                yield f"{file}, {said}; lakegate: {own or found[file]}"
        known = {result.check for check in asked for result in _results(check, asked, found[file])} | {BUDGET}
        more = [result for result in found[file] if result.check not in known]
        if more:
            yield f"{file}: lakegate also says {more}"


def differences_aside(
    contract: Contract, oracle: Oracle, first: Results, gone: Mapping[str, Mapping[int, frozenset[str]]]
) -> Iterator[str]:
    """Yield where lakegate puts other rows aside, or for other reasons, or rejects another file for too many."""
    names = {check.name for checks in first.values() for check in checks}
    for file, checks in judge(contract, oracle).items():
        aside = aside_of(contract, checks, len(oracle.files[file]))
        budget = [check for check in first[file] if check.check == BUDGET]
        if len(budget) != bool(aside) or (aside and not _counts(budget[0], aside)):
            yield f"{file}: {aside}; lakegate: {budget}"
        wanted = aside.reasons if aside and aside.allowed else {}
        known = {at: reasons & names for at, reasons in wanted.items()}  # of checks that say the same there is one
        if known != gone.get(file, {}):
            yield f"{file}: {known} leave; lakegate: {gone.get(file)}"


def _counts(budget: CheckResult, aside: Aside) -> bool:
    """Return True if it counts the rows that are to leave: all of them, or as many as are too many already."""
    same = budget.value == aside.rows or (not aside.allowed and 0 < (budget.value or 0) < aside.rows)
    return same and (budget.verdict is Verdict.PASS) == aside.allowed


def _results(check: Wording, asked: Sequence[Wording], results: Sequence[CheckResult]) -> list[CheckResult]:
    """The check's own result. Checks that say the same are one, which goes by the name of one of them."""
    own = [result for result in results if _is_of(result, check)]
    others = [other for other in asked if other is not check and _meaning(other) == _meaning(check)]
    return own or [result for result in results if any(_is_of(result, other) for other in others)]


def _is_of(result: CheckResult, check: Wording) -> bool:
    """By its name. That of a primary key has the key's columns in an order of their own."""
    if check.name:
        return result.name == check.name
    assert isinstance(check.meaning, Repeats)
    columns = {column.name for column in check.meaning.columns}
    return result.name.startswith("primary key ") and set(result.columns) == columns


def _meaning(check: Wording) -> tuple[object, ...]:
    return check.meaning, check.operator, list(check.threshold), check.unit, check.severity


def _says(result: CheckResult, wanted: Judgement) -> bool:
    loose = 1e-3 if isinstance(wanted.check.meaning, Age) else 1e-9  # time goes by between the two
    same = _close(result.value, wanted.number, loose)
    return same and result.verdict == wanted.verdict and result.failing_rows == len(wanted.failing)


def _close(one: Value, other: Value, loose: float) -> bool:
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=loose, abs_tol=1e-9)


def compare(audit: Audit, contracts: Sequence[Contract], oracle: Oracle, *, observes: bool) -> Iterator[str]:
    """Yield what differs, by contract."""
    first = [audit.judge(plan) for plan in audit.plans]
    putting = {at: first[at] for at, each in enumerate(contracts) if each.budget}
    gone = audit.aside(putting)
    last = audit.settle(putting, gone)
    for at, each in enumerate(contracts):
        wrong = list(differences_aside(each, oracle, first[at], gone[at])) if at in putting else []
        words = settle(each, oracle) if at in putting else judge(each, oracle)
        wrong = wrong or list(differences(words, last.get(at, first[at])))
        yield from (f"{each.text}\n{difference}" for difference in wrong)
    for at in [at for at in putting if gone[at]][:1] if observes else []:
        yield from differences_observed(last[at], audit.observed(at, first[at]))


def differences_observed(moved: Results, observed: Results) -> Iterator[str]:
    """Yield where something else is said of files whose rows have left than if these were only left out."""
    for file, checks in moved.items():
        for one, other in zip(checks, observed[file], strict=True):
            same = (one.check, one.verdict, one.failing_rows, one.rows) == (
                other.check,
                other.verdict,
                other.failing_rows,
                other.rows,
            )
            if not same or not _close(one.value, other.value, 1e-3):
                yield f"{file}: {one} once rows have left; where they are left out: {other}"


# ------------------------------------------------------------------ and that the express engine says it, or nothing


@dataclass(kw_only=True)
class Shares:
    """Numbers of pairs of contract and file that the engines compared, and that were handed over."""

    pairs: int = 0
    handed_over: int = 0


def differences_of_express(audit: Audit, folder: Path, shares: Shares) -> Iterator[str]:
    """Yield where the express engine has another number than Spark, or another result of a check."""
    moving = {metric.id for metric in audit.every.metrics if bind_now(_of(metric), MOMENT) != _of(metric)}
    every = bind_now(express_files.narrowed(replace(audit.every, partitions=())), datetime.now(UTC))
    if (there := _first_expressed(audit, every, folder)) is None:
        return
    measured, dependents = audit.measured
    [spark] = [each for each in measured if each.file == there.file]
    keyed = {name: found(there.file, ()) for name, found in dependents.items()}
    theirs, ours = {**spark.metrics, **keyed}, there.numbers()
    for metric in every.metrics:
        loose = 1e-3 if metric.id in moving else 1e-9
        if metric.id in ours and not _close(theirs[metric.id].value, ours[metric.id], loose):
            yield f"{there.file}: express says {ours[metric.id]} of {metric}; Spark: {theirs[metric.id]}"
    for plan in audit.plans:
        yield from _other_results(audit, _bound(plan, every), there, ours, spark, moving, shares)


def _of(metric: Metric) -> Plan:
    return made("random.t", {}, [metric])


def _bound(plan: Plan, every: Plan) -> Plan:
    """Return what the engine may take of a plan, with the metrics as they are bound to a moment."""
    narrow = express_files.narrowed(plan)
    return replace(narrow, metrics=tuple(it for it in every.metrics if it.id in {own.id for own in narrow.metrics}))


def _first_expressed(audit: Audit, every: Plan, folder: Path) -> express_files.ExpressFile | None:
    """The first file with rows that the engine takes."""
    for file, rows in audit.drawn.files.items():
        if rows:
            with suppress(HandedOver):
                return express_files.ExpressFile(plan=every, file=file, rows=rows, folder=folder)
    return None


def _other_results(
    audit: Audit,
    plan: Plan,
    there: express_files.ExpressFile,
    numbers: Mapping[str, float | None],
    spark: Measurements,
    moving: Collection[str],
    shares: Shares,
) -> Iterator[str]:
    past, dependents = audit.history(plan), audit.measured[1]
    own = replace(spark, metrics={it.id: spark.metrics[it.id] for it in plan.metrics if it.id in spark.metrics})
    keyed = {it.id: dependents[it.id] for it in plan.metrics if it.id in dependents}
    shares.pairs += 1
    try:
        ours = evaluate(plan, *there.view(plan, numbers, past).measure(), past)[there.file]
    except HandedOver:
        shares.handed_over += 1
        return
    for said, known in zip(ours, evaluate(plan, [own], keyed, past)[there.file], strict=True):
        same = (said.verdict, said.failing_rows, said.rows) == (known.verdict, known.failing_rows, known.rows)
        if not same or (said.metric not in moving and said.reason != known.reason):
            yield f"{there.file}: express says {said}; Spark: {known}"


@pytest.fixture
def others(spark: SparkSession) -> tuple[Parents, Any]:
    """The one table that all foreign keys refer to, and what it is in the lake: two data files."""
    drawn = parents(random.Random(SEED))
    columns = _columns(drawn.columns)
    file = TableColumn(name=FILE_COLUMN, type="string")
    for statement in create_table_sql(PARENTS, [*columns, file], FIXED_PROPERTIES, f" PARTITIONED BY ({FILE_COLUMN})"):
        spark.sql(statement)
    branch_table.write(spark, PARENTS, columns, {"p0": drawn.rows[::2], "p1": drawn.rows[1::2]})
    return drawn, iceberg.load(spark, LAKE, PARENTS)


def differing(
    spark: SparkSession, others: tuple[Parents, Any], dice: random.Random, number: int, folder: Path, shares: Shares
) -> list[str]:
    """A random table with its contracts: what lakegate says of them that their words do not."""
    drawn, name = table(dice, others[0]), f"random.t{number}"
    contracts = [contract(dice, drawn, quarantines=at % QUARANTINING == 0) for at in range(CONTRACTS)]
    oracle = Oracle(
        columns=drawn.columns,
        before=drawn.before,
        files=drawn.files,
        parents=others[0],
        expressions=expressions(contracts),
    )
    plans = [replace(load(each.text, "random").plan, table=name) for each in contracts]
    audit = Audit(spark=spark, name=name, drawn=drawn, plans=plans, parents=others[1])
    observes = number % OBSERVED == 0
    found = [*compare(audit, contracts, oracle, observes=observes), *differences_of_express(audit, folder, shares)]
    return [f"{drawn}\n{each}" for each in found]


def _evaluate(spark: SparkSession, *, by_generated_code: bool) -> None:
    """Spark interprets what is too large for generated code, so both ways must say the same."""
    spark.conf.set("spark.sql.codegen.wholeStage", str(by_generated_code).lower())
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if by_generated_code else "NO_CODEGEN")


def test_random_contracts_over_random_tables_say_what_their_words_say(
    spark: SparkSession,
    others: tuple[Parents, Any],
    tmp_path: Path,
    extended: bool,  # noqa: FBT001
) -> None:
    numbers, shares = count(), Shares()
    tables = TABLES or (BESIDE_IT if extended else IN_THE_GATE)

    @seed(SEED)
    @settings(max_examples=tables, deadline=None, database=None, phases=[Phase.generate])
    @given(st.randoms(use_true_random=True))
    def same(dice: random.Random) -> None:
        number = next(numbers)
        _evaluate(spark, by_generated_code=number % 2 == 0)
        wrong = differing(spark, others, dice, number, tmp_path, shares)
        assert not wrong, f"DIFFERENTIAL_SEED={SEED}\n" + "\n".join(wrong)

    same()
    assert next(numbers) == tables, f"DIFFERENTIAL_SEED={SEED}"
    logging.getLogger(__name__).info("express: %s", shares)
    assert shares.handed_over < shares.pairs * MOST_HANDED_OVER, shares
