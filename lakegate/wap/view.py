"""The rows of a run, measured as the express lane measures them, and keys that are at fault besides."""

from dataclasses import dataclass

from lakegate.audit.evaluation.verdicts import Dependent
from lakegate.audit.model.plan import Metric, MetricKind, Reference
from lakegate.express.keys import AtFault, Batch, keys_of, resolve
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
