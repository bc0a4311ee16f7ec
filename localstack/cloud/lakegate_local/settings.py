"""The local cloud's settings, all of them LAKEGATE_LOCAL_* variables. The only reader of the environment here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from lakegate.errors import Misconfigured

PREFIX = "LAKEGATE_LOCAL_"
CHECKOUT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, kw_only=True)
class LocalSettings:
    """Where everything listens (always 127.0.0.1), how much memory it gets, and where it keeps its files."""

    port: int = 4566
    nessie_port: int = 19120
    nessie_management_port: int = 19121
    slack_port: int = 19130
    nessie_heap: str = "512m"
    nessie_store: str = "IN_MEMORY"  # or ROCKSDB, which survives the end of Nessie's process, but no `up`
    driver_memory: str = "1g"
    parallel_jobs: int = 2
    minute_seconds: float = 60.0
    batch_window: int = 5
    reconcile_minutes: int = 1
    grace_seconds: int = 20
    slack_channel: str = "#lakegate"
    slack_token: str = ""
    stack: str = "lakegate"
    checkout: Path = CHECKOUT
    run: Path = CHECKOUT / ".local/run"
    profile: Path = CHECKOUT / ".lakegate.env"

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Self:
        """From LAKEGATE_LOCAL_*; every malformed value is named at once (Misconfigured)."""
        values = os.environ if env is None else env
        given: dict[str, Any] = {}
        wrong = []
        for field in fields(cls):
            text = values.get(variable(field.name), "")
            try:
                given |= {field.name: field.type(text)} if text else {}  # type: ignore[operator]
            except ValueError:
                wrong.append(f"{variable(field.name)}={text!r} is not a number")
        if wrong:
            raise Misconfigured("; ".join(wrong))
        return cls(**given)

    @property
    def data(self) -> Path:
        """What lives as long as the local cloud; wiped when it starts."""
        return self.run / "data"

    @property
    def logs(self) -> Path:
        return self.run / "logs"

    @property
    def messages(self) -> Path:
        return self.data / "slack.jsonl"

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def nessie(self) -> str:
        return f"http://127.0.0.1:{self.nessie_port}"

    @property
    def slack(self) -> str:
        return f"http://127.0.0.1:{self.slack_port}"


def variable(name: str) -> str:
    """`nessie_port` → LAKEGATE_LOCAL_NESSIE_PORT."""
    return PREFIX + name.upper()
