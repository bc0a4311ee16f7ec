"""Write, audit, publish from a script, a notebook or a task: one table, one catalog, no service.

    with wap(catalog, "orders.yaml") as branch:
        branch.append(rows)
        branch.publish()

A run has a branch of its own, made of main. `append` writes to it, each call a commit; what others write to it counts,
too. `audit` carries out the audit's one order of steps (`lakegate.audit.run`) on what the branch holds beyond main, in
DuckDB. `publish` moves main to just the snapshot that was audited, if main is still what the branch was made from. If
it is not, the same data files are brought to a branch of main as it is now, by metadata alone, that branch is proved,
audited again where verdicts depend on tables, and published in its place.

The catalog is the only state. A run's key is in the summary of each snapshot that it makes, so a key in main's history
says that the run was published, and whoever runs it again looks there before it repeats a step. Nothing but a publish
brings it there, all at once, on the condition that main is what it was when that was looked up. So a run that is killed
at any step leaves main as it was, or published, and a branch that `discard_abandoned` removes.

Begin with `block`, the context manager and its single steps; `branch` carries out a step each. `publishing` is what
makes it safe, by the guards and proofs of `lakegate.publishing`. `place` is what a run needs of a catalog beside that:
`iceberg` has it of Iceberg's own branches, `nessie` of Nessie's. `history` reads and writes what snapshots say of a
run, `source` and `table` are a run for the express engine, with rows on disk (`spool`), `data` makes files of what is
given, `narrowing` brings a frame's values to the contract's types, `mending` has the lines for those that do not fit,
and `refusal` and `report` are what a person reads. `checks` are a person's own functions. `spark` is a run for Spark's
engine, for those who give a session.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakegate.wap.block import Nessie, discard_abandoned, resume, start, wap
    from lakegate.wap.branch import AuditFailed, Branch
    from lakegate.wap.publishing import Published
    from lakegate.wap.report import Report

__all__ = ["AuditFailed", "Branch", "Nessie", "Published", "Report", "discard_abandoned", "resume", "start", "wap"]
_MODULES = {"AuditFailed": "branch", "Branch": "branch", "Published": "publishing", "Report": "report"}


def __getattr__(name: str) -> Any:
    """Import a name where it is asked for: the engine alone needs no catalog's clients, and a trial has only that."""
    if name not in __all__:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'block')}"), name)
