"""Triage: each file of a table goes into a new batch, into its attempt, to a decision at once, or nowhere."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision, State
from lakegate.landing.receipts import Receipt
from lakegate.landing.standing import Standing, standing_of
from lakegate.workflow.attempts.claims import ClaimIndex, OpenClaims
from lakegate.workflow.ledger.receipts import main_receipts
from lakegate.workflow.service import Service


@dataclass(kw_only=True)
class Triage:
    """Files of one table, sorted by main's receipts (by landing key) and the open claims."""

    table: str
    reuploads: Reuploads
    receipts: Mapping[str, Receipt]
    fresh: list[FileVersion] = field(default_factory=list)  # goes into a new batch
    attempts_to_resume: set[Attempt] = field(default_factory=set)  # works on a file already: see that its job runs
    closures: list[tuple[FileVersion, Standing]] = field(default_factory=list)  # decided by its key's other versions
    unreadable: list[Receipt] = field(default_factory=list)  # the decisions on its key are unknown

    def add(self, file: FileVersion, claims: OpenClaims) -> None:
        receipt = self.receipts.get(file.key)
        if receipt and receipt.unreadable:
            self.unreadable.append(receipt)
            return
        match claims.state(file, self.receipts):
            case State.IN_PROGRESS if attempt := claims.attempt(file):
                self.attempts_to_resume.add(attempt)
            case State.QUEUED if all(other.key != file.key for other in self.fresh):
                standing = standing_of(receipt, file, self.table, self.reuploads)
                self.closures.append((file, standing)) if standing.decision else self.fresh.append(file)
            case _:
                pass  # decided; or the sweep takes it up once the other version of its key is decided

    def closed_as(self, decision: Decision) -> list[Finding]:
        """Return the findings of the files that their key's other versions decide so."""
        pairs = [(file, standing) for file, standing in self.closures if standing.decision is decision]
        return [Finding(file=file, reasons=(standing.reason,), reuploads=self.reuploads) for file, standing in pairs]


def triage(
    service: Service, table: str, files: Iterable[FileVersion], reuploads: Reuploads, index: ClaimIndex
) -> Triage:
    """Sort files of a table, oldest first, by what is known of them now."""
    files = list(files)
    _, receipts = main_receipts(service, files)
    claims = index.find_open([file.key for file in files], receipts, table)
    result = Triage(table=table, reuploads=reuploads, receipts=receipts)
    for file in files:
        result.add(file, claims)
    return result
