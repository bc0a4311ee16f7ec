"""Rows can be made up for each kind of metric."""

from lakegate.audit.plan import MetricKind
from lakegate.synthetic.rows import KINDS


def test_every_kind_of_metric_has_its_row() -> None:
    missing = set(MetricKind) ^ KINDS.keys()
    assert not missing, f"add to KINDS in lakegate/synthetic/rows.py how rows are made up that fail {sorted(missing)}"
