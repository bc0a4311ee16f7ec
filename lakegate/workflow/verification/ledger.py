"""Decisions as receipts have them, and what reports and main's tables say of the same file versions."""

from collections.abc import Container, Iterable, Iterator, Mapping

from lakegate.audit.model.codec import PARSE_ERRORS
from lakegate.audit.model.report import Report
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.landing.chunks import in_chunks
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.replaced import paths_of
from lakegate.workflow.attempts.reports import PREFIX as REPORTS
from lakegate.workflow.attempts.reports import readable_report
from lakegate.workflow.ledger.receipts import CLOSED
from lakegate.workflow.ledger.receipts import PREFIX as RECEIPTS
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.service import Service
from lakegate.workflow.verification.facts import DecidedVersion, Decisions, Written

AT_ONCE = 1000  # objects that are read together
UNREADABLE = (*PARSE_ERRORS, Misconfigured)


def read_ledger(service: Service) -> Decisions:
    """Read every receipt on main and in the archive, and every report; that takes a request for each object."""
    head = service.branches.head(MAIN) or ""
    archived, broken = _archive(service)
    receipts = _latest(service.ledger.all_receipts(Ref(MAIN, head)), archived)
    published, replaced = list[DecidedVersion](), list[DecidedVersion]()
    for where, receipt in receipts:
        there = {entry.version_id for entry in receipt.on_main} if not where.startswith(CLOSED) else ()
        for entry in receipt.entries:
            if entry.decision is Decision.PUBLISHED:
                (published if entry.version_id in there else replaced).append(_decided(receipt, entry, where))
    known = {entry.file(it.bucket, it.key).id for _, it in receipts for entry in it.entries}
    reports = dict(_reports(service))
    tables = sorted({it.table for it in reports} | {it.attempt.table for it in published})
    return Decisions(
        published=tuple(published),
        replaced=tuple(replaced),
        reports=reports,
        there={table: service.tables.paths(Ref(MAIN, head), table) for table in tables},
        forgotten=tuple(_forgotten(service, known)),
        unread=(*broken, *(it.key for _, it in receipts if it.unreadable)),
    )


def _archive(service: Service) -> tuple[dict[str, Receipt], list[str]]:
    """Return the archive's receipts by the names of their objects, and the names of those that cannot be read."""
    found, broken = dict[str, Receipt](), list[str]()
    for names in in_chunks([*service.store.names(RECEIPTS), *service.store.names(CLOSED)], AT_ONCE):
        for name, body in service.store.read_many(names).items():
            try:
                found[name] = Receipt.from_json(body)
            except UNREADABLE:
                broken.append(name)
    return found, broken


def _latest(on_main: Iterable[Receipt], archived: Mapping[str, Receipt]) -> list[tuple[str, Receipt]]:
    """Return the receipts that count, with the archive's object that holds each, "" on main. A receipt on main counts
    more than the archive's of the same key; closed entries are in no other receipt.
    """
    main = {receipt.key: receipt for receipt in on_main}
    return [("", it) for it in main.values()] + [
        (name, it) for name, it in archived.items() if name.startswith(CLOSED) or it.key not in main
    ]


def _decided(receipt: Receipt, entry: Entry, where: str) -> DecidedVersion:
    return DecidedVersion(
        id=entry.file(receipt.bucket, receipt.key).id,
        key=receipt.key,
        version=entry.version_id,
        attempt=Attempt(table=entry.table, batch=entry.batch, number=entry.attempt),
        kept_in=where,
    )


def _reports(service: Service) -> Iterator[tuple[Attempt, Written]]:
    """Yield what the reports say that can be read. Of the others, `rules` says which file versions miss theirs."""
    for name in service.store.names(REPORTS):
        attempt = Attempt.parse(name.removeprefix(REPORTS).removesuffix(".json"))
        if attempt and (report := readable_report(service.store, attempt)):
            yield attempt, _written(report)


def _written(report: Report) -> Written:
    return Written(
        files={file.id: paths_of(file.data_files) for file in report.files},
        rewriting=frozenset(file.id for file in report.files if file.replaces.rewritten),
        taken=paths_of(report.rewritten.data_files),
        left=paths_of(report.rewritten.left),
    )


def _forgotten(service: Service, known: Container[str]) -> Iterator[str]:
    """Yield the landed versions that no sweep looks at, because they are older than the watermark, and that are neither
    decided nor noted.
    """
    mark = service.ledger.watermark()
    if mark is None:
        return
    noted = {each.file.id for each in unrouted_files(service)}
    for file in service.landing.versions():
        if file.landed_at < mark and not file.is_marker and file.id not in known and file.id not in noted:
            yield f"{file.key}, version {file.version_id}"
