"""A real Nessie as the simulation sees and touches it: what `MemoryLake` offers beside the ports, of a real one.

Whoever looks does so directly. What jobs commit goes through the network, whose faults end the job: as the real one, it
never appends again by itself.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import requests
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.manifest import DataFileContent
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, NestedField, StringType

from lakegate.adapters.http import door
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.adapters.iceberg.identity import table_identity
from lakegate.adapters.iceberg.manifests import data_files
from lakegate.audit.errors import JobError
from lakegate.audit.schema.fit import CONTRACT_HASH
from lakegate.errors import Conflict, LakegateError
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Ref, TableIdentity
from lakegate.publishing.nessie.contents import SPACE, SPACES
from lakegate.publishing.nessie.records import entry_of
from lakegate.testing import TableState
from lakegate.testing.lake import EPOCH, Commit, Content, Key, KeyKind
from tests.simulation.installation import Violation
from tests.support.data_files import data_file
from tests.support.nessie import WAREHOUSE
from tests.support.nessie_auth import FixedToken
from tests.support.proxy import Proxy

TYPES = {"int": IntegerType(), "string": StringType()}
AT_ONCE = {"commit.retry.min-wait-ms": "0"}
FEW = "3"  # commits of a log at once
STRANGE = {"type": "UDF", "dialect": "any"}
Json = dict[str, Any]


class NessieLake:
    """`uri` is Nessie's own address. Nothing changes but through the network, and by what is done here.

    Whoever looks, and strangers, have the `world`'s token, and jobs have their own.
    """

    def __init__(self, uri: str, network: Proxy, *, world: str, job: str) -> None:
        self._uri, self._network = uri, network
        self._seen: tuple[int, list[Json]] = (-1, [])
        self._session = requests.Session()
        self._session.trust_env = False  # its proxies are looked for with each request
        self._session.headers.update({"Accept-Encoding": "identity", "Authorization": f"Bearer {world}"})
        self._commits: dict[str, Commit] = {}
        self._keys: dict[tuple[str, ...], Key] = {}
        self._tables: dict[tuple[str, int], TableState] = {}
        doors = {uri: door(uri, FixedToken(world)), network.uri: door(network.uri, FixedToken(job))}
        self._open: Callable[[str, Ref], RefCatalog] = cache(
            lambda uri, ref: RefCatalog(uri, WAREHOUSE, ref, http=doors[uri])
        )
        self._empty()

    def _empty(self) -> None:
        """Main without a commit, and nothing beside it: the schedule before this one left things."""
        root = self._get("config")["noAncestorHash"]
        for reference in self._references():
            self._seen = (-1, [])
            path = f"trees/{reference['name']}@{reference['hash']}"
            if reference["name"] == MAIN:
                self._send("PUT", path, {"type": "BRANCH", "name": MAIN, "hash": root})
            else:
                self._send("DELETE", path)
        self._commits[root] = Commit(hash=root, at=EPOCH)

    @property
    def branches(self) -> dict[str, str]:
        return {reference["name"]: reference["hash"] for reference in self._references()}

    def head(self, branch: str) -> Commit:
        if branch not in self.branches:
            raise Conflict(f"branch {branch} is gone")
        return self._commit_at(self.branches[branch])

    def at(self, ref: Ref) -> Commit:
        if not ref.commit:
            return self.head(ref.branch)
        return self._commits.get(ref.commit) or self._commit_at(ref.commit)

    def line(self, commit: str) -> list[Commit]:
        """The commit and its parents, newest first, without what was merged."""
        found = [self._commit_at(commit)]
        while found[-1].parent:
            found.append(self._commit_at(found[-1].parent))
        return found

    def table(self, ref: Ref, table: str) -> TableState | None:
        content = self.at(ref).contents.get(Key(kind=KeyKind.TABLE, name=table))
        return content if isinstance(content, TableState) else None

    def commit(self, branch: str, changes: Mapping[Key, Content | None]) -> None:
        """A stranger's content; of a table, another contract's hash or other data files, as a job puts them there."""
        for key, content in changes.items():
            if isinstance(content, TableState) and branch == MAIN:  # where no job commits
                self._change(self._uri, branch, key.name, content)
                self._seen = (-1, [])
            elif isinstance(content, TableState):
                with self._job(f"changing {key.name}"):
                    self._change(self._network.uri, branch, key.name, content)
            else:
                self._put(branch, (key.name,), STRANGE | {"sqlText": content})

    def _change(self, uri: str, branch: str, name: str, wanted: TableState) -> None:
        catalog = self._open(uri, Ref(branch))
        table = catalog.load_table(name)
        if table_identity(table).fields != wanted.identity.fields:
            catalog.set_schema(table, _schema(wanted.identity), wanted.identity.last_id, {})
            table = catalog.load_table(name)
        there = data_files(table)
        with table.transaction() as transaction:
            if table.properties.get(CONTRACT_HASH) != wanted.identity.contract_hash:
                transaction.set_properties({CONTRACT_HASH: wanted.identity.contract_hash})
            if there.keys() == wanted.files.keys():
                return
            with transaction.update_snapshot().overwrite() as overwrite:
                for path in sorted(there.keys() - wanted.files.keys()):
                    overwrite.delete_data_file(there[path])
                for path in sorted(wanted.files.keys() - there.keys()):
                    overwrite.append_data_file(data_file(path, wanted.files[path]))

    def spark_append(self, branch: str, table: str, identity: TableIdentity, files: Mapping[str, int]) -> None:
        """Append as a job does: create the table if absent, and add data files (path → rows)."""
        with self._job(f"appending to {table}"):
            target = self._made(self._open(self._network.uri, Ref(branch)), table, identity)
            with target.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
                for path, rows in files.items():
                    append.append_data_file(data_file(path, rows))

    def _made(self, catalog: RefCatalog, table: str, identity: TableIdentity) -> Table:
        found: Table
        try:
            found = catalog.load_table(table)
        except (NoSuchTableError, NoSuchNamespaceError):
            catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
            properties = {CONTRACT_HASH: identity.contract_hash, **AT_ONCE}
            found = catalog.create_table(table, _schema(identity), properties=properties)
        return found

    @contextmanager
    def _job(self, what: str) -> Iterator[None]:
        try:
            with iceberg_errors(what, changes=True):
                yield
        except LakegateError as error:
            raise JobError(str(error)) from error

    def read(self, ref: Ref, table: str) -> TableState:
        """The table as a reader finds it: its metadata, every manifest, and the data files of its scan's plan.

        Raises Violation where it can't be read, or has a data file twice.
        """
        try:
            found = self._open(self._uri, ref).load_table(table)
            planned = [task.file for task in found.scan().plan_files()]
            entries = [entry for manifest in _listed(found) for entry in manifest.fetch_manifest_entry(found.io)]
        except Exception as error:
            raise Violation(f"{table} at {ref} can't be read: {type(error).__name__}: {error}") from error
        live = [it.data_file for it in entries if it.data_file.content is DataFileContent.DATA]
        files = {file.file_path: file.record_count for file in live}
        if len(files) < len(live) or sorted(files) != sorted(file.file_path for file in planned):
            raise Violation(f"{table} at {ref} has data files twice: {sorted(file.file_path for file in live)}")
        return TableState(identity=table_identity(found), files=files)

    def tables(self, ref: Ref) -> list[str]:
        return [key.name for key in self.at(ref).contents if key.kind is KeyKind.TABLE]

    # Commits as the simulation knows them.

    def _commit_at(self, commit: str) -> Commit:
        if commit not in self._commits:
            for entry in reversed(self._unknown(commit)):
                made = self._made_of(entry)
                self._commits[made.hash] = made
        return self._commits[commit]

    def _unknown(self, commit: str) -> list[Json]:
        """The log's entries from a commit down to the first that is known: mostly one or two."""
        found: list[Json] = []
        while commit not in self._commits:
            found += self._get(f"trees/@{commit}/history", {"fetch": "ALL", "max-records": FEW})["logEntries"]
            commit = found[-1]["commitMeta"]["parentCommitHashes"][0]
        return [entry for entry in found if entry["commitMeta"]["hash"] not in self._commits]

    def _made_of(self, entry: Json) -> Commit:
        meta = entry["commitMeta"]
        parent, *merged = meta["parentCommitHashes"]
        contents = dict(self._commits[parent].contents)
        touched = set()
        for operation in entry["operations"] or ():
            path = tuple(operation["key"]["elements"])
            if path in SPACES:
                continue
            key, content = self._content(meta["hash"], path, operation.get("content"))
            touched.add(key)
            contents.pop(key, None)
            if content is not None:
                contents[key] = content
        noted = entry_of(meta)
        return Commit(
            hash=meta["hash"],
            at=EPOCH,
            parent=parent,
            merge_head=merged[0] if merged else None,
            contents=contents,
            keys=frozenset(touched),
            record=noted.record if noted else None,
        )

    def _content(self, commit: str, path: tuple[str, ...], there: Json | None) -> tuple[Key, Content | None]:
        name = ".".join(path)
        if there is None:
            return self._keys[path], None
        content: Content = str(there.get("sqlText", name))
        kind = KeyKind.NAMESPACE if there["type"] == "NAMESPACE" else KeyKind.OTHER
        if there["type"] == "ICEBERG_TABLE":
            kind, content = KeyKind.TABLE, self._state(commit, name, there)
        elif path[:-1] == SPACE:
            kind, content = KeyKind.RECEIPT, Receipt.from_json(there["sqlText"])
            name = content.key
        self._keys[path] = Key(kind=kind, name=name)
        return self._keys[path], content

    def _state(self, commit: str, table: str, there: Json) -> TableState:
        version = there["metadataLocation"], there["snapshotId"]
        if version not in self._tables:
            self._tables[version] = self.read(Ref(MAIN, commit), table)
        return self._tables[version]

    def _put(self, branch: str, path: tuple[str, ...], content: Json) -> None:
        head = self.branches.get(branch)
        if head is None:
            raise Conflict(f"branch {branch} is gone")
        key = {"elements": list(path)}
        there = self._send("POST", f"trees/{branch}/contents", {"requestedKeys": [key]})["contents"]
        content = content | ({"id": there[0]["content"]["id"]} if there else {})
        body = {
            "commitMeta": {"message": "a stranger's"},
            "operations": [{"type": "PUT", "key": key, "content": content}],
        }
        self._send("POST", f"trees/{branch}@{head}/history/commit", body)
        self._seen = (-1, [])

    def _references(self) -> list[Json]:
        """They are asked for again when something may have changed."""
        if self._seen[0] != self._network.changes:
            self._seen = self._network.changes, self._get("trees", {"max-records": "250"})["references"]
        return self._seen[1]

    def _get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        return self._send("GET", path, query=query)

    def _send(self, method: str, path: str, body: Json | None = None, query: Mapping[str, str] | None = None) -> Json:
        answer = self._session.request(method, f"{self._uri}/api/v2/{path}", json=body, params=query, timeout=60)
        answer.raise_for_status()
        found: Json = answer.json()
        return found


def _schema(identity: TableIdentity) -> Schema:
    return Schema(*(NestedField(number, name, TYPES[kind]) for number, name, kind in identity.fields))


def _listed(table: Table) -> list[Any]:
    """As a reader meets them: one that is listed twice is there twice."""
    snapshot = table.current_snapshot()
    return list(snapshot.manifests(table.io)) if snapshot else []
