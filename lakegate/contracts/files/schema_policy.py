"""A contract's policy for files with other columns than its own, from the table's settings. It judges no file."""

from lakegate.audit.model.plan import SchemaPolicy, Stance
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item

_STANCES = {
    "newColumns": ("new_columns", (Stance.FREEZE, Stance.EVOLVE, Stance.DISCARD)),
    "missingColumns": ("missing_columns", (Stance.FREEZE, Stance.ALLOW)),
    "widenedTypes": ("widened_types", (Stance.FREEZE, Stance.EVOLVE)),
    "narrowedTypes": ("narrowed_types", (Stance.ALLOW, Stance.FREEZE)),
    "reorderedColumns": ("reordered_columns", (Stance.ALLOW, Stance.FREEZE)),
}


def policy_of(table: Item) -> SchemaPolicy:
    """Return the table's policy; note a fault for a stance that a setting does not take, or for a setting given
    twice.
    """
    chosen: dict[str, Stance] = {}
    for setting in table.each("customProperties"):
        name, value = setting.plain("property"), setting.get("value")
        if setting.plain("vendor") != vocabulary.OURS or name not in _STANCES or value is None:
            continue
        field, stances = _STANCES[name]
        if field in chosen:
            setting.fault(f"{name} is given twice")
        elif value.value not in list(stances):
            known = " or ".join(stances)
            value.fault(f"{name} is {value.value!r}, and it can be {known}{vocabulary.hint(str(value.value), stances)}")
        else:
            chosen[field] = Stance(value.value)
    return SchemaPolicy(**chosen)
