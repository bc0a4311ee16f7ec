"""Our own settings in a contract: `customProperties` with `vendor: lakegate`. It does not know which belong where:
`vocabulary` does.
"""

from collections.abc import Iterable

from lakegate.audit.model.plan import Scope
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.vocabulary import Member, one_of

SCOPE = "scope"


def setting(owner: Item, name: str) -> Item | None:
    """Return the entry of that name among the item's `customProperties`, if it is ours; note a fault for another
    one.
    """
    ours = [each for each in owner.each("customProperties") if each.plain("vendor") == vocabulary.OURS]
    found = [each for each in ours if each.plain("property") == name]
    for again in found[1:]:
        again.fault(f"{name} is given twice")
    return found[0] if found else None


def whole_number(owner: Item, name: str, default: int, most: int | None = None) -> int:
    """Return a setting that is a number from 1 up to `most`; note a fault if it is something else."""
    said = setting(owner, name)
    if said is None:
        return default
    value = said.plain("value")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= (most or value):
        said.fault(f"{name} is {value!r}, and it is a whole number from 1 {f'to {most:,}' if most else 'up'}")
        return default
    return value


def choice(owner: Item, name: str, known: Iterable[Member]) -> Member:
    """Return a setting that is one of `known`, by default the first; note a fault if it is something else."""
    said = setting(owner, name)
    value = said.get("value") if said else None
    return (value and one_of(value, known, name)) or next(iter(known))


def several(owner: Item, name: str, known: Iterable[Member]) -> frozenset[Member]:
    """Return a setting that lists some of `known`, by default none; note a fault if it is something else."""
    said = setting(owner, name)
    if said is None:
        return frozenset()
    if not isinstance(said.plain("value"), list):
        said.fault(f"{name} is a list, such as [{next(iter(known))}]")
        return frozenset()
    return frozenset(member for each in said.each("value") if (member := one_of(each, known, name)))


def scope(owner: Item) -> Scope:
    """Return a check's scope, the batch alone or the whole table; note a fault if it is neither."""
    return choice(owner, SCOPE, Scope)
