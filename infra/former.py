"""Settings of earlier releases, whose files and records were flat, in their current form."""

import json
import re
from collections.abc import Mapping

from infra.config import FIELDS

NEW_NAMES = {
    **{name.split(".")[1]: name for name in FIELDS if "." in name},  # most names had no table before them
    **{field: name for name, field in FIELDS.items() if field != name},
    "nessie_image": "catalog.image",
    "catalog_host": "nessie.uri",
    "catalog_zone": "catalog.certificate",
    "azs": "network.zones",
    "landing_bucket": "landing.folders",
    "landing_prefixes": "landing.folders",
    "landing_days": "landing.keep_days",
    "job_timeout_minutes": "spark.timeout_minutes",
    "batch_window": "batch.window_seconds",
    "express": "batch.express_megabytes",
}
CONSTANTS = {  # with what holds instead
    "warehouse": "Nessie's warehouse is named lake",
    "slack_api": "Slack's secret has it, after the token and a space",
    "runbook": "alarms name the pages of docs/runbook",
    "undecided_minutes": "it is four times spark.timeout_minutes",
    "rejected_percent": "the alarm goes off when half of twenty files or more were rejected",
    "architecture": "functions run on ARM64",
    "reconcile_minutes": "it is 5",
    "grace_seconds": "it is batch.window_seconds and 100",
    "compact_after_days": "it is 14",
    "attempts": "it is 3",
}


def translate(values: Mapping[str, object]) -> dict[str, object]:
    """Return values under the settings' current names, without those that are empty or have no setting any more."""
    pairs = {name: value for name, value in values.items() if name not in CONSTANTS and value not in ("", [], None)}
    if host := pairs.pop("catalog_host", ""):
        pairs["nessie_uri"] = f"https://{host}"
    if not pairs.pop("express", True):
        pairs["express_megabytes"] = 0
    prefixes, bucket = pairs.pop("landing_prefixes", [""]), pairs.pop("landing_bucket", "")
    if bucket and isinstance(prefixes, list):
        pairs["landing_folders"] = [f"s3://{bucket}/{prefix}" for prefix in prefixes]
    return {NEW_NAMES.get(name, name): value for name, value in pairs.items()}


def new_form(values: Mapping[str, object]) -> str:
    """Return the settings file, in TOML, that says what the values of an earlier release's file say."""
    pairs = translate(values)
    tables: dict[str, list[str]] = {"": []}
    for name in sorted(pairs, key=[*FIELDS, *pairs].index):
        table, key = name.split(".", 1) if "." in name else ("", name)
        lines = tables.setdefault(table, [f"[{_key(table)}]"])
        lines.append(f"{_key(key)} = {_toml(pairs[name])}")
    parts = ["\n".join(lines) for lines in tables.values() if lines]
    parts += [f"# {name} is left out: {words}" for name, words in CONSTANTS.items() if name in values]
    return "\n\n".join(parts) + "\n"


def _key(text: str) -> str:
    return text if re.fullmatch(r"[\w-]+", text, re.ASCII) else _toml(text)


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")
