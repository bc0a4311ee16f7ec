"""A reader of the tutorial, in an empty home, who knows nothing of this machine but where its programs are."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.tutorial.page import Step, prints

PATH = "/usr/local/bin:/usr/bin:/bin"
SHELL = "/bin/bash"
# A shell's variables, such as those of an activated environment, last from one step to the next.
SCRIPT = "trap 'code=$?; env -0 >\"$0\"; exit $code' EXIT\nset -e\n"


@dataclass(kw_only=True)
class Reader:
    """Someone at a shell, in a folder of an empty home."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, home: Path, wheel: Path, python: Path | None) -> Reader:
        """Return a reader for whom pip finds lakegate in the wheel, and whose `python3` is the given one."""
        bin_, work = home / "bin", home / "work"
        for folder in (bin_, work):
            folder.mkdir(parents=True)
        if python:
            (bin_ / "python3").symlink_to(python)
        told = {"HOME": str(home), "PATH": f"{bin_}:{PATH}", "PWD": str(work), "LANG": "C.UTF-8"}
        return cls(home=home, variables=told | {"PIP_FIND_LINKS": str(wheel.resolve().parent)})

    def does(self, step: Step) -> None:
        """Do a step as the page says. Raise SystemExit if it does not end so, or does not print what the page says."""
        if step.name:
            (self.here / step.name).write_text(step.text)
            return
        code, output = self.gives(step.text)
        if code != step.code:
            sys.exit(f"\nThe page's commands ended with {code}, not with {step.code}:\n{step.text}")
        if not prints(output, step.prints):
            sys.exit(f"\nThe page's commands did not print what it says:\n{step.prints}")

    def gives(self, commands: str) -> tuple[int, str]:
        """Give commands, show what they print, and return how they ended and that."""
        _show("".join(f"$ {line}\n" for line in commands.splitlines()))
        note, lines = self.home / "variables", []
        with subprocess.Popen(
            [SHELL, "-c", SCRIPT + commands, str(note)],
            cwd=self.here,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as shell:
            assert shell.stdout
            for line in shell.stdout:
                _show(line)
                lines.append(line)
        self.variables = dict(_variables(note.read_text()))
        return shell.returncode, "".join(lines)

    @property
    def here(self) -> Path:
        return Path(self.variables["PWD"])


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _variables(told: str) -> Mapping[str, str]:
    pairs = (entry.partition("=") for entry in told.split("\0") if entry)
    return {name: value for name, _, value in pairs}


def size(folder: Path) -> int:
    """Return the megabytes of a folder, links not followed."""
    return sum(os.lstat(path).st_size for path in folder.rglob("*")) >> 20


def read_in_an_empty_home(steps: Callable[[Reader], None], description: str | None) -> None:
    """Have a reader take the steps by the wheel that the command line names, in a home that is removed afterwards."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", type=Path, help="the reader's python3; by default the machine's")
    asked = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="lakegate-reader-"))
    try:
        steps(Reader.of(home, asked.wheel, asked.python))
    finally:
        shutil.rmtree(home)
