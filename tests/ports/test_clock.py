"""Tests of what every `Clock` promises."""

from __future__ import annotations

import re
from datetime import UTC, timedelta

import pytest

from lakegate.adapters.clock import SystemClock
from lakegate.landing.attempts import Attempt
from lakegate.ports import Clock
from lakegate.testing import MemoryClock


@pytest.fixture(params=[MemoryClock, SystemClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


def test_time_is_in_utc_and_does_not_go_back(clock: Clock) -> None:
    first, second = clock.now(), clock.now()
    assert first.tzinfo is UTC
    assert first <= second


def test_nobody_else_has_the_nonce_and_it_fits_a_branchs_name(clock: Clock) -> None:
    nonces = [clock.nonce() for _ in range(100)]
    assert len(set(nonces)) == 100
    assert all(re.fullmatch("[0-9a-f]{8}", nonce) for nonce in nonces)
    attempt = Attempt(table="nyc.flights", batch="20130131T0405-1a2b3c4d", number=1)
    rebase = attempt.rebase(clock.now(), nonces[0])
    assert Attempt.parse(rebase.branch) == rebase


def test_a_clock_in_memory_moves_when_it_is_told_to() -> None:
    clock = MemoryClock()
    before = clock.now()
    clock.advance(90)
    assert clock.now() - before == timedelta(seconds=90)
