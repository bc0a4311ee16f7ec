"""Rules of verification: each judges facts and says what is wrong, or what cannot be known, and what to run.

They read nothing.
"""

from collections.abc import Callable, Container, Iterator, Mapping

from lakegate.counts import count
from lakegate.doctor.finding import Finding, ok, unknown, wrong
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN
from lakegate.workflow.verification.facts import Comparison, DecidedVersion, Decisions, Needs, Open

MOST_NAMES = 20  # findings of one kind that are named each
GUIDE = "docs/how-to/restoring.md"
UNDO = f"bring it back from the bucket's earlier versions ({GUIDE})"


def findings(facts: Comparison) -> list[Finding]:
    """Return all findings. A rule that finds nothing says that all is well."""
    return [finding for rule in RULES for finding in _shorten(list(rule(facts)))]


def _shorten(findings: list[Finding]) -> list[Finding]:
    """Name the first findings of a rule and count the others."""
    rest = len(findings) - MOST_NAMES
    if rest <= 1:
        return findings
    last = findings[MOST_NAMES]
    summary = Finding(subject=last.subject, verdict=last.verdict, said=f"and {count(rest, 'more finding')} like it")
    return [*findings[:MOST_NAMES], summary]


def tables(facts: Comparison) -> Iterator[Finding]:
    """Judge whether the tables of main can be read."""
    main = next(needs for needs in facts.needs if needs.reference == MAIN)
    yield from _lost_files(main, UNDO) if main.lost_files or main.unread else _complete("main's tables", main.files)


def branches(facts: Comparison) -> Iterator[Finding]:
    """Judge whether the tables of other references can be read."""
    references = [needs for needs in facts.needs if needs.reference != MAIN]
    for needs in references:
        attempt = Attempt.parse(needs.reference)
        give_up = f"lakegate retry {attempt.batch}" if attempt else "delete the branch or tag"
        yield from _lost_files(needs, f"{UNDO}; if it is lost: {give_up}")
    if not any(needs.lost_files or needs.unread for needs in references):
        yield from _complete(
            f"tables of {count(len(references), 'other reference')}", sum(needs.files for needs in references)
        )


def _complete(subject: str, files: int) -> Iterator[Finding]:
    yield ok(subject, f"all files that they need are there ({count(files, 'file')})")


def _lost_files(needs: Needs, todo: str) -> Iterator[Finding]:
    for reason in needs.unread:
        yield wrong(needs.reference, reason, todo)
    for uri in needs.lost_files:
        yield wrong(needs.reference, f"{uri} is missing", todo)


def receipts(facts: Comparison) -> Iterator[Finding]:
    """Judge whether the rows of each published file version are on main, once, and no others."""
    ledger = facts.ledger
    for name in ledger.unread:
        yield wrong("receipts", f"the receipt {name} can't be read, so nothing is known of its key", UNDO)
    findings = [finding for table in ledger.paths_by_table for finding in _rows(ledger, table)]
    yield from findings
    if not findings and not ledger.unread:
        yield ok("receipts", f"all rows of {count(len(ledger.published), 'published file')} are on main, each once")


def _rows(ledger: Decisions, table: str) -> Iterator[Finding]:
    """Compare the data files that the reports of published versions name with those that main has. Once somebody else
    has written to the table, nothing can be told of a version by its data files.
    """
    main_paths = ledger.paths_by_table[table]
    taken_paths, left_paths = _moved_files(ledger, table)
    paths_by_file = {file: _paths(ledger, file) for file in ledger.published if file.attempt.table == table}
    strangers = main_paths - (frozenset[str]().union(left_paths, *filter(None, paths_by_file.values())) - taken_paths)
    writers = _writers(ledger, table, strangers)
    stray_paths = strangers - writers.keys()
    for file, paths in paths_by_file.items():
        if paths is None:
            problem = f"{file.name} is published, and the report of {file.attempt.branch} does not tell of it"
            yield unknown("receipts", problem, UNDO)
        elif not stray_paths and (missing_paths := paths - taken_paths - main_paths):
            yield _missing_finding(file, len(missing_paths))
    yield from _twice_or_unknown(writers, {file.id for file in paths_by_file})
    if stray_paths and None not in paths_by_file.values():
        problem = (
            f"{table} has {count(len(stray_paths), 'data file')} on main that no report names, so somebody wrote to it"
        )
        yield unknown("receipts", f"{problem}, and its files cannot be compared", "look at its rows: lakegate query")


def _twice_or_unknown(writers: Mapping[str, tuple[Attempt, str]], published: Container[str]) -> Iterator[Finding]:
    """Judge data files of attempts that no receipt names as their file's own."""
    for path, (attempt, id_) in sorted(writers.items()):
        reason = "its file is published by another attempt" if id_ in published else "no receipt tells of its file"
        todo = f"receipts/ in the service's bucket is older than the catalog: {UNDO}"
        yield wrong("receipts", f"{path} of {attempt.branch} is on main, and {reason}", todo)


def _moved_files(ledger: Decisions, table: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the data files that published versions took off the table because others shared them, and those that hold
    the rest.
    """
    taken_paths, left_paths = frozenset[str](), frozenset[str]()
    for file in (*ledger.published, *ledger.replaced_versions):
        report = ledger.reports.get(file.attempt)
        if report and file.attempt.table == table and file.id in report.rewriting_ids:
            taken_paths, left_paths = taken_paths | report.taken_paths, left_paths | report.left_paths
    return taken_paths, left_paths


def _paths(ledger: Decisions, file: DecidedVersion) -> frozenset[str] | None:
    report = ledger.reports.get(file.attempt)
    return report.files.get(file.id) if report else None


def _writers(ledger: Decisions, table: str, paths: frozenset[str]) -> Mapping[str, tuple[Attempt, str]]:
    """Return who wrote these data files, as reports say it: the attempt, and the file version's id."""
    return {
        path: (attempt, id_)
        for attempt, report in ledger.reports.items()
        if attempt.table == table and paths
        for id_, own_paths in report.files.items()
        for path in own_paths & paths
    }


def _missing_finding(file: DecidedVersion, missing_files: int) -> Finding:
    """Judge a published version of which main lacks data files."""
    problem = (
        f"{file.name} is published by {file.attempt.branch}, and main lacks {count(missing_files, 'data file')} of it"
    )
    if file.kept_in:
        todo = f"{file.kept_in} is younger than the catalog: bring it back to the catalog's moment ({GUIDE})"
        return wrong("receipts", f"{problem}; the archive tells so", f"{todo}, then lakegate reconcile")
    return wrong(
        "receipts", problem, "unless a person has deleted its rows, restore the catalog anew, to another moment"
    )


def watermark(facts: Comparison) -> Iterator[Finding]:
    """Judge whether a file is left that no sweep looks at."""
    for name in facts.ledger.lost_versions:
        problem = f"{name} landed before the watermark, and nothing tells what became of it"
        yield wrong("archive", problem, f"receipts/ in the service's bucket is older than the catalog: {UNDO}")
    if not facts.ledger.lost_versions:
        yield ok("archive", "each file that landed before the watermark is decided, or noted as unrouted")


def attempts(facts: Comparison) -> Iterator[Finding]:
    """Judge whether open attempts find what they refer to."""
    findings = [finding for attempt in facts.open for finding in _attempt(attempt)]
    yield from findings
    if not findings:
        yield ok("attempts", f"{count(len(facts.open), 'open attempt')}: each finds its job, report and commits")


def _attempt(open_attempt: Open) -> Iterator[Finding]:
    name, retry_command = (
        open_attempt.attempt.branch,
        f"lakegate reconcile, and then lakegate retry {open_attempt.attempt.batch}",
    )
    if open_attempt.unread:
        yield wrong(name, open_attempt.unread, UNDO)
    elif open_attempt.unknown:
        object_name = open_attempt.report or open_attempt.job
        commits = count(len(open_attempt.unknown), "commit")
        problem = f"{object_name} names {commits} that the catalog lacks, so it cannot be published"
        yield wrong(name, problem, f"try its files again: {retry_command}")
    elif not open_attempt.job:
        problem = "it has no frozen job: it was just begun, or the service's bucket is older than the catalog"
        yield unknown(name, problem, f"{UNDO}, or begin it anew: lakegate reconcile")
    elif open_attempt.has_rows and not open_attempt.report:
        problem = "it has rows and no report: its job runs, or the service's bucket is older than the catalog"
        yield unknown(name, problem, f"{UNDO}, or once its job has ended: {retry_command}")


RULES: tuple[Callable[[Comparison], Iterator[Finding]], ...] = (tables, branches, receipts, watermark, attempts)
