"""Commands that need more than the installed package: they set up its home, and go on there.

In a checkout they are at home already, and set-up is `make`'s.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn

from lakegate.cli.terminal import say
from lakegate.errors import Misconfigured, Retryable
from lakegate.home import Home, home, is_installed, unpack

# Neither variables of Python nor the working directory may put other modules before the home's.
ALONE = ("-E", "-P")
LOCAL, DEPLOY = "local", "deploy"  # what set-up is asked for
SIZES = {LOCAL: "two gigabytes", DEPLOY: "half a gigabyte"}


def demo() -> NoReturn:
    """Show the whole loop."""
    there = prepared(LOCAL)
    become(there, "-m", "examples.demo")


def local(*words: str) -> NoReturn:
    """Give a command of the local cloud. Raise Misconfigured if it needs one and none was ever set up."""
    if words[:1] != ("up",) and not (home().bin / "lakegate").exists():
        raise Misconfigured(f"no local cloud was ever set up in {home().root}. Run: lakegate local up")
    there = prepared(LOCAL) if words[:1] == ("up",) else home()
    become(there, str(there.bin / "lakegate"), "local", *words)


def deploy(judge: Callable[[], object], *words: str) -> None:
    """Give `lakegate deploy` at home, once the settings were judged: nothing is installed for those that are wrong.
    Return if this is home.
    """
    if is_installed():
        unpack(home().root)
        sys.path.append(str(home().root))  # what judges settings is there, and needs nothing else
        judge()
        there = prepared(DEPLOY)
        become(there, str(there.bin / "lakegate"), "deploy", *words)


def prepared(what: str) -> Home:
    """Return the home with all that is needed in it. Raise Retryable if some of it cannot be had now."""
    there = home()
    if is_installed():
        if not there.bin.exists():
            say(f"Setting up {there.root}: about {SIZES[what]}, once.")
        unpack(there.root)
        command = [sys.executable, "-I", str(there.root / "tools/setup.py"), what]
        done = subprocess.run(command, check=False)  # noqa: S603
        if done.returncode:
            raise Retryable(f"{there.root} is not set up, as it says above. What is there already is kept")
    return there


def become(there: Home, *words: str) -> NoReturn:
    """End this program, and begin one of the home's Python."""
    python = there.bin / "python"
    sys.stdout.flush()
    os.execv(python, [str(python), *ALONE, *words])  # noqa: S606 (our own commands)
