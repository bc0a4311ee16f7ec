"""The rows of a run, measured as the express lane measures them, and keys that are at fault besides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from lakegate.audit.evaluation.verdicts import Dependent, malformed_checks
from lakegate.audit.model.plan import Check, Metric, MetricKind, Reference, Scope
from lakegate.express.keys import AtFault, Batch, keys_of, resolve
from lakegate.express.quarantine import Reasons, reasons
from lakegate.express.view import ExpressView
from lakegate.wap.keys import orphans, repeats


@dataclass(frozen=True, kw_only=True)
class RunView(ExpressView):
    """`View` of a run's appends."""

    def _dependent(self, metric: Metric, batch: Batch) -> Dependent:
        try:
            return resolve(self.plan, metric, batch, self.base, self.duckdb)
        except AtFault:
            target = metric.refers_to or Reference(table=self.plan.table, columns=metric.columns)
            theirs = keys_of(self.plan, metric, target, batch, self.base)
            appends = {file: self.read(file, metric.columns) for file in self.files}
            tell = repeats if metric.kind is MetricKind.DUPLICATES else orphans
            return tell(appends, theirs)

    def failing_rows(self, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
        return sum(map(bool, self._reasons(file, earlier, checks)))

    def without(self, order: Sequence[str], failed: Mapping[str, Sequence[str]]) -> Self:
        why = {file: self._reasons(file, order[: order.index(file)], checks) for file, checks in failed.items()}
        return self.without_rows(order, why)

    def _reasons(self, file: str, earlier: Sequence[str], checks: Sequence[str]) -> Reasons:
        """Return for each row of a file which of these checks it fails, given the good files before it: a key of theirs
        repeats in the file. A row that does not parse is none of them.
        """
        checks = [check for check in checks if check not in malformed_checks(self.plan)]
        among = [check.id for check in self.plan.checks if check.id in checks and self._is_among_files(check)]
        if not among or not earlier:
            return self.reasons(file, checks)
        rows = pa.concat_tables([self.read(each, self._all) for each in (*earlier, file)])
        repeated = reasons(self.plan, rows, among, self.duckdb)[-self._rows(file) :]
        own = self.reasons(file, [check for check in checks if check not in among])
        return [(*one, *other) for one, other in zip(own, repeated, strict=True)]

    def _is_among_files(self, check: Check) -> bool:
        metric = self.plan.metric(check.metric)
        return metric.kind is MetricKind.DUPLICATES and metric.scope is Scope.TABLE
