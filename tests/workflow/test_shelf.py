"""Contracts as workers meet them on the shelf, loaded once and asked for again and again."""

import gc
from contextlib import suppress
from weakref import ref

from lakegate.errors import ContractFaults
from lakegate.testing import MemoryStore
from lakegate.workflow.shelf import contract_name, contract_of


def test_a_contract_that_does_not_load_holds_on_to_nobody_who_met_it() -> None:
    store = MemoryStore()
    store.write(contract_name("nyc.flights"), b"schema: [")
    met = ref(store)
    with suppress(ContractFaults):
        contract_of(store, "nyc.flights")
    del store
    gc.collect()
    assert met() is None
