"""Worlds for runs: a catalog in a folder, and a real Nessie. The tests do not see which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.nessie import Lake
from tests.support.runs import FolderWorld, NessieWorld, World


@pytest.fixture(params=["folder", pytest.param("nessie", marks=pytest.mark.nessie)])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    if request.param == "folder":
        found = FolderWorld(tmp_path)
        yield found
        found.close()
    else:
        lake: Lake = request.getfixturevalue("lake")
        for name, value in lake.environment.items():
            monkeypatch.setenv(name, value)
        yield NessieWorld(lake)
