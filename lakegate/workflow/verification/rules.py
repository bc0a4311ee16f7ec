"""Rules of verification: each judges facts and says what is wrong, or what cannot be told, and what to run.

They read nothing.
"""

from collections.abc import Callable, Container, Iterator, Mapping

from lakegate.counts import count
from lakegate.doctor.finding import Finding, ok, unknown, wrong
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN
from lakegate.workflow.verification.facts import Comparison, DecidedVersion, Decisions, Needs, Open

NAMED = 20  # findings of one kind that are named each
GUIDE = "docs/how-to/restoring.md"
UNDO = f"bring it back from the bucket's earlier versions ({GUIDE})"


def findings(facts: Comparison) -> list[Finding]:
    """Return all findings. A rule that finds nothing says that all is well."""
    return [finding for rule in RULES for finding in _shortened(list(rule(facts)))]


def _shortened(found: list[Finding]) -> list[Finding]:
    """Name the first findings of a rule and count the others."""
    left = len(found) - NAMED
    if left <= 1:
        return found
    last = found[NAMED]
    more = Finding(subject=last.subject, verdict=last.verdict, said=f"and {count(left, 'more finding')} like it")
    return [*found[:NAMED], more]


def tables(facts: Comparison) -> Iterator[Finding]:
    """Judge whether the tables of main can be read."""
    main = next(needs for needs in facts.needs if needs.reference == MAIN)
    yield from _lost(main, UNDO) if main.lost or main.unread else _complete("main's tables", main.files)


def branches(facts: Comparison) -> Iterator[Finding]:
    """Judge whether the tables of other references can be read."""
    others = [needs for needs in facts.needs if needs.reference != MAIN]
    for needs in others:
        attempt = Attempt.parse(needs.reference)
        give_up = f"lakegate retry {attempt.batch}" if attempt else "delete the branch or tag"
        yield from _lost(needs, f"{UNDO}; if it is lost: {give_up}")
    if not any(needs.lost or needs.unread for needs in others):
        yield from _complete(f"tables of {count(len(others), 'other reference')}", sum(it.files for it in others))


def _complete(subject: str, files: int) -> Iterator[Finding]:
    yield ok(subject, f"all files that they need are there ({count(files, 'file')})")


def _lost(needs: Needs, todo: str) -> Iterator[Finding]:
    for why in needs.unread:
        yield wrong(needs.reference, why, todo)
    for uri in needs.lost:
        yield wrong(needs.reference, f"{uri} is missing", todo)


def receipts(facts: Comparison) -> Iterator[Finding]:
    """Judge whether the rows of each published file version are on main, once, and no others."""
    ledger = facts.ledger
    for name in ledger.unread:
        yield wrong("receipts", f"the receipt {name} can't be read, so nothing is known of its key", UNDO)
    found = [finding for table in ledger.there for finding in _rows(ledger, table)]
    yield from found
    if not found and not ledger.unread:
        yield ok("receipts", f"all rows of {count(len(ledger.published), 'published file')} are on main, each once")


def _rows(ledger: Decisions, table: str) -> Iterator[Finding]:
    """Compare the data files that the reports of published versions name with those that main has. Once somebody else
    has written to the table, nothing can be told of a version by its data files.
    """
    there = ledger.there[table]
    taken, left = _moved(ledger, table)
    own = {it: _paths(ledger, it) for it in ledger.published if it.attempt.table == table}
    strangers = there - (frozenset[str]().union(left, *filter(None, own.values())) - taken)
    writers = _writers(ledger, table, strangers)
    unreported = strangers - writers.keys()
    for file, paths in own.items():
        if paths is None:
            what = f"{file.name} is published, and the report of {file.attempt.branch} does not tell of it"
            yield unknown("receipts", what, UNDO)
        elif not unreported and (gone := paths - taken - there):
            yield _missing(file, len(gone))
    yield from _twice_or_unknown(writers, {file.id for file in own})
    if unreported and None not in own.values():
        what = (
            f"{table} has {count(len(unreported), 'data file')} on main that no report names, so somebody wrote to it"
        )
        yield unknown("receipts", f"{what}, and its files cannot be compared", "look at its rows: lakegate query")


def _twice_or_unknown(writers: Mapping[str, tuple[Attempt, str]], published: Container[str]) -> Iterator[Finding]:
    """Judge data files of attempts that no receipt names as their file's own."""
    for path, (attempt, id_) in sorted(writers.items()):
        why = "its file is published by another attempt" if id_ in published else "no receipt tells of its file"
        todo = f"receipts/ in the service's bucket is older than the catalog: {UNDO}"
        yield wrong("receipts", f"{path} of {attempt.branch} is on main, and {why}", todo)


def _moved(ledger: Decisions, table: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the data files that published versions took off the table because others shared them, and those that hold
    the rest.
    """
    taken, left = frozenset[str](), frozenset[str]()
    for file in (*ledger.published, *ledger.replaced):
        report = ledger.reports.get(file.attempt)
        if report and file.attempt.table == table and file.id in report.rewriting:
            taken, left = taken | report.taken, left | report.left
    return taken, left


def _paths(ledger: Decisions, file: DecidedVersion) -> frozenset[str] | None:
    report = ledger.reports.get(file.attempt)
    return report.files.get(file.id) if report else None


def _writers(ledger: Decisions, table: str, paths: frozenset[str]) -> Mapping[str, tuple[Attempt, str]]:
    """Return who wrote these data files, as reports say it: the attempt, and the file version's id."""
    return {
        path: (attempt, id_)
        for attempt, report in ledger.reports.items()
        if attempt.table == table and paths
        for id_, its in report.files.items()
        for path in its & paths
    }


def _missing(file: DecidedVersion, gone: int) -> Finding:
    """Judge a published version of which main lacks data files."""
    what = f"{file.name} is published by {file.attempt.branch}, and main lacks {count(gone, 'data file')} of it"
    if file.kept_in:
        todo = f"{file.kept_in} is younger than the catalog: bring it back to the catalog's moment ({GUIDE})"
        return wrong("receipts", f"{what}; the archive tells so", f"{todo}, then lakegate reconcile")
    return wrong("receipts", what, "unless a person has deleted its rows, restore the catalog anew, to another moment")


def watermark(facts: Comparison) -> Iterator[Finding]:
    """Judge whether a file is left that no sweep looks at."""
    for name in facts.ledger.forgotten:
        what = f"{name} landed before the watermark, and nothing tells what became of it"
        yield wrong("archive", what, f"receipts/ in the service's bucket is older than the catalog: {UNDO}")
    if not facts.ledger.forgotten:
        yield ok("archive", "each file that landed before the watermark is decided, or noted as unrouted")


def attempts(facts: Comparison) -> Iterator[Finding]:
    """Judge whether open attempts find what they refer to."""
    found = [finding for attempt in facts.open for finding in _attempt(attempt)]
    yield from found
    if not found:
        yield ok("attempts", f"{count(len(facts.open), 'open attempt')}: each finds its job, report and commits")


def _attempt(look: Open) -> Iterator[Finding]:
    name, again = look.attempt.branch, f"lakegate reconcile, and then lakegate retry {look.attempt.batch}"
    if look.unread:
        yield wrong(name, look.unread, UNDO)
    elif look.unknown:
        where = look.report or look.job
        what = f"{where} names {count(len(look.unknown), 'commit')} that the catalog lacks, so it cannot be published"
        yield wrong(name, what, f"try its files again: {again}")
    elif not look.job:
        what = "it has no frozen job: it was just begun, or the service's bucket is older than the catalog"
        yield unknown(name, what, f"{UNDO}, or begin it anew: lakegate reconcile")
    elif look.has_rows and not look.report:
        what = "it has rows and no report: its job runs, or the service's bucket is older than the catalog"
        yield unknown(name, what, f"{UNDO}, or once its job has ended: {again}")


RULES: tuple[Callable[[Comparison], Iterator[Finding]], ...] = (tables, branches, receipts, watermark, attempts)
