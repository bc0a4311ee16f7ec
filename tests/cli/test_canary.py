"""The canary by which a deployment ends: it lands, and what became of it is said with what to do."""

from __future__ import annotations

import pytest

from lakegate.cli import canary as command
from lakegate.cli.canary import HELP, prove
from lakegate.cli.exits import Exit, exit_code, paragraph
from lakegate.errors import Refused, Retryable
from lakegate.landing import canary
from lakegate.operations.acts import PushContracts
from lakegate.workflow.registry import contract_name
from tests.cli.desk import Desk


def test_a_canary_lands_with_its_contract_and_the_lane_that_it_took_is_said(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove(desk.installation) is Exit.SUCCESS
    assert desk.world.store.read(contract_name(canary.TABLE)) == canary.CONTRACT.encode()
    [file] = desk.world.landing.files.values()
    assert (file.key, desk.world.landing.bodies[file.key, file.version_id][:4]) == (canary.KEY, b"PAR1")
    shown = capsys.readouterr().out
    assert "published" in shown
    assert "The canary came to main by the lane Spark: this installation has no express lane" in shown


def test_a_canary_that_does_not_arrive_says_how_far_it_came_and_what_to_look_at(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SECONDS", 60)
    desk.is_working = False
    with pytest.raises(Retryable) as undecided:
        prove(desk.installation)
    said = paragraph(undecided.value)
    assert said.startswith(f"not decided within 60 s: {canary.KEY} (queued")
    assert said.endswith(HELP)
    assert exit_code(undecided.value) is Exit.UNREACHABLE


def test_a_canary_that_is_rejected_fails_the_deployment_and_says_what_to_do(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "heartbeat", lambda _: b"bad")
    assert prove(desk.installation) is Exit.REJECTED
    shown = capsys.readouterr().out
    assert "next: lakegate show" in shown
    assert HELP in shown.replace("\n", " ")


def test_a_function_that_refuses_the_contract_is_named_with_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Refused("the contract may not be pushed")

    monkeypatch.setattr(PushContracts, "on", refuse)
    with pytest.raises(Refused) as refused:
        prove(desk.installation)
    assert paragraph(refused.value) == f"the contract may not be pushed\n{HELP}"
    assert desk.world.landing.files == {}
