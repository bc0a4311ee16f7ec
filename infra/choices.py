"""A stack's record of the choices that it was made with, in its template's metadata. A later deployment compares."""

from dataclasses import asdict, fields

from infra.config import PYTHON, Config
from lakegate.deployment.choices import RUNTIME, Choices


def choices(config: Config) -> Choices:
    """Return an installation's choices, and the release's own of a runtime. They are names and numbers, and never a
    secret.
    """
    given = {field.name for field in fields(config) if getattr(config, field.name) != field.default}
    values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(config).items()}
    return Choices(values={**values, RUNTIME: f"python{PYTHON}"}, given=frozenset(given))
