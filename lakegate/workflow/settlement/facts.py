"""Facts: everything that the rules of settling ask for, as one look at an attempt found it. They decide nothing.

`reader` fills them. A fact that costs a request of its own is filled only if a rule asks for it. Otherwise its empty
value says that there is nothing to find.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from lakegate.audit.model.job import Job
from lakegate.audit.model.report import FileReport, Report, Verdict
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.receipts import Receipt
from lakegate.landing.standing import is_open
from lakegate.workflow.settlement.backoff import Crash


@dataclass(frozen=True, kw_only=True)
class AttemptEnd:
    """The end of an attempt's job: its `report`, or the `reason` why none counts, and the `crash` if it was one. The
    files are `handed_over` to Spark if the express lane left no report of them.
    """

    report: Report | None = None
    reason: str = ""
    crash: Crash | None = None
    handed_over: bool = False

    @property
    def error(self) -> str:
        """The reason for which all files fail, if there is one."""
        return self.report.error if self.report else self.reason

    @cached_property
    def reports_by_id(self) -> dict[str, FileReport]:
        """By file version's id."""
        return {entry.id: entry for entry in self.report.files} if self.report else {}

    @cached_property
    def passing_ids(self) -> frozenset[str]:
        """The file versions, by id, that passed their audit."""
        ids = (id_ for id_, entry in self.reports_by_id.items() if entry.verdict is not Verdict.FAIL)
        return frozenset() if self.error else frozenset(ids)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One look at an attempt whose job has ended. `files` are those it claims and no later attempt does.

    `receipts` are main's, by key. `reuploads` is the contract's word, read where batches publish in order. `audits`
    counts, by file id, the audits that missed rows of referenced tables; of these tables, `under_way` have undecided
    files, and `moved_tables` have changed on main since the audit. `predecessor` is the attempt that publishes first.
    """

    attempt: Attempt
    job: Job
    now: datetime
    files: tuple[FileVersion, ...]
    end: AttemptEnd
    receipts: Mapping[str, Receipt] = field(default_factory=dict)
    reuploads: Reuploads | None = None
    audits: Mapping[str, int] = field(default_factory=dict)
    under_way: frozenset[str] = frozenset()
    moved_tables: frozenset[str] = frozenset()
    predecessor: Attempt | None = None

    @property
    def in_order(self) -> bool:
        """Verdicts depend on the rows of the attempt's own table, so its batches publish one after the other."""
        return self.job.plan.table in self.job.plan.depends_on

    @cached_property
    def good(self) -> tuple[FileVersion, ...]:
        """The files that passed their audit."""
        return tuple(file for file in self.files if file.id in self.end.passing_ids)

    @cached_property
    def bad(self) -> tuple[FileVersion, ...]:
        """The files that did not."""
        return tuple(file for file in self.files if file.id not in self.end.passing_ids)

    def is_open(self, file: FileVersion) -> bool:
        """Return True if the attempt may still decide the file, by main's receipts."""
        return is_open(self.receipts, file, self.attempt)
