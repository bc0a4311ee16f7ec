"""The pages' contracts and examples, run as they stand there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import DOCS, fences

RUNS, FRAMES = DOCS / "how-to/wap.md", DOCS / "how-to/data-frames.md"
SAYS = {
    RUNS: "the audit failed, and nothing is published",
    FRAMES: 'column "shop" is bigint, the contract says string',
}
LAST = """
import sys
print(*sorted({"pyspark", "py4j", "polars"} & {name.partition(".")[0] for name in sys.modules}), "imported")
"""


def program_of(page: Path, tmp_path: Path) -> str:
    """The page's Python in its order, in a folder with the page's contract alone."""
    its = [it for it in fences(page) if not it.not_run]
    [contract] = [it.text for it in its if it.language == "yaml"]
    (tmp_path / "orders.yaml").write_text(contract)
    return "\n".join([f"FOLDER = {str(tmp_path)!r}", *(it.text for it in its if it.language == "python")])


@pytest.mark.parametrize("page", SAYS, ids=lambda page: page.stem)
def test_the_page_s_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = program_of(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(program, names)
    names["catalog"].close()  # type: ignore[attr-defined]
    assert SAYS[page] in capsys.readouterr().out


@pytest.mark.extended
def test_whoever_works_with_arrow_imports_no_other_data_frames(tmp_path: Path) -> None:
    """It runs from a new process as it does on the page, and what the page imports is all."""
    program = program_of(RUNS, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", program + LAST], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.stdout.splitlines()[-1:], done.returncode) == (["imported"], 0), done.stderr
