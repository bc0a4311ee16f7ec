"""Guards: main's tables are still what was audited, so that data files may move to them by metadata alone. Each guard
returns its objection, or None. Guards change nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lakegate.audit.ref import Ref
from lakegate.publishing.port import MAIN, TableIdentity, Tables


@dataclass(frozen=True)
class NeedsNewAttempt:
    """An objection to moving the audited data files onto main as it is now. Only a new attempt may publish them, after
    it has appended and audited them again.
    """

    reason: str


@dataclass(frozen=True, kw_only=True)
class AuditedBranch:
    """A branch as it was audited: the commit that was its `head`, and that of main which it was made from, its `base`.
    `advice` is the sentence that says how its rows are audited anew. It does not matter which branch made a table of
    `own_tables` ones, which have lakegate's columns alone: two may at once.
    """

    name: str
    base: str
    head: str
    advice: str
    own_tables: frozenset[str] = frozenset()

    @property
    def ref(self) -> Ref:
        return Ref(self.name, self.head)

    @property
    def base_ref(self) -> Ref:
        return Ref(MAIN, self.base)

    def is_same(self, table: str, identity: TableIdentity | None, other: TableIdentity | None) -> bool:
        """Return True if data files of the one table may be the other's."""
        if identity and other and table in self.own_tables:
            return replace(identity, uuid="") == replace(other, uuid="")
        return identity == other


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Tables that main must get with the data files: `new` ones that it lacks, and those that have `wider` on the
    audited branch by columns or types, or by the contract's hash alone.
    """

    new: frozenset[str]
    wider: frozenset[str]


def guard_tables(tables: Tables, source: AuditedBranch, main: str, names: Iterable[str]) -> Targets | NeedsNewAttempt:
    """Return the tables that are new or have grown; object if data files may not move to one of the tables on `main`, a
    commit. Iceberg matches columns by field id, so main's table must agree with the audited one, or still be as it was
    at the base, and so be able to become the audited one.
    """
    new, wider = set[str](), set[str]()
    for table in names:
        current, target = (tables.identity(ref, table) for ref in (Ref(MAIN, main), source.ref))
        if source.is_same(table, current, target):
            continue
        before = tables.identity(source.base_ref, table)
        if current is None and before is None:
            new.add(table)
        elif current is not None and current == before and _may_become(current, target):
            wider.add(table)
        else:
            return NeedsNewAttempt(f"table {table} on main is not the one that was audited on {source.name}")
    return Targets(new=frozenset(new), wider=frozenset(wider))


def _may_become(before: TableIdentity, after: TableIdentity | None) -> bool:
    """Return True if the table keeps its partitions and every column."""
    if after is None or (before.uuid, before.partitions) != (after.uuid, after.partitions):
        return False
    names = {(number, name) for number, name, _ in after.fields}
    return all((number, name) in names for number, name, _ in before.fields)


def guard_replaced(
    tables: Tables, source: AuditedBranch, main: str, losses: Mapping[str, frozenset[str]], *, whole: bool
) -> NeedsNewAttempt | None:
    """Object if data files that are to be replaced, by table, have left main since the base. If not the `whole` of a
    data file is replaced, new delete files are an objection, too: rows that they delete would be back in what is left
    of it.
    """
    for table, paths in losses.items():
        changes = tables.compare(table, source.base_ref, Ref(MAIN, main))
        if paths & changes.removes or (changes.deletes and not whole):
            return NeedsNewAttempt(f"rows of {table} that {source.name} replaces were rewritten on main")
    return None
