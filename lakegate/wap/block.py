"""A run as a block, and as single steps for tasks that share no process: start, resume, discard what was abandoned."""

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyiceberg.catalog import Catalog

from lakegate.adapters.http import door
from lakegate.audit.evaluation.quarantine import without_budget
from lakegate.audit.model.files import FileKind
from lakegate.audit.model.plan import Plan
from lakegate.contracts import Contract, load
from lakegate.errors import LakegateError, Misconfigured, Refused
from lakegate.express.plan import spark_only
from lakegate.publishing.iceberg.branches import IcebergBranches
from lakegate.wap.branch import Branch, Terms
from lakegate.wap.checks import Check, check_names
from lakegate.wap.iceberg import IcebergPlace
from lakegate.wap.names import branch_name, check_made, made_at
from lakegate.wap.nessie import NessiePlace
from lakegate.wap.place import Place
from lakegate.wap.publishing import discard, find_published, make, names

LIFE = timedelta(days=7)


@dataclass(frozen=True, kw_only=True)
class Nessie:
    """A Nessie as the catalog of a run: its address without /api, and one of its warehouses. `token` returns the bearer
    token of this process, for each call anew, if Nessie asks who calls. `ca` has authorities as PEM text that Nessie's
    certificate may be of, beside the usual ones.
    """

    uri: str
    warehouse: str
    token: Callable[[], str] | None = field(default=None, repr=False)
    ca: str = field(default="", repr=False)


@dataclass(frozen=True)
class _Caller:
    """`Tokens` of a person's own function."""

    token: Callable[[], str]


CatalogLike = Catalog | Nessie | Place
"""A catalog that PyIceberg has opened, a Nessie, or the place of a table in one."""
ContractLike = Contract | str | os.PathLike[str]
"""A contract, or the path of its file."""


def utc_now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


@contextmanager
def wap(
    catalog: CatalogLike,
    contract: ContractLike,
    *,
    table: str = "",
    key: str = "",
    checks: Sequence[Check] = (),
    allow_new_columns: Collection[str] = (),
    keep: bool = False,
    spark: Any = None,
) -> Iterator[Branch]:
    """Yield a run's branch: append to it, audit it, publish it.

    Whatever is not published when the block is left, by an exception or not, is not published at all, and its branch
    is discarded, or kept if `keep`. A run with a `key` is published once, however often it is run: if main has it
    already, every step does nothing. `table` is another name than the contract's; see `start` for the rest.
    """
    branch = start(
        catalog, contract, table=table, key=key, checks=checks, allow_new_columns=allow_new_columns, spark=spark
    )
    try:
        yield branch
    except BaseException as error:
        if not keep:
            _discard(branch, error)
        raise
    if not (keep or branch.published):
        branch.discard()


def start(
    catalog: CatalogLike,
    contract: ContractLike,
    *,
    table: str = "",
    key: str = "",
    checks: Sequence[Check] = (),
    allow_new_columns: Collection[str] = (),
    spark: Any = None,
    now: Callable[[], datetime] = utc_now,
) -> Branch:
    """Begin a run on a new branch, and return it. A table that the catalog lacks is created by the run's first append,
    once its rows fit; Iceberg's own branches share it with main, where it is empty.

    `checks` are functions that say of an append's rows which of them pass, each by a name of its own. The table on
    main gets columns of `allow_new_columns` before the audit, because all branches of an Iceberg table have the same.
    With a `spark` session the run reads and audits in Spark, which takes what DuckDB cannot: files of text, ORC and
    Avro, and nested columns.
    """
    terms = _terms(catalog, contract, table, checks, allow_new_columns, spark, now)
    name = branch_name(terms.plan.table, now(), uuid4().hex[:8])
    check_made(name, terms.plan.table)
    published = find_published(terms.place, key) if key else None
    if not published:
        make(terms.place, name)
    return Branch(terms, name=name, key=key or name, published=published)


def resume(
    catalog: CatalogLike,
    contract: ContractLike,
    name: str,
    *,
    table: str = "",
    key: str = "",
    checks: Sequence[Check] = (),
    spark: Any = None,
    now: Callable[[], datetime] = utc_now,
) -> Branch:
    """Return the run of a branch that another process has begun, with the contract, the key and the checks that it was
    begun with. If it was published, every step does nothing. Raise Refused if no run has made a branch of that name.
    """
    terms = _terms(catalog, contract, table, checks, (), spark, now)
    check_made(name, terms.plan.table)
    return Branch(terms, name=name, key=key or name, published=find_published(terms.place, key or name))


def _terms(
    catalog: CatalogLike,
    contract: ContractLike,
    table: str,
    checks: Sequence[Check],
    allow_new_columns: Collection[str],
    spark: Any,
    now: Callable[[], datetime],
) -> Terms:
    """Return the terms of a run. It asks the catalog nothing."""
    check_names(checks)
    odcs = _contract(contract)
    plan = _plan(odcs, table, spark)
    return Terms(
        place=_place(catalog, plan.table),
        plan=plan,
        contract=odcs.plan,
        now=now,
        checks=tuple(checks),
        allow_new_columns=allow_new_columns,
        spark=spark,
    )


def discard_abandoned(
    catalog: CatalogLike, table: str, *, older_than: timedelta = LIFE, now: Callable[[], datetime] = utc_now
) -> list[str]:
    """Delete the branches of runs of a table that were begun so long ago, and return their names."""
    place = _place(catalog, table)
    starts = {name: at for name in names(place) if (at := made_at(name, table))}
    old_names = [name for name, at in starts.items() if at < now() - older_than]
    for name in old_names:
        discard(place, name)
    return old_names


def _discard(branch: Branch, error: BaseException) -> None:
    """Discard the branch of a run that has failed. If that fails, too, the first error is still raised."""
    try:
        branch.discard()
    except LakegateError as failure:
        error.add_note(f"branch {branch.name} of {branch.table} is still there: {failure}")


def _place(catalog: CatalogLike, table: str) -> Place:
    if isinstance(catalog, Nessie):
        http = door(catalog.uri, _Caller(catalog.token) if catalog.token else None, catalog.ca)
        return NessiePlace(uri=catalog.uri, warehouse=catalog.warehouse, table=table, http=http)
    if isinstance(catalog, Catalog):
        return IcebergPlace(branches=IcebergBranches(catalog=catalog, table=table))
    return catalog


def _plan(contract: Contract, table: str, spark: Any) -> Plan:
    """Return the contract's plan for data that is given in columns. A check that would quarantine rows fails: that
    would take two tables, and a run publishes one.
    """
    plan = contract.plan
    plan = without_budget(replace(plan, table=table or plan.table, files=replace(plan.files, kind=FileKind.PARQUET)))
    problem = "" if spark else spark_only(plan)
    if problem:
        raise Refused(f"contract of {plan.table}: {problem} Give the run a Spark session: wap(…, spark=session)")
    return plan


def _contract(contract: ContractLike) -> Contract:
    if isinstance(contract, Contract):
        return contract
    path = Path(contract)
    try:
        text = path.read_bytes()
    except OSError as error:
        raise Misconfigured(f"the contract {path} cannot be read: {error}") from error
    return load(text, str(path))
