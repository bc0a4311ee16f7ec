"""`generate`: a file of made-up rows for a contract, and the checks that it fails."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from lakegate.cli.exits import Exit
from lakegate.cli.terminal import busy, say, say_json
from lakegate.contracts import load
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.inference import text
from lakegate.synthetic.files import write
from lakegate.synthetic.rows import Maker
from lakegate.trial.questions import without


def generate(contract: Path, out: Path, rows: int, seed: int, fault: str | None, *, as_json: bool) -> Exit:
    """Write one file that keeps the contract's rules, or breaks the one whose check `fault` names."""
    if not out.parent.is_dir():
        raise Misconfigured(f"{out}: there is no folder {out.parent}")
    if out.exists() and out.samefile(contract):
        raise Misconfigured(f"{out} would overwrite the contract; name another OUT (it comes after CONTRACT)")
    if fault and not rows:
        raise Misconfigured("a file without rows is rejected before its checks: leave out --fault, or --rows 0")
    plan = load(contract.read_bytes(), str(contract)).plan
    unasked = {it.id: it.name for it in plan.checks if plan.metric(it.metric).refers_to or it.drift}
    with busy("making up rows"), TemporaryDirectory() as folder:
        maker, part = Maker(without(plan, unasked), seed, rows), Path(folder) / out.name
        made = maker.failing(fault) if fault else maker.good()
        write(made, plan, part)
        # Text may say less than was drawn, so it is judged as it is read.
        fails = maker.fails(text.rows(part, plan) if plan.files.kind.is_text else made) if rows else []
        out.write_bytes(part.read_bytes())
    empty = [name for name in made.column_names if rows and made[name].null_count == rows]
    if as_json:
        lists = {"fails": fails, "unasked": list(unasked.values()), "only_null": empty}
        say_json({"file": str(out), "table": plan.table, "rows": rows, **lists})
    else:
        verdict = f"fails {_listed(fails)}" if fails else "passes" if rows else "is rejected for that"
        nulls = f"; no value was found that passes, so it is null in every row: {_listed(empty)}" if empty else ""
        others = f"; not asked, for want of other files: {_listed(unasked.values())}" if unasked else ""
        say(f"{out}: {count(rows, 'row')} for {plan.table}, which {verdict}{nulls}{others}")
    return Exit.DONE


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
