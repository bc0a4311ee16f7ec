"""Tests of what a batch in flight waits for, as `status` and `wait` say it."""

from datetime import UTC, datetime

from lakegate.cli.batches import _in_flight
from lakegate.cli.files import _still_moving
from lakegate.cli.follow import Tracker
from lakegate.operations.sights import sights
from lakegate.workflow.overview.line import Line
from lakegate.workflow.status import Status

AT = datetime(2013, 1, 31, tzinfo=UTC)
LINE = Line(
    batch="20130131T0000-00000000", table="nyc.flights", branch="wap-1", files=("a",), versions=("1",), state="audited",
    rows=0, reasons=(), since=AT, attempt=1, waits_for="wap-0 is older and is published first", waits_until=AT,
)  # fmt: skip
NOW = Status(in_flight=(LINE,), unrouted=(), rejected=(), published=())


def test_status_says_what_a_batch_waits_for_and_until_when() -> None:
    said = [part for part in _in_flight(NOW, AT) if isinstance(part, str)]
    assert f"{LINE.batch} waits:" in said
    assert LINE.waits == "wap-0 is older and is published first (until 2013-01-31 00:00:00 UTC at the latest)"


def test_a_wait_that_is_over_says_what_its_files_still_wait_for() -> None:
    followed = Tracker(sights=sights(NOW))
    assert f"a (audited: {LINE.waits})" in _still_moving(followed, 1)
