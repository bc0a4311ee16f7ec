"""Record the demo as a terminal shows it, as an asciicast, and keep the Slack message that it ends with.

It needs what `make demo` needs, and a Unix: the demo writes to a terminal of its own.
"""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".local/pictures"
CAST, MESSAGE = FOLDER / "demo.cast", FOLDER / "slack.json"
COLUMNS, LINES = 104, 34
CHUNK = 65_536  # bytes of one read


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "examples.demo"]
    with CAST.open("w", encoding="utf-8") as cast:
        cast.write(json.dumps({"version": 2, "width": COLUMNS, "height": LINES}) + "\n")
        code = record(command, cast.write)
    told = subprocess.run([lakegate(), "local", "slack", "--json"], check=True, capture_output=True, text=True).stdout
    MESSAGE.write_text(json.dumps(json.loads(told)[0], indent=2, ensure_ascii=False), encoding="utf-8")
    return code


def lakegate() -> str:
    return str(Path(sys.executable).with_name("lakegate"))


def record(command: list[str], write: Callable[[str], object]) -> int:
    """Run a command in a terminal, write an event for each piece of its output, and return its exit code."""
    ours, its = os.openpty()
    termios.tcsetwinsize(its, (LINES, COLUMNS))
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES)},
    )
    os.close(its)
    for text in pieces(ours):
        sys.stdout.write(text)
        sys.stdout.flush()
        write(json.dumps([round(time.monotonic() - started, 3), "o", text], ensure_ascii=False) + "\n")
    return process.wait()


def pieces(terminal: int) -> Iterator[str]:
    """Yield what is written to a terminal until its last writer is gone."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    while True:
        try:
            read = os.read(terminal, CHUNK)
        except OSError:  # Linux's word for the end
            return
        if not read:
            return
        yield decoder.decode(read)


if __name__ == "__main__":
    raise SystemExit(main())
