"""`generate`: a file of made-up rows for a contract. Making the rows is lakegate.synthetic's part."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from lakegate.adapters.decoding import TooLarge, bounded, parquet_batches
from lakegate.audit.model.plan import Check, MetricKind, Plan
from lakegate.cli.exits import Exit
from lakegate.cli.terminal import busy, say, say_json
from lakegate.contracts import load
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.synthetic.files import write
from lakegate.synthetic.rows import Maker


def generate(
    contract: Path,
    out: Path,
    rows: int,
    seed: int,
    fault: str | None,
    references: Sequence[str],
    past: Sequence[str],
    *,
    as_json: bool,
) -> Exit:
    """Write one file that passes the contract, or fails exactly the check named by `fault`."""
    _refuse_to_overwrite(out, [contract, *(Path(said.partition("=")[2]) for said in references)])
    plan = load(contract.read_bytes(), str(contract)).plan
    check = _named(plan, fault) if fault is not None else None
    if check and not rows:
        raise Misconfigured("a file without rows is rejected before its checks: leave out --fault, or --rows 0")
    before = dict(_past(plan, said) for said in past)
    with busy("making up rows"):
        maker = Maker(plan=plan, seed=seed, references=dict(map(_reference, references)), past=before)
        broken = check is not None and plan.metric(check.metric).kind is MetricKind.MALFORMED
        made = _made(maker, rows, check)
        write(made, plan, out, broken=broken)
    nulls, fails = maker.only_null(made), check.name if check else None
    if as_json:
        say_json({"file": str(out), "table": plan.table, "rows": made.num_rows, "fails": fails, "only_null": nulls})
    else:
        verdict = f"fails {fails!r} and nothing else" if check else "passes" if rows else "is rejected for that"
        say(f"{out}: {count(made.num_rows, 'row')} for {plan.table}, which {verdict}{''.join(map(_empty, nulls))}")
    return Exit.DONE


def _empty(column: str) -> str:
    return f"; no value of {column!r} was found that passes its checks, so it is null in every row"


def _refuse_to_overwrite(out: Path, read: Sequence[Path]) -> None:
    if same := next((file for file in read if out.exists() and file.exists() and out.samefile(file)), None):
        raise Misconfigured(
            f"{out} would overwrite {same}, from which the rows are made; name another OUT (it comes after CONTRACT)"
        )


def _made(maker: Maker, rows: int, check: Check | None) -> pa.Table:
    if not rows:
        return maker.empty()
    return maker.failing(rows, check) if check else maker.good(rows)


def _past(plan: Plan, said: str) -> tuple[str, tuple[float, ...]]:
    """Parse `CHECK=NUMBER,NUMBER,…` into the check's metric and its past values, oldest first."""
    name, _, numbers = said.rpartition("=")
    try:
        return _named(plan, name).metric, tuple(float(number) for number in numbers.split(","))
    except ValueError as error:
        raise Misconfigured(f"--past {said!r} is not CHECK=NUMBER,NUMBER,…: {error}") from error


def _reference(said: str) -> tuple[str, pa.Table]:
    """Parse `TABLE=FILE` into a table's name and its rows."""
    table, _, file = said.partition("=")
    try:
        batches = list(bounded(parquet_batches(file)))
        return table, pa.Table.from_batches(batches, None if batches else parquet.read_schema(file))
    except TooLarge as error:
        raise Misconfigured(
            f"--reference {said!r}: {error}; give a file of its key's columns alone, or fewer rows"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise Misconfigured(f"--reference {said!r} is not TABLE=FILE with a parquet file: {error}") from error


def _named(plan: Plan, fault: str) -> Check:
    """Return the check of this name or id. Raise Misconfigured, with all names, if there is none."""
    found = next((check for check in plan.checks if fault in (check.id, check.name)), None)
    if found is None:
        names = [check.name for check in plan.checks]
        known = "".join(f"\n  {name}" for name in names) or " none at all"
        raise Misconfigured(f"{plan.table} has no check {fault!r}{hint(fault, names)}; it has:{known}")
    return found
