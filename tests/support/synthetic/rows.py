"""Rows for a plan: rows that pass all of its checks, and rows that fail one of them and no other.

Nothing here knows what a check means. Values are drawn, put together and evaluated, and wrong ones are drawn again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa

from lakegate.audit.evaluation.drift import Past, before
from lakegate.audit.evaluation.quarantine import BUDGET, budget_check
from lakegate.audit.evaluation.verdicts import holds
from lakegate.audit.model.plan import Check, Metric, MetricKind, Plan, Reference, Severity, TableColumn, Unit
from lakegate.audit.model.report import Verdict
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.reading.arrow import arrow_type
from lakegate.synthetic.rows import table_of
from tests.support.synthetic.aims import aims
from tests.support.synthetic.candidates import candidates, hints
from tests.support.synthetic.evaluator import LakeEvaluator
from tests.support.synthetic.files import writable

TRIES = 60
_POOL = 500
_FIRST = 10  # of a pool: values that checks name, and their neighbours
_NULLS, _OFTEN = 0.1, 0.6  # of a column that may have some; and where a rule about nulls is to be broken

Rows = dict[str, list[Any]]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A column's possible values: good ones, and for each metric that looks at rows, those that it alone counts."""

    good: tuple[Any, ...]
    bad: dict[str, tuple[Any, ...]]

    @property
    def has_null(self) -> bool:
        return None in self.good


@dataclass(kw_only=True)
class Maker:
    """Makes rows for one plan, always the same for the same seed; if a check speaks of now, in the same second.

    `references` are the tables that the plan's foreign keys refer to, by name. `past` is what the files before
    measured, by metric id, oldest first; drift is told from it.
    """

    plan: Plan
    seed: int
    references: Mapping[str, pa.Table] = field(default_factory=dict)
    past: Past = field(default_factory=dict)
    evaluator: LakeEvaluator = field(init=False)
    pools: dict[str, Pool] = field(init=False)
    parents: dict[str, Rows] = field(init=False)

    def __post_init__(self) -> None:
        self.parents = {}
        for metric in self.plan.metrics:
            if metric.refers_to:
                self.parents.setdefault(metric.refers_to.table, {}).update(self._parents(metric, metric.refers_to))
        self.evaluator = LakeEvaluator(self.plan, self.references, self.past)
        self.random = Random(self.seed)
        self.pools = {}

    def _parents(self, metric: Metric, reference: Reference) -> Rows:
        """Return the columns that the plan's refer to; none if its own table is given no other rows."""
        if (given := self.references.get(reference.table)) is None:
            if reference.table == self.plan.table:
                return {}
            raise Misconfigured(
                f"table {self.plan.table} refers to {reference.table}: give some of its rows with "
                f"--reference {reference.table}=FILE.parquet"
            )
        kinds = {column.name: arrow_type(column.type) for column in self.plan.columns}
        if not given.num_rows and reference.table != self.plan.table:
            raise Misconfigured(f"--reference {reference.table}: its file has no rows, so there is nothing to refer to")
        try:
            return {
                other: given[other].cast(kinds[name]).to_pylist()
                for name, other in zip(metric.columns, reference.columns, strict=True)
            }
        except (KeyError, pa.ArrowException) as error:
            pairs = zip(metric.columns, reference.columns, strict=True)
            wanted = ", ".join(f"{other} ({kinds[name]})" for name, other in pairs)
            raise Misconfigured(f"--reference {reference.table}: its file must have the columns {wanted}") from error

    def good(self, many: int) -> pa.Table:
        """Return `many` rows that pass every check. Raise Misconfigured if none could be made."""
        return table_of(self.plan, self._settled(self._plain(many), want=frozenset()))

    def only_null(self, made: pa.Table) -> list[str]:
        """Return the columns that are null in each of these rows, made last, because no other good value was found."""
        only = [name for name, pool in self.pools.items() if pool.good == (None,)]
        return [name for name in only if made[name].null_count == made.num_rows]

    def empty(self) -> pa.Table:
        """Return no rows. No check is asked about them: a file without rows is rejected for having none."""
        return table_of(self.plan, {column.name: [] for column in self.plan.columns})

    def failing(self, many: int, check: Check) -> pa.Table:
        """Return about `many` rows that fail this check alone. Raise Misconfigured if none could be made."""
        metric = self.plan.metric(check.metric)
        if check.drift and not before(check, self.past):
            raise Misconfigured(
                f"table {self.plan.table}: {check.name!r} compares with files published before: say what "
                f"{check.drift.at_least} of them or more measured, oldest first, with --past '{check.name}=1,2,3'"
            )
        if check.severity is Severity.QUARANTINE and budget_check(self.plan.budget, 1, many).verdict is Verdict.FAIL:
            raise Misconfigured(
                f"table {self.plan.table}: {check.name!r} cannot fail alone: one row of {many:,} is over the "
                f"quarantineBudget already; ask for more with --rows"
            )
        return KINDS[metric.kind].failing(self, many, check)

    def of_rows_that_fail(self, many: int, check: Check) -> pa.Table:
        """Rows that pass all but this check, then changed until it fails."""
        rows = self._settled(self._plain(many), want=frozenset(), forgive=frozenset({check.id}))
        return table_of(self.plan, self._settled(rows, want=frozenset({check.id})))

    def with_one_more(self, many: int, _: Check) -> pa.Table:
        """Return rows of which all but the last pass. The last is written so that it does not parse, and then it is
        none of the file's rows.
        """
        if many == 1:
            raise Misconfigured("a row that does not parse is none of the file's rows: ask for another with --rows 2")
        good = self.good(many - 1)
        return pa.concat_tables([good, good.slice(0, 1)])

    # Rows that satisfy the checks of single values and of keys.

    def _plain(self, many: int) -> Rows:
        keys = self._keys()
        unique = {metric.columns[0] for metric in keys if len(metric.columns) == 1}
        self.pools = {column.name: self._pool(column, many, column.name in unique) for column in self.plan.columns}
        rows = {name: self._drawn(name, many, distinct=name in unique) for name in self.pools}
        for metric in keys:
            self._make_distinct(rows, metric)
        return self._repaired(rows)

    def _pool(self, column: TableColumn, many: int, is_unique: bool) -> Pool:  # noqa: FBT001
        wanted = 3 * many + _POOL if is_unique else _POOL
        found = hints(self.plan, column, self.past, many)
        made_up = candidates(column.type, found, self.random, wanted, partial(self._fail_least, column.name))
        values = [v for v in (*self._referred(column.name), *made_up) if writable(v, column.name, self.plan)]
        metrics, marked = self._marked(column.name, values)
        alone: dict[str, list[Any]] = {metric.id: [] for metric in metrics}
        good = []
        for value, marks in zip(values, marked, strict=True):
            counted = [metric.id for metric, mark in zip(metrics, marks, strict=True) if mark]
            if None in marks:
                continue  # only Spark can say what becomes of it
            if not counted:
                good.append(value)
            elif len(counted) == 1:
                alone[counted[0]].append(value)
        return Pool(good=tuple(good), bad={metric: tuple(found) for metric, found in alone.items()})

    def _marked(self, column: str, values: list[Any]) -> tuple[list[Metric], list[tuple[bool | None, ...]]]:
        """Return the metrics of single values of the column, and for each of these values, which of them count it."""
        metrics = [it for it in self.plan.metrics if _of_single_values(it, column) and not self._is_own(it)]
        return metrics, self.evaluator.marks(table_of(self.plan, {column: values}), metrics)

    def _fail_least(self, column: str, values: list[Any]) -> list[bool]:
        wrong = [sum(mark is not False for mark in marks) for marks in self._marked(column, values)[1]]
        least = min(wrong)
        return [each == least for each in wrong]

    def _referred(self, name: str) -> list[Any]:
        """Return the values that other tables have for the column to refer to."""
        found: dict[Any, None] = {}
        for metric in self.plan.metrics:
            if metric.refers_to and metric.refers_to.table in self.references and name in metric.columns:
                other = metric.refers_to.columns[metric.columns.index(name)]
                found |= dict.fromkeys(self.parents[metric.refers_to.table][other])
        return [value for value in found if value is not None]

    def _drawn(self, name: str, many: int, *, distinct: bool = False) -> list[Any]:
        pool = self.pools[name]
        values = [value for value in pool.good if value is not None]
        if not pool.good and not writable(None, name, self.plan):
            raise Misconfigured(
                f"table {self.plan.table}: no value of column {name!r} was found that passes its checks, and its "
                f"files have no nulls"
            )
        if distinct:
            if len(values) < many:
                raise Misconfigured(
                    f"column {name!r} of {self.plan.table} must be unique, and its other checks leave only "
                    f"{count(len(values), 'value')} for {count(many, 'row')}; ask for fewer with --rows"
                )
            return self.random.sample(values, many)
        return [self._one(pool, values) for _ in range(many)]

    def _one(self, pool: Pool, values: Sequence[Any], nulls: float = _NULLS) -> Any:
        if not values or (pool.has_null and self.random.random() < nulls):
            return None
        return self.random.choice(values)

    def _make_distinct(self, rows: Rows, metric: Metric) -> None:
        """Draw the columns of a compound key again if two rows have the same one."""
        for _ in range(TRIES):
            again = _repeated(rows, metric.columns)
            if not again:
                return
            for name in metric.columns:
                self._redraw(rows, name, again)

    def _repaired(self, rows: Rows) -> Rows:
        """Draw again what a rule over several columns forbids, or a foreign key that is more than a value."""
        several = [it for it in self.plan.metrics if _of_one_row(it) and (len(it.columns) > 1 or self._is_own(it))]
        rules = sorted(several, key=self._is_own)  # the rows that others refer to come first
        for _ in range(TRIES if rules else 0):
            marked = self.evaluator.marks(table_of(self.plan, rows), rules)
            broken = {metric: [at for at, marks in enumerate(marked) if marks[number] is not False]
                      for number, metric in enumerate(rules)}  # fmt: skip
            if not any(broken.values()):
                break
            for metric, where in broken.items():
                self._mend(rows, metric, where)
        return rows

    def _mend(self, rows: Rows, metric: Metric, where: Sequence[int]) -> None:
        if metric.refers_to is None:
            for name in metric.columns:
                self._redraw(rows, name, where)
            return
        there = rows if self._is_own(metric) else self.parents[metric.refers_to.table]
        parents = list(zip(*(there[other] for other in metric.refers_to.columns), strict=True))
        free = self._free(rows, metric, parents, where)
        for at in where:
            parent = free.pop(self.random.randrange(len(free))) if free else self.random.choice(parents)
            for name, value in zip(metric.columns, parent, strict=True):
                rows[name][at] = value

    def _free(
        self, rows: Rows, metric: Metric, parents: Sequence[tuple[Any, ...]], where: Sequence[int]
    ) -> list[tuple[Any, ...]]:
        """Return parents that give a row a key which none of the other rows has; none if keys may repeat."""
        keys = (each.columns for each in self._keys())
        if not (key := next((key for key in keys if {*key} <= {*metric.columns}), ())):
            return []
        places = [metric.columns.index(name) for name in key]
        by_key = {tuple(parent[place] for place in places): parent for parent in parents}
        others = {*range(len(rows[key[0]]))} - {*where}
        held = {tuple(rows[name][at] for name in key) for at in others}
        return [parent for found, parent in by_key.items() if found not in held]

    def _redraw(self, rows: Rows, name: str, where: Iterable[int], nulls: float = _NULLS) -> None:
        """Draw other values for these rows; if the column must be unique, values that it does not hold."""
        if not self._is_unique(name):
            pool = self.pools[name]
            values = [value for value in pool.good if value is not None]
            for at in where:
                rows[name][at] = self._one(pool, values, nulls)
            return
        held = set(rows[name])
        free = [value for value in self.pools[name].good if value is not None and value not in held]
        for at in where:
            if free:
                rows[name][at] = free.pop(self.random.randrange(len(free)))

    def _is_own(self, metric: Metric) -> bool:
        return metric.refers_to is not None and metric.refers_to.table == self.plan.table

    def _is_unique(self, name: str) -> bool:
        return any(metric.columns == (name,) for metric in self._keys())

    def _keys(self) -> list[Metric]:
        return [metric for metric in self.plan.metrics if metric.kind is MetricKind.DUPLICATES]

    # Rows that fail certain checks and no others.

    def _settled(self, rows: Rows, *, want: frozenset[str], forgive: frozenset[str] = frozenset()) -> Rows:
        """Return these rows, changed until just the wanted checks fail (of those to forgive, any may)."""
        failing = self.evaluator.failing_checks(table_of(self.plan, rows)) - forgive
        if failing == want:
            return rows
        closest = failing
        for check in self._checks(failing ^ want) or self.plan.checks:
            metric = self.plan.metric(check.metric)
            for changed in KINDS[metric.kind].changes(self, rows, metric):
                found = self.evaluator.failing_checks(table_of(self.plan, changed)) - forgive
                if found == want:
                    return changed
                if found ^ want < failing ^ want:
                    return self._settled(changed, want=want, forgive=forgive)
                if want and want <= found and (len(found) < len(closest) or not want <= closest):
                    closest = found
        raise Misconfigured(self._gave_up(want, closest))

    # What is tried, kind by kind: rows that differ in what the metric looks at.

    def more_that_count(self, rows: Rows, metric: Metric) -> Iterator[Rows]:
        """More and more rows that the metric counts."""
        found = (self._with_counted(rows, metric, where) for where in self._places(rows, metric))
        yield from (changed for changed in found if changed)

    def more_that_repeat(self, rows: Rows, metric: Metric) -> Iterator[Rows]:
        """More and more rows that have the key of another."""
        found = (self._with_repeated(rows, metric, where) for where in self._places(rows, metric))
        yield from (changed for changed in found if changed)

    def other_values(self, rows: Rows, metric: Metric) -> Iterator[Rows]:
        """Other values throughout."""
        yield from (self._from_part(rows, metric) for _ in range(TRIES))
        yield from self._of_one_value(rows, metric)
        yield from (self._from_part(rows, metric) for _ in range(TRIES * 3))

    def _places(self, rows: Rows, metric: Metric) -> Iterator[list[int]]:
        total = len(next(iter(rows.values()), []))
        return (self.random.sample(range(total), many) for many in self._steps(rows, metric))

    def _of_one_value(self, rows: Rows, metric: Metric) -> Iterator[Rows]:
        """Yield rows with the metric's one column filled with one value that checks name, so that a mean is met
        exactly.
        """
        [name, *others] = metric.columns or [""]
        if not name or others or self._is_unique(name):
            return
        for value in self.pools[name].good[:TRIES]:
            yield {**rows, name: [value] * len(rows[name])}

    def _steps(self, rows: Rows, metric: Metric) -> list[int]:
        """Return how many rows to try: the numbers that its checks name, and parts of all."""
        total = len(next(iter(rows.values()), []))
        parts = (total * percent // 100 for percent in (1, 2, 5, 10, 20, 35, 50, 75, 90, 100))
        limits = {
            int(aim * total / 100 if check.unit is Unit.PERCENT and not check.drift else aim) + more
            for check in self.plan.checks if check.metric == metric.id
            for aim in aims(check, self.past) for more in (-1, 0, 1)
        }  # fmt: skip
        return sorted(many for many in {1, 2, 3, 5, 8, *parts, *limits} if 0 < many <= total)

    def _with_counted(self, rows: Rows, metric: Metric, where: Sequence[int]) -> Rows | None:
        """Return rows of which the metric counts these."""
        changed = _copied(rows)
        if len(metric.columns) == 1 and not self._is_own(metric):
            name = metric.columns[0]
            bad = self.pools[name].bad.get(metric.id, ())
            for at in where if bad else ():
                changed[name][at] = self.random.choice(bad)
            return changed if bad else None
        return self._with_broken(changed, metric, where)

    def _with_repeated(self, rows: Rows, metric: Metric, where: Sequence[int]) -> Rows | None:
        """Give these rows the key of another row, which keeps it, and the columns by which that row refers."""
        tied = [each.columns for each in self.plan.metrics if each.refers_to and {*each.columns} & {*metric.columns}]
        names = dict.fromkeys(name for columns in (metric.columns, *tied) for name in columns)
        kept = sorted(set(range(len(next(iter(rows.values()))))) - set(where))
        whole = [at for at in kept if all(rows[name][at] is not None for name in metric.columns)]
        changed = _copied(rows)
        for at in where if whole else ():
            source = self.random.choice(whole)
            for name in names:
                changed[name][at] = rows[name][source]
        return changed if whole else None

    def _with_broken(self, rows: Rows, metric: Metric, where: Sequence[int]) -> Rows | None:
        """Return rows that break a rule over several columns, drawn until they do, or None if they never do."""
        for _ in range(TRIES):
            for name in metric.columns:
                self._redraw(rows, name, where, nulls=self.random.choice((_NULLS, _OFTEN)))
            marked = self.evaluator.marks(table_of(self.plan, rows), [metric])
            where = [at for at in where if not marked[at][0]]
            if not where:
                return rows
        return None

    def _from_part(self, rows: Rows, metric: Metric) -> Rows:
        """Draw the metric's columns anew, each from a part of its good values, for other sums, means and shares."""
        changed = dict(rows)
        many = len(next(iter(rows.values())))
        for name in metric.columns or rows:
            values = sorted((value for value in self.pools[name].good if value is not None), key=_sortable)
            if self._is_unique(name) or not values:
                continue
            low, high = sorted(self.random.choices(range(len(values)), k=2))
            part = values[low : high + 1]
            spoken_of = [value for value in self.pools[name].good[:_FIRST] if value is not None]
            other = self.random.choice(self.random.choice((values, spoken_of or values)))
            share = self.random.random() * self.random.randrange(2)
            drawn = [other if self.random.random() < share else self.random.choice(part) for _ in range(many)]
            nulls = self.random.random() * self.random.randrange(2) if self.pools[name].has_null else 0.0
            changed[name] = [None if self.random.random() < nulls else value for value in drawn]
        return changed

    def of_another_size(self, many: int, check: Check) -> pa.Table:
        """Return a number of rows that the check does not allow, as close as there is to the number asked for."""
        if check.id in self.evaluator.failing_checks(self.empty()) and self._allows_any(check):
            raise Misconfigured(
                f"table {self.plan.table}: only a file without rows fails {check.name!r}, and such a file is rejected "
                f"before its checks: make one with --rows 0"
            )
        sizes = {int(aim) + more for aim in aims(check, self.past) for more in (-1, 0, 1)} | {1, many, 2 * many + 1}
        sizes |= {int(rows * times) for rows in before(check, self.past)[-1:] for times in (0.1, 0.5, 2, 5, 20)}
        for size in sorted((size for size in sizes if size > 0), key=lambda size: abs(size - many)):
            try:
                return table_of(self.plan, self._settled(self._plain(size), want=frozenset({check.id})))
            except Misconfigured:
                continue
        raise Misconfigured(self._gave_up(frozenset({check.id}), ()))

    def _allows_any(self, check: Check) -> bool:
        """Return True if the check allows every number of rows but none at all."""
        return not check.drift and holds(check, 1) and holds(check, float("inf"))

    def _checks(self, found: Collection[str]) -> list[Check]:
        """Return the contract's checks of these ids; nothing else that is found can be mended by itself."""
        return [check for check in self.plan.checks if check.id in found]

    def _gave_up(self, want: frozenset[str], found: Collection[str]) -> str:
        others = ", ".join(f"{check.name!r}" for check in self._checks({*found} - want))
        why = self._why({*found, *want})
        if not want:
            return f"table {self.plan.table}: no rows were found that pass {others or 'its checks'}{why}"
        [wanted] = [check.name for check in self._checks(want)]
        but = f"; what was found also fails {others}" if others else ""
        return f"table {self.plan.table}: no rows were found that fail {wanted!r} and nothing else{but}{why}"

    def _why(self, found: Collection[str]) -> str:
        """Return what may be the reason, and what to do about it."""
        checks = self._checks(found)
        metrics = [self.plan.metric(check.metric) for check in checks]
        empty = [name for name, pool in self.pools.items() if not pool.good]
        said = [f"no value of column {name!r} was found that passes its checks" for name in empty]
        if any(metric.kind in (MetricKind.ROWS, MetricKind.DUPLICATES) for metric in metrics):
            said.append("with another number of rows (--rows) there may be some")
        if any(metric.kind is MetricKind.FAILING and len(metric.columns) > 1 for metric in metrics):
            said.append("columns are drawn one by one: what ties them closely, such as a + b = c, is seldom met")
        if BUDGET in found:
            said.append("more rows fail than the quarantineBudget takes")
        numbers = {name for metric in metrics if metric.kind is MetricKind.VALUE for name in metric.columns}
        said += [
            f"values of column {name!r} are drawn throughout: a minimum and a maximum for it may help"
            for name in sorted(numbers - {*empty})
        ]
        if any(check.drift for check in checks):
            said.append("with other numbers of the files before (--past), or of rows (--rows), there may be some")
        return "".join(f"; {each}" for each in said or ["values are drawn at random, and none that were tried did"])


def _of_single_values(metric: Metric, column: str) -> bool:
    """Return True if one value of this column alone tells it."""
    return _of_one_row(metric) and metric.columns == (column,)


def _of_one_row(metric: Metric) -> bool:
    return KINDS[metric.kind].of_one_row


def _copied(rows: Rows) -> Rows:
    return {name: list(values) for name, values in rows.items()}


def _repeated(rows: Rows, names: Sequence[str]) -> list[int]:
    """Return the rows with a key that an earlier row has."""
    seen: set[tuple[Any, ...]] = set()
    again = []
    for at, key in enumerate(zip(*(rows[name] for name in names), strict=True)):
        if None not in key and key in seen:
            again.append(at)
        seen.add(key)
    return again


def _sortable(value: Any) -> tuple[bool, Any]:
    if isinstance(value, list | dict):
        return (False, repr(value))
    return (value != value, 0 if value != value else value)  # noqa: PLR0124 - NaN is not itself


@dataclass(frozen=True, kw_only=True)
class MadeUp:
    """The making of rows for one kind of metric: a file that is `failing` a check of it, and the `changes` of rows
    that are tried until the check fails, or passes. Of some, one row by itself shows whether it counts.
    """

    failing: Callable[[Maker, int, Check], pa.Table] = Maker.of_rows_that_fail
    changes: Callable[[Maker, Rows, Metric], Iterator[Rows]] = lambda _, __, ___: iter(())
    of_one_row: bool = False


KINDS: Mapping[MetricKind, MadeUp] = {
    MetricKind.ROWS: MadeUp(failing=Maker.of_another_size),
    MetricKind.NULLS: MadeUp(changes=Maker.more_that_count, of_one_row=True),
    MetricKind.FAILING: MadeUp(changes=Maker.more_that_count, of_one_row=True),
    MetricKind.DUPLICATES: MadeUp(changes=Maker.more_that_repeat),
    MetricKind.ORPHANS: MadeUp(changes=Maker.more_that_count, of_one_row=True),
    MetricKind.MALFORMED: MadeUp(failing=Maker.with_one_more),
    MetricKind.VALUE: MadeUp(changes=Maker.other_values),
    MetricKind.QUERY: MadeUp(changes=Maker.other_values),
}
