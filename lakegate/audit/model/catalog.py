"""A catalog's address: all that a process needs to reach the catalog. It holds no secret."""

from dataclasses import dataclass

from lakegate.audit.model.client import Client


@dataclass(frozen=True, kw_only=True)
class CatalogAddress:
    """The catalog at the URL `uri`, whose `warehouse` has the tables.

    The catalog is sent tokens of the `client`, or without one of the process's own role for the `audience`, or none.
    Certificates of the catalog and of the issuer may be of an authority in `authorities`, certificates as PEM text.
    """

    uri: str
    warehouse: str
    authorities: str = ""
    audience: str = ""
    client: Client | None = None

    @property
    def has_identity(self) -> bool:
        """True if the catalog is sent tokens."""
        return self.client is not None or bool(self.audience)


NO_CATALOG = CatalogAddress(uri="", warehouse="")
"""The address in a job that is given its catalog."""
