"""Each kind of metric in DuckDB's words; tests/synthetic and tests/cli ask them of rows."""

from lakegate.audit.model.plan import MetricKind
from lakegate.duckdb.metrics import KINDS


def test_every_kind_of_metric_has_its_row() -> None:
    missing = set(MetricKind) ^ KINDS.keys()
    assert not missing, f"add to KINDS in lakegate/duckdb/metrics.py how DuckDB measures {', '.join(sorted(missing))}"


def test_rows_that_count_can_be_shown_where_a_table_holds_them() -> None:
    counted = {kind for kind in MetricKind if kind.counts_rows} - {MetricKind.MALFORMED}
    assert {kind for kind, row in KINDS.items() if row.sample} == counted
