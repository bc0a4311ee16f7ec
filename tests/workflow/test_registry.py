"""Contracts as workers meet them in the registry, loaded once and asked for again and again."""

import gc
from contextlib import suppress
from weakref import ref

import pytest

from lakegate.errors import ContractFaults, Misconfigured, Refused
from lakegate.testing import MemoryStore
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import contract_name, contract_of, push
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.status import status
from tests.workflow.world import CONTRACT, TABLE, World


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
    [run] = world.runner.running()
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
