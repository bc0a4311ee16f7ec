"""An installation's choices as its template records them, and what a deployment of others changes. It is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

RECORD = "Lakegate"  # of the template's metadata, which a later deployment reads
NO_RECORD = "choices"  # accepts a stack that has no record
RUNTIME = "runtime"  # of the functions, which a release chooses and nobody gives
REPLACING = frozenset(  # a catalog, an identity, a bucket or a time that was there without being given
    {
        "catalog.image",
        "token.audience",
        "token.endpoint",
        "landing.folders",
        "landing.keep_days",
        "ephemeral",
    }
)


class Kind(StrEnum):
    """A difference between a deployed value and a new one."""

    DROPPED = "dropped"  # it was given, and is not any more
    CHANGED = "changed"
    ADDED = "added"  # it was off


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Every setting's value as JSON has it; `given` are those that differ from their default."""

    values: Mapping[str, Any]
    given: frozenset[str]

    @classmethod
    def of_template(cls, template: Mapping[str, Any]) -> Self | None:
        """Return the choices that a template records, or None if it records none."""
        record = template.get("Metadata", {}).get(RECORD)
        return None if record is None else cls(values=record["values"], given=frozenset(record["given"]))

    def to_metadata(self) -> dict[str, Any]:
        return {RECORD: {"values": dict(self.values), "given": sorted(self.given)}}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One setting's deployed value and its new one. It `stops` a deployment until a person accepts it by its name."""

    name: str
    kind: Kind
    before: object
    after: object
    means: str = ""
    stops: bool = True


def differences(before: Choices | None, after: Choices) -> list[Difference]:
    """Return what a deployment changes. What is dropped or changed stops it, and what is added does where it takes the
    place of something.
    """
    if before is None:
        means = "the deployed stack has no record of its choices: compare them by hand this once"
        return [Difference(name=NO_RECORD, kind=Kind.DROPPED, before="unknown", after="", means=means)]
    names = {**after.values, **before.values}
    return [_difference(name, before, after) for name in names if _differs(name, before, after)]


def second(name: str, other_names: Sequence[str]) -> list[Difference]:
    """Return the difference of an installation that is not there yet, beside others that are."""
    means = "this makes a second installation, with buckets of its own, and changes nothing of the one that is there"
    return (
        [Difference(name="name", kind=Kind.CHANGED, before=", ".join(other_names), after=name, means=means)]
        if other_names
        else []
    )


def _differs(name: str, before: Choices, after: Choices) -> bool:
    """Return True unless the values are equal, or the setting is new in this release and not given."""
    is_known = name in before.values or name in after.given
    return is_known and before.values.get(name) != after.values.get(name)


def _difference(name: str, before: Choices, after: Choices) -> Difference:
    kind = _kind(name, before, after)
    return Difference(
        name=name,
        kind=kind,
        before=before.values.get(name),
        after=after.values.get(name),
        means="" if name in after.values else "this release has no such setting",
        stops=name != RUNTIME and (kind is not Kind.ADDED or name in REPLACING),
    )


def _kind(name: str, before: Choices, after: Choices) -> Kind:
    if name in before.given and name not in after.given:
        return Kind.DROPPED
    return Kind.CHANGED if name in before.given or before.values.get(name) else Kind.ADDED
