"""Each kind of metric that depends on tables says so, and has a row for the express engine."""

from lakegate.audit.model.plan import MetricKind, Relation, Scope
from lakegate.contracts import load
from lakegate.express.keys import KINDS
from tests.support import catalogue

OF_TABLES = {kind for kind in MetricKind if kind.relation is not Relation.NO_EFFECT}


def test_a_kind_of_a_metric_that_depends_on_tables_says_how_other_files_matter() -> None:
    plans = [load(kind.contract, "contract.yaml").plan for kind in catalogue.KINDS]
    kinds = {metric.kind for plan in plans for metric in plan.metrics if metric.scope is Scope.TABLE}
    assert kinds <= OF_TABLES, "a relation other than NO_EFFECT is missing in MetricKind, lakegate/audit/model/plan.py"


def test_every_kind_of_metric_that_depends_on_tables_has_its_row() -> None:
    missing = OF_TABLES ^ KINDS.keys()
    assert not missing, f"add to KINDS in lakegate/express/keys.py how {', '.join(sorted(missing))} is resolved"
