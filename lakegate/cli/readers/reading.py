"""One table that is read on one reference of the catalog. It knows no engine."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from lakegate.access import PUBLIC, Role
from lakegate.cli.readers.place import Place
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, Ref


@dataclass(frozen=True, kw_only=True)
class Reading:
    """See the module."""

    place: Place
    namespace: str
    name: str
    ref: Ref

    @classmethod
    def of(cls, place: Place, table: str, ref: Ref) -> Self:
        namespace, _, name = table.rpartition(".")
        if not namespace or not name:
            raise Misconfigured(f"{table}: a table is addressed as namespace.table")
        return cls(place=place, namespace=namespace, name=name, ref=ref)

    @property
    def table(self) -> str:
        return f"{self.namespace}.{self.name}"

    @property
    def is_on_main(self) -> bool:
        """True for main's moving head, which is all that some engines can read."""
        return self.ref == Ref(MAIN)

    @property
    def segment(self) -> str:
        """The reference as part of an address. It keeps the branch, because rules go by its name."""
        commit = f"@{quote(self.ref.commit, safe='')}" if self.ref.commit else ""
        return quote(self.ref.branch, safe="") + commit

    @property
    def uri(self) -> str:
        """The address of the Iceberg REST catalog at this reference."""
        return f"{self.place.nessie_uri}/iceberg/{self.segment}"

    @property
    def role(self) -> Role:
        """The least role that may read this: `reader` has main alone, and of lakegate's own namespaces audits."""
        is_public = self.ref.branch == MAIN and PUBLIC.holds(self.namespace)
        return Role.READER if is_public else Role.OBSERVER


def table_of(branch: str) -> str:
    """Return the table that an attempt's branch is for, or "" for any other branch."""
    attempt = Attempt.parse(branch)
    return attempt.table if attempt else ""
