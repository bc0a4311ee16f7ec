"""The dashboard at a port, before an installation in memory with hostile files: python -m tests.dashboard.server PORT.

It prints the address as `lakegate dashboard` does, and ends with its standard input.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from pathlib import Path

from lakegate.dashboard.serving import serve
from tests.cli.batch_report import add_batch
from tests.cli.desk import Desk
from tests.cli.test_report import BAD, GOOD, SHOP
from tests.dashboard.screen import Screen

EVIL = (
    '</code></p></div><img src="http://evil.example/x.png" onerror="document.title=1"><script>document.title=1</script>'
    "[a](http://evil.example) ![b](http://evil.example/y.png) $\\frac{1}{2}$ :red[c] <style>*{display:none}</style>"
)


def main() -> None:
    threading.Thread(target=_end_with_input, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(folder=Path(folder))
        desk.published()
        desk.rejected()
        files = {f"shop/orders/{number}.parquet": GOOD for number in range(3)}
        add_batch(desk, SHOP, files | {f"shop/orders/{EVIL}.parquet": BAD}, {"shop/orders/locked.parquet": EVIL})
        desk.world.drop("elsewhere", rows=1, under=f"elsewhere/{EVIL}")
        with Screen(desk=desk).on():
            serve(int(sys.argv[1]))


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
