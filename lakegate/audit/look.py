"""A first look at a staged file, and how it fits plan and table. It opens no file: each format has its reader."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakegate.audit.fit import Agreement, FileColumn, Fit, agree, faults
from lakegate.audit.job import JobFile
from lakegate.audit.limits import capped
from lakegate.audit.plan import Plan
from lakegate.audit.types import Struct

EMPTY, GONE, NO_ROWS = "it is empty: 0 bytes", "its staged copy is gone", "it has no rows"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a file looks like from outside; with faults it is not appended. `columns` are those to read, once it has
    been seen whether they fit; what it asks of the table and what of it is not read are known then, too.

    `rows` of a text file are its lines, whether they parse or not; `layout` are all its columns as they stand in it;
    `sound` if all its bytes are known to be text of its encoding.
    """

    file: JobFile
    rows: int = 0
    columns: tuple[FileColumn, ...] = ()
    faults: tuple[str, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    sound: bool = False


def fit_all(plan: Plan, there: Struct | None, looks: Sequence[Look]) -> tuple[Agreement, list[Look]]:
    """What the table becomes by these files, and the files with what does not fit. `there` are the columns that it has
    at the attempt's base.
    """
    fitting = [look for look in looks if not look.faults and look.rows]
    agreed = agree(plan, there, [look.columns for look in fitting])
    fits = {look.file.id: fit for look, fit in zip(fitting, agreed.fits, strict=True)}
    return agreed, [_fitted(plan, look, fits.get(look.file.id)) for look in looks]


def _fitted(plan: Plan, look: Look, fit: Fit | None) -> Look:
    if fit is not None:
        told = replace(look, columns=fit.reads, faults=fit.faults, evolves=fit.evolves, discards=fit.discards)
    else:
        told = look if look.faults else replace(look, faults=(*faults(plan, look.columns), NO_ROWS))
    return replace(told, faults=capped(told.faults))
