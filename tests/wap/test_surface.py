"""The library's public surface: what `lakegate.wap` exports, and what its signatures name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_type_hints

import pytest

from lakegate import wap
from lakegate.access import Role
from lakegate.errors import LakegateError
from tests.support.nessie import unique
from tests.support.nessie_auth import NessieAuth
from tests.support.runs import contract, orders

EXPORTED = [getattr(wap, name) for name in wap.__all__]


def members(export: Any) -> Iterator[Callable[..., Any]]:
    """Yield an exported function, or the public methods of an exported class."""
    if not inspect.isclass(export):
        yield export
        return
    for name, member in vars(export).items():
        called = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if not name.startswith("_") and callable(called):
            yield called


def named(hint: Any) -> Iterator[str]:
    """Yield the modules that a type is of, with the types that it is made of."""
    yield getattr(hint, "__module__", "")
    for part in get_args(hint):
        parts = part if isinstance(part, list) else [part]
        for each in parts:
            yield from named(each)


def hints(export: Any) -> Iterator[tuple[str, str]]:
    """Yield each name of an export's signatures with a module that its type is of."""
    own = [export] if inspect.isclass(export) else []
    for each in (*own, *members(export)):
        for name, hint in get_type_hints(each).items():
            if not name.startswith("_"):
                yield from ((f"{each}: {name}", module) for module in named(hint))


@pytest.mark.parametrize("export", EXPORTED, ids=wap.__all__)
def test_no_public_signature_names_an_adapter(export: Any) -> None:
    assert [(where, module) for where, module in hints(export) if module.startswith("lakegate.adapters")] == []


def test_a_run_shows_its_table_name_key_and_outcome_and_nothing_of_how_it_is_carried_out() -> None:
    """Each public name is one that the page explains; whatever else a run has begins with an underscore."""
    here = set(inspect.getsource(wap.Branch.__init__).split())
    public = {match[1] for word in here if (match := re.match(r"self\.([a-z]\w*)", word))}
    methods = {name for name in vars(wap.Branch) if not name.startswith("_")}
    assert public | methods == {"append", "audit", "publish", "discard", "table", "name", "key", "published"}


@pytest.mark.parametrize("step", [wap.Branch.audit, wap.Branch.publish], ids=["audit", "publish"])
def test_what_a_step_takes_and_returns_is_exported(step: Callable[..., Any]) -> None:
    kinds = {kind for hint in get_type_hints(step).values() for kind in (hint, *get_args(hint))}
    ours = {kind for kind in kinds if getattr(kind, "__module__", "").startswith("lakegate")}
    assert ours
    assert ours <= set(EXPORTED)


@pytest.mark.nessie
def test_a_nessie_that_asks_who_calls_is_sent_the_function_s_token(
    guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in guarded.lake.environment.items():
        monkeypatch.setenv(name, value)
    uri, warehouse = guarded.lake.nessie_uri, guarded.lake.warehouse
    terms = contract(table=f"{unique('shop')}.orders")
    asked = list[str]()

    def token() -> str:
        asked.append(guarded.token(Role.PUBLISH))
        return asked[-1]

    with wap.wap(wap.Nessie(uri=uri, warehouse=warehouse, token=token), terms) as branch:
        branch.append(orders(1))
        assert branch.publish().rows == 1
    assert len(asked) > 1
    with pytest.raises(LakegateError), wap.wap(wap.Nessie(uri=uri, warehouse=warehouse), terms) as branch:
        branch.append(orders(2))
