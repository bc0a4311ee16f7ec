"""Findings: the reasons for a decision on one file version. They are values, and decide nothing."""

from dataclasses import dataclass

from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Reasons for the decision on one file version, and its rows. If its key's other versions on main decide it,
    `reuploads` is the contract's policy for them.
    """

    file: FileVersion
    reasons: tuple[str, ...] = ()
    rows: int = 0
    reuploads: Reuploads | None = None
