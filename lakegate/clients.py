"""The list of clients that an OIDC issuer knows, with the role that each has in the catalog: `role=id:secret`.

A secret is a name in AWS Secrets Manager. Clients of other programs, such as a reader's, have none here.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from lakegate.access import Role

OF_THE_SERVICE = (Role.SPARK, Role.INGEST, Role.PUBLISH, Role.OBSERVER)
"""Roles that functions and jobs have; each needs one client with a secret."""
OF_OTHERS = (Role.OBSERVER, Role.READER)
"""Roles that other programs may have as well, with clients whose secret is their own."""
FORM = "<role>=<client id>:<secret's name>"
_ENTRY = re.compile(rf"({'|'.join(Role)})=([A-Za-z0-9._-]{{1,128}})(?::([A-Za-z0-9/_+=.@-]{{1,256}}))?")


@dataclass(frozen=True, kw_only=True)
class ClientEntry:
    """One client in the list. Without a secret it is another program's."""

    role: Role
    id: str
    secret: str = ""

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the client that the text names, or None if it names none."""
        match = _ENTRY.fullmatch(text)
        return cls(role=Role(match[1]), id=match[2], secret=match[3] or "") if match else None

    def __str__(self) -> str:
        return f"{self.role}={self.id}" + (f":{self.secret}" if self.secret else "")


def parse_list(texts: Iterable[str]) -> list[ClientEntry]:
    """Return the clients of a list, without what names none."""
    return [client for text in texts if (client := ClientEntry.parse(text))]


def ids_by_role(texts: Iterable[str]) -> dict[Role, tuple[str, ...]]:
    """Return the ids of each role's clients."""
    clients = parse_list(texts)
    return {role: tuple(client.id for client in clients if client.role is role) for role in Role}


def list_faults(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with a list of clients."""
    clients = parse_list(texts)
    if len(clients) < len(texts):
        yield f"is {FORM},…, with the roles {', '.join(Role)}"
    secret_counts = Counter(client.role for client in clients if client.secret)
    if wrong := [role for role in OF_THE_SERVICE if secret_counts[role] != 1]:
        yield f"has one client with a secret for each of {', '.join(OF_THE_SERVICE)}: look at {', '.join(wrong)}"
    if secret_counts[Role.READER] > 1:
        yield "has one client with a secret at most for reader"
    if strange := [client.role for client in clients if not client.secret and client.role not in OF_OTHERS]:
        yield f"has clients without a secret for {' and '.join(OF_OTHERS)} alone, and not for {', '.join(strange)}"
    for noun, names in (
        ("client", [client.id for client in clients]),
        ("secret", [client.secret for client in clients]),
    ):
        if repeats := [name for name, times in Counter(names).items() if name and times > 1]:
            yield f"gives each role a {noun} of its own, and has {', '.join(repeats)} twice"
