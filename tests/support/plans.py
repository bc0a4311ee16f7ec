"""Plans for tests of the audit and of Spark's part: written out, so that no contract has to be compiled for them."""

from __future__ import annotations

from collections.abc import Sequence

from lakegate.audit.model.plan import (
    Check,
    Metric,
    MetricKind,
    Operator,
    Plan,
    Proof,
    Reference,
    SchemaPolicy,
    Scope,
    Severity,
    TableColumn,
)

ROWS = Metric(id="rows", kind=MetricKind.ROWS)


def nulls(column: str) -> Metric:
    return Metric(id=f"nulls-{column}", kind=MetricKind.NULLS, columns=(column,))


def duplicates(*columns: str, scope: Scope = Scope.BATCH) -> Metric:
    return Metric(id=f"duplicates-{'-'.join(columns)}", kind=MetricKind.DUPLICATES, columns=columns, scope=scope)


def orphans(columns: Sequence[str], table: str, theirs: Sequence[str]) -> Metric:
    target = Reference(table=table, columns=tuple(theirs))
    name = f"orphans-{'-'.join(columns)}"
    return Metric(id=name, kind=MetricKind.ORPHANS, columns=tuple(columns), scope=Scope.TABLE, refers_to=target)


def failing(column: str, sql: str, proof: Proof | None = None) -> Metric:
    return Metric(id=f"failing-{column}", kind=MetricKind.FAILING, columns=(column,), sql=sql, proof=proof)


def none_of(metric: Metric, severity: Severity = Severity.ERROR) -> Check:
    """The check that a metric is zero."""
    return Check(
        id=f"check-{metric.id}",
        name=metric.id,
        metric=metric.id,
        operator=Operator.MUST_BE,
        threshold=(0,),
        severity=severity,
        columns=metric.columns,
    )


def plan(
    table: str,
    columns: dict[str, str],
    metrics: Sequence[Metric] = (),
    partitions: Sequence[str] = (),
    contract_hash: str = "h1",
    policy: SchemaPolicy | None = None,
) -> Plan:
    """A plan that checks each metric to be zero."""
    return Plan(
        table=table,
        contract_id="test",
        contract_version="1.0.0",
        contract_hash=contract_hash,
        columns=tuple(TableColumn(name=name, type=kind) for name, kind in columns.items()),
        partitions=tuple(partitions),
        metrics=tuple(metrics),
        policy=policy or SchemaPolicy(),
        checks=tuple(none_of(metric) for metric in metrics if metric.kind is not MetricKind.ROWS),
    )
