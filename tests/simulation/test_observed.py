"""A contract that observes, over any files, rejects only what cannot be appended, and its report names what the
same contract says that enforces.

Both are the job's own steps over the engine of stories, from the same base; what enforcing says is the oracle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

from lakegate.audit.evaluation.quarantine import BUDGET, budget_check
from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Budget, Metric, MetricKind, Mode, Plan, Severity
from lakegate.audit.model.report import FAILING_VERDICTS, CheckResult, FileReport, Report, Verdict
from lakegate.audit.run import Run, append_and_audit
from lakegate.contracts import load
from lakegate.ports import MAIN
from tests.simulation.installation import Installation, Terms
from tests.support.plans import none_of
from tests.world.engine import StoryEngine
from tests.world.stories import Story

BATCHES = 150
LINES = Metric(id="malformed", kind=MetricKind.MALFORMED)
PARSES = f"check-{LINES.id}"
WOULD = {Verdict.FAIL: Verdict.WOULD_FAIL, Verdict.QUARANTINE: Verdict.WOULD_QUARANTINE}


@cache
def compiled(terms: Terms) -> Plan:
    return load(terms.text(), "flights.yaml").plan


def drawn_plan(dice: Random) -> Plan:
    terms = Terms(strict=dice.random() < 0.5, unique=dice.random() < 0.6, refers=dice.random() < 0.3)
    plan = compiled(terms)
    budget = dice.choice((Budget(rows=2), Budget(percent=40.0), Budget(rows=50)))
    if dice.random() < 0.5:
        return replace(plan, budget=budget)
    severity = dice.choice((Severity.ERROR, Severity.QUARANTINE, Severity.WARNING))
    parses = none_of(LINES, severity)
    return replace(plan, budget=budget, metrics=(*plan.metrics, LINES), checks=(parses, *plan.checks))


def drawn_story(dice: Random, *, has_lines: bool) -> Story:
    return Story(
        rows=dice.randint(1, 6),
        files=dice.randint(1, 2),
        key=dice.choice((None, 0, 1, 2)),
        aside=dice.choice((0, 0, 1, 4)),
        bad="odd" * (dice.random() < 0.2),
        nulls=dice.random() < 0.2,
        warn="odd" * (dice.random() < 0.2),
        unreadable="odd" * (dice.random() < 0.1),
        needs=dice.choice((None, None, 0)),
        column=dice.choice(("", "", "", "c")),
        malformed=dice.choice((0, 0, 1, 3)) if has_lines else 0,
    )


def audited(world: Installation, name: str, base: str, plan: Plan, stories: Sequence[Story]) -> Report:
    """One attempt's job, from this base to its report."""
    files = tuple(
        JobFile(id=f"{name}-{at}", key=f"flights/{at}", uri="s3://service/x", size=1) for at in range(len(stories))
    )
    world.stories |= {file.id: story for file, story in zip(files, stories, strict=True)}
    world.lake.branches[name] = base  # type: ignore[index]
    job = Job(
        branch=name, batch="20130131T0405-1a2b3c4d", attempt=1, base=base, catalog=NO_CATALOG,
        report_uri=world.store.uri(f"reports/{name}.json"), begun_uri=world.store.uri(f"begun/{name}"), plan=plan,
        files=files,
    )  # fmt: skip
    engine = StoryEngine(cluster=world, job=job, did=lambda _: None)
    return append_and_audit(Run(job=job, engine=engine, now=world.clock.now, ticks=float))


def both(seed: int) -> tuple[Plan, list[Story], Report, Report]:
    """A random contract and batch, on a main that may have rows: as it enforces, and as it observes."""
    dice, world = Random(seed), Installation()
    plan = drawn_plan(dice)
    before = [Story(rows=2, key=key) for key in dice.choice(((), (0,), (0, 2)))]
    base = world.lake.head(MAIN).hash
    if before:
        base = audited(world, "founding", base, plan, before).audited
    stories = [drawn_story(dice, has_lines=LINES in plan.metrics) for _ in range(dice.randint(1, 4))]
    enforced = audited(world, "enforced", base, plan, stories)
    return plan, stories, enforced, audited(world, "observed", base, replace(plan, mode=Mode.OBSERVE), stories)


def cannot_be_appended(plan: Plan, story: Story, file: FileReport) -> bool:
    """Return True if it is no file of the table, or has lines that the contract neither leaves out nor puts aside."""
    if file.faults:
        return True
    parsing = [check for check in plan.checks if check.id == PARSES]
    if not parsing or not story.malformed:
        return False
    lines = story.arrive + story.malformed
    too_many = budget_check(plan.budget, story.malformed, lines).verdict is Verdict.FAIL
    return parsing[0].severity is Severity.ERROR or (parsing[0].severity is Severity.QUARANTINE and too_many)


def told(check: CheckResult) -> tuple[object, ...]:
    """All of a result but what is done about it."""
    return replace(check, verdict=Verdict.PASS, advice=None), check.advice


def as_observed(check: CheckResult) -> Verdict:
    return check.verdict if check.check == PARSES else WOULD.get(check.verdict, check.verdict)


def differences(plan: Plan, story: Story, enforced: FileReport, observed: FileReport) -> list[str]:
    """Return where observing rejects too much or too little, or says something else than enforcing."""
    wrong = []
    rejected = observed.verdict is Verdict.FAIL
    if rejected != cannot_be_appended(plan, story, enforced):
        wrong.append(f"rejected: {rejected}")
    if observed.faults != enforced.faults or (enforced.faults and enforced.advice != observed.advice):
        wrong.append(f"faults {observed.faults}")
    ours, theirs = ({it.check: it for it in file.checks if it.check != BUDGET} for file in (observed, enforced))
    for name, check in theirs.items():
        wanted = check.verdict if rejected else as_observed(check)
        if told(check) != told(ours[name]) or ours[name].verdict is not wanted:
            wrong.append(f"{check} enforced, and observed {ours[name]}")
    budgets = [[it.verdict for it in file.checks if it.check == BUDGET] for file in (enforced, observed)]
    if Verdict.FAIL in budgets[0] and not {*FAILING_VERDICTS} & {*budgets[1]}:
        wrong.append("the budget is not told")
    if not rejected:
        wrong += _of_published(story, enforced, observed)
    return wrong


def _of_published(story: Story, enforced: FileReport, observed: FileReport) -> list[str]:
    wrong = []
    if (observed.verdict is Verdict.WOULD_FAIL) != (enforced.verdict is Verdict.FAIL):
        wrong.append(f"{observed.verdict} for {enforced.verdict}")
    if observed.rows != story.arrive:
        wrong.append(f"{observed.rows} rows of {story.arrive}")
    leave = any(it.check == PARSES and it.verdict is Verdict.QUARANTINE for it in observed.checks)
    lines = story.malformed if leave else 0
    if observed.quarantined_rows != lines:
        wrong.append(f"{observed.quarantined_rows} in quarantine, and {lines} do not parse")
    if enforced.verdict is not Verdict.FAIL and observed.would_quarantine != enforced.quarantined_rows - lines:
        wrong.append(f"{observed.would_quarantine} would go, and {enforced.quarantined_rows} went")
    return wrong


def test_observing_rejects_only_what_cannot_be_appended_and_names_what_enforcing_names() -> None:
    seen = Counter[str]()
    for seed in range(BATCHES):
        plan, stories, enforced, observed = both(seed)
        for story, ours, theirs in zip(stories, observed.files, enforced.files, strict=True):
            wrong = differences(plan, story, theirs, ours)
            assert not wrong, f"seed {seed}: {story}: {wrong}"
            seen[f"{theirs.verdict}, {ours.verdict}"] += 1
        assert observed.mode is Mode.OBSERVE
    assert {*seen} >= {
        "fail, would fail",
        "quarantine, would quarantine",
        "quarantine, quarantine",
        "fail, fail",
        "warn, warn",
        "pass, pass",
    }, seen


def test_what_fails_only_once_rows_have_left_is_told_although_none_leave() -> None:
    """A number about all rows waits for quarantine: its fault would be hidden where nobody looks at what is left."""
    for seed in range(BATCHES):
        _, stories, enforced, observed = both(seed)
        late = [
            (theirs, ours)
            for story, theirs, ours in zip(stories, enforced.files, observed.files, strict=True)
            if story.bad and not story.malformed and theirs.quarantined and theirs.verdict is Verdict.FAIL
        ]
        if late:
            assert [ours.verdict for _, ours in late] == [Verdict.WOULD_FAIL] * len(late)
            assert not any(ours.quarantined for _, ours in late)
            return
    raise AssertionError("no batch has such a file")
