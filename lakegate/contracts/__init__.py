"""Contracts: ODCS YAML in, a plan and a route out; the only place that knows ODCS and sqlglot.

It reads no file and no store.
"""

from lakegate.contracts.contract import BRANCH_DAYS, Contract, load, overlaps

__all__ = ["BRANCH_DAYS", "Contract", "load", "overlaps"]
