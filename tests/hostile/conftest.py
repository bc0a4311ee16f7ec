"""Everything here is the gate's layer `hostile`, but for what needs Spark or the local cloud: that runs with theirs."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LAYERS = ("spark", "nessie", "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE) and not any(map(item.get_closest_marker, LAYERS)):
            item.add_marker("hostile")
