"""`Branches`, `Ledger` and `Publisher` on Nessie."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from threading import Lock

from cachetools import LRUCache, cached
from pynessie.error import NessieConflictException, NessieReferenceNotFoundException

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.refs import segment
from lakegate.counts import count
from lakegate.errors import Conflict, Refused, Retryable
from lakegate.landing.attempts import PREFIX, earliest_time
from lakegate.landing.receipts import Receipt, receipt_name
from lakegate.ports import MAIN, Branch, Changes, LogEntry, MetadataFile, Record, Ref, Reference
from lakegate.publishing.nessie.contents import (
    SPACE,
    SPACES,
    WATERMARK,
    WITH_METADATA,
    Json,
    Key,
    delete,
    edits,
    kind_of,
    metadata_file,
    namespace,
    receipt_in,
    text_content,
    write,
)
from lakegate.publishing.nessie.errors import nessie_errors
from lakegate.publishing.nessie.records import PREFIX as PROPERTY_PREFIX
from lakegate.publishing.nessie.records import before, committed_at, entry_of, filter_by, message, properties, single
from lakegate.publishing.nessie.rest import PAGE, NessieRest

SMALL_PAGE = 10  # decisions of one batch, mostly; a larger page would fill up with older, useless commits
TRIES = 10
WHOLE = 20  # commits with all their operations: a commit may have megabytes of receipts
CHANGE_SETS = 8  # cached change sets of branches: each is as large as its batch


class NessieCatalog:
    """A catalog on one Nessie. `uri` is its address without /api and without a trailing slash."""

    def __init__(self, uri: str, http: TimeoutAdapter | None = None) -> None:
        self._rest = NessieRest(uri, http or TimeoutAdapter())
        self._cached_changes = cached(LRUCache(CHANGE_SETS), lock=Lock())(self._changes)

    def head(self, branch: str) -> str | None:
        """Read the head over the kept connection: this is the most frequent call, and pynessie keeps no connection."""
        try:
            return str(self._rest.branch(branch)["hash"])
        except Conflict:  # it is not there
            return None

    def list_branches(self) -> list[Branch]:
        """List all references and filter them here: Nessie compiles a filter on each call, which takes longer than a
        listing.
        """
        pages = self._rest.pages("listing branches", "trees", "references", {})
        branches = (entry for entry in pages if entry["type"] == "BRANCH" and entry["name"].startswith(PREFIX))
        return [Branch(name=entry["name"], head=entry["hash"]) for entry in branches]

    def references(self) -> list[Reference]:
        """List all references with their common ancestors, which cost as much as `base` does, each."""
        pages = self._rest.pages("listing references", "trees", "references", {"fetch": "ALL"})
        return [
            Reference(name=ref["name"], head=ref["hash"], base=(ref.get("metadata") or {}).get("commonAncestorHash"))
            for ref in pages
        ]

    def metadata_files(self, head: str, start: str | datetime) -> Iterator[MetadataFile]:
        query = {"fetch": "ALL", **({} if isinstance(start, datetime) else {"limit-hash": start})}
        for entry in self._rest.pages("reading commits", f"trees/@{head}/history", "logEntries", query, WHOLE):
            meta = entry["commitMeta"]
            if committed_at(meta) < start if isinstance(start, datetime) else meta["hash"] == start:
                yield from self._metadata_files_at(meta["hash"])
                return
            for operation in entry["operations"] or ():
                yield from metadata_file(operation["key"], operation.get("content"))

    def _metadata_files_at(self, commit: str) -> Iterator[MetadataFile]:
        kinds = " || ".join(f"entry.contentType == '{kind}'" for kind in WITH_METADATA)
        query = {"content": "true", "filter": kinds}
        path = f"trees/{segment(Ref('', commit))}/entries"
        for entry in self._rest.pages(f"listing tables at {commit}", path, "entries", query):
            yield from metadata_file(entry["name"], entry["content"])

    def create_branch(self, name: str, at: str) -> None:
        """Create the branch. On a main without commits, make main's first commit, which holds our namespaces alone, and
        create the branch there: two branches made from no commit have no common ancestor and could never be merged.
        """
        if at == self._no_commit:
            at = self._first_commit()
        with nessie_errors(f"creating branch {name}", changes=True):
            self._rest.references.create_branch(name, "DETACHED", at)

    @cached_property
    def _no_commit(self) -> str:
        return str(self._rest.get("reading its configuration", "config", {})["noAncestorHash"])

    def _first_commit(self) -> str:
        try:
            return self._rest.commit(
                MAIN, self._no_commit, [write(space, namespace(space)) for space in SPACES], "lakegate"
            )
        except Conflict:  # another worker committed first
            return self._main()

    def _main(self) -> str:
        return str(self._rest.branch(MAIN)["hash"])

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        for _ in range(TRIES):
            head = self.head(name)
            if head is None or expected not in (None, head):
                return
            with nessie_errors(f"deleting branch {name}"):  # repeating it is safe
                try:
                    self._rest.references.delete_branch(name, head)
                except NessieReferenceNotFoundException:
                    return
                except NessieConflictException:
                    continue
                return
        raise Retryable(f"Nessie: branch {name} kept changing and is not deleted")

    def receipts(self, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        """Read our namespaces along with the receipts: a caller often puts receipts next, and needs them then."""
        names: dict[Key, str] = {(*SPACE, receipt_name(key)): key for key in sorted(set(keys))}
        contents = self._rest.contents(ref, [*names, *SPACES] if names else [])
        return {key: Receipt.read(key, contents[at].get("sqlText", "")) for at, key in names.items() if at in contents}

    def all_receipts(self, ref: Ref) -> Iterator[Receipt]:
        query = {"prefix-key": ".".join(SPACE), "content": "true"}
        for entry in self._rest.pages(f"listing receipts at {ref}", f"trees/{segment(ref)}/entries", "entries", query):
            receipt = receipt_in(tuple(entry["name"]["elements"]), entry["content"])
            if receipt is not None:
                yield receipt

    def compact(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        operations = [delete((*SPACE, receipt_name(key))) for key in keys]
        receipts: dict[Key, Receipt] = {(*SPACE, receipt.name): receipt for receipt in shorter}
        title = f"compact {count(len(operations), 'receipt')}, truncate {len(receipts)}"
        current = self._rest.contents(Ref(MAIN, expected), [*receipts, *((*SPACES, WATERMARK) if watermark else ())])
        operations += [write(key, text_content(new.to_json(), current.get(key))) for key, new in receipts.items()]
        if watermark:
            text = json.dumps({"decided_before": watermark.isoformat()})
            operations += self._new_spaces(MAIN, current)
            operations.append(write(WATERMARK, text_content(text, current.get(WATERMARK))))
        self._rest.commit(MAIN, expected, operations, title)

    def watermark(self) -> datetime | None:
        content = self._rest.contents(Ref(MAIN), [WATERMARK]).get(WATERMARK)
        return datetime.fromisoformat(json.loads(content["sqlText"])["decided_before"]) if content else None

    def commit_receipts(
        self, branch: str, expected: str, receipts: Iterable[Receipt], record: Record | None = None
    ) -> str:
        contents = {(*SPACE, receipt.name): receipt for receipt in receipts}
        current = self._rest.contents(Ref(branch, expected), [*SPACES, *contents])
        spaces = self._new_spaces(branch, current)
        puts = [write(key, text_content(receipt.to_json(), current.get(key))) for key, receipt in contents.items()]
        text = message(record) if record else f"claim {count(len(puts), 'file')}"
        return self._rest.commit(branch, expected, [*spaces, *puts], text, properties(record) if record else {})

    def _new_spaces(self, branch: str, current: Mapping[Key, Json]) -> list[Json]:
        """Return the operations that create those of our namespaces that the branch lacks. The branch's own head
        counts, not the commit that was read.
        """
        spaces: list[Key] = [space for space in SPACES if space not in current]
        present = self._rest.contents(Ref(branch), spaces)
        return [write(space, namespace(space)) for space in spaces if space not in present]

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        targets: list[Key] = [(*SPACE, receipt_name(key)) for key in sorted(set(keys))]
        before, now = (self._rest.contents(ref, targets) for ref in (Ref(MAIN, base), Ref(branch, expected)))
        operations = edits({key: before.get(key) for key in targets}, now)
        if not operations:
            return expected
        return self._rest.commit(branch, expected, operations, f"give back {count(len(operations), 'file')}")

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        absent = {(*SPACE, receipt_name(key)) for key in without}
        contents = {key: content for key, content in self._changed_contents(base, commit).items() if key not in absent}
        operations = edits(contents, self._rest.contents(Ref(branch, base), sorted(contents)))
        return self._rest.commit(
            branch, base, operations, f"replay {count(len(operations), 'change')} of {commit[:12]}"
        )

    def changes(self, base: str, head: str) -> Changes:
        """Return the changes, cached: the difference of two commits is fixed, and a publish asks several times."""
        changes: Changes = self._cached_changes(base, head)
        return changes

    def _changes(self, base: str, head: str) -> Changes:
        now = self._changed_contents(base, head)
        before = self._rest.contents(Ref("", base), sorted(now))
        names: dict[str, set[str]] = {"ICEBERG_TABLE": set(), "NAMESPACE": set(), "": set()}
        receipts: dict[str, Receipt | None] = {}
        for key, new in now.items():
            old = before.get(key)
            if old == new:
                continue
            receipt = receipt_in(key, new or old or {})
            if receipt is not None:
                receipts[receipt.key] = receipt if new else None
            elif key not in SPACES:
                names.get(kind_of(old, new), names[""]).add(".".join(key))
        return Changes(
            tables=frozenset(names["ICEBERG_TABLE"]),
            namespaces=frozenset(names["NAMESPACE"]),
            receipts=receipts,
            other_keys=frozenset(names[""]),
        )

    def _changed_contents(self, base: str, head: str) -> dict[Key, Json | None]:
        """Return the keys in the commits after `base`, with their content at `head` (None: deleted). Nessie's own diff
        would read every key there is.
        """
        contents: dict[Key, Json | None] = {}
        log = self._rest.pages(
            "reading commits", f"trees/@{head}/history", "logEntries", {"limit-hash": base, "fetch": "ALL"}
        )
        for entry in log:
            if entry["commitMeta"]["hash"] == base:
                return contents
            for operation in entry["operations"] or ():  # newest commit first
                contents.setdefault(tuple(operation["key"]["elements"]), operation.get("content"))
        raise Refused(f"Nessie: commit {head} was not made from {base}")

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        keys: list[Key] = [tuple(table.split(".")) for table in sorted(set(tables))]
        before, now = self._rest.contents(Ref("", base), keys), self._rest.contents(Ref("", head), keys)
        return frozenset(".".join(key) for key in keys if before.get(key) != now.get(key))

    def table_folders(self, commit: str, tables: Iterable[str]) -> dict[str, str]:
        """Take the folder from where its metadata is, which Iceberg writes to a folder in the table's own."""
        contents = self._rest.contents(Ref("", commit), [tuple(table.split(".")) for table in sorted(set(tables))])
        return {
            ".".join(key): content["metadataLocation"].rsplit("/", 2)[0]
            for key, content in contents.items()
            if content["type"] == "ICEBERG_TABLE"
        }

    def base(self, branch: str) -> str:
        """Return the common ancestor. Its cost grows with main's commits since (25 µs each, measured in memory). Merges
        don't move it.
        """
        ancestor = self._rest.branch(branch, fetch="ALL")["metadata"].get("commonAncestorHash")
        if ancestor is None:
            raise Refused(f"Nessie: branch {branch} has no commit in common with {MAIN}")
        return str(ancestor)

    def merge(self, branch: str, head: str, record: Record) -> None:
        self.merge_text(branch, head, message(record), properties(record))

    def merge_text(self, branch: str, head: str, text: str, properties: Mapping[str, str] | None = None) -> None:
        """Merge as `merge` does, with this message; without properties it is no decision of the service's."""
        body = {
            "fromRefName": branch,
            "fromHash": head,
            "defaultKeyMergeMode": "NORMAL",
            "isDryRun": False,
            "isReturnConflictAsResult": False,
            "commitMeta": {"message": text, "properties": dict(properties or {})},
        }
        self._rest.post(f"merging {branch}", f"trees/{MAIN}@{self._main()}/history/merge", body, changes=True)

    def decisions(
        self, limit: int, *, table: str | None = None, batch: str | None = None, before: str = ""
    ) -> Iterator[LogEntry]:
        start = _not_before(batch) if batch else None
        for meta in self._log(filter_by({"table": table, "batch": batch}), start, before):
            if limit <= 0:
                return
            entry = entry_of(meta)
            if entry:
                limit -= 1
                yield entry

    def commit_properties(self, values: Mapping[str, str], start: datetime | None) -> list[Mapping[str, str]]:
        """Return the properties of main's commits that have all of these, of lakegate's own, the oldest first."""
        commits = [single(meta) for meta in self._log(filter_by(values), start, "")]
        names = {PROPERTY_PREFIX + name: value for name, value in values.items()}
        return [commit for commit in commits[::-1] if names.items() <= commit.items()]

    def commits_of(self, table: str, base: str, head: str) -> list[str]:
        """Return the commits (hashes) between two that change a table, the oldest first."""
        key, query = table.split("."), {"limit-hash": base, "fetch": "ALL"}
        log = self._rest.pages("reading commits", f"trees/@{head}/history", "logEntries", query)
        return [
            str(entry["commitMeta"]["hash"])
            for entry in log
            if any(operation["key"]["elements"] == key for operation in entry["operations"] or ())
            and entry["commitMeta"]["hash"] != base
        ][::-1]

    def _log(self, matches: str, start: datetime | None, end: str) -> Iterator[Json]:
        """Yield main's commits since a given time, and before a given one, newest first. Nessie searches the whole log
        for matches, so the filter also matches older commits, and the search stops at the first of them.
        """
        path = f"trees/{segment(Ref(MAIN, end))}/history"
        query = {"filter": f"({matches}) || {before(start)}" if start else matches} if matches else {}
        size = SMALL_PAGE if start else PAGE
        for entry in self._rest.pages("reading main's log", path, "logEntries", query, size):
            if start and committed_at(entry["commitMeta"]) < start:
                return
            if entry["commitMeta"]["hash"] != end:
                yield entry["commitMeta"]


def _not_before(batch: str) -> datetime | None:
    """Return a time that no decision of the batch precedes, or None if the text is no batch's name. No batch is decided
    before its first file landed.
    """
    try:
        return earliest_time(batch)
    except (ValueError, OverflowError):
        return None
