"""Findings: the reasons for a decision on one file version. They are values, and decide nothing."""

from dataclasses import dataclass

from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is to be said of one file version. Where its key's other versions on main decide it, `reuploads` is by what
    word of the contract.
    """

    file: FileVersion
    reasons: tuple[str, ...] = ()
    rows: int = 0
    reuploads: Reuploads | None = None
