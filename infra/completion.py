"""Completion of settings by what nobody has to choose. It is pure; what an account has is filled in by a deployment."""

import re
from collections.abc import Mapping

from infra.config import DEFAULTS
from lakegate.doctor.checks import TESTED_RELEASE

IMAGE = f"quay.io/projectnessie/nessie:{'.'.join(map(str, TESTED_RELEASE))}"
AUDIENCE = "lakegate"
NAME = re.compile("[a-z0-9-]+")
OF_THE_STACK = "catalog."  # settings that ask for a Nessie by their table alone


def with_defaults(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a settings file, with those of a catalog stack unless they name a Nessie that is there."""
    pairs = {name: value for name, value in values.items() if value not in ("", None)}
    if "nessie.uri" in pairs and not any(name.startswith(OF_THE_STACK) for name in pairs):
        return pairs
    name = pairs.get("name", DEFAULTS["name"])
    defaults = {
        "nessie.uri": f"https://{name if NAME.fullmatch(str(name)) else 'wrong'}-nessie.internal",
        "catalog.image": IMAGE,
        "network.vpc": "create",
        **({} if "token.endpoint" in pairs else {"token.audience": AUDIENCE}),
    }
    return {**defaults, **pairs}
