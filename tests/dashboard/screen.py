"""The dashboard before an installation in memory, without a browser: Streamlit runs its pages, a test reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from streamlit.testing.v1 import AppTest

from lakegate.cli.installation import Installation
from lakegate.dashboard import markup, session
from lakegate.dashboard.serving import MAIN
from lakegate.errors import Misconfigured
from lakegate.operations.operation import Operation, Operations
from tests.cli.desk import Desk

T = TypeVar("T")
REFUSED = "your AWS credentials may not do this. Have the policy arn:aws:iam::123456789012:policy/Act attached"
PATIENCE = 60  # seconds, which only end what hangs


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Operations that note what they are asked for. A reader's refuse acts, as AWS does before any function runs."""

    inner: Operations
    names: list[str]
    is_reader: bool = False
    failing: Exception | None = None

    def run(self, operation: Operation[T]) -> T:
        self.names.append(type(operation).__name__)
        if self.failing:
            raise self.failing
        if self.is_reader and operation.changes:
            raise Misconfigured(REFUSED)
        return self.inner.run(operation)


@dataclass(kw_only=True)
class Screen:
    """See the module. `asked` are the names of the operations so far."""

    desk: Desk
    is_reader: bool = False
    failing: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def installation(self) -> Installation:
        its = self.desk.installation
        asked = Asked(inner=its.operations, names=self.asked, is_reader=self.is_reader, failing=self.failing)
        return replace(its, operations=asked)

    @contextmanager
    def on(self) -> Iterator[Screen]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "installation", self.installation)
            forget()
            yield self

    def open(self, page: str, **asked: str) -> AppTest:
        """A person opens a page's address."""
        at = AppTest.from_file(MAIN, default_timeout=PATIENCE)
        at.switch_page(f"pages/{page}.py")
        for name, value in asked.items():
            at.query_params[name] = value
        return at.run()


def forget() -> None:
    session.forget()
    session.why_not_act.clear()
    markup._environment.cache_clear()


def text(at: AppTest) -> str:
    """All that a page shows as HTML, without the style."""
    return "\n".join(it.value for it in at.get("html") if "<style>" not in it.value)


def button(at: AppTest, label: str) -> Any:
    return next(it for it in at.button if it.label == label)


def labels(at: AppTest) -> list[str]:
    return [it.label for it in at.button]
