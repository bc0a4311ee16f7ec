"""Files of this machine as `StagedFiles`, mapped into memory: what is read of them takes memory, and no more."""

# ruff: noqa: ARG002 - the arguments are a protocol's

import mmap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pyarrow as pa

from lakegate.audit.advice import Fault
from lakegate.audit.evaluation.mask import raw
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import EMPTY, WRITTEN_ANEW, Inspection
from lakegate.audit.schema.kinds import FIRST
from lakegate.audit.schema.parquet import TAIL, footer_length
from lakegate.express import footer
from lakegate.express.files import ParquetFiles
from lakegate.express.rows import BrokenText, tables_of
from lakegate.reading import text
from lakegate.trial.malformed import MalformedRows


def job_files(paths: Sequence[Path]) -> tuple[JobFile, ...]:
    """Return the files of a job, in their order. Data files have names by these ids, and numbers added to them."""
    return tuple(
        JobFile(id=str(UUID(int=uuid4().int >> 1)), key=str(path), uri="", size=path.stat().st_size) for path in paths
    )


def map_file(path: Path) -> Any:
    """Return a file's bytes, which are read where they are asked for. They are let go with the last that refers to
    them, which may be an error that was raised of them.
    """
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""  # nothing can be mapped of it
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@dataclass(kw_only=True)
class LocalFiles(ParquetFiles):
    """Files of this machine, as `bodies` their mapped bytes. Those of text have rows that may not parse."""

    malformed: MalformedRows = field(default_factory=MalformedRows)

    def inspect(self) -> list[Inspection]:
        return [self._inspect(file) for file in self.job.files]

    def _inspect(self, file: JobFile) -> Inspection:
        if self.job.plan.files.kind.is_text:
            return text.inspect(self.job.plan, file, Path(file.key))
        faults = self._faults(file)
        if faults:
            return Inspection(file=file, faults=faults)
        return footer.inspect(file, self.bodies[file.id], self.job.plan.files.limits)

    def _faults(self, file: JobFile) -> tuple[Fault, ...]:
        """Return what the job finds wrong with the file before it reads a row."""
        body, limits = self.bodies[file.id], self.job.plan.files.limits
        if not body:
            return (EMPTY,)
        if wrong := beyond_limits(limits, bytes=len(body)):
            return wrong
        length = footer_length(len(body), body[:FIRST], body[-TAIL:])
        if isinstance(length, Fault):
            return (length,)
        if wrong := beyond_limits(limits, footer=length):
            return wrong
        if reason := footer.unreadable(body):
            message = f"its footer cannot be read: {raw(self.job.plan.columns, reason)}"
            return (Fault(message, WRITTEN_ANEW),)
        return footer.footer_faults(body, limits)

    def rows(self, plan: Plan, inspection: Inspection, schema: pa.Schema, limit: int) -> Iterable[pa.Table]:
        if not plan.files.kind.is_text:
            return super().rows(plan, inspection, schema, limit)
        batches = self.malformed.part(inspection, text.parts(plan, inspection, Path(inspection.file.key)))
        return tables_of(inspection, batches, schema, limit)

    def count_malformed(
        self, plan: Plan, inspections: Sequence[Inspection], rows_appended: Mapping[str, int]
    ) -> dict[str, int]:
        return {inspection.id: self.malformed.counts.get(inspection.id, 0) for inspection in inspections}

    def with_faults(self, inspection: Inspection, error: BrokenText) -> Inspection:
        return replace(inspection, faults=error.faults)
