"""Stillness for a change of the application: nothing begins a job, what runs ends, then the application stops."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lakegate.counts import count
from lakegate.errors import Conflict, error_note
from lakegate.ports import Intake

PAUSE = 5.0  # seconds between two looks at the runs
REFUSALS = 12  # of stopping the application in a row, with no run that explains them

Notify = Callable[[str], None]
Pause = Callable[[float], None]


@contextmanager
def held_still(intake: Intake, notify: Notify, pause: Pause) -> Iterator[None]:
    """Hold an installation still. Open it again at the end, whatever has failed within."""
    try:
        notify("closing the intake: files that land wait")
        intake.close()
        _stop(intake, notify, pause)
        notify("the application has stopped")
        yield
    except BaseException as error:
        with error_note(f"Before that: {type(error).__name__}: {error}"):
            _open(intake, notify)
        raise
    _open(intake, notify)


def _open(intake: Intake, notify: Notify) -> None:
    with error_note("The intake may be closed still, and files that land wait: run the same deployment again"):
        intake.open()
    notify("the intake is open again")


def _stop(intake: Intake, notify: Notify, pause: Pause) -> None:
    """Stop the application once no job runs. A function that was called before the intake closed may begin one yet."""
    refusals, last_count = 0, 0
    while True:
        if runs := intake.count_runs():
            refusals = 0
            if runs != last_count:
                notify(f"waiting for {count(runs, 'job run')} to end")
            last_count = runs
        else:
            try:
                intake.stop()
            except Conflict:
                refusals += 1
                if refusals == REFUSALS:
                    raise
            else:
                return
        pause(PAUSE)


def change(intake: Intake, deploy: Callable[[], None], notify: Notify, pause: Pause, *, must_stand_still: bool) -> None:
    """Deploy, in stillness if the application changes. Open an intake that an interrupted deployment left closed."""
    if must_stand_still:
        with held_still(intake, notify, pause):
            deploy()
    else:
        deploy()
        if not intake.is_open():
            intake.open()
            notify("the intake was closed, by an interrupted deployment or by hand, and is open again")
