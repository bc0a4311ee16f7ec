"""The process of every layer of tests: the project's own Java and Node, a network of one machine, and no
chance.

It starts nothing: servers and sessions are fixtures of the layers that use them.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path

import botocore.loaders
import botocore.session
import pytest
import structlog
import typer.main
import typer.testing
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.support import aws_models
from tests.support.image import java_home

pytest_plugins = ["tests.support.nessie", "tests.support.postgres", "tests.support.nessie_auth", "tests.support.spark"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--postgres", action="store_true", help="Nessie keeps what it knows in PostgreSQL, as on AWS.")
    parser.addoption("--extended", action="store_true", help="What takes long, too, as CI runs it beside the gate.")


def pytest_configure(config: pytest.Config) -> None:
    """The system's Java and Node are never asked, however pytest was started."""
    if config.getoption("--extended") and not config.getoption("--hypothesis-profile"):
        settings.load_profile("ci")
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    aws_models.hold_requests()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The gate leaves the tests out that are marked as extended, and of a test's cases all beyond its share."""
    shared = [item for item in items if item.get_closest_marker("share")]
    for _, of_one_test in groupby(shared, lambda item: (item.path, item.name.partition("[")[0])):
        _mark_all_but_a_share(list(of_one_test))
    left = [item for item in items if item.get_closest_marker("extended") and not config.getoption("--extended")]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


def _mark_all_but_a_share(cases: list[pytest.Item]) -> None:
    """Leave cases as far apart as possible unmarked: neighbours are alike."""
    [share] = cases[0].iter_markers("share")
    stay = {at * len(cases) // share.args[0] for at in range(share.args[0])}
    for at, case in enumerate(cases):
        if at not in stay:
            case.add_marker(pytest.mark.extended)


@pytest.fixture(scope="session")
def extended(pytestconfig: pytest.Config) -> bool:
    return bool(pytestconfig.getoption("--extended"))


@pytest.fixture(autouse=True)
def _requests_are_as_aws_takes_them() -> Iterator[None]:
    """A request that breaks its model fails the test that makes it, whatever became of its error."""
    yield
    broken, aws_models.BROKEN[:] = [*aws_models.BROKEN], []
    assert broken == [], "AWS would refuse these requests"


@pytest.fixture(scope="session", autouse=True)
def _models_are_read_once() -> Iterator[None]:
    """A session reads the models of AWS, megabytes of JSON, and tests make hundreds of sessions."""
    loader = botocore.loaders.create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", lambda _paths=None: loader)
        yield


@pytest.fixture(scope="session", autouse=True)
def _command_lines_are_made_once() -> Iterator[None]:
    """Typer makes the whole tree of commands anew for each that a test runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(typer.main.get_command))
        yield


# Hypothesis's own for continuous integration: the same examples in every run, and no deadline on a busy machine. The
# gate asks for half of them.
settings.register_profile("gate", settings.get_profile("ci"), max_examples=50)
settings.load_profile("gate")
# `make search`: other examples in every run, and more of them.
settings.register_profile("search", settings.get_profile("ci"), derandomize=False, max_examples=1000)


@pytest.fixture(scope="session", autouse=True)
def _draws_are_the_same_in_every_selection() -> Iterator[None]:
    """Hypothesis draws constants of the project's modules, too: of those that a session happens to have imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "_get_local_constants", Constants)
        yield


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """The workflow logs thousands of lines under crash loops; a test that wants them configures what it needs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
