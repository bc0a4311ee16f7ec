"""Each kind of metric has a row for Spark, and the row answers what the job asks of it. It needs no session."""

from lakegate.audit.model.plan import MetricKind, Relation
from spark_jobs.metrics.kinds import KINDS, Way


def test_every_kind_of_metric_has_its_row() -> None:
    missing = set(MetricKind) ^ KINDS.keys()
    assert not missing, f"add to KINDS in spark_jobs/metrics/kinds.py how Spark measures {', '.join(sorted(missing))}"


def test_a_kind_that_the_one_pass_measures_says_its_number_or_what_fails() -> None:
    assert [kind for kind, row in KINDS.items() if row.way is Way.PASS and not (row.number or row.fails)] == []


def test_a_kind_that_is_measured_from_the_whole_batch_says_what_is_resolved() -> None:
    assert [kind for kind, row in KINDS.items() if row.way is Way.BATCH and not row.resolve] == []


def test_a_kind_that_depends_on_tables_says_what_is_resolved() -> None:
    of_tables = {kind for kind in MetricKind if kind.relation is not Relation.NO_EFFECT}
    missing = of_tables ^ {kind for kind, row in KINDS.items() if row.resolve}
    assert not missing, f"`resolve` in spark_jobs/metrics/kinds.py differs for {', '.join(sorted(missing))}"


def test_rows_that_count_and_are_in_the_table_can_be_found_for_report_and_quarantine() -> None:
    in_table = {kind for kind, row in KINDS.items() if row.way is not Way.FILE}
    counted = {kind for kind in in_table if kind.counts_rows}
    assert {kind for kind, row in KINDS.items() if row.finds_rows} == counted, (
        "a kind that counts rows says `fails` or `by_key` in spark_jobs/metrics/kinds.py, any other says neither"
    )
