"""Settings of the local cloud, all LAKEGATE_LOCAL_* variables. Only this module reads the environment here."""

import math
import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any, Self

from lakegate.errors import Misconfigured
from lakegate.home import home

PREFIX = "LAKEGATE_LOCAL_"
HOME = home()
# The stack's own configuration checks the other settings.
RANGES = {
    **dict.fromkeys(("port", "nessie_port", "nessie_management_port", "slack_port"), (1, 65_535)),
    "parallel_jobs": (1, 100),
    "minute_seconds": (1, 3600),
}


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """Ports (always on 127.0.0.1), memory, times and folders of one local cloud."""

    port: int = 4566
    nessie_port: int = 19120
    nessie_management_port: int = 19121
    slack_port: int = 19130
    nessie_heap: str = "512m"
    nessie_store: str = "IN_MEMORY"  # or ROCKSDB, which outlives Nessie's process; a new local cloud starts empty
    driver_memory: str = "1g"
    parallel_jobs: int = 2
    minute_seconds: float = 60.0
    batch_window: int = 5
    audit_tables: bool = False
    slack_channel: str = "#lakegate"
    slack_token: str = ""
    stack: str = "lakegate"
    home: Path = HOME.root
    run: Path = HOME.root / ".local/run"
    profile: Path = HOME.profile

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Self:
        """Read LAKEGATE_LOCAL_* variables. Raise Misconfigured with all unknown names and wrong values at once."""
        values = os.environ if env is None else env
        known = {variable(field.name): field for field in fields(cls) if field.name != "home"}
        wrong = [f"{name} is not a setting" for name in values if name.startswith(PREFIX) and name not in known]
        given: dict[str, Any] = {}
        for name, field in known.items():
            if text := values.get(name, ""):
                try:
                    given[field.name] = parsed(text, field)
                except ValueError as error:
                    wrong.append(f"{name}={text!r} is {error}")
        if wrong:
            raise Misconfigured("; ".join(wrong) + ". docs/reference/settings.md lists the settings of the local cloud")
        return cls(**given)

    @property
    def data(self) -> Path:
        """Return the folder for data that lives as long as the local cloud."""
        return self.run / "data"

    @property
    def logs(self) -> Path:
        """Return the folder that stays until the next start: logs, Slack messages, folders of job runs."""
        return self.run / "logs"

    @property
    def temporary(self) -> Path:
        return self.data / "tmp"

    @property
    def messages(self) -> Path:
        return self.logs / "slack.jsonl"

    @property
    def calls(self) -> Path:
        return self.logs / "calls.jsonl"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def issuer(self) -> str:
        """Return the address of the account's issuer, which answers in LocalStack."""
        return f"{self.endpoint}/_lakegate/issuer"

    @property
    def audience(self) -> str:
        """Return the audience of the tokens by which Nessie knows each role."""
        return self.stack

    @property
    def nessie(self) -> str:
        return f"http://127.0.0.1:{self.nessie_port}"

    @property
    def slack(self) -> str:
        return f"http://127.0.0.1:{self.slack_port}"


def parsed(text: str, field: "Field[Any]") -> Any:
    """Return the text as a value of the setting's type. Raise ValueError for another type or a value out of range."""
    if field.type is Path:
        return Path(text).resolve()  # absolute, because servers have another working directory
    if field.type is str:
        return text
    if field.type is bool:
        if text not in {"true", "false"}:
            raise ValueError("not true or false")
        return text == "true"
    try:
        value = field.type(text)  # type: ignore[operator]
    except ValueError:
        raise ValueError("not a whole number" if field.type is int else "not a number") from None
    lowest, highest = RANGES.get(field.name, (0, math.inf))
    if not lowest <= value <= highest:
        raise ValueError(f"not from {lowest} to {highest}")
    return value


def variable(name: str) -> str:
    """Return the setting's variable: `nessie_port` → LAKEGATE_LOCAL_NESSIE_PORT."""
    return PREFIX + name.upper()
