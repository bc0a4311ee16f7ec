"""A screen a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.desk import Desk
from tests.dashboard.screen import Screen


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    with Screen(desk=Desk(folder=tmp_path)).on() as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(folder=tmp_path)
