"""A client of an OIDC issuer: who a process is to the catalog where tokens come from no AWS. It holds no secret."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Client:
    """A client that gets tokens at the `endpoint` for a `scope`, "" for all that it has. `secret` is the name of the
    secret in AWS Secrets Manager that holds its password.
    """

    id: str
    secret: str
    endpoint: str
    scope: str = ""

    def form(self, password: str) -> dict[str, str]:
        """Return what the client posts for a token, by the OAuth 2.0 grant of client credentials. The password is in
        the form, as Iceberg's own clients have it.
        """
        form = {"grant_type": "client_credentials", "client_id": self.id, "client_secret": password}
        return {**form, **({"scope": self.scope} if self.scope else {})}
