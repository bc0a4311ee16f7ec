"""`Tokens` by an OIDC issuer's token endpoint, with the OAuth 2.0 grant of client credentials.

The client's password is read from AWS Secrets Manager and kept in this process's memory alone. One form is posted and
one JSON object read, for which a library would cost each cold start a quarter of a second.
"""

import re
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import requests

from lakegate.adapters.http import TimeoutAdapter, mount, network_error
from lakegate.adapters.renewed import Issued, Renewed
from lakegate.adapters.secrets import secret_text
from lakegate.audit.bounded_http import place
from lakegate.audit.model.client import Client
from lakegate.errors import LakegateError, Misconfigured, Retryable
from lakegate.ports import Clock
from lakegate.shown import shown, spelt

SHORTEST = timedelta(minutes=4)  # life of a token: of a shorter one no half outlives a call
LARGEST = 1024**2  # bytes of an answer
LONGEST = 300  # characters of what the issuer says
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750: anything else is no header's value
WRONG_CLIENT = "invalid_client"
CORRECT = "Correct token_endpoint, token_scope and token_clients, and run: lakegate deploy SETTINGS"
TODO = {
    "unauthorized_client": "Allow the client the grant of client credentials, at its issuer",
    "invalid_scope": "Allow the client the scope, or correct token_scope and run: lakegate deploy SETTINGS",
}


class _WrongClient(Misconfigured):
    """The issuer does not know the client by this password."""


class ClientTokens(Renewed):
    """Tokens of one client. The issuer's certificate may be of `authorities` (PEM text) beside the usual ones."""

    def __init__(self, client: Client, clock: Clock, authorities: str = "") -> None:
        super().__init__(clock)
        self._client, self._password = client, ""
        self._http = TimeoutAdapter(largest=LARGEST, authorities=authorities)

    def issue(self) -> Issued:
        """See the base. A password that the issuer refuses is read again once, because it may have been replaced."""
        if not self._password:
            self._password = self._read()
            return self._asked()
        try:
            return self._asked()
        except _WrongClient:
            self._password = self._read()
            return self._asked()

    @property
    def _what(self) -> str:
        return f"{place(self._client.endpoint)}: asking for a token as {self._client.id}"

    def _read(self) -> str:
        name = self._client.secret
        if password := secret_text(name, self._client.id):
            return password
        raise Misconfigured(f"the secret {name} of {self._client.id} has no text. {self._put()}")

    def _put(self) -> str:
        return (
            f"Have the client's own in it: aws secretsmanager put-secret-value --secret-id {self._client.secret}"
            " --secret-string …"
        )

    def _asked(self) -> Issued:
        began, form = self._clock.now(), self._client.form(self._password)
        try:
            answer = mount(requests.Session(), self._http).post(self._client.endpoint, data=form, auth=_only_the_form)
        except requests.RequestException as exc:
            raise network_error(self._what, exc, changes=False) from exc
        told = _told(answer)
        if not answer.ok:
            raise self._refusal(answer.status_code, told)
        token, life = told.get("access_token"), told.get("expires_in")
        if not isinstance(token, str) or not _BEARER.fullmatch(token):
            raise Misconfigured(f"{self._what}: the answer has no token. {CORRECT}")
        return Issued(token=token, until=began + self._life(life))

    def _life(self, said: object) -> timedelta:
        """Return for how long a token is good. Some issuers say it as text."""
        life = timedelta(seconds=int(said)) if isinstance(said, int | str) and str(said).isdigit() else timedelta()
        if life >= SHORTEST:
            return life
        raise Misconfigured(
            f"{self._what}: its tokens live for {life.total_seconds():.0f} s by the answer's expires_in, and a call"
            f" needs {SHORTEST.total_seconds():.0f} s: give the client a longer life of tokens, at its issuer"
        )

    def _refusal(self, status: int, told: dict[str, Any]) -> LakegateError:
        """Return our error for an error status. The issuer's own text is shown without the password."""
        error = str(told.get("error", ""))
        text = f"{error} {told.get('error_description', '')}".replace(self._password, "***")[:LONGEST].strip()
        said = f"{self._what}: {status} {shown(text, spelt)}".rstrip()
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Retryable(said)
        if error == WRONG_CLIENT or (status == HTTPStatus.UNAUTHORIZED and error not in TODO):
            return _WrongClient(f"{said}. {self._put()}")
        return Misconfigured(f"{said}. {TODO.get(error, CORRECT)}")


def _only_the_form(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return the request as it is: without this, Requests adds what a person's .netrc has for the host."""
    return request


def _told(answer: requests.Response) -> dict[str, Any]:
    """Return the JSON object of an answer, or an empty one if it has none."""
    try:
        found = answer.json()
    except requests.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
