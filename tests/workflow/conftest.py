"""Fixtures of the workflow's tests: each pushes the contracts of its world, most of them the same one."""

from collections.abc import Iterator
from functools import cache

import pytest

from lakegate.contracts import load
from lakegate.workflow import registry


@pytest.fixture(scope="session", autouse=True)
def _contracts_are_read_once() -> Iterator[None]:
    """Reading a contract takes longer than all else that most worlds do, and there are thousands of worlds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "load", cache(load))
        yield
