"""`lakegate hold`: another program changes the stacks while nothing begins a job, as `lakegate deploy` does it."""

import subprocess
import time
from collections.abc import Sequence

from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.stacks import Stacks
from lakegate.cli.profile import load_profile, name_of
from lakegate.cli.terminal import print_lines
from lakegate.deployment.still import held_still
from lakegate.errors import Misconfigured
from lakegate.settings import CommandLine, adopt_region


def hold(command: Sequence[str]) -> int:
    """Run a command while the installation is still, and return the code with which it ends. Raise Misconfigured if
    there is no such program.
    """
    load_profile()
    adopt_region()
    stacks, name = Stacks(), name_of(CommandLine.from_env().installation)
    with held_still(AwsIntake(lambda: stacks.resources(name)), print_lines, time.sleep):
        try:
            return subprocess.run(command, check=False).returncode  # noqa: S603 (a person's own command)
        except OSError as error:
            raise Misconfigured(f"{command[0]}: {error.strerror}. Give the command as in: terraform apply") from error
