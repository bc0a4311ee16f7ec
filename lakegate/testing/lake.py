"""A versioned store of contents by key, with branches, commits and merges that conflict by key, all in memory.

It mimics the promises of the catalog behind the ports and no more: no permissions, no garbage collection. `files` are
those that commits of tables write.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple
from uuid import NAMESPACE_OID, uuid5

from lakegate.errors import Conflict, Refused
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Record, Ref, TableIdentity

EPOCH = datetime(2013, 1, 1, tzinfo=UTC)


class KeyKind(StrEnum):
    """A kind of content that a key names."""

    TABLE = "table"
    NAMESPACE = "namespace"
    RECEIPT = "receipt"  # by landing key
    OTHER = "other"


class Key(NamedTuple):
    """A content's name."""

    kind: KeyKind
    name: str


@dataclass(frozen=True, kw_only=True)
class TableState:
    """A table at a commit: its identity, the rows of each data file by path, and the paths of its delete files."""

    identity: TableIdentity
    files: Mapping[str, int] = field(default_factory=dict)
    deletes: frozenset[str] = frozenset()

    @property
    def rows(self) -> int:
        return sum(self.files.values())


Content = TableState | Receipt | str


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One commit: all contents, and the keys it touched. `merge_head` is the head that a merge brought."""

    hash: str
    at: datetime
    parent: str | None = None
    merge_head: str | None = None
    contents: Mapping[Key, Content] = field(default_factory=dict)
    keys: frozenset[Key] = frozenset()
    record: Record | None = None


class MemoryLake:
    """Commits and branches. `spark_append` and `commit` are the actions of a job, or a stranger, behind lakegate's
    back.
    """

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        """Make a lake with an empty main. Without a clock, `now`, a commit is a second younger than the one before."""
        root = Commit(hash=_hash(0), at=EPOCH)
        self.commits = {root.hash: root}
        self._now = now or (lambda: EPOCH + timedelta(seconds=len(self.commits)))
        self.branches = {MAIN: root.hash}
        self._count = 1  # commits ever; those that a restore takes back do not give their hashes to others

    def at(self, ref: Ref) -> Commit:
        """Return the commit that a ref names."""
        commit = self.commits.get(ref.commit or self.branches.get(ref.branch, ""))
        if commit is None:
            raise Conflict(f"there is no {ref} (any more)")
        return commit

    def head(self, branch: str) -> Commit:
        if branch not in self.branches:
            raise Conflict(f"branch {branch} is gone")
        return self.commits[self.branches[branch]]

    def commit(
        self,
        branch: str,
        changes: Mapping[Key, Content | None],
        *,
        expected: str | None = None,
        record: Record | None = None,
        merge_head: str | None = None,
    ) -> Commit:
        """Put (or, with None, delete) contents. Raise Conflict if one of the keys has changed since `expected`."""
        head = self.head(branch)
        keys = frozenset(changes)
        if expected and keys & self.changed_keys(expected, head.hash):
            raise Conflict(f"branch {branch}: what this commit changes was changed since {expected[:12]}")
        contents = {key: content for key, content in {**head.contents, **changes}.items() if content is not None}
        new = Commit(
            hash=_hash(self._count),
            at=self._now(),
            parent=head.hash,
            merge_head=merge_head,
            contents=contents,
            keys=keys,
            record=record,
        )
        self._count += 1
        self.commits[new.hash] = new
        self.branches[branch] = new.hash
        return new

    def restore(self, commits: Mapping[str, Commit], branches: Mapping[str, str]) -> None:
        """Go back to the commits and branches of an earlier moment, as people do from a backup. All files stay."""
        self.files.write_times()  # looks at the commits that go
        self.commits, self.branches = dict(commits), dict(branches)
        self.files.look_from(len(self.commits))

    def merge(self, source: str, record: Record) -> None:
        """Merge a commit into main, key by key. Raise Conflict if both sides changed a key since their ancestor."""
        base, main = self._merge_base(source), self.branches[MAIN]
        changes = self.changed_keys(base, source)
        if base == source:
            return
        conflicts = {key for key in changes & self.changed_keys(base, main) if key.kind is not KeyKind.NAMESPACE}
        if conflicts:
            raise Conflict(f"main changed {', '.join(sorted(key.name for key in conflicts))} too")
        contents = self.commits[source].contents
        self.commit(MAIN, {key: contents.get(key) for key in changes}, record=record, merge_head=source)

    def made_from(self, commit: str) -> str:
        """Return the commit of main that a branch with this head was made from."""
        main = {ancestor.hash for ancestor in self.line(self.branches[MAIN])}
        return next(ancestor.hash for ancestor in self.line(commit) if ancestor.hash in main)

    def _merge_base(self, commit: str) -> str:
        """Return the nearest common commit of main and this one; merged commits count as main's."""
        ancestors = self._ancestors(self.branches[MAIN])
        return next(candidate for candidate in self._ancestors(commit) if candidate in ancestors)

    def _ancestors(self, commit: str) -> dict[str, None]:
        """Return a commit and all its ancestors, nearest first."""
        ancestors: dict[str, None] = {}
        todo = [commit]
        while todo:
            current = todo.pop(0)
            if current not in ancestors:
                ancestors[current] = None
                ancestor = self.commits[current]
                todo += [parent for parent in (ancestor.parent, ancestor.merge_head) if parent]
        return ancestors

    def line(self, commit: str) -> list[Commit]:
        """Return the commit and its parents, newest first, without merged commits."""
        commits, current = [], self.commits.get(commit)
        while current:
            commits.append(current)
            current = self.commits.get(current.parent or "")
        return commits

    def keys_between(self, base: str, head: str) -> frozenset[Key]:
        """Return every key that a commit after `base` touched, up to `head`."""
        before = {commit.hash for commit in self.line(base)}
        return frozenset(key for commit in self.line(head) if commit.hash not in before for key in commit.keys)

    def changed_keys(self, base: str, head: str) -> frozenset[Key]:
        """Return every key that can conflict. A key counts by its content, as in Nessie: content that came and went in
        between has not changed.
        """
        old, new = self.commits[base].contents, self.commits[head].contents
        return frozenset(key for key in self.keys_between(base, head) if not _is_same(old.get(key), new.get(key)))

    @cached_property
    def files(self) -> "LakeFiles":
        return LakeFiles(self)

    def spark_append(self, branch: str, table: str, identity: TableIdentity, files: Mapping[str, int]) -> str:
        """Append as a job does: create the table if absent, and add data files (path → rows). Return the head."""
        key = Key(kind=KeyKind.TABLE, name=table)
        space = Key(kind=KeyKind.NAMESPACE, name=table.rpartition(".")[0])
        old = self.head(branch).contents.get(key)
        state = old if isinstance(old, TableState) else TableState(identity=identity)
        if space not in self.head(branch).contents:
            self.commit(branch, {space: space.name})
        return self.commit(branch, {key: replace(state, files={**state.files, **files})}).hash

    def table(self, ref: Ref, table: str) -> TableState | None:
        content = self.at(ref).contents.get(Key(kind=KeyKind.TABLE, name=table))
        return content if isinstance(content, TableState) else None


WAREHOUSE = "s3://lake/warehouse"


class LakeFiles:
    """Files that were written for tables: a metadata file for each state of a table, and data files. Somebody may have
    deleted those that are `deletions`. Commits are looked through when somebody asks, because most tests never do.
    """

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake
        self._count = 0
        self._places: dict[str, str] = {}  # the URI of a data file or delete file, by its path in a table
        self._metadata: dict[int, str] = {}  # the URI of the metadata file, by the identity of a table's state
        self._states: dict[str, TableState] = {}  # the reverse of it
        self._times: dict[str, datetime] = {}
        self.deletions: set[str] = set()

    def write_times(self) -> Mapping[str, datetime]:
        """Return the URIs of all files that were ever written, each with the time of the first commit that has it."""
        self._record_files()
        return self._times

    def metadata_of(self, state: TableState) -> str:
        """Return the URI of the metadata file of a table's state in a commit."""
        self._record_files()
        return self._metadata[id(state)]

    def readable_files(self, metadata: str) -> list[str]:
        """Return the URIs of all files of the state with this metadata file. Raise Refused if one of them is gone."""
        uris = self.all_of(metadata)
        for uri in uris:
            if uri in self.deletions:
                raise Refused(f"{uri} is missing")
        return uris

    def all_of(self, metadata: str) -> list[str]:
        """Return the same, also those that are gone."""
        self._record_files()
        state = self._states[metadata]
        return [*(self._places[path] for path in (*state.files, *state.deletes)), metadata]

    def look_from(self, commits: int) -> None:
        """Take the first so many commits as seen."""
        self._count = commits

    def _record_files(self) -> None:
        new = list(self._lake.commits.values())[self._count :]
        self._count += len(new)
        for commit in new:
            for key, content in commit.contents.items():
                if isinstance(content, TableState) and id(content) not in self._metadata:
                    self._write(key.name, content, commit.at)

    def _write(self, table: str, state: TableState, at: datetime) -> None:
        folder = f"{WAREHOUSE}/{table.replace('.', '/')}_{uuid5(NAMESPACE_OID, state.identity.uuid)}"
        metadata = f"{folder}/metadata/{len(self._states):05}.metadata.json"
        self._metadata[id(state)], self._states[metadata] = metadata, state
        for path in (*state.files, *state.deletes):
            self._places.setdefault(path, path if "://" in path else f"{folder}/data/{path}")
            self._times.setdefault(self._places[path], at)
        self._times[metadata] = at


def _is_same(old: Content | None, new: Content | None) -> bool:
    """Return True if the contents are the same. Tables are compared by their metadata file: each write makes another,
    even one with equal content.
    """
    return old is new if isinstance(old, TableState) else old == new


def _hash(number: int) -> str:
    return hashlib.sha256(f"commit {number}".encode()).hexdigest()
