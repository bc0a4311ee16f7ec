"""Chains of calls, as the local cloud counts them."""

from __future__ import annotations

import json

from lakegate_localstack.chains import Chains


def test_the_seventeenth_call_of_a_function_in_a_chain_is_one_too_many() -> None:
    chains = Chains()
    assert all(chains.go_on("root", name, f"{name}{number}") for number in range(16) for name in ("settle", "express"))
    assert not chains.go_on("root", "settle", "settle16")
    assert chains.go_on("another", "settle", "settle17")


def test_a_destination_goes_on_with_the_chain_of_the_call_whose_result_it_is() -> None:
    chains = Chains()
    chains.go_on("first", "express", "call-1")
    result = json.dumps({"requestContext": {"requestId": "call-1"}, "responsePayload": None}).encode()
    assert chains.root(result, "new") == "first"
    assert chains.root(json.dumps({"requestContext": {"requestId": "call-2"}}).encode(), "new") == "new"
    assert chains.root(b"{}", "new") == chains.root(b"not JSON", "new") == chains.root(b"[]", "new") == "new"
