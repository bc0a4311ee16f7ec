"""`Branches`, `Ledger` and `Publisher` in memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import PREFIX
from lakegate.landing.receipts import NAMESPACE, Receipt
from lakegate.ports import MAIN, Branch, Changes, LogEntry, MetadataFile, Record, Ref, Reference
from lakegate.testing.lake import Content, Key, KeyKind, MemoryLake, TableState

WATERMARK = Key(kind=KeyKind.OTHER, name=f"{NAMESPACE}.watermark")


@dataclass(kw_only=True)
class MemoryCatalog:
    """`Branches`, `Ledger` and `Publisher` on a lake in memory."""

    lake: MemoryLake

    def head(self, branch: str) -> str | None:
        return self.lake.branches.get(branch)

    def list_branches(self) -> list[Branch]:
        heads = sorted(self.lake.branches.items())
        return [Branch(name=name, head=head) for name, head in heads if name.startswith(PREFIX)]

    def references(self) -> list[Reference]:
        branches = self.lake.branches.items()
        return [
            Reference(name=branch, head=at, base=None if branch == MAIN else self.base(branch))
            for branch, at in branches
        ]

    def metadata_files(self, head: str, start: str | datetime) -> Iterator[MetadataFile]:
        for commit in self.lake.line(head):
            is_first = commit.at < start if isinstance(start, datetime) else commit.hash == start
            for key in commit.contents if is_first else commit.keys:
                if isinstance(state := commit.contents.get(key), TableState):
                    yield MetadataFile(table=key.name, uri=self.lake.files.metadata_of(state))
            if is_first:
                return

    def create_branch(self, name: str, at: str) -> None:
        commit = self.lake.at(Ref(name, at))
        if name in self.lake.branches:
            raise Conflict(f"branch {name} exists already")
        self.lake.branches[name] = commit.hash

    def delete_branch(self, name: str, expected: str | None = None) -> None:
        if expected in (None, self.head(name)):
            self.lake.branches.pop(name, None)

    def receipts(self, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
        return _receipts(self.lake.at(ref).contents, keys)

    def all_receipts(self, ref: Ref) -> Iterator[Receipt]:
        yield from (content for content in self.lake.at(ref).contents.values() if isinstance(content, Receipt))

    def compact(
        self, expected: str, keys: Iterable[str], watermark: datetime | None, shorter: Iterable[Receipt] = ()
    ) -> None:
        changes: dict[Key, Content | None] = {_receipt_key(key): None for key in keys}
        changes |= _receipt_contents(shorter)
        if watermark:
            changes[WATERMARK] = watermark.isoformat()
        self.lake.commit(MAIN, changes, expected=expected)

    def watermark(self) -> datetime | None:
        watermark = self.lake.at(Ref(MAIN)).contents.get(WATERMARK)
        return datetime.fromisoformat(watermark) if isinstance(watermark, str) else None

    def commit_receipts(
        self, branch: str, expected: str, receipts: Iterable[Receipt], record: Record | None = None
    ) -> str:
        return self.lake.commit(branch, _receipt_contents(receipts), expected=expected, record=record).hash

    def restore_receipts(self, branch: str, expected: str, keys: Iterable[str], base: str) -> str:
        before = self.receipts(Ref(MAIN, base), keys := set(keys))
        changes: dict[Key, Content | None] = {
            _receipt_key(key): before.get(key)
            for key in keys
            if before.get(key) != self.lake.commits[expected].contents.get(_receipt_key(key))
        }
        return self.lake.commit(branch, changes, expected=expected).hash if changes else expected

    def replay(self, branch: str, base: str, commit: str, without: Iterable[str]) -> str:
        receipt_keys, contents = {_receipt_key(key) for key in without}, self.lake.commits[commit].contents
        changes = self.lake.changed_keys(base, commit) - receipt_keys
        return self.lake.commit(branch, {key: contents.get(key) for key in changes}, expected=base).hash

    def changes(self, base: str, head: str) -> Changes:
        if base not in {commit.hash for commit in self.lake.line(head)}:
            raise Refused(f"commit {head} was not made from {base}")
        old, new = self.lake.commits[base].contents, self.lake.commits[head].contents
        candidates = (key for key in old.keys() | new.keys() if old.get(key) is not new.get(key))
        changes = [key for key in candidates if old.get(key) != new.get(key)]
        names = {kind: frozenset(key.name for key in changes if key.kind is kind) for kind in KeyKind}
        receipts = _receipts(new, names[KeyKind.RECEIPT])
        return Changes(
            tables=names[KeyKind.TABLE],
            namespaces=names[KeyKind.NAMESPACE],
            receipts={key: receipts.get(key) for key in names[KeyKind.RECEIPT]},
            other_keys=names[KeyKind.OTHER],
        )

    def changed_tables(self, base: str, head: str, tables: Iterable[str]) -> frozenset[str]:
        before, now = Ref(MAIN, base), Ref(MAIN, head)
        return frozenset(table for table in tables if self.lake.table(before, table) != self.lake.table(now, table))

    def table_folders(self, commit: str, tables: Iterable[str]) -> dict[str, str]:
        return {table: f"s3://lake/{table}" for table in tables if self.lake.table(Ref(MAIN, commit), table)}

    def base(self, branch: str) -> str:
        return self.lake.made_from(self.lake.head(branch).hash)

    def merge(self, branch: str, head: str, record: Record) -> None:
        self.lake.head(branch)
        self.lake.merge(head, record)

    def decisions(
        self, limit: int, *, table: str | None = None, batch: str | None = None, before: str = ""
    ) -> Iterator[LogEntry]:
        line = self.lake.line(before or self.lake.branches[MAIN])[1 if before else 0 :]
        commits = [
            commit
            for commit in line
            if commit.record and table in (None, commit.record.table) and batch in (None, commit.record.batch)
        ]
        for commit in commits[:limit]:
            if commit.record:
                yield LogEntry(record=commit.record, commit=commit.hash, at=commit.at)


def _receipt_contents(receipts: Iterable[Receipt]) -> dict[Key, Content | None]:
    """Return the receipts as Nessie stores them: without the closed versions that a caller read from the archive."""
    return {_receipt_key(receipt.key): replace(receipt, archive=()) for receipt in receipts}


def _receipt_key(key: str) -> Key:
    return Key(kind=KeyKind.RECEIPT, name=key)


def _receipts(contents: Mapping[Key, Content], keys: Iterable[str]) -> dict[str, Receipt]:
    contents_by_key = {key: contents.get(_receipt_key(key)) for key in sorted(keys)}
    return {key: receipt for key, receipt in contents_by_key.items() if isinstance(receipt, Receipt)}
