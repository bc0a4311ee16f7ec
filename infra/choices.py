"""A stack's record of the choices that it was made with, in its template's metadata. A later deployment compares."""

from infra.config import DEFAULTS, PYTHON, Config
from lakegate.deployment.choices import RUNTIME, Choices


def choices(config: Config) -> Choices:
    """Return an installation's choices, and the release's own of a runtime. They are names and numbers, and never a
    secret.
    """
    names = {name for name, default in DEFAULTS.items() if getattr(config, name) != default}
    return Choices(values={**config.model_dump(mode="json"), RUNTIME: f"python{PYTHON}"}, given=frozenset(names))
