"""docs/reference/limits.md: every limit with its default, from the code's own numbers.

`python -m tests.support.limits` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lakegate import bootstrap, visibility
from lakegate.adapters import avro_blocks, decoding, http, slack, sql, sqs
from lakegate.adapters.channels import document as event_document
from lakegate.adapters.channels import lineage
from lakegate.audit import bounded_http
from lakegate.audit.evaluation import samples
from lakegate.audit.model import limits
from lakegate.audit.model.limits import DEFAULTS
from lakegate.contracts import reading
from lakegate.contracts.checks import check
from lakegate.contracts.odcs import document, size_limits
from lakegate.contracts.regex import portable, repetition
from lakegate.contracts.sql import growth, statements
from lakegate.dashboard import figures
from lakegate.express.limits import Limits as Express
from lakegate.landing import ingestion, routes
from lakegate.operations import wire
from lakegate.publishing.nessie import records
from lakegate.wap import source
from lakegate.workflow import backlog, reconcile, registry, status
from lakegate.workflow.cleaning import candidates
from lakegate.workflow.ledger import decisions
from lakegate.workflow.notices import events
from lakegate.workflow.receiving import queued
from lakegate.workflow.settlement import backoff
from spark_jobs.appending import partition_counts
from spark_jobs.formats.avro import blocks, claims
from spark_jobs.metrics import malformed
from spark_jobs.tables import nessie

PAGE = Path(__file__).parents[2] / "docs/reference/limits.md"
MIB = 1024**2
TEXT = (
    "# Limits\n\n"
    "Every limit that input can meet, with its default and the step that asks it. A limit is asked before the work "
    "that it bounds. *Setting* is the word of a contract that changes the limit; a limit without one is the same in "
    "every installation. Who goes beyond a limit is told the limit, what was found, and the setting.\n\n"
    "`make reference` writes this page from the code.\n"
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One limit. `asked` is the step that asks it, and what becomes of what is beyond."""

    what: str
    limit: str
    asked: str
    setting: str = ""


def row(what: str, limit: float | str, asked: str, setting: str = "") -> Row:
    said = limit if isinstance(limit, str) else f"{limit:,}"
    return Row(what=what, limit=said, asked=asked, setting=setting)


def size(count: int) -> str:
    whole = count // MIB
    return f"{whole // 1024:,} GiB" if whole >= 1024 else f"{whole:,} MiB" if whole else f"{count // 1024:,} KiB"


REGISTRY = "`contract push`, which is refused; of those that are there already, `status` names the longest"
INIT = "`contract init`; no contract is made, and a part of the file may be given"
ASKED = "`query`, `show --rows` and the dashboard, which say what to ask instead"
ON_DISK = "`try` and `lakegate.wap`; the rest is on disk, in `TMPDIR`"
EXPRESS, TO_SPARK = Express(), "the express lane; Spark takes the batch"
PUSH, INSPECT, AUDIT = "`contract check`; the contract is refused", "the inspection; the file is rejected", "the audit"
PARTS: dict[str, list[Row]] = {
    "Keys and routes": [
        row("a route, in bytes", routes.LONGEST, PUSH),
        row("a table's name, in characters", reading.LONGEST_TABLE, PUSH),
        row("contracts named in an unrouted file's reason", registry.MOST_NAMES, "receiving; the rest are counted"),
    ],
    "Files": [
        row("bytes", size(DEFAULTS.bytes), "before the file is staged; it is rejected", limits.SETTINGS["bytes"]),
        row("bytes out of a compressed file", size(DEFAULTS.uncompressed), INSPECT, limits.SETTINGS["uncompressed"]),
        row("rows", DEFAULTS.rows, INSPECT, limits.SETTINGS["rows"]),
        row("row groups, stripes", DEFAULTS.row_groups, INSPECT, limits.SETTINGS["row_groups"]),
        row("blocks of Avro", DEFAULTS.blocks, INSPECT, limits.SETTINGS["blocks"]),
        row("bytes of a block of Avro, packed or not", blocks.MOST_BYTES, INSPECT),
        row("rows of Avro that have no bytes", claims.ROWS_OF_NOTHING, INSPECT),
        row(
            "columns with the parts of nested ones, keys of a JSON object",
            DEFAULTS.columns,
            INSPECT,
            limits.SETTINGS["columns"],
        ),
        row("nesting", DEFAULTS.nesting, INSPECT, limits.SETTINGS["nesting"]),
        row("bytes of a footer or header", size(DEFAULTS.footer), INSPECT, limits.SETTINGS["footer"]),
        row("bytes of a line of text", size(DEFAULTS.line), INSPECT, limits.SETTINGS["line"]),
        row("partitions that one file writes", partition_counts.LIMIT, "the append; the file is rejected"),
    ],
    "Contracts": [
        row("bytes", size(document.LARGEST), PUSH),
        row("words and values of YAML", document.MOST_NODES, PUSH),
        row("nesting of YAML", document.DEEPEST, PUSH),
        row("characters of a key", document.LONGEST_WORD, PUSH),
        row("columns with the parts of nested ones", size_limits.COLUMNS, PUSH),
        row("entries of `quality`, `relationships` and `slaProperties`", size_limits.CHECKS, PUSH),
        row("values of one list", size_limits.VALUES, PUSH),
        row("characters of a text", size_limits.LETTERS, PUSH),
        row("characters of a name", size_limits.NAME, PUSH),
        row("characters of a pattern", portable.MOST_CHARACTERS, PUSH),
        row("groups of a pattern within each other", portable.DEEPEST, PUSH),
        row("repetitions of a pattern, those within others multiplied", portable.LONGEST, PUSH),
        row("tries of a pattern with one text", repetition.MOST_TRIES, f"{PUSH}, or longer texts count as failing"),
        row(
            "characters of a text for a pattern with repetitions or groups that could take long",
            repetition.LENGTHS[0],
            "the check; longer texts count as failing",
        ),
        row("characters of SQL", statements.LONGEST, PUSH),
        row("parentheses, CASE and signs of SQL within each other", statements.MOST_NESTING, PUSH),
        row("columns and values that SQL makes one text of", growth.TEXTS, PUSH),
        row("columns and values of SQL, those of queries in FROM each time that they are named", growth.PIECES, PUSH),
        row("characters of a row's text that SQL looks for in another", growth.MOST_SEARCH_CHARACTERS, PUSH),
        row("pieces of a WHERE, for each aggregate that it is put to", statements.COPIES, PUSH),
    ],
    "Samples of a contract": [
        row("bytes of a sample's rows in memory, and of a block of Avro unpacked", size(decoding.MOST_BYTES), INIT),
        row("rows of a sample in Avro", avro_blocks.MOST_RECORDS, INIT),
        row("values of a nested column in one row group of parquet", decoding.MOST_NESTED_VALUES, INIT),
    ],
    "All contracts together": [
        row("bytes", size(registry.MOST_BYTES), REGISTRY),
        row("contracts", registry.MOST_CONTRACTS, REGISTRY),
    ],
    "The express lane": [
        row("bytes of a batch's files", size(EXPRESS.bytes), TO_SPARK),
        row("bytes out of them, by their footers", size(EXPRESS.uncompressed), TO_SPARK),
        row("bytes of their rows in memory", size(EXPRESS.arrow), TO_SPARK),
        row("rows of a batch", EXPRESS.rows, TO_SPARK),
        row("files of a batch", EXPRESS.files, TO_SPARK),
        row("partitions that one file writes", EXPRESS.partitions, TO_SPARK),
        row("data files of a table whose keys are compared with the batch's", EXPRESS.compared_files, TO_SPARK),
        row("bytes of memory of DuckDB", size(EXPRESS.memory), TO_SPARK),
    ],
    "Files that are tried": [
        row("bytes of a file's rows in memory at once", size(source.LIMITS.arrow), ON_DISK),
        row("bytes of memory of DuckDB", size(source.LIMITS.memory), ON_DISK),
        row(
            "bytes of rows that are read for the audit",
            "half of the free disk in `TMPDIR`",
            "`try` and `lakegate.wap`, which end; nothing is published",
        ),
        row("partitions that one file writes", "none", "not asked by `try`"),
    ],
    "Rows that a person reads": [
        row("bytes of one row in memory", size(decoding.MOST_BYTES), ASKED),
        row("bytes of an answer's values", size(sql.ANSWER_SIZE), "`query`, which says what to ask instead"),
        row("bytes of that answer, packed", f"{wire.LARGEST:,}", "`query`, which says what to ask instead"),
        row(
            "seconds of reading a table, and of DuckDB's answer",
            int(sql.ANSWER_SECONDS),
            "`query`, which says what to ask instead",
        ),
        row(
            "bytes of an answer's texts",
            size(decoding.MOST_BYTES),
            "`show --rows` and the dashboard, which say so",
        ),
        row("bytes of memory of DuckDB", size(sql.MEMORY), "`query`; the rest is on disk, in `TMPDIR`"),
        row("characters of a value on a page", figures.LETTERS, "the dashboard; how many more there are is said"),
        row("bytes of one table's columns that a statement reads", "half of the free disk in `TMPDIR`", ASKED),
    ],
    "Batches and sweeps": [
        row("files of a batch", ingestion.MOST_FILES, "receiving; the rest are another batch", "batchFiles"),
        row(
            "crashes of several files together, before their halves are tried",
            backoff.CRASHES_BEFORE_HALVING,
            "settling; a batch has at most four jobs that crash for each of its files",
        ),
        row("files that one sweep receives", reconcile.AT_ONCE, "the sweep; the next one goes on"),
        row("queued files that one call takes up", queued.AT_ONCE, "receiving; the next call goes on"),
        row("dead letters of files that one sweep reads", sqs.MOST_MESSAGES, "the sweep; the next one goes on"),
        row("dead letters of jobs that one sweep handles", reconcile.RUNS, "the sweep; the next one goes on"),
        row(
            "time of one sweep for branches",
            f"{reconcile.BRANCHES.seconds // 60} minutes",
            "the sweep; the next one goes on",
        ),
        row("characters of a person's reason", decisions.REASON, "`approve`, `discard`; nothing is decided"),
        row("decisions that `status` reads", status.DECISIONS, "`status`, which says so"),
        row("landed files that a sweep notes for `status`", backlog.MOST_FILES, "the sweep"),
        row(
            "unneeded files of a table's folder in a run",
            candidates.MOST_CANDIDATES,
            "`clean`; a later run takes the others",
        ),
    ],
    "Events for other systems": [
        row("files that an event names", events.FILES, "the event; the rest are counted"),
        row(
            "checks that it names, of all files, and columns of the table",
            events.CHECKS,
            "the event; failed ones first",
        ),
        row("characters of a text in it", events.TEXT, "the event; the text is cut"),
        row(
            "bytes of it on the bus and at the webhook",
            event_document.LARGEST,
            "the event; files are left out and counted",
        ),
        row("bytes of it in OpenLineage", lineage.LARGEST, "the event; facets are left out, then files"),
    ],
    "Network": [
        row(
            "a call to Nessie or S3's catalog as a whole, in seconds",
            http.SECONDS,
            "every client; the call is made again later",
        ),
        row("a call to Slack as a whole, in seconds", slack.SECONDS, "the notifier; the message is sent later"),
        row(
            "an answer of a webhook's receiver, an OIDC issuer or Slack",
            size(bounded_http.LARGEST),
            "whoever asked; a longer one is as none",
        ),
        row("the job's own call to Nessie, in seconds", nessie.TIMEOUT_SECONDS, "the job"),
        row("redirects that are followed", "0", "every client, which says where to"),
    ],
    "What people read": [
        row("faults of a file", limits.MOST_FAULTS, "the report; more are counted"),
        row("faults of a contract", document.MOST_FAULTS, "`contract check`; the search ends"),
        row("characters of a contract's fault", document.LONGEST_FAULT, "`contract check`"),
        row("characters of a check's name", check.LONGEST_NAME, "the report"),
        row("sample rows of a check on a file", samples.ROWS, "the report"),
        row("characters of a value in a sample", samples.TEXT, "the report"),
        row("characters of a row that does not parse, in quarantine", malformed.MOST_TEXT, "the job"),
        row(
            "files, and reasons of each, in a Slack message",
            f"{slack.FILES}, {slack.REASONS}",
            "the notifier; more are counted",
        ),
        row("characters of a field of a log", bootstrap.LONGEST, "the functions' log"),
        row("characters of a line of a commit's message", records.LINE, "main's log; its properties have all"),
        row("marks on one letter", visibility.PILE, "whatever is shown; more are spelled out"),
    ],
}


def table(rows: list[Row]) -> str:
    head = "| limit | default | asked by | setting |\n|---|---|---|---|"
    return "\n".join(
        [head, *(f"| {it.what} | {it.limit} | {it.asked} | {it.setting and f'`{it.setting}`'} |" for it in rows)]
    )


def page() -> str:
    return "\n".join([TEXT, *(f"## {name}\n\n{table(rows)}\n" for name, rows in PARTS.items())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
