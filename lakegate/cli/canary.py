"""`deploy`'s last step: a canary that reaches main, which proves the whole way from the landing bucket."""

from pathlib import Path
from tempfile import TemporaryDirectory

from lakegate.cli.exits import Exit
from lakegate.cli.files import watch
from lakegate.cli.follow import Tracker
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, print_lines
from lakegate.errors import LakegateError
from lakegate.landing.canary import CONTRACT, KEY, heartbeat
from lakegate.operations.acts import PushContracts
from lakegate.operations.pushing import ContractFile
from lakegate.operations.questions import ShowBatch

SECONDS = 900  # a Spark job takes minutes, and a sweep that takes the place of a lost event comes every five
HELP = (
    "The stacks are deployed. How far the canary came: lakegate status. What it may mean: docs/runbook/canary.md. "
    "Once that is mended, deploy again, which lands another"
)


def prove(installation: Installation) -> Exit:
    """Land a canary and wait until it is decided. Print the lane that it took. Raise Retryable if it is undecided for
    SECONDS, or whatever hinders it, with what to do.
    """
    try:
        tracker = _land(installation)
        outcome = watch(installation, tracker, SECONDS, as_json=False)
    except LakegateError as error:
        error.add_note(HELP)
        raise
    [sight] = tracker.sights.values()
    if outcome is not Exit.SUCCESS:
        print_lines(HELP)
    elif sight.batch:
        attempt = installation.operations.run(ShowBatch(batch=sight.batch)).attempts[-1]
        reason = f": {attempt.lane_why}" if attempt.lane_why else ""
        print_lines(f"The canary came to main by the lane {attempt.lane or 'spark'}{reason}")
    return outcome


def _land(installation: Installation) -> Tracker:
    contract = ContractFile(name="the canary's contract", text=CONTRACT)
    with busy("landing a canary"), TemporaryDirectory() as folder:
        installation.operations.run(PushContracts(contracts=(contract,)))
        path = Path(folder, Path(KEY).name)
        path.write_bytes(heartbeat(installation.clock.now()))
        file = installation.landing.upload(path, KEY)
    return Tracker.of([(file.key, file.version_id)])
