"""The place of an installation's tables, and a reader's identity there. It holds no secret and contacts nothing."""

from dataclasses import dataclass
from typing import Self

from lakegate.access import Role
from lakegate.clients import ClientEntry, parse_list
from lakegate.settings import WAREHOUSE, Settings


@dataclass(frozen=True, kw_only=True)
class Place:
    """The catalog, its storage, and what the catalog takes for an identity: a token of AWS STS for the `audience`, a
    token that an OIDC issuer gives to a client at the `token_endpoint`, or none.
    """

    nessie_uri: str
    warehouse: str
    lake_bucket: str
    region: str
    account: str
    s3_endpoint: str = ""  # of a storage that is not AWS's
    read_policy: str = ""  # ARN of the policy that lets a role read the tables' files
    audience: str = ""
    token_endpoint: str = ""
    token_scope: str = ""
    clients: tuple[ClientEntry, ...] = ()
    has_own_authority: bool = False  # Nessie's certificate is of no usual authority
    variables: str = ""  # the file by which this installation was found, as variables of a process's environment

    @classmethod
    def of(
        cls, settings: Settings, *, region: str, s3_endpoint: str = "", read_policy: str = "", variables: str = ""
    ) -> Self:
        """Return the place that an installation's settings describe."""
        return cls(
            nessie_uri=settings.nessie_uri,
            warehouse=settings.warehouse,
            lake_bucket=settings.lake_bucket,
            region=region,
            account=settings.job_role_arn.split(":")[4],
            s3_endpoint=s3_endpoint,
            read_policy=read_policy,
            variables=variables,
            audience=settings.token_audience,
            token_endpoint=settings.token_endpoint,
            token_scope=settings.token_scope,
            clients=tuple(parse_list(settings.token_clients.split(","))),
            has_own_authority=bool(settings.nessie_ca),
        )

    @property
    def location(self) -> str:
        """The folder that has the tables' files."""
        return f"s3://{self.lake_bucket}/{WAREHOUSE}"

    def client(self, role: Role) -> ClientEntry:
        """Return the first client of the role; its id is a word to replace if the installation lists none."""
        clients_of_role = (client for client in self.clients if client.role is role)
        return next(clients_of_role, ClientEntry(role=role, id=f"client-of-{role}"))
