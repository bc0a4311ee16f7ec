"""`make test-wheel`, too: the first example of docs/how-to/wap.md, from the built wheel, in an empty home outside the
checkout. The time from `pip install` to rows on main is told.
"""

from __future__ import annotations

import time

from tests.support.pages import DOCS, fences
from tests.tutorial.page import Step
from tests.tutorial.reader import Reader, read_in_an_empty_home

PAGE = DOCS / "how-to/wap.md"
INSTALL = """\
python3 -m venv lakegate-env
. lakegate-env/bin/activate
pip install --quiet "lakegate[wap]"
"""


def told(reader: Reader) -> None:
    """Do what the page says, and tell how long it took."""
    begin = time.monotonic()
    reader.does(Step(text=INSTALL))
    installed = time.monotonic()
    contract, program = (next(it.text for it in fences(PAGE) if it.language == kind) for kind in ("yaml", "python"))
    reader.does(Step(name="orders.yaml", text=contract))
    reader.does(Step(name="first.py", text=f"FOLDER = {str(reader.here)!r}\n{program}"))
    reader.does(Step(text="python first.py\n"))
    end = time.monotonic()
    reader.does(Step(text='python -c "import lakegate.wap.spark, spark_jobs.jvm"\n'))  # for whoever gives a session
    print(  # noqa: T201 - it talks to a terminal
        f"\n{end - begin:.0f} s from the first command to rows on main, {installed - begin:.0f} s of them pip's."
    )


if __name__ == "__main__":
    read_in_an_empty_home(told, __doc__)
