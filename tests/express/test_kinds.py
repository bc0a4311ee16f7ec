"""Each kind of metric that depends on tables has a row for the express engine."""

from lakegate.audit.model.plan import MetricKind, Relation, Scope
from lakegate.contracts import load
from lakegate.express.keys import KINDS
from tests.support import catalogue

PLANS = [load(kind.contract, "contract.yaml").plan for kind in catalogue.KINDS]
OF_TABLES = {
    *(kind for kind in MetricKind if kind.relation is not Relation.NO_EFFECT),
    *(metric.kind for plan in PLANS for metric in plan.metrics if metric.scope is Scope.TABLE),
}


def test_every_kind_of_metric_that_depends_on_tables_has_its_row() -> None:
    missing = OF_TABLES ^ KINDS.keys()
    assert not missing, f"add to KINDS in lakegate/express/keys.py how {', '.join(sorted(missing))} is resolved"
