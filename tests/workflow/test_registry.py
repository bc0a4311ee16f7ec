"""Contracts as workers meet them in the registry, loaded once and asked for again and again."""

import gc
from contextlib import suppress
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.errors import ContractFaults, Misconfigured, Refused
from lakegate.testing import MemoryStore
from lakegate.workflow import registry
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import Registry, contract_name, contract_of, push
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.status import status
from tests.world.world import CONTRACT, TABLE, World


def test_a_contract_that_does_not_load_holds_on_to_nobody_who_met_it() -> None:
    store = MemoryStore()
    store.write(contract_name("nyc.flights"), b"schema: [")
    met = ref(store)
    with suppress(ContractFaults):
        contract_of(store, "nyc.flights")
    del store
    gc.collect()
    assert met() is None


def test_a_route_goes_over_to_a_table_of_its_own_and_a_batch_stays_with_its_table() -> None:
    world = World()
    world.drop("1", rows=1, bad="a narrower type")
    world.run()
    [line] = status(world.service).rejected
    new = CONTRACT.replace("nyc.flights", "nyc.flights_anew").encode()
    with pytest.raises(Refused, match="overlaps"):
        push(world.store, [("new.yaml", new)])
    push(world.store, [("new.yaml", new), ("old.yaml", CONTRACT.replace("nyc/flights/", "nyc/before/").encode())])
    assert retry(world.service, line.batch).attempts[0].table == TABLE
    world.run()
    assert discard(world.service, line.batch, "it goes to a table of its own", "me") == 1
    world.drop("1 again", rows=1, under=world.key("1"), body=world.body_of("1"))
    assert world.last_job().plan.table == "nyc.flights_anew"


def routed(pattern: str) -> list[tuple[str, bytes]]:
    return [("flights.yaml", CONTRACT.replace("nyc/flights/**", pattern).encode())]


@pytest.mark.parametrize("pattern", ["nyc/flights/*", "**/flights/*", "*/flights/**", "shop/flights.parquet"])
def test_a_route_of_which_files_land_below_a_prefix_is_pushed(pattern: str) -> None:
    store = MemoryStore()
    [contract] = push(store, routed(pattern), ["nyc/flights/", "shop/"])
    assert contract_of(store, TABLE) == contract


@pytest.mark.parametrize("pattern", ["other/**", "nyc/flights", "*.parquet", "nyc/*"])
def test_a_route_of_which_no_file_lands_below_a_prefix_is_not_pushed_and_neither_are_the_others(pattern: str) -> None:
    store = MemoryStore()
    other = ("planes.yaml", CONTRACT.replace("nyc.flights", "nyc.planes").replace("nyc/flights/", "shop/").encode())
    with pytest.raises(Misconfigured, match=r"of nyc.flights lies outside .*\n.* below nyc/flights/, shop/\. Change"):
        push(store, [other, *routed(pattern)], ["nyc/flights/", "shop/"])
    assert list(store.names("")) == []


def test_a_job_knows_the_columns_of_other_tables_but_not_of_very_wide_ones() -> None:
    world = World()
    anew = CONTRACT.replace("nyc.flights", "nyc.{0}").replace("nyc/flights/", "nyc/{0}/")
    wide = "".join(f"      - {{name: c{number}, logicalType: string}}\n" for number in range(61))
    at = anew.index("    properties:\n") + len("    properties:\n")
    other = f"{anew[:at]}{wide}{anew[at:]}"
    push(world.store, [(f"{name}.yaml", text.replace("{0}", name).encode())
                       for name, text in (("planes", anew), ("wide", other))])  # fmt: skip
    world.drop("1", rows=1)
    [run] = world.runner.open_runs()
    known = world.runner.job(run.id).neighbours
    assert list(known) == ["nyc.planes"]
    assert known["nyc.planes"] == tuple(column.name for column in world.runner.job(run.id).plan.columns)


RULE = "      - {type: custom, engine: lakegate, implementation: {row: '%s'}}\n"
ACCEPTED_BEFORE = {
    "files to register": (
        "    customProperties:\n      - {property: write, vendor: lakegate, value: register}\n",
        "write append",
    ),
    "a rule that no row fails": ("    quality:\n" + RULE % "a = a or a is null", "holds for every row"),
    "a column in double quotes": ("    quality:\n" + RULE % 'a > 5 or "A" = "bad"', "write `a`"),
    "a bound that every number meets": (
        "    quality: [{metric: rowCount, mustBeGreaterOrEqualTo: 0}]\n",
        "write a bound",
    ),
}
"""Lines of a contract that earlier releases took, and what is said of them now."""


@pytest.mark.parametrize("lines", ACCEPTED_BEFORE)
def test_files_of_a_contract_that_is_refused_from_now_on_wait_for_a_mended_one_and_others_go_on(lines: str) -> None:
    more, said = ACCEPTED_BEFORE[lines]
    world = World()
    planes = CONTRACT.replace("nyc-flights", "nyc-planes").replace(TABLE, "nyc.planes").replace("flights", "planes")
    push(world.store, [("planes.yaml", planes.encode())])
    world.store.write(contract_name(TABLE), (CONTRACT + more).encode())  # as an earlier release has stored it

    world.drop("1", rows=3)
    world.drop("nyc/planes/1", rows=2, absolute=True)
    world.run()

    now = status(world.service)
    assert [line.table for line in now.published] == ["nyc.planes"]
    assert [line.files for line in now.unrouted] == [(world.key("1"),)]
    [broken_contracts] = now.broken_contracts
    assert broken_contracts.table == TABLE
    assert said in broken_contracts.first.message
    assert broken_contracts.first.line > CONTRACT.count("\n")
    assert broken_contracts.first.message in now.unrouted[0].reasons[0]
    world.push_contract()
    reconcile(world.service)
    world.run()
    assert world.rows_on_main()["1"] == 3
    assert (status(world.service).unrouted, status(world.service).broken_contracts) == ((), ())


def test_a_batch_under_way_whose_contract_is_refused_meanwhile_is_published_once_a_mended_one_is_pushed() -> None:
    world = World()
    world.drop("1", rows=3)
    world.store.write(contract_name(TABLE), (CONTRACT + ACCEPTED_BEFORE["files to register"][0]).encode())
    world.runner.finish_all()
    world.wait_out_the_grace()
    assert any("write: register is refused" in str(error) for error in reconcile(world.service))
    assert world.rows_on_main() == {}

    world.push_contract()
    reconcile(world.service)

    assert world.rows_on_main() == {"1": 3}


def contract(name: str, longer: int = 0) -> bytes:
    """The contract of a table of its own, so many bytes longer."""
    text = CONTRACT.replace("nyc-flights", f"nyc-{name}").replace(TABLE, f"nyc.{name}").replace("flights", name)
    return (text + f"# {'x' * longer}\n").encode()


ROOM = len(contract("t0")) * 3 + 100
"""Bytes for three contracts, and not for four."""


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(registry, "MOST_BYTES", ROOM)
    world = World()
    world.store.delete(contract_name(TABLE))
    push(world.store, [(f"{name}.yaml", contract(name)) for name in ("t0", "t1", "t2")])
    return world


def test_a_push_beyond_the_bytes_of_all_contracts_is_refused_with_what_to_do(full: World) -> None:
    before = {name: full.store.read(name) for name in full.store.names("contracts/")}
    for pushed in ([("t3", 0)], [("t0", 200)], [("t0", 60), ("t1", 60)], [("t3", 0), ("t4", 0)]):
        with pytest.raises(Refused, match=f"the limit is {ROOM:,}: take out what is not needed .* deleted from the"):
            push(full.store, [(name, contract(name, longer)) for name, longer in pushed])
    assert {name: full.store.read(name) for name in full.store.names("contracts/")} == before
    push(full.store, [("t0", contract("t0", 50))])  # it fits


def test_a_push_beyond_the_number_of_contracts_is_refused(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "MOST_BYTES", 10**9)
    monkeypatch.setattr(registry, "MOST_CONTRACTS", 3)
    with pytest.raises(Refused, match="there would be 4 contracts, and the limit is 3: "):
        push(full.store, [("t3", contract("t3"))])
    push(full.store, [("t2", contract("t2", 50))])


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_CONTRACTS"])
def test_of_a_registry_beyond_its_limit_what_fits_goes_on_and_the_rest_is_named_and_waits(
    full: World, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    full.store.write(contract_name("nyc.t9"), contract("t9", 300))  # as an earlier release has stored it
    monkeypatch.setattr(registry, "MOST_BYTES", ROOM if limit == "MOST_BYTES" else 10**9)
    monkeypatch.setattr(registry, "MOST_CONTRACTS", 3 if limit == "MOST_CONTRACTS" else 10**9)
    for name in ("t0", "t9"):
        full.drop(f"nyc/{name}/1", rows=2, absolute=True)
    full.run()
    now = status(full.service)
    assert [line.table for line in now.published] == ["nyc.t0"]
    [unloaded], [line] = now.broken_contracts, now.unrouted
    assert unloaded.table == "nyc.t9"
    assert "this one is left out: take out what is not needed" in unloaded.first.message
    assert unloaded.first.message in line.reasons[0]

    push(full.store, [("t1", contract("t1"))])  # no longer and no more than before
    monkeypatch.setattr(registry, limit, 10**9)
    reconcile(full.service)
    full.run()
    assert {line.table for line in status(full.service).published} == {"nyc.t0", "nyc.t9"}


@settings(max_examples=50, deadline=None)
@given(longer=st.lists(st.integers(0, 3 * ROOM), max_size=6))
def test_what_is_loaded_of_a_registry_is_never_more_than_its_limit(longer: list[int]) -> None:
    store = MemoryStore()
    for number, more in enumerate(longer):
        store.write(contract_name(f"nyc.t{number}"), contract(f"t{number}", more))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "MOST_BYTES", ROOM)
        found = Registry.read(store)
    assert len(found.contracts) + len(found.broken_contracts) == len(longer)
    assert sum(len(store.read(contract_name(it.table)) or b"") for it in found.contracts) <= ROOM


def test_contracts_are_kept_between_two_readings_as_many_as_there_may_be() -> None:
    assert (registry._load.cache_info().maxsize or 0) >= registry.MOST_CONTRACTS
