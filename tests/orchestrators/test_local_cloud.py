"""Each example's one command, on a local cloud of its own: what a person sees of a good file and of a bad one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from lakegate_local.cloud import Cloud
from lakegate_local.settings import LocalSettings, variable

from examples.orchestrators.__main__ import KEPT, Outcome, surprises
from tests.local.ports import PORTS, free_ports
from tests.support.nessie import ROOT


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """The settings of a local cloud that is up, as variables."""
    folder: Path = tmp_path_factory.mktemp("local-cloud")
    env = {variable(name): str(port) for name, port in zip(PORTS, free_ports(len(PORTS)), strict=True)}
    env |= {variable("run"): str(folder / "run"), variable("profile"): str(folder / ".lakegate.env")}
    running = Cloud(settings=LocalSettings.from_env(env))
    try:
        running.up(lambda *_: None)
        yield env
    finally:
        running.down(lambda *_: None)


@pytest.mark.orchestrators
@pytest.mark.parametrize("name", KEPT)
def test_an_example_shows_that_main_has_the_good_file_and_nothing_of_the_bad_one(
    name: str, cloud: Mapping[str, str]
) -> None:
    command = [sys.executable, "-m", "examples.orchestrators", name]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **cloud}, capture_output=True, text=True, check=False)
    good, bad = [line for line in done.stdout.splitlines() if line.startswith("exit code")]
    assert good.startswith("exit code 0; main has 3 rows"), done.stdout
    assert bad.startswith("exit code 1; main has 3 rows"), done.stdout
    assert bad.count("wap-shop.") - good.count("wap-shop.") == KEPT[name], done.stdout
    assert "\nAs expected: 3 rows of the good file are on main, and none of the bad one" in done.stdout
    assert done.returncode == 0


def ended(code: int = 0, rows: int = 3, *branches: str) -> Outcome:
    return Outcome(code=code, rows=rows, branches=branches)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("prefect", ended(1), ended(1)),
        ("prefect", ended(0, 0), ended(1)),
        ("prefect", ended(), ended(0)),
        ("prefect", ended(), ended(1, 5)),
        ("prefect", ended(), ended(1, 3, "wap-bad-1")),
        ("airflow", ended(), ended(1)),
        ("airflow", ended(0, 3, "wap-bad-1"), ended(1, 3, "wap-bad-1")),
    ],
)
def test_an_example_that_did_something_else_is_told_so(name: str, good: Outcome, bad: Outcome) -> None:
    assert surprises(name, good, bad)
    assert surprises("prefect", ended(), ended(1)) == surprises("airflow", ended(), ended(1, 3, "wap-bad-1")) == []
