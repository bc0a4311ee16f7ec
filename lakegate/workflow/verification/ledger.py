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
from lakegate.workflow.attempts.replacement import paths_of
from lakegate.workflow.attempts.reports import PREFIX as REPORTS
from lakegate.workflow.attempts.reports import readable_report
from lakegate.workflow.ledger.receipts import CLOSED_PREFIX
from lakegate.workflow.ledger.receipts import PREFIX as RECEIPTS
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.service import Service
from lakegate.workflow.verification.facts import DecidedVersion, Decisions, FilesWritten

AT_ONCE = 1000  # objects that are read together
UNREADABLE = (*PARSE_ERRORS, Misconfigured)


def read_ledger(service: Service) -> Decisions:
    """Read every receipt on main and in the archive, and every report; that takes a request for each object."""
    head = service.branches.head(MAIN) or ""
    archive, broken_names = _archive(service)
    receipts = _latest(service.ledger.all_receipts(Ref(MAIN, head)), archive)
    published, old_versions = list[DecidedVersion](), list[DecidedVersion]()
    for place, receipt in receipts:
        versions_on_main = (
            {entry.version_id for entry in receipt.on_main} if not place.startswith(CLOSED_PREFIX) else ()
        )
        for entry in receipt.entries:
            if entry.decision is Decision.PUBLISHED:
                (published if entry.version_id in versions_on_main else old_versions).append(
                    _version_of(receipt, entry, place)
                )
    known_ids = {entry.file(receipt.bucket, receipt.key).id for _, receipt in receipts for entry in receipt.entries}
    reports = dict(_reports(service))
    tables = sorted({attempt.table for attempt in reports} | {version.attempt.table for version in published})
    return Decisions(
        published=tuple(published),
        replaced_versions=tuple(old_versions),
        reports=reports,
        paths_by_table={table: service.tables.paths(Ref(MAIN, head), table) for table in tables},
        lost_versions=tuple(_lost_versions(service, known_ids)),
        unread=(*broken_names, *(receipt.key for _, receipt in receipts if receipt.unreadable)),
    )


def _archive(service: Service) -> tuple[dict[str, Receipt], list[str]]:
    """Return the archive's receipts by the names of their objects, and the names of those that cannot be read."""
    receipts, broken_names = dict[str, Receipt](), list[str]()
    for names in in_chunks([*service.store.names(RECEIPTS), *service.store.names(CLOSED_PREFIX)], AT_ONCE):
        for name, body in service.store.read_many(names).items():
            try:
                receipts[name] = Receipt.from_json(body)
            except UNREADABLE:
                broken_names.append(name)
    return receipts, broken_names


def _latest(on_main: Iterable[Receipt], archive: Mapping[str, Receipt]) -> list[tuple[str, Receipt]]:
    """Return the receipts that count, with the archive's object that holds each, "" on main. A receipt on main counts
    more than the archive's of the same key; closed entries are in no other receipt.
    """
    main = {receipt.key: receipt for receipt in on_main}
    return [("", receipt) for receipt in main.values()] + [
        (name, receipt)
        for name, receipt in archive.items()
        if name.startswith(CLOSED_PREFIX) or receipt.key not in main
    ]


def _version_of(receipt: Receipt, entry: Entry, place: str) -> DecidedVersion:
    return DecidedVersion(
        id=entry.file(receipt.bucket, receipt.key).id,
        key=receipt.key,
        version=entry.version_id,
        attempt=Attempt(table=entry.table, batch=entry.batch, number=entry.attempt),
        kept_in=place,
    )


def _reports(service: Service) -> Iterator[tuple[Attempt, FilesWritten]]:
    """Yield what the reports say that can be read. Of the others, `rules` says which file versions miss theirs."""
    for name in service.store.names(REPORTS):
        attempt = Attempt.parse(name.removeprefix(REPORTS).removesuffix(".json"))
        if attempt and (report := readable_report(service.store, attempt)):
            yield attempt, _files_written(report)


def _files_written(report: Report) -> FilesWritten:
    return FilesWritten(
        files={file.id: paths_of(file.data_files) for file in report.files},
        rewriting_ids=frozenset(file.id for file in report.files if file.replaces.rewritten),
        taken_paths=paths_of(report.rewritten.data_files),
        left_paths=paths_of(report.rewritten.left),
    )


def _lost_versions(service: Service, known_ids: Container[str]) -> Iterator[str]:
    """Yield the landed versions that no sweep looks at, because they are older than the watermark, and that are neither
    decided nor recorded.
    """
    mark = service.ledger.watermark()
    if mark is None:
        return
    unrouted_ids = {unrouted.file.id for unrouted in unrouted_files(service)}
    for file in service.landing.versions():
        if file.landed_at < mark and not file.is_marker and file.id not in known_ids and file.id not in unrouted_ids:
            yield f"{file.key}, version {file.version_id}"
