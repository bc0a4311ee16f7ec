"""A kind of metric says how it counts, and how files of one batch bear on each other through it."""

from lakegate.audit.model.plan import Metric, MetricKind, Relation, Scope
from tests.support.plans import ROWS, duplicates, orphans, plan

OF_TABLE = Metric(id="rows of table", kind=MetricKind.ROWS, scope=Scope.TABLE)
OWN_ROWS = orphans(["a"], "shop.orders", ["id"])
OTHER_ROWS = orphans(["b"], "shop.ids", ["id"])
KEYS_OF_FILE, KEYS_OF_TABLE = duplicates("a"), duplicates("b", scope=Scope.TABLE)


def test_only_metrics_of_table_scope_about_the_table_itself_compare_files() -> None:
    metrics = [ROWS, OF_TABLE, OWN_ROWS, OTHER_ROWS, KEYS_OF_FILE, KEYS_OF_TABLE]
    compared = plan("shop.orders", {"a": "int", "b": "int"}, metrics)
    assert compared.comparing(Relation.SUPPORT) == {OF_TABLE.id, OWN_ROWS.id}
    assert compared.comparing(Relation.CONFLICT) == {KEYS_OF_TABLE.id}
    assert compared.comparing(Relation.NO_EFFECT) == frozenset()


def test_a_kind_counts_rows_that_fail_or_is_a_number_about_all() -> None:
    about_all = {kind for kind in MetricKind if not kind.counts_rows}
    assert about_all == {MetricKind.ROWS, MetricKind.VALUE, MetricKind.QUERY}
