"""Our own settings in a contract: `customProperties` with `vendor: lakegate`. Which are known where, words says."""

from lakegate.audit.plan import Scope
from lakegate.contracts import words
from lakegate.contracts.document import Item

SCOPE = "scope"


def setting(owner: Item, name: str) -> Item | None:
    """The entry of that name among the item's `customProperties`, if it is ours."""
    ours = [each for each in owner.each("customProperties") if each.plain("vendor") == words.OURS]
    return next((each for each in ours if each.plain("property") == name), None)


def scope(owner: Item) -> Scope:
    """Whether a check is about the batch alone or about the whole table; a fault where it says neither."""
    said = setting(owner, SCOPE)
    value = said.plain("value") if said else Scope.BATCH.value
    if said and value not in list(Scope):
        said.fault(f"{SCOPE} is {value!r}, and it can be batch or table")
        return Scope.BATCH
    return Scope(value)
