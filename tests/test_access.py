"""The rules of access, beside a table by hand: no rule can be left out, or widened, and the table still hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from lakegate.access import ANYWHERE, BY_TAG, RULES, Operation, Role, Rule, may, nessie_settings
from lakegate.landing.attempts import PREFIX
from lakegate.ports import MAIN

MANUAL = Path(__file__).parents[1].joinpath("docs/how-to/identities.md").read_text()
BRANCH, OTHER = "wap-nyc.flights-20130131T0405-1a2b3c4d-a1", "other"
REFS = (MAIN, BRANCH, OTHER)
TABLE, RECEIPT, ASIDE, LIKE = "nyc.flights", "_lakegate.receipts.k", "_quarantine.nyc_flights", "_lakegate_too.t"
AUDIT = "_audits.nyc_flights"
PATHS = ("", TABLE, RECEIPT, "_lakegate", ASIDE, LIKE, AUDIT, "_audits", "_audits_too.t")
READS = (
    "VIEW_REFERENCE",
    "READ_ENTRIES",
    "READ_CONTENT_KEY",
    "READ_ENTITY_VALUE",
    "LIST_COMMIT_LOG",
    "READ_REPOSITORY_CONFIG",
)
WRITES = ["CREATE_ENTITY", "UPDATE_ENTITY", "DELETE_ENTITY"]


def by_hand(role: str, operation: str, ref: str, path: str) -> bool:
    """Return what each role is meant to do, in words of this test's own."""
    ledger, commits = path in (RECEIPT, "_lakegate"), operation == "COMMIT_CHANGE_AGAINST_REFERENCE"
    if operation in READS:
        return role != "reader" or (ref == MAIN and (not path.startswith("_") or path in (AUDIT, "_audits")))
    if role in ("reader", "observer"):
        return False
    if role == "spark":
        return ref == BRANCH and (commits or (operation in WRITES and not ledger))
    if operation in WRITES:
        return ref == BRANCH or (ref == MAIN and (ledger or role == "publish"))
    made = operation in ("CREATE_REFERENCE", "DELETE_REFERENCE")
    return (made and ref == BRANCH) or (commits and ref in (MAIN, BRANCH))


def differing(rules: Iterable[Rule]) -> list[tuple[str, str, str, str]]:
    """The questions that these rules answer otherwise than the table by hand."""
    asked = product(Role, Operation, REFS, PATHS)
    return [each for each in asked if may(*each, rules=tuple(rules)) != by_hand(*map(str, each))]


def test_each_role_may_do_what_is_meant_and_nothing_else() -> None:
    assert differing(RULES) == []


def test_nobody_assigns_a_reference_or_touches_main_as_a_reference() -> None:
    never = product(Role, (Operation.ASSIGN_REFERENCE, Operation.UPDATE_REPOSITORY_CONFIG), REFS, PATHS)
    assert not [each for each in never if may(*each)]
    for_main = product(Role, (Operation.CREATE_REFERENCE, Operation.DELETE_REFERENCE), (MAIN, OTHER), PATHS)
    assert not [each for each in for_main if may(*each)]


def changes() -> Iterator[tuple[str, tuple[Rule, ...]]]:
    """The rules with one of them left out, narrowed by one role or operation, or widened by one role or condition."""
    for number, rule in enumerate(RULES):
        its: dict[str, tuple[Rule, ...]] = {"left out": ()}
        for role in rule.roles:
            its[f"not for {role}"] = (replace(rule, roles=tuple(set(rule.roles) - {role})),)
        for role in set(Role) - set(rule.roles):
            its[f"for {role}"] = (replace(rule, roles=(*rule.roles, role)),)
        for operation in rule.operations:
            its[f"without {operation}"] = (replace(rule, operations=tuple(set(rule.operations) - {operation})),)
        its["with assigning"] = (replace(rule, operations=(*rule.operations, Operation.ASSIGN_REFERENCE)),)
        its["on all references"] = (replace(rule, refs=ANYWHERE),)
        its["on all paths"] = (replace(rule, paths=ANYWHERE),)
        yield from ((f"{rule.name} {what}", (*RULES[:number], *new, *RULES[number + 1 :])) for what, new in its.items())


GIVEN_ANYWAY = {  # by the rule itself, which has no such condition, or by another
    *(f"read-main for {role}" for role in ("spark", "ingest", "publish", "observer")),
    *(f"{rule} for {role}" for rule in ("append", "append-commit") for role in ("ingest", "publish")),
    "read-all on all references",
    *(f"{rule} on all paths" for rule in ("read-all", "append-commit", "branches", "commit", "claim", "publish")),
}
CHANGES = dict(sorted(changes()))


@pytest.mark.parametrize("change", CHANGES)
def test_a_rule_that_is_left_out_narrowed_or_widened_shows(change: str) -> None:
    assert bool(differing(CHANGES[change])) != (change in GIVEN_ANYWAY)


def test_the_rules_speak_of_the_references_and_paths_that_the_workflow_uses() -> None:
    assert BRANCH.startswith(PREFIX)
    assert f"ref.startsWith('{PREFIX}')" in " ".join(rule.cel(BY_TAG) for rule in RULES)
    assert f"ref == '{MAIN}'" in " ".join(rule.cel(BY_TAG) for rule in RULES)


def test_the_manual_shows_nessie_s_settings_as_they_are() -> None:
    settings = nessie_settings("https://<issuer>", "<audience>")
    assert "\n".join(f"{name}={value}" for name, value in settings.items()) in MANUAL


CLIENTS = {Role.SPARK: ("c1",), Role.INGEST: ("c2",), Role.PUBLISH: ("c3",), Role.OBSERVER: ("c4", "c5")}


def test_the_rules_name_clients_where_another_issuer_says_who_calls() -> None:
    by_tag = nessie_settings("https://issuer", "lake")
    by_client = nessie_settings("https://issuer", "lake", "azp", CLIENTS | {Role.READER: ("c6", "c7")})
    changed = {name: value for name, value in by_client.items() if by_tag.get(name) != value}
    rules = {name.rpartition(".")[2]: value for name, value in changed.items() if ".rules." in name}
    assert (changed["quarkus.oidc.roles.role-claim-path"], changed["quarkus.oidc.token.principal-claim"]) == (
        "azp",
    ) * 2
    assert rules.keys() == {rule.name for rule in RULES}
    assert "('c6' in roles || 'c7' in roles)" in rules["read-main"]
    assert "('c1' in roles || 'c2' in roles || 'c3' in roles || 'c4' in roles || 'c5' in roles)" in rules["read-all"]
    assert not [role for role in Role if f"'{role}'" in " ".join(rules.values())]


def test_a_rule_for_nobody_is_left_out_and_an_audience_that_tokens_lack_is_not_asked_for() -> None:
    settings = nessie_settings("https://issuer", "", "client_id", CLIENTS | {Role.READER: ()})
    left_out = nessie_settings("https://issuer", "lake").keys() - settings.keys()
    assert left_out == {"nessie.server.authorization.rules.read-main", "quarkus.oidc.token.audience"}
