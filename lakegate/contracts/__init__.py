"""Contracts: ODCS YAML in, a plan and a route out; the only place that knows ODCS, and what SQL a contract may say.

It reads no file and no store. Begin with `reading`, which makes a contract of a text; `table` makes its plan.
Each room imports none below it in this list:

- `regex`: patterns, rewritten so that all engines agree on them, and what one costs
- `odcs`: the text as plain values that know their lines, the words of the standard and ours
- `columns`: a column's name, type and parts
- `outcomes`: which values an expression may have, so that a check that no row can change is refused
- `sql`: SQL that people write, held to an allow-list
- `metrics`: what is measured, in SQL that we write
- `checks`: what is demanded of a metric
- `files`: formats, and what becomes of files that differ

`odcs` takes the types alone from `columns`. A new word begins in `odcs/vocabulary`, a new check is a row in `checks`.
"""

from lakegate.contracts.contract import BRANCH_DAYS, Contract, load, overlaps

__all__ = ["BRANCH_DAYS", "Contract", "load", "overlaps"]
