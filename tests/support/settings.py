"""Settings files for tests: values by the fields' names, as TOML's dotted keys."""

from __future__ import annotations

import json
from pathlib import Path

from infra.config import setting_name


def settings_text(**fields: object) -> str:
    return "".join(f"{setting_name(name)} = {json.dumps(value)}\n" for name, value in fields.items())


def settings_file(path: Path, **fields: object) -> Path:
    path.write_text(settings_text(**fields))
    return path
