"""`Tokens` by an OIDC issuer's token endpoint, with the OAuth 2.0 grant of client credentials.

The client's password is read from AWS Secrets Manager and kept in this process's memory alone. One form is posted and
one JSON object read, for which a library would cost each cold start a quarter of a second.
"""

from datetime import timedelta
from http import HTTPStatus

import requests

from lakegate.adapters.http import RedirectedError, TimeoutAdapter, may_quote, mount, network_error
from lakegate.adapters.renewal import IssuedToken, RenewedToken
from lakegate.adapters.secrets import secret_text
from lakegate.audit import issuer
from lakegate.audit.bounded_http import LARGEST, place
from lakegate.audit.model.client import Client
from lakegate.errors import LakegateError, Misconfigured, Retryable
from lakegate.ports import Clock

SHORTEST = timedelta(minutes=4)  # life of a token: of a shorter one no half outlives a call
LONGEST = 10  # digits of a life: 300 years
WRONG_CLIENT = "invalid_client"
CORRECT = "Correct token.endpoint, token.scope and token.clients, and run: lakegate deploy SETTINGS"
TODO = {
    "unauthorized_client": "Allow the client the grant of client credentials, at its issuer",
    "invalid_scope": "Allow the client the scope, or correct token.scope and run: lakegate deploy SETTINGS",
}


class _WrongClient(Misconfigured):
    """The issuer does not know the client by this password."""


class ClientTokens(RenewedToken):
    """Tokens of one client. The issuer's certificate may be of `authorities` (PEM text) beside the usual ones."""

    def __init__(self, client: Client, clock: Clock, authorities: str = "") -> None:
        super().__init__(clock)
        self._client, self._password = client, ""
        self._http = TimeoutAdapter(largest=LARGEST, authorities=authorities)

    def issue(self) -> IssuedToken:
        """See the base. A password that the issuer refuses is read again once, because it may have been replaced."""
        if not self._password:
            self._password = self._read()
            return self._request_token()
        try:
            return self._request_token()
        except _WrongClient:
            self._password = self._read()
            return self._request_token()

    @property
    def _action(self) -> str:
        return f"{place(self._client.endpoint)}: asking for a token as {self._client.id}"

    def _read(self) -> str:
        name = self._client.secret
        if password := secret_text(name, self._client.id):
            return password
        raise Misconfigured(f"the secret {name} of {self._client.id} has no text. {self._put_command()}")

    def _put_command(self) -> str:
        return (
            f"Have the client's own in it: aws secretsmanager put-secret-value --secret-id {self._client.secret}"
            " --secret-string …"
        )

    def _request_token(self) -> IssuedToken:
        began, form = self._clock.now(), self._client.form(self._password)
        try:
            answer = mount(requests.Session(), self._http).post(self._client.endpoint, data=form, auth=_only_the_form)
        except requests.RequestException as exc:
            raise self._no_answer_error(exc) from None
        answer_members = issuer.answer_of(answer.content)
        if not answer.ok:
            raise self._refusal(answer.status_code, issuer.error_code(answer_members, self._client.id, self._password))
        if token := issuer.access_token(answer_members):
            return IssuedToken(token=token, expires_at=began + self._life(answer_members.get("expires_in")))
        raise Misconfigured(f"{self._action}: the answer has no token. {CORRECT}")

    def _no_answer_error(self, exc: requests.RequestException) -> LakegateError:
        """Return our error for a call that got no answer. It is made of our words: what the issuer has sent, and so
        perhaps the password, may stand in those of the libraries.
        """
        if isinstance(exc, RedirectedError):
            return Misconfigured(f"{self._action}: it {issuer.REDIRECT_MESSAGE}")
        error = network_error(self._action, exc, changes=False)
        return type(error)(f"{self._action}: {type(exc).__name__}") if may_quote(exc) else error

    def _life(self, lifetime: object) -> timedelta:
        """Return for how long a token is good. Some issuers say it as text."""
        text = str(lifetime) if isinstance(lifetime, int | str) else ""
        seconds = int(text) if text.isdecimal() and len(text) <= LONGEST else 0
        if (life := timedelta(seconds=seconds)) >= SHORTEST:
            return life
        raise Misconfigured(
            f"{self._action}: its tokens live for less than {SHORTEST.total_seconds():.0f} s by the answer's"
            " expires_in, and a call needs as much: give the client a longer life of tokens, at its issuer"
        )

    def _refusal(self, status: int, code: str) -> LakegateError:
        """Return our error for an error status. Of the issuer's words the code alone is shown."""
        message = f"{self._action}: {status} {code}".rstrip()
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Retryable(message)
        if code == WRONG_CLIENT or (status == HTTPStatus.UNAUTHORIZED and code not in TODO):
            return _WrongClient(f"{message}. {self._put_command()}")
        return Misconfigured(f"{message}. {TODO.get(code, CORRECT)}")


def _only_the_form(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Return the request as it is: without this, Requests adds what a person's .netrc has for the host."""
    return request
