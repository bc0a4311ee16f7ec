"""Contracts: ODCS YAML in, a plan and a route out; the only place that knows ODCS, and what SQL a contract may say.

It reads no file and no store. Begin with `reading`, which makes a contract of a text. The text as it is:
`document` (YAML that knows its lines), `bounds` (how large it may be), `shape` (ODCS's JSON schema), `words` (what each
word of ODCS means here). The table: `table`, `columns`, `types`, `formats`, `policy`, `ingestion`, by `settings` of our
own. Checks: `checks` of columns, `quality` and `custom` with `rules` and `drifts`, `relationships`, `promises`,
`quarantine`. Their metrics, in SQL: `metrics`, `aggregates`, `arrays`, `texts` with `patterns`, `characters`,
`backtracking` and `quick`; `sql`, `syntax`, `growth` and `like` for what people write.
"""

from lakegate.contracts.contract import BRANCH_DAYS, Contract, load, overlaps

__all__ = ["BRANCH_DAYS", "Contract", "load", "overlaps"]
