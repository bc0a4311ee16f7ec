"""A job: the input of an attempt's job, frozen when the attempt starts. It holds no secrets: anyone who may see
the run may read it.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.codec import from_json
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import DataFile, ReplacedFiles

CUT_OFF = b"cut off"


@dataclass(frozen=True, kw_only=True)
class JobFile:
    """One file version to append. `uri` is its staged copy, under a name without special characters; `key` is for
    people. The data files it `replaces` were taken off the branch.

    If the attempt reuses another's data files, `data_files` are this file version's, and it has no staged copy.
    """

    id: str
    key: str
    uri: str
    size: int
    data_files: tuple[str, ...] = ()
    replaces: ReplacedFiles = field(default_factory=ReplacedFiles)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One attempt's work. `base` is the hash its branch was made from; files are in the order they landed.

    `baseline` holds the values that the table's last published file versions measured when the attempt began, oldest
    first, by metric id. `consecutive_crashes` are the numbers of the attempts at these files whose jobs crashed in
    succession just before this one, and `never_began` those among them whose jobs never reached the files: a job notes
    at `begun_uri` that it reaches them, and `CUT_OFF` if it is cut off then. `crashed_with_others` are those among them
    whose jobs had other files beside these.
    `handed_over` are the numbers of the attempts that handed over these files, or some of them, to Spark.
    `left_out` maps claimed file versions (by id) that are not among the files to the reason.

    With `reuses` the data files are on the branch already, as an earlier attempt appended them, and this is the URI of
    its report: its verdicts of batch scope hold, and only checks of table scope run.

    `neighbours` are the columns of other tables, by name, as far as they are known: a file may be one of theirs.

    The job runs on the `lane`, for the reason in `lane_why`. On the express lane it may hand its files over to Spark:
    it then leaves a reason at `handover_uri`, and no report.

    `notify` are the messages that people get on request; a job does not send any.

    If it `notes_audits`, it appends what its audit found to the audits table of the branch. This one and the quarantine
    have the table's `distinct` name, or else the plain one.

    Format 1 had the `catalog`'s address in members of the job itself.
    """

    branch: str
    batch: str
    attempt: int
    base: str
    catalog: CatalogAddress
    report_uri: str
    begun_uri: str
    plan: Plan
    files: tuple[JobFile, ...]
    baseline: dict[str, tuple[float, ...]] = field(default_factory=dict)
    consecutive_crashes: tuple[int, ...] = ()
    never_began: tuple[int, ...] = ()
    crashed_with_others: tuple[int, ...] = ()
    handed_over: tuple[int, ...] = ()
    reuses: str = ""
    left_out: dict[str, str] = field(default_factory=dict)
    lane: Lane = Lane.SPARK
    lane_why: str = ""
    handover_uri: str = ""
    neighbours: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notify: tuple[str, ...] = ()
    notes_audits: bool = False
    distinct: bool = False
    format: int = 2
    oldest_format: ClassVar[int] = 2

    @property
    def replaced_files(self) -> tuple[DataFile, ...]:
        """Data files that were removed from the branch's table before the job."""
        return tuple(data for file in self.files for data in file.replaces.data_files)

    @property
    def rewritten(self) -> frozenset[str]:
        """File versions, by id, of which the job removes rows from other data files of the branch's table."""
        return frozenset(file for entry in self.files for file in entry.replaces.rewritten)

    @property
    def replaced_quarantined(self) -> tuple[DataFile, ...]:
        """Data files that were removed from the quarantine table before the job."""
        return tuple(data for file in self.files for data in file.replaces.quarantined)


@lru_cache(maxsize=16)
def parse_job(body: bytes) -> Job:
    """Return a job as it was frozen, cached because its attempt needs it again and again. Raise as `from_json`."""
    return from_json(Job, body)
