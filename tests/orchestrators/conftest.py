"""A Nessie for all examples, and readers of it in this process."""

from __future__ import annotations

import pytest

from tests.support.nessie import Lake


@pytest.fixture(autouse=True)
def _reads_the_lake(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
