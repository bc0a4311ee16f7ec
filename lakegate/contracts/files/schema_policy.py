"""A contract's policy for files with other columns than its own, from the table's settings. It judges no file."""

from lakegate.audit.model.plan import SchemaPolicy, Stance
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.settings import choice

_STANCES = {
    "newColumns": ("new_columns", (Stance.FREEZE, Stance.EVOLVE, Stance.DISCARD)),
    "missingColumns": ("missing_columns", (Stance.FREEZE, Stance.ALLOW)),
    "widenedTypes": ("widened_types", (Stance.FREEZE, Stance.EVOLVE)),
    "narrowedTypes": ("narrowed_types", (Stance.ALLOW, Stance.FREEZE)),
    "reorderedColumns": ("reordered_columns", (Stance.ALLOW, Stance.FREEZE)),
}


def policy_of(table: Item) -> SchemaPolicy:
    """Return the table's policy; note a fault for a stance that a setting does not take."""
    return SchemaPolicy(**{field: choice(table, name, stances) for name, (field, stances) in _STANCES.items()})
