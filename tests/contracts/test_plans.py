"""Good contracts as plans: types, partitions, keys, checks and what counts as the same contract."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lakegate.audit.model.codec import from_json, from_plain, to_json, to_plain
from lakegate.audit.model.plan import (
    Budget,
    Check,
    Metric,
    MetricKind,
    Mode,
    Operator,
    Plan,
    Proof,
    Reference,
    SchemaPolicy,
    Scope,
    Severity,
    Stance,
    TableColumn,
    Unit,
)
from lakegate.contracts import Contract, load, overlaps
from lakegate.landing.ingestion import Engine, Ingestion, Reuploads
from lakegate.landing.routes import Route
from tests.contracts.test_predicates import plan_for

GOOD = (Path(__file__).parent / "shop.yaml").read_text()


def test_a_contract_becomes_a_route_and_a_plan() -> None:
    contract = load(GOOD, "orders.yaml")

    assert (contract.table, contract.id, contract.version) == ("shop.orders", "shop-orders", "1.0.0")
    assert contract.route == Route(table="shop.orders", pattern="shop/orders/*.parquet")
    assert contract.plan.columns == (
        TableColumn(name="id", type="bigint"),
        TableColumn(name="amount", type="double"),
        TableColumn(name="state", type="string"),
        TableColumn(name="placed", type="timestamp"),
    )
    assert contract.plan.partitions == ("days(`placed`)",)
    assert [(check.line, check.name) for check in contract.plan.checks] == [
        (17, "id ≥ 1"),
        (18, "primary key id unique"),
        (18, "id required (primary key)"),
        (21, "amount required"),
        (22, "amount > 0"),
        (22, "amount ≤ 1000.5"),
        (25, "state one of open, paid"),
        (27, "nullValues of state must be less than 5 percent"),
        (37, "rowCount must be greater than 0 rows"),
    ]


def test_a_check_and_its_metric_say_all_that_an_audit_needs() -> None:
    plan = load(GOOD, "orders.yaml").plan
    check = plan.checks[7]
    metric = plan.metric(plan.checks[5].metric)

    assert check == Check(
        id=check.id,
        name="nullValues of state must be less than 5 percent",
        metric=check.metric,
        operator=Operator.LESS_THAN,
        threshold=(5,),
        unit=Unit.PERCENT,
        severity=Severity.WARNING,
        columns=("state",),
        line=27,
        place="the check",
        lines="severity: warning",
    )
    assert metric == Metric(
        id=metric.id,
        kind=MetricKind.FAILING,
        columns=("amount",),
        sql="COALESCE(ISNAN(`amount`) OR `amount` > CAST(1000.5 AS DOUBLE), FALSE)",
        proof=Proof(column="amount", maximum=1000.5),
    )


def test_a_plan_survives_the_wire() -> None:
    plan = load(GOOD, "orders.yaml").plan

    assert from_json(Plan, to_json(plan)) == plan


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ({"logicalType": "integer"}, "int"),
        ({"logicalType": "integer", "logicalTypeOptions": {"format": "i64"}}, "bigint"),
        ({"logicalType": "integer", "physicalType": "bigint"}, "bigint"),
        ({"logicalType": "number"}, "double"),
        ({"logicalType": "number", "logicalTypeOptions": {"format": "f32"}}, "float"),
        ({"logicalType": "number", "physicalType": "DECIMAL(10, 2)"}, "decimal(10,2)"),
        ({"physicalType": "decimal"}, "decimal(10,0)"),
        ({"logicalType": "string"}, "string"),
        ({"logicalType": "string", "physicalType": "binary"}, "binary"),
        ({"logicalType": "boolean"}, "boolean"),
        ({"logicalType": "date", "logicalTypeOptions": {"format": "yyyy-MM-dd"}}, "date"),
        ({"logicalType": "timestamp"}, "timestamp"),
        ({"logicalType": "timestamp", "logicalTypeOptions": {"timezone": True}}, "timestamp"),
        ({"logicalType": "timestamp", "logicalTypeOptions": {"timezone": False}}, "timestamp_ntz"),
        ({"logicalType": "timestamp", "physicalType": "timestamp_ntz"}, "timestamp_ntz"),
        ({"physicalType": "Long"}, "bigint"),
    ],
)
def test_a_type_is_spark_sql_s(column: dict[str, object], expected: str) -> None:
    assert plan_for(column).columns[0].type == expected


@pytest.mark.parametrize(
    ("kind", "transform", "expected"),
    [
        ("string", None, "`it`"),
        ("string", "identity", "`it`"),
        ("string", "truncate[4]", "truncate(4, `it`)"),
        ("int", "bucket[16]", "bucket(16, `it`)"),
        ("date", "years", "years(`it`)"),
        ("date", "months", "months(`it`)"),
        ("timestamp", "hours", "hours(`it`)"),
    ],
)
def test_a_partition_is_a_transform_of_spark_sql(kind: str, transform: str | None, expected: str) -> None:
    setting = [{"property": "partitionTransform", "vendor": "lakegate", "value": transform}] if transform else []

    plan = plan_for({"physicalType": kind, "partitioned": True, "customProperties": setting})

    assert plan.partitions == (expected,)


def test_what_is_not_asked_for_is_not_checked() -> None:
    no = dict.fromkeys(("required", "unique", "primaryKey", "partitioned"), False)

    plan = plan_for({"logicalType": "string"} | no)

    assert (plan.checks, plan.metrics, plan.partitions) == ((), (), ())


def test_a_partition_by_value_needs_no_name_of_its_own() -> None:
    text = GOOD.replace("          - {property: partitionTransform, vendor: lakegate, value: days}\n", "")
    text = text.replace("        customProperties:\n", "").replace("name: amount", "name: placed_none")

    assert load(text, "orders.yaml").plan.partitions == ("`placed`",)


def test_partitions_and_keys_are_in_the_order_of_their_positions() -> None:
    text = GOOD.replace(
        "        partitioned: true\n",
        "        partitioned: true\n        partitionKeyPosition: 1\n"
        "        primaryKey: true\n        primaryKeyPosition: 1\n",
    ).replace(
        "        primaryKey: true\n",
        "        partitioned: true\n        partitionKeyPosition: 2\n"
        "        primaryKey: true\n        primaryKeyPosition: 2\n",
        1,
    )

    plan = load(text, "orders.yaml").plan

    assert plan.partitions == ("days(`placed`)", "`id`")
    assert [metric.columns for metric in plan.metrics if metric.kind is MetricKind.DUPLICATES] == [("placed", "id")]


def test_the_physical_name_is_the_column_and_checks_may_speak_of_the_other() -> None:
    text = GOOD.replace(
        "      - name: amount\n", "      - name: amount\n        physicalName: Amount in CHF\n"
    ).replace(
        "      - metric: rowCount\n        mustBeGreaterThan: 0",
        "      - metric: duplicateValues\n        mustBe: 0\n        arguments: {properties: [state, amount]}",
    )

    plan = load(text, "orders.yaml").plan

    assert plan.columns[1].name == "Amount in CHF"
    assert plan.metrics[-1].columns == ("state", "Amount in CHF")


def test_a_column_that_keeps_its_physical_name_is_the_same_column_by_another_name() -> None:
    renamed = "      - name: price\n        physicalName: amount\n"
    one, other = (load(text, "o").plan for text in (GOOD, GOOD.replace("      - name: amount\n", renamed)))

    assert (one.columns, one.contract_hash) == (other.columns, other.contract_hash)
    assert "price > 0" in {check.name for check in other.checks}


def test_checks_that_say_the_same_are_one_and_share_metrics() -> None:
    again = (
        "          - {metric: nullValues, mustBe: 0}\n          - {metric: nullValues, mustBe: 0, severity: warning}\n"
    )
    text = GOOD.replace("        required: true\n", "        required: true\n        quality:\n" + again)

    plan = load(text, "orders.yaml").plan
    nulls = [check for check in plan.checks if check.columns == ("amount",) and "nullValues" in check.name]

    assert [check.severity for check in nulls] == [Severity.WARNING]
    assert len({metric.id for metric in plan.metrics}) == len(plan.metrics) == len(plan.checks) - 1


def test_an_enum_and_the_same_list_of_valid_values_share_a_metric() -> None:
    column = {"logicalType": "string", "enum": [{"value": "b"}, {"value": "a"}]}
    quality = {
        "metric": "invalidValues",
        "arguments": {"validValues": ["a", "b"]},
        "unit": "percent",
        "mustBeLessThan": 1,
    }

    plan = plan_for(column | {"quality": [quality]})

    assert len(plan.checks) == 2
    assert len(plan.metrics) == 1


SAME = {
    "comment": ("id: shop", "# a comment\nid: shop"),
    "description": ("status: active", "description: {purpose: x}"),
    "version": ("version: 1.0.0", "version: 1.0.1"),
    "order of words": ("{exclusiveMinimum: 0, maximum: 1000.5}", "{maximum: 1000.5, exclusiveMinimum: 0}"),
    "spelling of a number": ("maximum: 1000.5", "maximum: 1.0005e3"),
    "route": ("shop/orders/*.parquet", "shop/orders/**"),
    "other vendor's property": ("status: active", "customProperties: [{property: x, value: 1, vendor: other}]"),
    "promise to people": ("status: active", "slaProperties: [{property: endOfLife, value: '2030-01-01'}]"),
    "another server": ("schema:", "  - {server: prod, type: kafka, host: x}\nschema:"),
    "quality as text": (
        "        quality:\n",
        "        quality:\n          - {type: text, description: as the till says}\n",
    ),
}
OTHER = {
    "bound": ("maximum: 1000.5", "maximum: 1000.6"),
    "severity": ("severity: warning", "severity: error"),
    "type": ("format: i64, ", ""),
    "partition": ("value: days", "value: months"),
    "column's name": ("name: state", "name: status"),
    "required": ("        required: true\n", ""),
    "table": ("shop.orders", "shop.sales"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_only_describes_leaves_the_meaning_as_it_is(name: str) -> None:
    assert hash_with(*SAME[name]) == load(GOOD, "orders.yaml").plan.contract_hash


@pytest.mark.parametrize("name", OTHER)
def test_what_is_enforced_is_the_meaning(name: str) -> None:
    assert hash_with(*OTHER[name]) != load(GOOD, "orders.yaml").plan.contract_hash


def hash_with(old: str, new: str) -> str:
    assert old in GOOD
    return load(GOOD.replace(old, new, 1), "orders.yaml").plan.contract_hash


@pytest.mark.parametrize("version", ["v3.0.0", "v3.0.1", "v3.0.2", "v3.1.0", "v3.2.0"])
def test_every_version_3_of_the_standard_is_read(version: str) -> None:
    assert load(GOOD.replace("v3.2.0", version), "orders.yaml").table == "shop.orders"


def test_text_and_bytes_are_the_same_with_or_without_a_mark_of_their_order() -> None:
    plain = load(GOOD, "orders.yaml")

    assert load(GOOD.encode(), "orders.yaml") == plain
    assert load(GOOD.encode("utf-8-sig"), "orders.yaml") == plain


BUDGET = "    customProperties: [{property: quarantineBudget, vendor: lakegate, value: {rows: 5}}]\n"
QUARANTINING = GOOD.replace("severity: warning", "severity: quarantine")
ASIDE = QUARANTINING.replace("    physicalName: ", f"{BUDGET}    physicalName: ", 1)


def of_table(text: str, table: str) -> Contract:
    return load(text.replace("shop.orders", table).replace("shop/orders", table), f"{table}.yaml")


@pytest.mark.parametrize(("first", "second"), [(ASIDE, ASIDE), (ASIDE, GOOD), (GOOD, GOOD)])
def test_contracts_of_almost_the_same_name_may_be_pushed_together(first: str, second: str) -> None:
    """The job of each is given a quarantine of its own name."""
    assert overlaps([of_table(first, "shop.eu_orders"), of_table(second, "shop_eu.orders")]) == []


def test_contracts_that_clash_are_told() -> None:
    orders = load(GOOD, "orders.yaml")
    twin = load(GOOD.replace("shop-orders", "twin"), "twin.yaml")
    wide = load(GOOD.replace("shop.orders", "shop.wide").replace("shop/orders/*", "shop/**"), "wide.yaml")
    apart = load(GOOD.replace("shop.orders", "shop.apart").replace("shop/orders/", "shop/apart/"), "apart.yaml")

    assert overlaps([orders, apart]) == []
    assert overlaps([orders, twin]) == ["two contracts for the table shop.orders: shop-orders and twin"]
    assert overlaps([orders, apart, wide]) == [
        "the route shop/orders/*.parquet of shop.orders overlaps shop/**.parquet of shop.wide",
        "the route shop/apart/*.parquet of shop.apart overlaps shop/**.parquet of shop.wide",
    ]


def test_importing_contracts_imports_neither_yaml_nor_sql_nor_a_validator() -> None:
    code = "import lakegate.contracts, sys; print(sorted({'sqlglot', 'jsonschema', 'ruamel'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("said", "is_masked"),
    [
        ({}, False),
        ({"classification": "public"}, False),
        ({"classification": "Public "}, False),
        ({"classification": "restricted"}, True),
        ({"classification": "internal"}, True),
    ],
)
def test_a_column_that_is_classified_as_anything_but_public_is_masked(said: dict[str, str], *, is_masked: bool) -> None:
    [column] = plan_for({"logicalType": "string"} | said).columns
    assert column.masked is is_masked


def test_masking_a_column_leaves_the_contract_what_it_was() -> None:
    plain, hidden = plan_for({"logicalType": "string"}), plan_for({"logicalType": "string", "classification": "secret"})
    assert plain.contract_hash == hidden.contract_hash
    assert plain.hash != hidden.hash


def test_the_key_is_in_the_order_of_its_positions() -> None:
    text = GOOD.replace("primaryKey: true", "primaryKey: true\n        primaryKeyPosition: 2")
    text = text.replace(
        "        required: true\n", "        required: true\n        primaryKey: true\n        primaryKeyPosition: 1\n"
    )
    assert load(text, "orders.yaml").plan.key == ("amount", "id")


def test_a_tables_settings_are_its_schema_policy() -> None:
    stances = {"newColumns": "discard", "missingColumns": "allow", "widenedTypes": "evolve"}
    stances |= {"narrowedTypes": "freeze", "reorderedColumns": "freeze"}
    lines = [f"      - {{property: {name}, vendor: lakegate, value: {said}}}" for name, said in stances.items()]
    plan = load("\n".join([GOOD.rstrip(), "    customProperties:", *lines]), "orders.yaml").plan

    assert plan.policy == SchemaPolicy(
        new_columns=Stance.DISCARD,
        missing_columns=Stance.ALLOW,
        widened_types=Stance.EVOLVE,
        narrowed_types=Stance.FREEZE,
        reordered_columns=Stance.FREEZE,
    )
    assert from_json(Plan, to_json(plan)) == plan
    assert plan.contract_hash != load(GOOD, "orders.yaml").plan.contract_hash


def test_a_stance_that_is_said_and_is_the_usual_one_makes_no_other_contract() -> None:
    setting = "    customProperties: [{property: newColumns, vendor: lakegate, value: freeze}]\n"

    assert load(GOOD + setting, "a").plan.contract_hash == load(GOOD, "b").plan.contract_hash


def test_a_contract_that_observes_is_another_contract_and_one_that_says_to_enforce_is_not() -> None:
    setting = "    customProperties: [{{property: mode, vendor: lakegate, value: {}}}]\n"
    usual, enforcing, observing = (
        load(text, "a").plan for text in (GOOD, GOOD + setting.format("enforce"), GOOD + setting.format("observe"))
    )
    assert [plan.mode for plan in (usual, enforcing, observing)] == [Mode.ENFORCE, Mode.ENFORCE, Mode.OBSERVE]
    assert enforcing.contract_hash == usual.contract_hash != observing.contract_hash
    assert from_json(Plan, to_json(observing)) == observing


def test_how_files_are_ingested_is_no_part_of_what_is_audited() -> None:
    said = {"reuploads": "append", "engine": "express", "write": "append", "batchFiles": 20, "batchBytes": 1000}
    lines = [f"      - {{property: {name}, vendor: lakegate, value: {value}}}" for name, value in said.items()]
    contract = load("\n".join([GOOD.rstrip(), "    customProperties:", *lines]), "orders.yaml")

    assert contract.ingestion == Ingestion(
        reuploads=Reuploads.APPEND, engine=Engine.EXPRESS, batch_files=20, batch_bytes=1000
    )
    assert contract.plan.contract_hash == load(GOOD, "orders.yaml").plan.contract_hash


def test_a_plan_from_before_there_was_a_policy_has_the_usual_one() -> None:
    plan = load(GOOD, "orders.yaml").plan
    old = {name: value for name, value in to_plain(plan).items() if name != "policy"}

    assert from_plain(Plan, old) == plan


def column(name: str, severity: str | None = None, **said: Any) -> str:
    setting = [{"property": "severity", "vendor": "lakegate", "value": severity}] if severity else []
    return json.dumps({"name": name, "logicalType": "integer", "customProperties": setting} | said)


def severities(*columns: str) -> dict[str, Severity]:
    head, _ = GOOD.split("    properties:\n")
    plan = load(head + f"    properties: [{', '.join(columns)}]\n", "orders.yaml").plan
    return {check.name: check.severity for check in plan.checks}


def test_the_severity_of_a_column_is_that_of_its_own_words_alone() -> None:
    quality = [{"metric": "nullValues", "mustBeLessThan": 5, "name": "few nulls"}]
    options = {"minimum": 0}

    found = severities(column("a", "warning", required=True, quality=quality, logicalTypeOptions=options))

    assert found == {"a required": Severity.WARNING, "a ≥ 0": Severity.WARNING, "few nulls": Severity.ERROR}


def test_a_column_that_says_nothing_of_severity_rejects() -> None:
    assert severities(column("a", required=True)) == {"a required": Severity.ERROR}


@pytest.mark.parametrize(
    ("other", "severity"), [("warning", Severity.WARNING), ("error", Severity.ERROR), (None, Severity.ERROR)]
)
def test_a_key_is_as_severe_as_the_severest_of_its_columns(other: str | None, severity: Severity) -> None:
    found = severities(column("a", "warning", primaryKey=True), column("b", other, primaryKey=True))

    assert found == {
        "primary key a, b unique": severity,
        "a required (primary key)": Severity.WARNING,
        "b required (primary key)": severity,
    }


KEYS = """    customProperties: [{property: scope, vendor: lakegate, value: table}]
    relationships:
      - {from: [orders.state, shop.orders.id], to: [shop.states.name, shop.states.order], id: compound}
      - {type: foreignKey, from: orders.id, to: shop.ids.id}
    properties:
"""
OF_STATE = """        relationships: [{to: shop.states.name}]
        unique: true
        customProperties: [{property: scope, vendor: lakegate, value: table}]
        enum:"""
COUNTED = """      - metric: rowCount
        customProperties: [{property: scope, vendor: lakegate, value: table}]
        mustBeLessThan: 1000
      - metric: duplicateValues
        arguments: {properties: [state, placed]}
        customProperties: [{property: scope, vendor: lakegate, value: table}]
        mustBe: 0
"""


def test_the_whole_table_counts_and_keys_refer_where_a_contract_says_so() -> None:
    plan = load(
        GOOD.replace("    properties:\n", KEYS).replace("        enum:", OF_STATE) + COUNTED, "orders.yaml"
    ).plan

    checks = {check.name: plan.metric(check.metric) for check in plan.checks}
    found = {name: metric for name, metric in checks.items() if metric.scope is Scope.TABLE}
    assert {name: (it.kind, it.columns, it.refers_to) for name, it in found.items()} == {
        "primary key id unique in the table": (MetricKind.DUPLICATES, ("id",), None),
        "state unique in the table": (MetricKind.DUPLICATES, ("state",), None),
        "rowCount in the table must be less than 1000 rows": (MetricKind.ROWS, (), None),
        "duplicateValues of state, placed in the table must be 0 rows": (
            MetricKind.DUPLICATES,
            ("state", "placed"),
            None,
        ),
        "state refers to shop.states.name": (
            MetricKind.ORPHANS,
            ("state",),
            Reference(table="shop.states", columns=("name",)),
        ),
        "state, id refers to shop.states.name, order": (
            MetricKind.ORPHANS,
            ("state", "id"),
            Reference(table="shop.states", columns=("name", "order")),
        ),
        "id refers to shop.ids.id": (MetricKind.ORPHANS, ("id",), Reference(table="shop.ids", columns=("id",))),
    }
    assert plan.depends_on == ("shop.ids", "shop.orders", "shop.states")
    assert from_json(Plan, to_json(plan)) == plan


def test_a_key_that_refers_may_have_dots_in_its_columns_names() -> None:
    keys = """
    relationships: [{from: [orders.unit.price, shop.orders.state], to: [shop.units.price, shop.units.state]}]
    properties:
      - {name: unit.price, logicalType: integer}
"""
    plan = load(GOOD.replace("    properties:\n", keys.lstrip("\n")), "orders.yaml").plan

    assert [metric.columns for metric in plan.metrics if metric.refers_to] == [("unit.price", "state")]


def test_scope_batch_is_what_nobody_need_say() -> None:
    said = "    customProperties: [{property: scope, vendor: lakegate, value: batch}]\n    properties:\n"
    plan = load(GOOD.replace("    properties:\n", said), "orders.yaml").plan
    assert plan.contract_hash == load(GOOD, "orders.yaml").plan.contract_hash


def test_what_is_about_the_table_is_another_metric_than_that_of_a_file() -> None:
    plan = load(GOOD + COUNTED, "orders.yaml").plan
    counts = [metric for metric in plan.metrics if metric.kind is MetricKind.ROWS]
    assert {metric.scope for metric in counts} == {Scope.BATCH, Scope.TABLE}
    assert len({metric.id for metric in plan.metrics}) == len(plan.metrics)


def test_a_nested_column_is_one_column_with_checks_of_its_parts() -> None:
    plan = plan_for(
        {
            "logicalType": "object",
            "classification": "restricted",
            "properties": [
                {"name": "zip", "physicalName": "the zip", "physicalType": "decimal(5,0)", "required": True},
                {"name": "tags", "logicalType": "array", "physicalType": "ARRAY", "items": {"logicalType": "string"}},
                {
                    "name": "by day",
                    "logicalType": "map",
                    "map": {"key": {"logicalType": "date"}, "value": {"logicalType": "number", "required": True}},
                },
            ],
        }
    )
    [column] = plan.columns
    assert column.type == "struct<`the zip`:decimal(5,0),`tags`:array<string>,`by day`:map<date,double>>"
    assert column.masked
    assert [(check.name, check.columns) for check in plan.checks] == [
        ("it.zip required", ("it",)),
        ("it.by day.value required", ("it",)),
    ]
    assert plan.metric(plan.checks[0].metric) == Metric(
        id=plan.checks[0].metric,
        kind=MetricKind.FAILING,
        columns=("it",),
        sql="COALESCE(NOT `it` IS NULL AND `it`['the zip'] IS NULL, FALSE)",
    )


@pytest.mark.parametrize(("said", "budget"), [("rows: 5", Budget(rows=5)), ("percent: 0.5", Budget(percent=0.5))])
def test_rows_may_be_put_aside_within_a_budget(said: str, budget: Budget) -> None:
    setting = f"customProperties: [{{property: quarantineBudget, vendor: lakegate, value: {{{said}}}}}]"
    text = GOOD.replace("severity: warning", "severity: quarantine").replace(
        "    physicalName: ", f"    {setting}\n    physicalName: ", 1
    )
    plan = load(text, "shop.yaml").plan
    assert plan.budget == budget
    assert [check.severity for check in plan.checks if check.name.startswith("nullValues")] == [Severity.QUARANTINE]
    other = load(text.replace(said, said.replace("5", "6")), "shop.yaml").plan
    assert other.contract_hash != plan.contract_hash
