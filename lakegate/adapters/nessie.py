"""`Branches`, `Ledger` and `Publisher` on Nessie. Branches are made and deleted through pynessie; all else goes through
its v2 REST API.

It never forces a merge, and repeats no request whose outcome it does not know.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import Any

import pynessie
import requests
from cachetools import LRUCache, cached
from confuse import Configuration
from pynessie.client import _endpoints
from pynessie.error import (
    NessieCliError,
    NessieConflictException,
    NessieException,
    NessieInvalidUsageException,
    NessieReferenceNotFoundException,
)

from lakegate.adapters.http import TimeoutAdapter, mount, network_error, status_error
from lakegate.adapters.notes import before, committed_at, decided, having, message, properties
from lakegate.adapters.refs import segment
from lakegate.audit.bounded_http import place
from lakegate.audit.model.codec import BROKEN
from lakegate.counts import count
from lakegate.errors import Conflict, Misconfigured, Refused, Retryable
from lakegate.landing.attempts import PREFIX, not_before
from lakegate.landing.receipts import Receipt, receipt_name
from lakegate.ports import MAIN, Branch, Changes, Decided, Note, Ref

SPACE = ("_lakegate", "receipts")
SPACES = (SPACE[:1], SPACE)
WATERMARK = ("_lakegate", "watermark")
DIALECT = "lakegate"
PAGE = 250  # the most that Nessie gives at once
FEW = 10  # decisions of one batch, mostly; a larger page would fill up with older, useless commits
KEYS = 500
TRIES = 10
REMEMBERED = 8  # cached change sets of branches: each is as large as its batch
SEEN = 5000  # cached contents at commits: a receipt is half a kilobyte

Key = tuple[str, ...]
Json = dict[str, Any]


@contextmanager
def nessie_errors(what: str, *, changes: bool = False) -> Iterator[None]:
    """Translate Nessie's and the network's errors into our own. `changes` marks a call that may change something."""
    what = f"Nessie: {what}"
    try:
        yield
    except NessieException as exc:
        known = exc.error_code != "UNKNOWN"
        raise status_error(what, exc.status_code, str(exc), known=known, changes=changes) from exc
    except (NessieInvalidUsageException, NessieCliError) as exc:
        raise Misconfigured(f"{what}: {exc}") from exc
    except requests.HTTPError as exc:
        known, text = _said(exc.response)
        text = f"{text} (asked at {place(exc.response.url)})"
        raise status_error(what, exc.response.status_code, text, known=known, changes=changes) from exc
    except requests.RequestException as exc:
        raise network_error(what, exc, changes=changes) from exc
    except (RecursionError, UnicodeError) as exc:
        raise Misconfigured(f"{what}: the answer is not Nessie's: {type(exc).__name__}: {exc}") from exc


def _said(response: requests.Response) -> tuple[bool, str]:
    """Return a flag, True if Nessie itself answered, and the answer's message."""
    try:
        body = response.json()
        return "errorCode" in body, str(body["message"])
    except (requests.JSONDecodeError, *BROKEN):
        return False, response.reason


class NessieCatalog:
    """A catalog on one Nessie. `uri` is its address without /api and without a trailing slash."""

    def __init__(self, uri: str, http: TimeoutAdapter | None = None) -> None:
        self._uri, self._http = uri, http or TimeoutAdapter()
        self._between = cached(LRUCache(REMEMBERED), lock=Lock())(self._changes)
        self._seen: LRUCache[tuple[str, Key], Json | None] = LRUCache(SEEN)
        self._seeing = Lock()

    @cached_property
    def _references(self) -> pynessie.NessieClient:
        """A client made without `pynessie.init`, which writes to the home folder, where a function may not, and reads a
        person's own configuration. pynessie makes each call in a session of Requests' own, which follows redirects and
        waits for ever for a slow answer; it is given our session instead.
        """
        _endpoints.requests = self._session
        config = Configuration("nessie", read=False)
        config.set({"endpoint": f"{self._uri}/api/v1", "verify": True, "auth": {"type": "none"}})
        return pynessie.NessieClient(config)

    @cached_property
    def _session(self) -> requests.Session:
        return mount(requests.Session(), self._http)

    def head(self, branch: str) -> str | None:
        """Read the head over the kept connection: this is the most frequent call, and pynessie keeps no connection."""
        try:
            return str(self._branch(branch)["hash"])
        except Conflict:  # it is not there
            return None

    def list_branches(self) -> list[Branch]:
        """List all references and filter them here: Nessie compiles a filter on each call, which takes longer than a
        listing.
        """
        found = self._pages("listing branches", "trees", "references", {})
        ours = (it for it in found if it["type"] == "BRANCH" and it["name"].startswith(PREFIX))
        return [Branch(name=entry["name"], head=entry["hash"]) for entry in ours]

    def create_branch(self, name: str, at: str) -> None:
        """Create the branch. On a main without commits, make main's first commit, which holds our namespaces alone, and
        create the branch there: two branches made from no commit have no common ancestor and could never be merged.
        """
        if at == self._no_commit:
            at = self._first_commit()
        with nessie_errors(f"creating branch {name}", changes=True):
            self._references.create_branch(name, "DETACHED", at)

    @cached_property
    def _no_commit(self) -> str:
        return str(self._get("reading its configuration", "config", {})["noAncestorHash"])

    def _first_commit(self) -> str:
        try:
            return self._commit(MAIN, self._no_commit, [_put(space, _namespace(space)) for space in SPACES], "lakegate")
        except Conflict:  # another worker committed first
            return self._main()

    def _main(self) -> str:
        return str(self._branch(MAIN)["hash"])

    def _branch(self, name: str, **query: str) -> Json:
        found: Json = self._get(f"reading branch {name}", f"trees/{segment(Ref(name))}", query)["reference"]
        return found

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        for _ in range(TRIES):
            head = self.head(name)
            if head is None or expected not in (None, head):
                return
            with nessie_errors(f"deleting branch {name}"):  # repeating it is safe
                try:
                    self._references.delete_branch(name, head)
                except NessieReferenceNotFoundException:
                    return
                except NessieConflictException:
                    continue
                return
        raise Retryable(f"Nessie: branch {name} kept changing and is not deleted")

    def receipts(self, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        """Read our namespaces along with the receipts: a caller often puts receipts next, and needs them then."""
        wanted: dict[Key, str] = {(*SPACE, receipt_name(key)): key for key in sorted(set(keys))}
        contents = self._contents(ref, [*wanted, *SPACES] if wanted else [])
        return {key: Receipt.read(key, contents[at].get("sqlText", "")) for at, key in wanted.items() if at in contents}

    def all_receipts(self, ref: Ref) -> Iterator[Receipt]:
        wanted = {"prefix-key": ".".join(SPACE), "content": "true"}
        for entry in self._pages(f"listing receipts at {ref}", f"trees/{segment(ref)}/entries", "entries", wanted):
            receipt = _receipt(tuple(entry["name"]["elements"]), entry["content"])
            if receipt is not None:
                yield receipt

    def compact(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        operations = [_delete((*SPACE, receipt_name(key))) for key in keys]
        wanted: dict[Key, Receipt] = {(*SPACE, receipt.name): receipt for receipt in shorter}
        what = f"compact {count(len(operations), 'receipt')}, truncate {len(wanted)}"
        there = self._contents(Ref(MAIN, expected), [*wanted, *((*SPACES, WATERMARK) if watermark else ())])
        operations += [_put(key, _text(receipt.to_json(), there.get(key))) for key, receipt in wanted.items()]
        if watermark:
            text = json.dumps({"decided_before": watermark.isoformat()})
            operations += self._missing(MAIN, there)
            operations.append(_put(WATERMARK, _text(text, there.get(WATERMARK))))
        self._commit(MAIN, expected, operations, what)

    def watermark(self) -> datetime | None:
        found = self._contents(Ref(MAIN), [WATERMARK]).get(WATERMARK)
        return datetime.fromisoformat(json.loads(found["sqlText"])["decided_before"]) if found else None

    def commit_receipts(self, branch: str, expected: str, receipts: Iterable[Receipt], note: Note | None = None) -> str:
        wanted = {(*SPACE, receipt.name): receipt for receipt in receipts}
        there = self._contents(Ref(branch, expected), [*SPACES, *wanted])
        spaces = self._missing(branch, there)
        puts = [_put(key, _text(receipt.to_json(), there.get(key))) for key, receipt in wanted.items()]
        text = message(note) if note else f"claim {count(len(puts), 'file')}"
        return self._commit(branch, expected, [*spaces, *puts], text, properties(note) if note else {})

    def _missing(self, branch: str, there: Mapping[Key, Json]) -> list[Json]:
        """Return the operations that create those of our namespaces that the branch lacks. The branch's own head
        counts, not the commit that was read.
        """
        wanted: list[Key] = [space for space in SPACES if space not in there]
        found = self._contents(Ref(branch), wanted)
        return [_put(space, _namespace(space)) for space in wanted if space not in found]

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        wanted: list[Key] = [(*SPACE, receipt_name(key)) for key in sorted(set(keys))]
        before, now = self._contents(Ref(MAIN, base), wanted), self._contents(Ref(branch, expected), wanted)
        operations = _changing({key: before.get(key) for key in wanted}, now)
        if not operations:
            return expected
        return self._commit(branch, expected, operations, f"give back {count(len(operations), 'file')}")

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        left = {(*SPACE, receipt_name(key)) for key in without}
        wanted = {key: content for key, content in self._touched(base, commit).items() if key not in left}
        operations = _changing(wanted, self._contents(Ref(branch, base), sorted(wanted)))
        return self._commit(branch, base, operations, f"replay {count(len(operations), 'change')} of {commit[:12]}")

    def changes(self, base: str, head: str) -> Changes:
        """Return the changes, cached: the difference of two commits is fixed, and a publish asks several times."""
        found: Changes = self._between(base, head)
        return found

    def _changes(self, base: str, head: str) -> Changes:
        now = self._touched(base, head)
        before = self._contents(Ref("", base), sorted(now))
        changed: dict[str, set[str]] = {"ICEBERG_TABLE": set(), "NAMESPACE": set(), "": set()}
        receipts: dict[str, Receipt | None] = {}
        for key, new in now.items():
            old = before.get(key)
            if old == new:
                continue
            receipt = _receipt(key, new or old or {})
            if receipt is not None:
                receipts[receipt.key] = receipt if new else None
            elif key not in SPACES:
                changed.get(_kind(old, new), changed[""]).add(".".join(key))
        return Changes(
            tables=frozenset(changed["ICEBERG_TABLE"]),
            namespaces=frozenset(changed["NAMESPACE"]),
            receipts=receipts,
            others=frozenset(changed[""]),
        )

    def _touched(self, base: str, head: str) -> dict[Key, Json | None]:
        """Return the keys in the commits after `base`, with their content at `head` (None: deleted). Nessie's own diff
        would read every key there is.
        """
        found: dict[Key, Json | None] = {}
        log = self._pages(
            "reading commits", f"trees/@{head}/history", "logEntries", {"limit-hash": base, "fetch": "ALL"}
        )
        for entry in log:
            if entry["commitMeta"]["hash"] == base:
                return found
            for operation in entry["operations"] or ():  # newest commit first
                found.setdefault(tuple(operation["key"]["elements"]), operation.get("content"))
        raise Refused(f"Nessie: commit {head} was not made from {base}")

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        keys: list[Key] = [tuple(table.split(".")) for table in sorted(set(tables))]
        before, now = self._contents(Ref("", base), keys), self._contents(Ref("", head), keys)
        return frozenset(".".join(key) for key in keys if before.get(key) != now.get(key))

    def base(self, branch: str) -> str:
        """Return the common ancestor. Its cost grows with main's commits since (25 µs each, measured in memory). Merges
        don't move it.
        """
        ancestor = self._branch(branch, fetch="ALL")["metadata"].get("commonAncestorHash")
        if ancestor is None:
            raise Refused(f"Nessie: branch {branch} has no commit in common with {MAIN}")
        return str(ancestor)

    def merge(self, branch: str, head: str, note: Note) -> None:
        body = {
            "fromRefName": branch,
            "fromHash": head,
            "defaultKeyMergeMode": "NORMAL",
            "isDryRun": False,
            "isReturnConflictAsResult": False,
            "commitMeta": {"message": message(note), "properties": properties(note)},
        }
        self._post(f"merging {branch}", f"trees/{MAIN}@{self._main()}/history/merge", body, changes=True)

    def decisions(self, limit: int, *, table: str | None = None, batch: str | None = None) -> Iterator[Decided]:
        since = _not_before(batch) if batch else None
        for meta in self._log(having({"table": table, "batch": batch}), since):
            if limit <= 0:
                return
            found = decided(meta)
            if found:
                limit -= 1
                yield found

    def _log(self, wanted: str, since: datetime | None) -> Iterator[Json]:
        """Yield main's commits since a given time, newest first. Nessie searches the whole log for matches, so the
        filter also matches older commits, and the search stops at the first of them.
        """
        query = {"filter": f"({wanted}) || {before(since)}" if since else wanted} if wanted else {}
        size = FEW if since else PAGE
        for entry in self._pages("reading main's log", f"trees/{MAIN}/history", "logEntries", query, size):
            if since and committed_at(entry["commitMeta"]) < since:
                return
            yield entry["commitMeta"]

    def _contents(self, ref: Ref, keys: list[Key]) -> dict[Key, Json]:
        """Return contents by key; keys without one are absent. Contents at a commit never change and are cached;
        contents of a branch are read each time.
        """
        if not ref.commit:
            return self._look(ref, keys)
        at = ref.commit
        with self._seeing:
            known = {key: self._seen[at, key] for key in keys if (at, key) in self._seen}
        unknown = [key for key in keys if key not in known]
        found = self._look(ref, unknown)
        with self._seeing:
            self._seen.update({(at, key): found.get(key) for key in unknown})
        return {key: content for key, content in known.items() if content} | found

    def _look(self, ref: Ref, keys: list[Key]) -> dict[Key, Json]:
        found: dict[Key, Json] = {}
        for start in range(0, len(keys), KEYS):
            body = {"requestedKeys": [{"elements": list(key)} for key in keys[start : start + KEYS]]}
            answer = self._post(f"reading contents at {ref}", f"trees/{segment(ref)}/contents", body)
            found |= {tuple(entry["key"]["elements"]): entry["content"] for entry in answer["contents"]}
        return found

    def _commit(
        self, branch: str, expected: str, operations: list[Json], text: str, notes: Mapping[str, str] | None = None
    ) -> str:
        body = {"commitMeta": {"message": text, "properties": dict(notes or {})}, "operations": operations}
        path = f"trees/{segment(Ref(branch))}@{expected}/history/commit"
        answer = self._post(f"committing to {branch}", path, body, changes=True)
        return str(answer["targetBranch"]["hash"])

    def _pages(self, what: str, path: str, member: str, query: Mapping[str, str], size: int = PAGE) -> Iterator[Json]:
        token = None
        while True:
            page = self._get(
                what, path, {**query, "max-records": str(size), **({"page-token": token} if token else {})}
            )
            yield from page[member]
            token = page.get("token")
            if not page.get("hasMore") or not token:
                return

    def _get(self, what: str, path: str, query: Mapping[str, str]) -> Json:
        return self._send(what, "GET", path, changes=False, params=query)

    def _post(self, what: str, path: str, body: Json, *, changes: bool = False) -> Json:
        return self._send(what, "POST", path, changes=changes, json=body)

    def _send(self, what: str, method: str, path: str, *, changes: bool, **how: Any) -> Json:
        with nessie_errors(what, changes=changes):
            answer = self._session.request(method, f"{self._uri}/api/v2/{path}", **how)
            answer.raise_for_status()
            found: Json = answer.json()
            return found


def _not_before(batch: str) -> datetime | None:
    """Return a time that no decision of the batch precedes, or None if the text is no batch's name. No batch is decided
    before its first file landed.
    """
    try:
        return not_before(batch)
    except (ValueError, OverflowError):
        return None


def _kind(old: Json | None, new: Json | None) -> str:
    kinds = {content["type"] for content in (old, new) if content}
    return str(kinds.pop()) if len(kinds) == 1 else ""


def _receipt(key: Key, content: Json) -> Receipt | None:
    """Return the receipt that a content holds, if it is one and is stored under its own name."""
    if key[:-1] != SPACE or content.get("type") != "UDF":
        return None
    try:
        receipt = Receipt.from_json(content["sqlText"])
    except BROKEN:
        return None
    return receipt if receipt.name == key[-1] else None


def _put(key: Key, content: Json) -> Json:
    return {"type": "PUT", "key": {"elements": list(key)}, "content": content}


def _delete(key: Key) -> Json:
    return {"type": "DELETE", "key": {"elements": list(key)}}


def _changing(wanted: Mapping[Key, Json | None], there: Mapping[Key, Json]) -> list[Json]:
    """Return the operations that turn the contents in `there` into those in `wanted` (None: delete)."""
    different = [(key, content) for key, content in wanted.items() if content != there.get(key)]
    return [_put(key, _again(content, there.get(key))) if content else _delete(key) for key, content in different]


def _again(content: Json, before: Json | None) -> Json:
    """Return a content for another branch, without its id if the key is new there: Nessie then assigns an id of its
    own.
    """
    return content if before else {name: value for name, value in content.items() if name != "id"}


def _namespace(key: Key) -> Json:
    return {"type": "NAMESPACE", "elements": list(key)}


def _text(text: str, there: Json | None) -> Json:
    """Return a content that holds the text. Nessie accepts a new value for an existing content only with that content's
    id.
    """
    content = {"type": "UDF", "dialect": DIALECT, "sqlText": text}
    return content | ({"id": there["id"]} if there else {})
