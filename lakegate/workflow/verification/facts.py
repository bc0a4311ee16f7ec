"""Facts of a verification, as the readers found them. They decide nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakegate.landing.attempts import Attempt


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The files that a reference's tables need and storage lacks, and `unread`: why some tables could not be followed
    to their files.
    """

    reference: str
    files: int
    lost_files: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DecidedVersion:
    """A file version with its decision. `kept_in` is the archive's object that holds its receipt, "" on main."""

    id: str
    key: str
    version: str
    attempt: Attempt
    kept_in: str = ""

    @property
    def name(self) -> str:
        return f"{self.key}, version {self.version}"


@dataclass(frozen=True, kw_only=True)
class FilesWritten:
    """The data files that an attempt's report names: by file version's id, those that it took off the table
    (`taken_paths`) because other versions share them, and those that hold the rest of their rows (`left_paths`). Both
    count only if one of the file versions of `rewriting_ids` was published.
    """

    files: Mapping[str, frozenset[str]]
    rewriting_ids: frozenset[str] = frozenset()
    taken_paths: frozenset[str] = frozenset()
    left_paths: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions, and the tables that they name.

    `published` file versions have their rows on main by their receipts, and `replaced_versions` had them. `reports` are
    those that can be read. `paths_by_table` are main's data files by table. `lost_versions` landed before the
    watermark, and nothing names them. `unread` are receipts that cannot be read.
    """

    published: tuple[DecidedVersion, ...] = ()
    replaced_versions: tuple[DecidedVersion, ...] = ()
    reports: Mapping[Attempt, FilesWritten] = field(default_factory=dict)
    paths_by_table: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lost_versions: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Open:
    """An open attempt. `job` and `report` are the objects that it has, "" for none. `unknown` are commits that these
    name and the catalog lacks. `has_rows` says that its branch changed tables. `unread` says why the attempt cannot be
    looked at.
    """

    attempt: Attempt
    job: str = ""
    report: str = ""
    unknown: tuple[str, ...] = ()
    has_rows: bool = False
    unread: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All facts of one verification."""

    needs: tuple[Needs, ...]
    ledger: Decisions
    open: tuple[Open, ...]
