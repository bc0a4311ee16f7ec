"""Commands that need more than the installed package: they set up its home, and go on there.

In a checkout they are at home already, and set-up is `make`'s.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn

from lakegate.cli.terminal import print_lines
from lakegate.errors import Misconfigured, Retryable
from lakegate.home import Home, home, is_installed, unpack

# Neither variables of Python nor the working directory may put other modules before the home's.
ISOLATION = ("-E", "-P")
LOCAL, DEPLOY = "local", "deploy"  # what set-up is asked for
SIZES = {LOCAL: "two gigabytes", DEPLOY: "two gigabytes"}


def demo() -> NoReturn:
    """Show the whole loop."""
    prepared_home = prepare(LOCAL)
    exec_at_home(prepared_home, "-m", "examples.demo")


def local(*words: str) -> NoReturn:
    """Give a command of the local cloud. Raise Misconfigured if it needs one and none was ever set up."""
    if words[:1] != ("up",) and not (home().bin / "lakegate").exists():
        raise Misconfigured(f"no local cloud was ever set up in {home().root}. Run: lakegate local up")
    cloud_home = prepare(LOCAL) if words[:1] == ("up",) else home()
    exec_at_home(cloud_home, str(cloud_home.bin / "lakegate"), "local", *words)


def deploy(judge: Callable[[], object], *words: str) -> None:
    """Give a command of deployments at home, once the settings were judged: nothing is installed for wrong ones.
    Return if this is home.
    """
    if is_installed():
        unpack(home().root)
        sys.path.append(str(home().root))  # what judges settings is there, and needs nothing else
        judge()
        prepared_home = prepare(DEPLOY)
        exec_at_home(prepared_home, str(prepared_home.bin / "lakegate"), *words)


def prepare(purpose: str) -> Home:
    """Return the home with all that is needed in it. Raise Retryable if some of it cannot be had now."""
    own_home = home()
    if is_installed():
        if not own_home.bin.exists():
            print_lines(f"Setting up {own_home.root}: about {SIZES[purpose]}, once.")
        unpack(own_home.root)
        command = [sys.executable, "-I", str(own_home.root / "tools/setup.py"), purpose]
        process = subprocess.run(command, check=False)  # noqa: S603
        if process.returncode:
            raise Retryable(f"{own_home.root} is not set up, as it says above. What is there already is kept")
    return own_home


def exec_at_home(target_home: Home, *words: str) -> NoReturn:
    """End this program, and begin one of the home's Python."""
    python = target_home.bin / "python"
    sys.stdout.flush()
    os.execv(python, [str(python), *ISOLATION, *words])  # noqa: S606 (our own commands)
