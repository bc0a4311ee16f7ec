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
    own_properties = [
        entry for entry in owner.entries("customProperties") if entry.plain("vendor") == vocabulary.OWN_VENDOR
    ]
    entries = [entry for entry in own_properties if entry.plain("property") == name]
    for repetition in entries[1:]:
        repetition.fault(f"{name} is given twice")
    return entries[0] if entries else None


def whole_number(owner: Item, name: str, default: int, limit: int | None = None) -> int:
    """Return a setting that is a number from 1 up to `limit`; note a fault if it is something else."""
    entry = setting(owner, name)
    if entry is None:
        return default
    value = entry.plain("value")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= (limit or value):
        entry.fault(f"{name} is {value!r}, and it is a whole number from 1 {f'to {limit:,}' if limit else 'up'}")
        return default
    return value


def choice(owner: Item, name: str, members: Iterable[Member]) -> Member:
    """Return a setting that is one of `members`, by default the first; note a fault if it is something else."""
    entry = setting(owner, name)
    value = entry.get("value") if entry else None
    return (value and one_of(value, members, name)) or next(iter(members))


def choices(owner: Item, name: str, members: Iterable[Member]) -> frozenset[Member]:
    """Return a setting that lists some of `members`, by default none; note a fault if it is something else."""
    entry = setting(owner, name)
    if entry is None:
        return frozenset()
    if not isinstance(entry.plain("value"), list):
        entry.fault(f"{name} is a list, such as [{next(iter(members))}]")
        return frozenset()
    return frozenset(member for entry in entry.entries("value") if (member := one_of(entry, members, name)))


def scope(owner: Item) -> Scope:
    """Return a check's scope, the batch alone or the whole table; note a fault if it is neither."""
    return choice(owner, SCOPE, Scope)
