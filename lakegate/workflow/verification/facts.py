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
    lost: tuple[str, ...] = ()
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
class Written:
    """The data files that an attempt's report names: by file version's id, those that it took off the table (`taken`)
    because other versions share them, and those that hold what is `left` of them. Both count only if one of the file
    versions `rewriting` was published.
    """

    files: Mapping[str, frozenset[str]]
    rewriting: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Decisions:
    """Decisions, and the tables that they tell of.

    `published` file versions have their rows on main by their receipts, and `replaced` ones had them. `reports` are
    those that can be read. `there` are main's data files by table. Versions that are `forgotten` landed before the
    watermark, and nothing tells of them. `unread` are receipts that cannot be read.
    """

    published: tuple[DecidedVersion, ...] = ()
    replaced: tuple[DecidedVersion, ...] = ()
    reports: Mapping[Attempt, Written] = field(default_factory=dict)
    there: Mapping[str, frozenset[str]] = field(default_factory=dict)
    forgotten: tuple[str, ...] = ()
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
