"""Parquet files in memory, as `StagedFiles`: what a job appends."""

# ruff: noqa: ARG002 - the arguments are a protocol's

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakegate.audit.errors import Unfit
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from lakegate.express import footer
from lakegate.express.rows import BrokenText, parts_of


@dataclass(kw_only=True)
class ParquetFiles:
    """Files that are to be appended, as their `bodies` by id. An append is one commit: it has all of them, or none."""

    job: Job
    bodies: Mapping[str, Any] = field(default_factory=dict)

    def inspect(self) -> list[Inspection]:
        limits = self.job.plan.files.limits
        return [footer.inspect(file, self.bodies[file.id], limits) for file in self.job.files]

    def rows(self, plan: Plan, inspection: Inspection, schema: pa.Schema, limit: int) -> Iterable[pa.Table]:
        """Return a file's rows as the table will hold them, in parts of at most, or about, so many bytes in memory."""
        return parts_of(plan, inspection, self.bodies[inspection.id], schema, limit)

    def with_faults(self, inspection: Inspection, error: BrokenText) -> Inspection:
        """Return a file that cannot be appended with its faults. Raise an error if then no file is to be appended."""
        raise Unfit(f"{inspection.file.key}: {'; '.join(error.faults)}", error.faults[0].advice) from error

    def find_faulty(self, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
        return list(inspections)

    def count_malformed(
        self, plan: Plan, inspections: Sequence[Inspection], rows_by_file: Mapping[str, int]
    ) -> dict[str, int]:
        return {}  # every row of a parquet file parses
