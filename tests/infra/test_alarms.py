"""Alarms and their pages: each leads to what to do, clears by itself, and is about something that a flow emits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lakegate.adapters.emf import INSTALLATION, NAMESPACE
from lakegate.landing import canary
from lakegate.ports import MessageKind, Signal
from tests.infra.conftest import CATALOG, CONTEXT
from tests.infra.template import Stack, flat
from tests.workflow.test_signals import FLOWS
from tools import costs

pytestmark = pytest.mark.synth
RUNBOOK = Path(__file__).parents[2] / "docs/runbook"
PAGES = sorted(path for path in RUNBOOK.iterdir() if path.name != "index.md")
MESSAGES = {f"message-{kind}" for kind in MessageKind}
ALARM = "AWS::CloudWatch::Alarm"
DIMENSION = [{"Name": INSTALLATION, "Value": "lakegate"}]


def alarms(stack: Stack) -> dict[str, dict[str, Any]]:
    """All alarms by their page."""
    return {it["AlarmName"].removeprefix("lakegate-"): it for it in stack.resources(ALARM).values()}


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm is about; those of a formula, each."""
    inner = [each["MetricStat"]["Metric"] for each in alarm.get("Metrics", []) if "MetricStat" in each]
    return inner or [alarm]


@pytest.fixture(scope="session")
def catalog(made: Any) -> Stack:
    """The catalog's stack alone."""
    return Stack(made.get_stack_by_name("lakegate-catalog").template)


def test_every_alarm_has_its_page_and_every_page_its_alarm(stack: Stack, catalog: Stack) -> None:
    assert not alarms(stack).keys() & alarms(catalog).keys()
    assert {path.stem for path in PAGES} - MESSAGES == alarms(stack).keys() | alarms(catalog).keys()


def test_every_kind_of_message_has_its_page_and_the_index_has_every_page() -> None:
    assert {path.stem for path in PAGES} >= MESSAGES
    index = (RUNBOOK / "index.md").read_text()
    assert [path.stem for path in PAGES if f"]({path.name})" not in index] == []


def test_every_alarm_says_where_its_page_is(stack: Stack, catalog: Stack) -> None:
    for page, alarm in (alarms(stack) | alarms(catalog)).items():
        assert flat(alarm["AlarmDescription"]).endswith(f" What to do: docs/runbook/{page}.md")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_says_what_it_means_what_to_look_at_what_to_run_and_when_it_clears(path: Path) -> None:
    text = path.read_text()
    assert text.startswith(f"# {path.stem}: ")
    assert re.findall(r"^\*\*(.*?)\*\*", text, re.MULTILINE) == ["It means.", "Look at.", "Run.", "It clears"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_names_metrics_and_links_that_there_are(path: Path) -> None:
    text = path.read_text()
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)+)`", text)) - {"IngestDeadLetterQueueUrl"}
    assert named - {"SettleDeadLetterQueueUrl", "Misconfigured", "CanaryDue"} <= set(Signal)
    links = re.findall(r"\]\(([^)#]+)", text)
    assert [link for link in links if not (RUNBOOK / link).is_file()] == []


def test_every_signal_that_an_alarm_is_about_is_emitted_by_a_flow_that_provokes_it(stack: Stack) -> None:
    ours = [it for alarm in alarms(stack).values() for it in metrics_of(alarm) if it["Namespace"] == NAMESPACE]
    told_apart = [it for it in ours if it["Dimensions"] != DIMENSION]
    assert [(it["MetricName"], it["Dimensions"]) for it in told_apart] == [
        ("FilesPublished", [*DIMENSION, {"Name": "table", "Value": canary.TABLE}])
    ]
    provoked = {str(signal) for _, signal, values in FLOWS if any(values)}
    assert {it["MetricName"] for it in ours} - provoked == set()
    assert len(ours) >= 6


@pytest.mark.parametrize(
    ("page", "goes_off"),
    [
        ("undecided", ("Maximum", 300, 1, 240 * 60, "ignore")),
        ("catalog-unreachable", ("Minimum", 300, 2, 1, "ignore")),
        ("listing-slow", ("Maximum", 300, 1, 300, "ignore")),
        ("jobs-failed", ("Sum", 3600, 1, 3, "notBreaching")),
        ("ingest-errors", ("Sum", 900, 1, 2, "notBreaching")),
        ("express-errors", ("Sum", 900, 1, 2, "notBreaching")),
        ("ingest-throttled", ("Sum", 900, 1, 5, "notBreaching")),
    ],
)
def test_an_alarm_goes_off_at_its_threshold_and_ends_by_itself(
    stack: Stack, page: str, goes_off: tuple[str, int, int, float, str]
) -> None:
    alarm = alarms(stack)[page]
    names = ("Statistic", "Period", "EvaluationPeriods", "Threshold", "TreatMissingData")
    assert tuple(alarm[name] for name in names) == goes_off
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


@pytest.mark.parametrize(
    ("page", "about", "goes_off"),
    [
        ("catalog-tasks", ("HealthyHostCount", "Minimum"), ("LessThanThreshold", 1, "breaching")),
        ("database-storage", ("FreeStorageSpace", "Minimum"), ("LessThanThreshold", 2**30, "ignore")),
        ("database-cpu", ("CPUUtilization", "Average"), ("GreaterThanOrEqualToThreshold", 90, "notBreaching")),
        (
            "database-connections",
            ("DatabaseConnections", "Maximum"),
            ("GreaterThanOrEqualToThreshold", 60, "notBreaching"),
        ),
    ],
)
def test_a_catalog_that_is_unwell_for_a_quarter_of_an_hour_is_told(
    catalog: Stack, page: str, about: tuple[str, str], goes_off: tuple[str, float, str]
) -> None:
    alarm = alarms(catalog)[page]
    assert (alarm["MetricName"], alarm["Statistic"]) == about
    assert (alarm["ComparisonOperator"], alarm["Threshold"], alarm["TreatMissingData"]) == goes_off
    assert (alarm["Period"], alarm["EvaluationPeriods"]) == (300, 3)


def test_a_certificate_that_ends_is_told_for_thirty_days_and_once_it_has_ended(catalog: Stack) -> None:
    alarm = alarms(catalog)["catalog-certificate"]
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"], alarm["Period"]) == (
        "AWS/CertificateManager",
        "DaysToExpiry",
        "Minimum",
        24 * 3600,
    )
    assert alarm["Dimensions"] == [{"Name": "CertificateArn", "Value": CATALOG["catalog_certificate"]}]
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 30)
    assert alarm["TreatMissingData"] == "ignore"  # ACM tells nothing of one that has ended


def test_an_alarm_of_the_catalog_is_about_its_own_balancer_targets_and_database(catalog: Stack) -> None:
    named = {
        (it["MetricName"], each["Name"], flat(each["Value"]).strip("<>").split(".")[0])
        for alarm in alarms(catalog).values()
        for it in metrics_of(alarm)
        for each in it["Dimensions"]
    }
    balancer = catalog.name("AWS::ElasticLoadBalancingV2::LoadBalancer", "Front")
    instance = catalog.name("AWS::RDS::DBInstance", "Database")
    calls = {(name, "LoadBalancer", balancer) for name in ("HTTPCode_ELB_5XX_Count", "HTTPCode_Target_5XX_Count")}
    database = {"FreeStorageSpace", "CPUUtilization", "DatabaseConnections"}
    assert named >= calls | {(name, "DBInstanceIdentifier", instance) for name in database}
    assert {name for name, _, _ in named} == {
        *database,
        *(name for name, _, _ in calls),
        "HealthyHostCount",
        "DaysToExpiry",
    }


def test_calls_that_fail_in_nessie_or_before_it_add_up(catalog: Stack) -> None:
    alarm = alarms(catalog)["catalog-errors"]
    formula, *parts = alarm["Metrics"]
    assert (formula["Expression"], alarm["Threshold"]) == ("FILL(nessie, 0) + FILL(balancer, 0)", 20)
    assert [(it["MetricStat"]["Stat"], it["MetricStat"]["Period"]) for it in parts] == [("Sum", 900)] * 2


def test_a_topic_hears_of_the_catalog_s_alarms_too(catalog: Stack) -> None:
    heard = [(it["AlarmActions"], it["OKActions"]) for it in catalog.resources(ALARM).values()]
    assert heard == [([CONTEXT["alarm_topic"]], [CONTEXT["alarm_topic"]])] * 6


def test_half_of_twenty_files_that_are_rejected_are_told_and_a_few_are_not(stack: Stack) -> None:
    alarm = alarms(stack)["rejections"]
    assert alarm["Threshold"] == 50
    formula, *parts = alarm["Metrics"]
    files = "FILL(rejected, 0) + FILL(published, 0)"
    assert formula["Expression"] == f"IF({files} >= 20, 100 * FILL(rejected, 0) / ({files}), 0)"
    assert {part["Id"]: part["MetricStat"]["Metric"]["MetricName"] for part in parts} == {
        "rejected": "FilesRejected",
        "published": "FilesPublished",
    }


def metrics_by_name(alarm: dict[str, Any]) -> dict[str, list[str]]:
    """The resources that an alarm's metrics are of, by the metric's name."""
    found: dict[str, list[str]] = {}
    for metric in metrics_of(alarm):
        found.setdefault(metric["MetricName"], []).append(flat(metric["Dimensions"][0]["Value"]).strip("<>"))
    return found


def test_an_event_of_any_rule_that_reaches_no_queue_is_reported(stack: Stack) -> None:
    alarm = alarms(stack)["events-undelivered"]
    rules = sorted(stack.resources("AWS::Events::Rule"))
    assert len(rules) >= 4
    names = {name: sorted(values) for name, values in metrics_by_name(alarm).items()}
    assert names == {"FailedInvocations": rules, "InvocationsFailedToBeSentToDlq": rules}
    assert alarm["Metrics"][0]["Expression"].count("FILL(") == 2 * len(rules)
    assert (alarm["Threshold"], alarm["TreatMissingData"]) == (1, "notBreaching")


def test_a_call_that_lambda_takes_for_a_loop_is_reported_and_those_in_the_cycle_are_allowed(stack: Stack) -> None:
    functions = stack.resources("AWS::Lambda::Function")
    allowed = {name for name, function in functions.items() if function.get("RecursiveLoop") == "Allow"}
    cycle = {stack.name("AWS::Lambda::Function", name) for name in ("IngestFunction", "SettleFunction", "Express")}
    assert allowed == cycle
    watched = metrics_by_name(alarms(stack)["calls-dropped"])["RecursiveInvocationsDropped"]
    assert set(watched) == cycle


def test_a_canary_that_has_not_arrived_an_hour_after_its_time_is_told(stack: Stack) -> None:
    alarm = alarms(stack)["canary"]
    assert (alarm["Statistic"], alarm["Period"], alarm["EvaluationPeriods"]) == ("Sum", 7 * 3600, 1)
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)
    assert alarm["TreatMissingData"] == "breaching"


def test_costs_reckon_with_as_many_metrics_of_alarms_as_there_are(made: Any, catalog: Stack) -> None:
    own = Stack(made.get_stack_by_name("lakegate").template)
    assert sum(len(metrics_of(alarm)) for it in (own, catalog) for alarm in alarms(it).values()) == costs.ALARM_METRICS


def dashboard(stack: Stack) -> list[dict[str, Any]]:
    body = flat(stack.one("AWS::CloudWatch::Dashboard", "Dashboard")["DashboardBody"])
    return list(json.loads(body)["widgets"])


def test_the_dashboard_shows_every_signal_and_every_alarm(stack: Stack) -> None:
    shown = dashboard(stack)
    lines = [line for widget in shown for line in widget["properties"].get("metrics", ())]
    assert {line[1] for line in lines if line[0] == NAMESPACE} == set(Signal)
    assert {tuple(line[2:4]) for line in lines if line[0] == NAMESPACE} == {(INSTALLATION, "lakegate")}
    assert alarms_on(stack) == {f"lakegate-{page}" for page in alarms(stack)}


def alarms_on(stack: Stack) -> set[str]:
    """The names of the alarms that the dashboard shows."""
    (status,) = [widget for widget in dashboard(stack) if widget["type"] == "alarm"]
    arns: list[str] = status["properties"]["alarms"]
    own = "arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>:alarm:"
    return {arn.removeprefix(own) for arn in arns}


def test_the_dashboard_shows_the_catalog_s_alarms_too_which_its_stack_does_not_export(
    made: Any, catalog: Stack
) -> None:
    service = Stack(made.get_stack_by_name("lakegate").template)
    assert alarms_on(service) == {f"lakegate-{page}" for page in alarms(catalog) | alarms(service)}
    assert not [name for name in catalog.template["Outputs"] if "Alarm" in name or "Watch" in name]


def test_the_dashboard_fits_its_grid(stack: Stack) -> None:
    assert all(widget["x"] + widget["width"] <= 24 for widget in dashboard(stack))
