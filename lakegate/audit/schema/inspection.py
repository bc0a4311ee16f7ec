"""Inspection of a staged file before its rows are read, and its fit to plan and table. It opens no file: each format
has its reader.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import first_faults
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import NO_NEIGHBOURS, Agreement, FileColumn, Fit, agree, faults
from lakegate.audit.schema.types import Struct

UPLOADED_WHOLE = Advice(vendor="upload it again, whole, under the same key")
WRITTEN_ANEW = Advice(vendor="write it anew, and to upload it under the same key")
EMPTY = Fault("it is empty: 0 bytes", UPLOADED_WHOLE)
COPY_DELETED = Fault(
    "its staged copy is gone", Advice(operator="run lakegate retry for its batch, which stages it again")
)
NO_ROWS = Fault("it has no rows", Advice(vendor="upload it with its rows, and nothing where there is none"))


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """A file's facts that need no row read. A file with faults is not appended. Once the fit is known, `columns` are
    those to read, `evolves` are changes that the file asks of the table, and `discards` are its columns that nobody
    reads.

    `rows` of a text file are its lines, whether they parse or not; `layout` are all its columns in their order;
    `sound` if all its bytes are known to be text of its encoding.
    """

    file: JobFile
    rows: int = 0
    columns: tuple[FileColumn, ...] = ()
    faults: tuple[Fault, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    sound: bool = False

    @property
    def id(self) -> str:
        return self.file.id


def fit_all(
    plan: Plan,
    current: Struct | None,
    inspections: Sequence[Inspection],
    neighbours: Mapping[str, Sequence[str]] = NO_NEIGHBOURS,
) -> tuple[Agreement, list[Inspection]]:
    """Return the columns that the table gets by these files, and the files with the faults of those that do not fit.
    `current` are the columns that the table has at the attempt's base, and `neighbours` those of other tables.
    """
    inspections_to_fit = [inspection for inspection in inspections if not inspection.faults and inspection.rows]
    agreement = agree(plan, current, [inspection.columns for inspection in inspections_to_fit], neighbours)
    fits = {inspection.id: fit for inspection, fit in zip(inspections_to_fit, agreement.fits, strict=True)}
    return agreement, [_with_fit(plan, inspection, fits.get(inspection.id)) for inspection in inspections]


def _with_fit(plan: Plan, inspection: Inspection, fit: Fit | None) -> Inspection:
    if fit is not None:
        result = replace(inspection, columns=fit.reads, faults=fit.faults, evolves=fit.evolves, discards=fit.discards)
    else:
        result = (
            inspection
            if inspection.faults
            else replace(inspection, faults=(*faults(plan, inspection.columns), NO_ROWS))
        )
    return replace(result, faults=first_faults(result.faults))
