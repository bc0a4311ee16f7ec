"""Names of runs' branches: `wap-<namespace>.<table>-20261125T171200-1a2b3c4d`. The time says when a run was begun."""

import re
from datetime import UTC, datetime

from lakegate.errors import Refused
from lakegate.landing.attempts import PREFIX

_NAME = re.compile(re.escape(PREFIX) + r"(?P<table>.+)-(?P<made>[0-9]{8}T[0-9]{6})-[0-9a-f]{8}")


def branch_name(table: str, moment: datetime, nonce: str) -> str:
    """Return the name of a new branch; `nonce` has eight hex digits."""
    return f"{PREFIX}{table}-{moment.astimezone(UTC):%Y%m%dT%H%M%S}-{nonce}"


def made_at(name: str, table: str) -> datetime | None:
    """Return when a branch of the table was made, or None if it is not a run's."""
    match = _NAME.fullmatch(name)
    if match is None or match["table"] != table:
        return None
    try:
        return datetime.strptime(match["made"], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def check_made(name: str, table: str) -> None:
    """Raise Refused unless a run has made the branch: main and other people's branches are never written to."""
    if made_at(name, table) is None:
        raise Refused(
            f"{name!r} is no branch of a run on {table}, and is left alone: give the name that start(…).name returned"
        )
