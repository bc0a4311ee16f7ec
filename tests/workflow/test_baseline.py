"""A job knows what the table's last published files measured, and no other file."""

from dataclasses import replace

from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Check, Comparison, Drift, Metric, MetricKind, Operator, Plan, Severity
from lakegate.audit.model.report import CheckResult, Report, Source, Verdict
from lakegate.workflow.attempts.baseline import baseline
from tests.world.world import TABLE, World

ROWS = Metric(id="rows-1", kind=MetricKind.ROWS)
MEAN = Metric(id="value-1", kind=MetricKind.VALUE, columns=("a",), sql="avg(`a`)")


def plan(**files: int) -> Plan:
    metrics = {"rows": ROWS, "mean": MEAN}
    checks = [
        Check(
            id=name, name=name, metric=metrics[name].id, operator=Operator.IN_RANGE, threshold=(-1, 1),
            drift=Drift(comparison=Comparison.DIFFERENCE, files=back, at_least=1),
        )
        for name, back in files.items()
    ]  # fmt: skip
    return Plan(
        table=TABLE, contract_id="", contract_version="", contract_hash="", columns=(),
        metrics=(ROWS, MEAN), checks=tuple(checks),
    )  # fmt: skip


def measure(world: World, **values: float) -> None:
    """Write into the reports what files measured, as the job would."""
    for name in world.store.names("reports/"):
        report = from_json(Report, world.store.read(name) or b"")
        files = [
            replace(file, checks=(_mean(values[file.key.rpartition("/")[2]]),))
            if file.key.rpartition("/")[2] in values
            else file
            for file in report.files
        ]
        world.store.write(name, to_json(replace(report, files=tuple(files))).encode())


def _mean(value: float) -> CheckResult:
    return CheckResult(
        check="c", name="mean", columns=("a",), severity=Severity.ERROR, verdict=Verdict.PASS, value=value,
        expected="", failing_rows=0, rows=1, source=Source.AGGREGATE, metric=MEAN.id, measured=value,
    )  # fmt: skip


def test_rows_of_the_last_published_files_oldest_first() -> None:
    world = World()
    for rows, name in enumerate("abcd", start=1):
        world.drop(name, rows=rows, bad="broken" if name == "c" else "")
        world.run()
    assert baseline(world.service, plan(rows=2)) == {ROWS.id: (2, 4)}
    assert baseline(world.service, plan(rows=9)) == {ROWS.id: (1, 2, 4)}


def test_files_of_one_batch_count_one_by_one_in_the_order_they_landed() -> None:
    world = World()
    world.deliver(*(world.drop(name, rows=rows, deliver=False) for rows, name in enumerate("abc", start=1)))
    world.run()
    assert baseline(world.service, plan(rows=2)) == {ROWS.id: (2, 3)}


def test_other_metrics_come_from_reports_that_have_them() -> None:
    world = World()
    for name in "abc":
        world.drop(name, rows=1)
        world.run()
    measure(world, a=1.5, c=3.5)
    assert baseline(world.service, plan(mean=2, rows=1)) == {MEAN.id: (1.5, 3.5), ROWS.id: (1,)}


def test_a_check_on_rows_that_were_put_aside_is_not_what_the_file_published() -> None:
    world = World()
    world.drop("a", rows=1)
    world.run()
    drift = _mean(0)
    required = replace(drift, check="d", verdict=Verdict.QUARANTINE, rows=4, measured=3)
    for checks, told in (((drift, required), (0,)), ((required, drift), (0,)), ((required,), ())):
        _say(world, checks)
        assert baseline(world.service, plan(mean=2)) == {MEAN.id: told}


def _say(world: World, checks: tuple[CheckResult, ...]) -> None:
    [name] = world.store.names("reports/")
    report = from_json(Report, world.store.read(name) or b"")
    world.store.write(name, to_json(replace(report, files=(replace(report.files[0], checks=checks),))).encode())


def test_a_report_that_is_gone_or_cannot_be_read_is_left_out() -> None:
    world = World()
    for name in "abc":
        world.drop(name, rows=1)
        world.run()
    first, second, _ = world.store.names("reports/")
    world.store.delete(first)
    world.store.write(second, b"{")
    assert baseline(world.service, plan(rows=9)) == {ROWS.id: (1,)}


def test_a_plan_without_drift_reads_no_log() -> None:
    world = World()
    world.service.ledger.decisions = None  # type: ignore[method-assign, assignment]
    assert baseline(world.service, plan()) == {}


def test_the_job_is_told() -> None:
    world = World()
    world.drop("a", rows=7)
    world.run()
    world.push_contract(drift=True)
    world.drop("b", rows=8)
    (attempt,) = world.attempts()
    job = from_json(Job, world.store.read(f"attempts/{attempt.branch}/job.json") or b"")
    assert list(job.baseline.values()) == [(7,)]
