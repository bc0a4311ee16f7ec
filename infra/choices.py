"""A stack's record of the choices that it was made with, in its template's metadata. A later deployment compares."""

from dataclasses import asdict, fields

from infra.config import Config
from lakegate.deployment.choices import Choices


def choices(config: Config) -> Choices:
    """Return an installation's choices. They are names and numbers, and never a secret."""
    given = {field.name for field in fields(config) if getattr(config, field.name) != field.default}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(config).items()}
    return Choices(values=values, given=frozenset(given))
