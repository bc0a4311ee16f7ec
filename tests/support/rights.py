"""The tables of docs/reference/rights.md: what each role may do in Nessie, by its rules, and on AWS, by the stack's own
policies. `python -m tests.support.rights` writes them.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from lakegate.access import Operation, Role, may
from lakegate.landing.attempts import PREFIX
from lakegate.ports import MAIN
from tests.infra.template import Stack, flat
from tests.support.iam import listed

PAGE = Path(__file__).parents[2] / "docs/reference/rights.md"
MARKS = ("nessie", "aws")
BRANCH, TABLE, RECEIPT = f"{PREFIX}nyc.flights-a1", "nyc.flights", "_lakegate.receipts.k"
IN_NESSIE = {
    "read tables on `main`": (Operation.READ_ENTITY_VALUE, MAIN, TABLE),
    "read audits on `main`": (Operation.READ_ENTITY_VALUE, MAIN, "_audits.nyc_flights"),
    "read everything": (Operation.READ_ENTITY_VALUE, BRANCH, RECEIPT),
    f"open and delete `{PREFIX}*`": (Operation.CREATE_REFERENCE, BRANCH, ""),
    f"write tables on `{PREFIX}*`": (Operation.UPDATE_ENTITY, BRANCH, TABLE),
    f"claim files on `{PREFIX}*`": (Operation.CREATE_ENTITY, BRANCH, RECEIPT),
    "decide files on `main`": (Operation.CREATE_ENTITY, MAIN, RECEIPT),
    "write tables on `main`": (Operation.UPDATE_ENTITY, MAIN, TABLE),
    "move `main`": (Operation.ASSIGN_REFERENCE, MAIN, ""),
}
ROLES = ("Ingest", "Settle", "Reconcile", "Read", "Act", "Express", "Canary", "Spark")
BUCKETS = {"StorageLanding": "landing bucket", "StorageLake": "lake bucket", "StorageService": "service's bucket"}


def nessie() -> str:
    """Write the table of rights in Nessie."""
    rows = [[f"`{role}`", *("yes" if may(role, *asked) else "" for asked in IN_NESSIE.values())] for role in Role]
    return table(["role", *IN_NESSIE], rows)


def aws(stack: Stack) -> str:
    """Return what the role of each function, and of jobs, may do on AWS."""
    return "\n\n".join(f"### {role.lower()}\n\n{_role(stack, role)}" for role in ROLES)


def _role(stack: Stack, role: str) -> str:
    by_place: dict[str, set[str]] = defaultdict(set)
    for action, resource in _allowed(stack, role):
        by_place[place(resource)].add(action)
    by_actions: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for where, actions in sorted(by_place.items()):
        by_actions[tuple(sorted(actions))].append(where)
    rows = [
        [", ".join(f"`{action}`" for action in actions), ", ".join(places)]
        for actions, places in sorted(by_actions.items())
    ]
    return table(["may", "on"], rows)


def _allowed(stack: Stack, role: str) -> Iterator[tuple[str, str]]:
    for statement in stack.statements(f"{role}Role"):
        for action in listed(statement["Action"]):
            for resource in listed(statement["Resource"]):
                yield str(action), flat(resource)


def place(resource: str) -> str:
    """A resource in words: a bucket by its name here, whatever else by its part of the stack."""
    found = re.search(r"<([A-Za-z]+?)[0-9A-F]{8}(?:\.\w+)?>(.*)$", resource)
    if not found:
        plain = re.sub(r"<[^<>]*>", "…", resource)
        return "anything" if plain == "*" else f"`{plain}`"
    part, rest = found[1], found[2]
    bucket = next((name for start, name in BUCKETS.items() if part.startswith(start)), "")
    named = bucket or f"`{part}`"
    return f"{named} `{rest.removeprefix('/')}`" if rest else named


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows)]
    return "\n".join(lines)


def written(mark: str) -> str:
    """Return what stands in the page between the marks."""
    return (
        PAGE.read_text(encoding="utf-8").split(f"<!-- {mark}: begin -->")[1].split(f"<!-- {mark}: end -->")[0].strip()
    )


def write(mark: str, text: str) -> None:
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    PAGE.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}", encoding="utf-8")


def main() -> None:
    from tests.infra.conftest import CONTEXT, made_up

    write("nessie", nessie())
    with tempfile.TemporaryDirectory() as folder:
        synthesised = made_up(CONTEXT, Path(folder)).synth()
        write("aws", aws(Stack.of(each.template for each in synthesised.stacks)))


if __name__ == "__main__":
    main()
