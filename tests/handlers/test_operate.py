"""The functions behind URLs: who asks is whom AWS authenticated, and what is answered is what a client reads."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from handlers import operate
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.operations import wire
from lakegate.operations.acts import ACTS, Approve, Discard, PushContracts, Reconcile, Retry, TryRulesOfActs
from lakegate.operations.operation import Operation
from lakegate.operations.pushing import ContractFile, TakenUp
from lakegate.operations.questions import QUESTIONS, ShowBatch, ShowStatus, TryRules
from lakegate.ports import MAIN
from lakegate.testing import MemoryCatalog
from lakegate.workflow.retry import UnderWay
from tests.support.function_urls import ANN, event, text_of
from tests.world.world import CONTRACT, World

Handler = Callable[[dict[str, Any], object], dict[str, Any]]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(operate, "service", lambda: world.service)
    return world


def ask(operation: Operation[Any], by: str = ANN) -> Any:
    """Return what a person's client gets of the function that has the operation."""
    handler = operate.act if operation.changes else operate.read
    return wire.read_answer(operation.answer, text_of(handler(event(wire.request(operation), by), None)))


def rejected(world: World) -> str:
    world.drop("bad.parquet", rows=3, bad="carrier required")
    world.run()
    [line] = ask(ShowStatus()).rejected
    return str(line.batch)


def test_a_person_sees_what_there_is_and_one_batch_in_full(world: World) -> None:
    batch = rejected(world)
    shown = ask(ShowBatch(batch=batch))
    assert (shown.batch, shown.table, len(shown.attempts)) == (batch, "nyc.flights", 1)
    assert f"lakegate retry {batch}" in shown.next


@pytest.mark.parametrize(("kind", "decision"), [(Approve, Decision.PUBLISHED), (Discard, Decision.DISCARDED)])
def test_main_s_log_says_whom_aws_authenticated(world: World, kind: Any, decision: Decision) -> None:
    batch = rejected(world)
    ask(kind(batch=batch, why="known at the vendor's"))
    note = next(iter(world.service.ledger.decisions(1, batch=batch))).record
    assert (note.decision, note.by, note.reason) == (decision, ANN, "known at the vendor's")


NO_REASONS = {"one character more": "x" * 2_001, "five megabytes": "ü" * 2_500_000, "nothing": " \n", "dots": " ... … "}


@pytest.mark.parametrize("why", NO_REASONS.values(), ids=NO_REASONS)
@pytest.mark.parametrize("kind", [Approve, Discard])
def test_a_reason_that_main_s_log_would_not_keep_decides_nothing(world: World, kind: Any, why: str) -> None:
    batch = rejected(world)
    before = list(world.service.ledger.decisions(10))
    with pytest.raises(Misconfigured, match="--why is kept in main's log for good"):
        ask(kind(batch=batch, why=why))
    assert list(world.service.ledger.decisions(10)) == before


@pytest.mark.parametrize("kind", [Approve, Discard])
def test_the_longest_reason_is_kept_whole_and_a_name_is_cut(world: World, kind: Any) -> None:
    batch, why = rejected(world), "ü" * 2_000
    ask(kind(batch=batch, why=f"  {why}\n"), by="a" * 5_000)
    note = next(iter(world.service.ledger.decisions(1, batch=batch))).record
    assert (note.reason, note.by) == (why, "a" * 2_000)


def test_a_name_that_a_client_gives_is_refused(world: World) -> None:
    batch = rejected(world)
    text = wire.request(Approve(batch=batch, why="w")).replace('"why"', '"by": "the boss", "why"')
    with pytest.raises(Misconfigured, match="this is not known here: by"):
        wire.read_answer(Approve.answer, text_of(operate.act(event(text), None)))
    assert [line.batch for line in ask(ShowStatus()).rejected] == [batch]


def test_a_call_that_did_not_come_by_the_url_does_nothing(world: World) -> None:
    batch = rejected(world)
    direct = event(wire.request(Discard(batch=batch, why="w")))
    contexts: list[dict[str, Any]] = [{}, {"authorizer": {}}, {"authorizer": {"iam": {"userArn": ""}}}]
    for context in contexts:
        with pytest.raises(Misconfigured, match="called at its URL alone"):
            wire.read_answer(int, text_of(operate.act(direct | {"requestContext": context}, None)))
    assert [line.batch for line in ask(ShowStatus()).rejected] == [batch]


def test_a_retry_is_under_way_and_a_second_one_says_so(world: World) -> None:
    batch = rejected(world)
    [attempt] = ask(Retry(batch=batch)).attempts
    assert attempt.number == 2
    with pytest.raises(UnderWay, match="already in progress"):
        ask(Retry(batch=batch))


def test_pushing_takes_up_what_waits_for_its_route(world: World) -> None:
    file = world.drop("1.parquet", rows=3, under="late/1.parquet")
    text = (
        CONTRACT.replace("nyc.flights", "nyc.late").replace("nyc/flights/**", "late/*").replace("nyc-flights", "late")
    )
    taken = ask(PushContracts(contracts=(ContractFile(name="late.yaml", text=text),)))
    assert taken == TakenUp(files=(file.key,))


def test_a_contract_that_routes_nothing_below_the_landing_prefixes_is_not_pushed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = replace(world.service, landing_prefixes=("in/",))
    monkeypatch.setattr(world, "service", seen)
    with pytest.raises(Misconfigured, match=r"outside the landing prefixes\nNothing was pushed: .* below in/\."):
        ask(PushContracts(contracts=(ContractFile(name="flights.yaml", text=CONTRACT),)))


def test_reconciling_takes_up_a_file_whose_event_was_lost(world: World) -> None:
    world.drop("1.parquet", rows=3, deliver=False)
    world.wait_out_the_grace()
    assert ask(Reconcile()) is None
    assert world.job_runs() == 1


class Ruled(MemoryCatalog):
    """A catalog whose rules let nobody make a branch that is not an attempt's."""

    def create_branch(self, name: str, at: str) -> None:
        if Attempt.parse(name) is None:
            raise Misconfigured("'CREATE_REFERENCE' is not allowed")
        super().create_branch(name, at)


@pytest.mark.parametrize("kind", [TryRules, TryRulesOfActs])
def test_a_function_says_whether_its_role_may_make_a_branch_and_leaves_none(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    assert ask(kind(tries=True))
    assert not ask(kind(tries=False))
    monkeypatch.setattr(world, "service", replace(world.service, branches=Ruled(lake=world.lake)))
    assert not ask(kind(tries=True))
    assert set(world.lake.branches) == {MAIN}
    del world.lake.branches[MAIN]
    with pytest.raises(Misconfigured, match="no branch main"):
        ask(kind(tries=True))


@pytest.mark.parametrize(("handler", "others"), [(operate.read, ACTS), (operate.act, QUESTIONS)])
def test_a_function_carries_out_no_operation_of_the_other(
    world: World, handler: Handler, others: tuple[type[Operation[object]], ...]
) -> None:
    batch = rejected(world)
    for kind in others:
        text = f'{{"format": 1, "operation": "{kind.__name__}", "arguments": {{"batch": "{batch}", "why": "w"}}}}'
        with pytest.raises(Misconfigured, match=kind.__name__):
            wire.read_answer(int, text_of(handler(event(text), None)))
    assert [line.batch for line in ask(ShowStatus()).rejected] == [batch]


@pytest.mark.parametrize("kind", [Retryable, OutcomeUnknown, Conflict, Refused, Misconfigured])
def test_an_error_arrives_as_it_was_raised(
    world: World, monkeypatch: pytest.MonkeyPatch, kind: type[LakegateError]
) -> None:
    def fail() -> None:
        raise kind("Nessie does not answer")

    monkeypatch.setattr(world.service.branches, "list_branches", fail)
    with pytest.raises(kind, match="Nessie does not answer"):
        ask(ShowStatus())


def test_a_fault_of_ours_is_answered_and_logged_with_its_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(world.service.branches, "list_branches", fail)
    structlog.reset_defaults()
    with capture_logs() as logged, pytest.raises(wire.FunctionFault, match="a fault of ours"):
        ask(ShowStatus())
    [line] = [line for line in logged if line["event"] == "operation_failed"]
    assert (line["log_level"], line["kind"], line["exc_info"]) == ("error", "ZeroDivisionError", True)


def test_the_log_says_who_asked_for_what(world: World) -> None:
    batch = rejected(world)
    structlog.reset_defaults()
    with capture_logs() as logged:
        ask(Discard(batch=batch, why="a test"))
    [line] = [line for line in logged if line["event"] == "operation"]
    assert (line["name"], line["by"], line["batch"]) == ("Discard", ANN, batch)


@pytest.mark.usefixtures("world")
def test_a_body_that_lambda_took_for_binary_is_read() -> None:
    text = wire.request(ShowStatus())
    asked = event(base64.b64encode(text.encode()).decode()) | {"isBase64Encoded": True}
    assert wire.read_answer(ShowStatus.answer, text_of(operate.read(asked, None))) == ask(ShowStatus())


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("body", [{}, {"body": None}, {"body": "%%%", "isBase64Encoded": True}, {"body": "hello"}])
def test_a_request_that_is_none_is_refused(body: dict[str, Any]) -> None:
    asked = {name: value for name, value in event("").items() if name != "body"} | body
    with pytest.raises(Misconfigured, match="does not know this request"):
        wire.read_answer(int, text_of(operate.read(asked, None)))


def test_a_status_that_no_function_could_send_has_fewer_decisions_and_says_of_how_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        world.drop(f"{number}.parquet", rows=1)
        world.run()
    whole = len(packed())
    monkeypatch.setattr(operate, "LARGEST", whole - 1)
    now = ask(ShowStatus(most=8))
    assert (now.of_last, len(now.published)) == (2, 2)


def packed() -> str:
    return str(operate.read(event(wire.request(ShowStatus(most=8))), None)["body"])


def test_another_answer_that_no_function_could_send_is_refused_by_its_size(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = rejected(world)
    monkeypatch.setattr(operate, "LARGEST", 100)
    with pytest.raises(Refused, match="the limit is 100"):
        ask(ShowBatch(batch=batch))
