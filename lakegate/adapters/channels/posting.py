"""Posting of JSON by HTTP: one request, no redirect, an answer that ends, and errors in our words."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import Request

from lakegate.adapters.urllib_errors import urllib_errors
from lakegate.audit.bounded_http import open_url, place
from lakegate.errors import Misconfigured, OutcomeUnknown, Refused, Retryable

SECONDS = 10  # for an answer: people wait for their message meanwhile
RETRYABLE_STATUSES = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)


class DeniedError(Misconfigured):
    """A refusal of who we are: the secret may have been replaced."""


def post(action: str, url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a JSON body. Raise Denied if the receiver does not accept who sends it."""
    all_headers = {"content-type": "application/json", "user-agent": "lakegate", **headers}
    with _errors(f"{action} to {place(url)}"):
        open_url(Request(url, data=body, headers=all_headers, method="POST"), SECONDS)  # noqa: S310 (settings ask for https)


def tried_twice(send: Callable[[], None], forget: Callable[[], None]) -> None:
    """Send; if the receiver does not accept who sends it, forget the secret and send once more, because it may have
    been replaced.
    """
    try:
        send()
    except DeniedError:
        forget()
        send()


@contextmanager
def _errors(action: str) -> Iterator[None]:
    """Translate an answer's status and the network's errors into our own."""
    with urllib_errors(action):
        try:
            yield
        except HTTPError as error:
            error.close()
            raise _by_status(action, error) from error


def _by_status(action: str, error: HTTPError) -> Exception:
    message = f"{action}: {error.code} {error.reason}"
    if error.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return Refused(f"{message}: the receiver takes no event of this size. Raise its limit for the next ones")
    if error.code in RETRYABLE_STATUSES:
        return Retryable(message)
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(message)
    return (DeniedError if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) else Misconfigured)(message)
