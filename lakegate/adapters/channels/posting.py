"""Posting of JSON by HTTP: one request, no redirect, an answer that ends, and errors in our words."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from socket import gaierror
from urllib.error import HTTPError, URLError
from urllib.request import Request

from lakegate.audit.bounded_http import RedirectedError, asked, place
from lakegate.errors import Misconfigured, OutcomeUnknown, Retryable

SECONDS = 10  # for an answer: people wait for their message meanwhile
LARGEST = 1024**2  # bytes of an answer, which nobody reads
LATER = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)


class Denied(Misconfigured):
    """A refusal of who we are: the secret may have been replaced."""


def post(what: str, url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a JSON body. Raise Denied if the receiver does not accept who sends it."""
    told = {"content-type": "application/json", "user-agent": "lakegate", **headers}
    with _errors(f"{what} to {place(url)}"):
        asked(Request(url, data=body, headers=told, method="POST"), SECONDS, largest=LARGEST)  # noqa: S310 (settings ask for https)


@contextmanager
def _errors(what: str) -> Iterator[None]:
    """Translate an answer's status and the network's errors into our own."""
    try:
        yield
    except RedirectedError as error:
        raise Misconfigured(f"{what}: {error.reason}") from error
    except HTTPError as error:
        raise _by_status(what, error) from error
    except URLError as error:
        never_sent = isinstance(error.reason, ConnectionRefusedError | gaierror)
        raise (Retryable if never_sent else OutcomeUnknown)(f"{what}: {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise OutcomeUnknown(f"{what}: {type(error).__name__}: {error}") from error


def _by_status(what: str, error: HTTPError) -> Exception:
    said = f"{what}: {error.code} {error.reason}"
    if error.code in LATER:
        return Retryable(said)
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(said)
    return (Denied if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN) else Misconfigured)(said)
