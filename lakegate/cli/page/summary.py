"""The head of a page: how many files came to which verdict, and which checks failed in how many of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lakegate.audit.model.report import WORST_FIRST, FileReport, Report, Verdict


@dataclass(frozen=True, kw_only=True)
class Part:
    """The files of one verdict."""

    verdict: Verdict
    files: int


@dataclass(kw_only=True)
class Failure:
    """A check that did not pass, or a fault, with its worst verdict and the places of its files in the page."""

    name: str
    verdict: Verdict
    rows: int = 0
    files: list[int] = field(default_factory=list)


def parts(report: Report) -> list[Part]:
    """Return the report's files by verdict, the worst first."""
    numbers = {verdict: sum(file.verdict is verdict for file in report.files) for verdict in WORST_FIRST}
    return [Part(verdict=verdict, files=number) for verdict, number in numbers.items() if number]


def failures(files: Iterable[FileReport]) -> list[Failure]:
    """Return what did not pass, that of most files first within a verdict. Places are those in the order given."""
    by_name: dict[str, Failure] = {}
    for at, file in enumerate(files):
        for fault in file.faults:
            by_name.setdefault(fault, Failure(name=fault, verdict=Verdict.FAIL)).files.append(at)
        for check in file.checks:
            if check.verdict is not Verdict.PASS:
                failure = by_name.setdefault(check.name, Failure(name=check.name, verdict=check.verdict))
                failure.verdict = min(failure.verdict, check.verdict, key=WORST_FIRST.index)
                failure.rows += check.failing_rows
                failure.files.append(at)
    return sorted(by_name.values(), key=lambda failure: (WORST_FIRST.index(failure.verdict), -len(failure.files)))


def files_with_remarks(files: Iterable[FileReport]) -> list[tuple[int, FileReport]]:
    """Return the files of which there is something to say, with their places in the order given."""
    return [(at, file) for at, file in enumerate(files) if not _is_quiet(file)]


def quiet_files(files: Iterable[FileReport]) -> list[FileReport]:
    """Return the other files, which share one line."""
    return [file for file in files if _is_quiet(file)]


def _is_quiet(file: FileReport) -> bool:
    return file.verdict is Verdict.PASS and not (file.warnings or file.unread)
