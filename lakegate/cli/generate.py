"""`generate`: a file of made-up rows for a contract, and the checks that it fails."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from lakegate.cli.exits import Exit
from lakegate.cli.terminal import busy, print_lines, say_json
from lakegate.contracts import load
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.inference import text
from lakegate.synthetic.files import write
from lakegate.synthetic.rows import Maker
from lakegate.trial.questions import without


def generate(contract: Path, target: Path, rows: int, seed: int, fault: str | None, *, as_json: bool) -> Exit:
    """Write one file that keeps the contract's rules, or breaks the one whose check `fault` names."""
    if not target.parent.is_dir():
        raise Misconfigured(f"{target}: there is no folder {target.parent}")
    if target.exists() and target.samefile(contract):
        raise Misconfigured(f"{target} would overwrite the contract; name another OUT (it comes after CONTRACT)")
    if fault and not rows:
        raise Misconfigured("a file without rows is rejected before its checks: leave out --fault, or --rows 0")
    plan = load(contract.read_bytes(), str(contract)).plan
    unasked_checks = {
        check.id: check.name for check in plan.checks if plan.metric(check.metric).refers_to or check.drift
    }
    with busy("making up rows"), TemporaryDirectory() as folder:
        maker, part = Maker(without(plan, unasked_checks), seed, rows), Path(folder) / target.name
        file_rows = maker.bad(fault) if fault else maker.good()
        write(file_rows, plan, part)
        # Text may say less than was drawn, so it is judged as it is read.
        fails = maker.fails(text.rows(part, plan) if plan.files.kind.is_text else file_rows) if rows else []
        target.write_bytes(part.read_bytes())
    empty = [name for name in file_rows.column_names if rows and file_rows[name].null_count == rows]
    if as_json:
        lists = {"fails": fails, "unasked": list(unasked_checks.values()), "only_null": empty}
        say_json({"file": str(target), "table": plan.table, "rows": rows, **lists})
    else:
        verdict = f"fails {_names_text(fails)}" if fails else "passes" if rows else "is rejected for that"
        nulls = f"; no value was found that passes, so it is null in every row: {_names_text(empty)}" if empty else ""
        remark_text = (
            f"; not asked, for want of other files: {_names_text(unasked_checks.values())}" if unasked_checks else ""
        )
        print_lines(f"{target}: {count(rows, 'row')} for {plan.table}, which {verdict}{nulls}{remark_text}")
    return Exit.SUCCESS


def _names_text(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
