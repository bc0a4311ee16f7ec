"""A stack's record of the choices that it was made with, in its template's metadata. A later deployment compares."""

from collections.abc import Mapping
from typing import Any

from infra.config import FIELDS, PYTHON, Config
from infra.former import CONSTANTS, NEW_NAMES, translate
from lakegate.deployment.choices import RUNTIME, Choices


def choices(config: Config) -> Choices:
    """Return an installation's choices, and the release's own of a runtime. They are names and numbers, and never a
    secret.
    """
    names = {name for name, field in FIELDS.items() if field in config.model_dump(exclude_defaults=True)}
    values = config.model_dump(mode="json", by_alias=True)
    return Choices(values={**values, RUNTIME: f"python{PYTHON}"}, given=frozenset(names))


def deployed_choices(template: Mapping[str, Any]) -> Choices | None:
    """Return the choices that a template records, those of an earlier release under the settings' current names."""
    record = Choices.of_template(template)
    if record is None or record.values.keys().isdisjoint(NEW_NAMES):
        return record
    pairs = {name: record.values[name] for name in record.given}
    leftovers = {name: value for name, value in pairs.items() if name in CONSTANTS}
    values = {**choices(Config()).values, **translate(record.values), **leftovers}
    return Choices(values=values, given=frozenset({*translate(pairs), *leftovers}))
