"""The page of `lakegate try`, and what the README shows of it, as whoever follows them sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.pages import DOCS, ROOT
from tests.tutorial.page import prints, steps

README = (ROOT / "README.md").read_text()


def test_each_step_of_the_page_prints_what_the_page_says_and_the_readme_shows_a_part_of_it(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    plain = {"PATH": path, "HOME": str(tmp_path)}
    output = ""
    for step in steps(DOCS / "how-to/try.md"):
        if step.name:
            (tmp_path / step.name).write_text(step.text)
        elif not step.text.startswith("pip"):  # the package is this checkout
            words = ["bash", "-c", step.text]
            done = subprocess.run(words, cwd=tmp_path, env=plain, capture_output=True, text=True, check=False)
            assert (done.returncode, prints(done.stdout, step.prints)) == (step.code, True), done.stdout + done.stderr
            output = done.stdout
    [shown] = re.findall(r"```text\n(.*?)```", README.partition("## Try a file")[2].partition("\n## ")[0], re.DOTALL)
    assert prints(output, shown), output
