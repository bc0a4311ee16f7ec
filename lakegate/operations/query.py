"""Query: the answer to a person's SQL. It only reads, and no more than the person may.

The catalog's rules judge a person's own token. Whoever has no role there, and may ask all the same, reads main's tables
as a reader does, without the columns that contracts mask.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from lakegate import access
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.errors import Misconfigured
from lakegate.operations.masks import mask_of
from lakegate.operations.operation import Direct, Operation
from lakegate.ports import MAIN, Ref, Store
from lakegate.ports.lake import Reading, Rows

OWN_ROLE = (
    f"Ask with an identity in the catalog: a role with the tag {access.TAG}={access.Role.OBSERVER} and the right to "
    "sts:GetWebIdentityToken, or a client (docs/how-to/identities.md)"
)
NO_IDENTITIES = (
    "This installation gives nobody an identity: set token.audience (docs/how-to/identities.md), or read it with an "
    "engine that reaches Nessie (lakegate readers)"
)


@dataclass(frozen=True, kw_only=True)
class Query(Operation[Rows]):
    """The first `limit` rows that answer SQL on a ref, or all. `token` proves to the catalog who asks."""

    answer = Rows
    changes = False
    hint = "ask for fewer rows by LIMIT or for fewer columns, or read the table with an engine (lakegate readers)"
    sql: str
    ref: str = MAIN
    token: str = ""
    limit: int | None = None

    def on(self, installation: Direct) -> Rows:
        ref = Ref.parse(self.ref)
        return self._reading(installation, ref).answer(self.sql, ref, self.limit)

    def _reading(self, installation: Direct, ref: Ref) -> Reading:
        """Return what the person may see, or raise Misconfigured with what they need for it."""
        if self.token and (person := installation.reading(self.token)).sees(MAIN):
            return person
        reading = installation.reading("")
        if secret := next(_secrets(installation.service.store, reading, self.sql, ref), None):
            way = OWN_ROLE if installation.service.catalog.has_identity else NO_IDENTITIES
            raise Misconfigured(f"{secret}, and not everybody who may ask may see it. {way}")
        return reading


def _secrets(store: Store, reading: Reading, sql: str, ref: Ref) -> Iterator[str]:
    """Yield what a statement reads that is for people with a role alone: all but main's public tables, and in those
    each column that today's contract masks or does not name.
    """
    if ref != Ref(MAIN):
        yield f"{ref} is not the head of {MAIN}"
        return
    for table, columns in reading.reads(sql).items():
        mask = mask_of(store, table)
        if not access.PUBLIC.holds(table):
            yield f"{table} is a table of lakegate's own"
        elif not access.AUDITS.holds(table):
            for name, *hides in zip(columns, mask.hides(columns), mask.leaves_open(columns), strict=True):
                if any(hides) and name != FILE_COLUMN:
                    yield f"{name} in {table} is masked by the contract, or named by none"
