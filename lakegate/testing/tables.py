"""`Tables` in memory, on the catalog's lake."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lakegate.errors import Refused
from lakegate.ports import FileChanges, Ref, TableIdentity
from lakegate.testing.lake import WAREHOUSE, Key, KeyKind, MemoryLake, TableState


@dataclass(kw_only=True)
class MemoryTables:
    """`Tables` on the same lake as the catalog's."""

    lake: MemoryLake

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        state = self.lake.table(ref, table)
        return state.identity if state else None

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        source_files = self._state(source, table).files
        branch_files = self._state(Ref(branch), table).files
        _refuse(paths - set(source_files), f"{source}: table {table} has no data file")
        _refuse(paths & set(branch_files), f"{branch}: table {table} already has data file")
        self._set(branch, table, {**branch_files, **{path: source_files[path] for path in paths}})

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        source_state = self._state(source, table)
        _refuse(paths - set(source_state.files), f"{source}: table {table} has no data file")
        if self.lake.table(Ref(branch), table):
            raise Refused(f"{branch}: there is a table {table} already")
        namespace = table.rpartition(".")[0]
        state = replace(source_state, files={path: source_state.files[path] for path in paths})
        self.lake.commit(
            branch,
            {Key(kind=KeyKind.NAMESPACE, name=namespace): namespace, Key(kind=KeyKind.TABLE, name=table): state},
        )

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        branch_state = self._state(Ref(branch), table)
        if branch_state.identity != self._state(base, table).identity:
            raise Refused(f"{branch}: table {table} is not what it was at {base}")
        source_identity = self._state(source, table).identity
        identity = replace(
            branch_state.identity,
            fields=source_identity.fields,
            last_id=source_identity.last_id,
            contract_hash=source_identity.contract_hash,
        )
        self.lake.commit(branch, {Key(kind=KeyKind.TABLE, name=table): replace(branch_state, identity=identity)})

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        branch_files = self._state(Ref(branch), table).files
        _refuse(paths - set(branch_files), f"{branch}: table {table} has no data file")
        self._set(branch, table, {path: rows for path, rows in branch_files.items() if path not in paths})

    def paths(self, ref: Ref, table: str) -> frozenset[str]:
        state = self.lake.table(ref, table)
        return frozenset(state.files) if state else frozenset()

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        old, new = self.paths(before, table), self.paths(after, table)
        deletes = self._deletes(before, table) ^ self._deletes(after, table)
        return FileChanges(adds=new - old, removes=old - new, deletes=deletes)

    def location(self) -> str:
        return WAREHOUSE

    def readable_files(self, metadata: Iterable[str], skip: Container[str]) -> Iterator[str]:
        for uri in metadata:
            if uri not in skip:
                yield from self.lake.files.readable_files(uri)

    def _deletes(self, ref: Ref, table: str) -> frozenset[str]:
        state = self.lake.table(ref, table)
        return state.deletes if state else frozenset()

    def _state(self, ref: Ref, table: str) -> TableState:
        state = self.lake.table(ref, table)
        if state is None:
            raise Refused(f"{ref}: there is no table {table}")
        return state

    def _set(self, branch: str, table: str, files: Mapping[str, int]) -> None:
        state = replace(self._state(Ref(branch), table), files=files)
        self.lake.commit(branch, {Key(kind=KeyKind.TABLE, name=table): state})


def _refuse(paths: Iterable[str], problem: str) -> None:
    for path in sorted(paths):
        raise Refused(f"{problem} {path}")
