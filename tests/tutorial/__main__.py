"""`make test-wheel`: docs/tutorial.md from the built wheel, command by command, in an empty home outside the checkout.

The page's files have random rows, so that nobody has seen them. The section on parquet is done once more with a file
whose columns are drawn, too. At the end, nothing is left running.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import tempfile
import time
from pathlib import Path

from rich.console import Console

from tests.tutorial import surprise
from tests.tutorial.page import Step, steps
from tests.tutorial.reader import Reader, size

PAGE = Path(__file__).parents[2] / "docs/tutorial.md"
DROPS, MINUTES = "lakegate drop ", 10
screen = Console(highlight=False, markup=False, emoji=False)
AGAIN, MAKES = "readings", "readings.py"  # the parquet section's file, and what makes it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", type=Path, help="the reader's python3; by default the machine's")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="of the parquet file that is drawn")
    asked = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="lakegate-reader-"))
    reader = Reader.of(home, asked.wheel, asked.python)
    page = steps(PAGE)
    try:
        end = next(at for at, step in enumerate(page) if "lakegate local down" in step.text)
        seconds = followed(reader, page[:end])
        met_again(reader, page, asked.seed)
        followed(reader, page[end:])
    finally:
        reader.gives("lakegate local down || true")
    than = "less" if seconds < MINUTES * 60 else "more"  # told and not judged: a busy machine breaks no promise
    screen.print(
        f"\n{seconds:.0f} s from the first command to the reader's own file on main: {than} than {MINUTES} min."
    )
    screen.print(f"{size(home / '.cache/lakegate')} MB are set up in the user's cache.")
    shutil.rmtree(home)


def followed(reader: Reader, page: list[Step]) -> float:
    """Do all that the page says. Return the seconds until the first file was on main."""
    begin, first = time.monotonic(), 0.0
    for step in page:
        reader.does(step)
        if DROPS in step.text and not step.name and not first:
            first = time.monotonic() - begin
    return first


def met_again(reader: Reader, page: list[Step], seed: int) -> None:
    """Do the commands for the parquet file once more, with one whose columns are drawn."""
    screen.print(f"\nThe same with drawn columns: --seed {seed}")
    rows = surprise.write(reader.here / "surprise.parquet", seed)
    for step in page:
        if AGAIN in step.text and not step.name and MAKES not in step.text:
            its = step.text.replace(AGAIN, "surprise")
            reader.does(Step(text=its, code=step.code, prints=f"rows … {rows} … 1 row"))


if __name__ == "__main__":
    main()
