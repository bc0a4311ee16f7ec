"""Errors of Nessie, pynessie and the network in our words."""

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from pynessie.error import NessieCliError, NessieException, NessieInvalidUsageException

from lakegate.adapters.http import network_error, status_error
from lakegate.audit.bounded_http import place
from lakegate.audit.model.codec import PARSE_ERRORS
from lakegate.errors import Misconfigured


@contextmanager
def nessie_errors(what: str, *, changes: bool = False) -> Iterator[None]:
    """Translate Nessie's and the network's errors into our own. `changes` marks a call that may change something."""
    what = f"Nessie: {what}"
    try:
        yield
    except NessieException as exc:
        known = exc.error_code != "UNKNOWN"
        raise status_error(what, exc.status_code, str(exc), is_catalog=known, changes=changes) from exc
    except (NessieInvalidUsageException, NessieCliError) as exc:
        raise Misconfigured(f"{what}: {exc}") from exc
    except requests.HTTPError as exc:
        known, text = _said(exc.response)
        text = f"{text} (asked at {place(exc.response.url)})"
        raise status_error(what, exc.response.status_code, text, is_catalog=known, changes=changes) from exc
    except requests.RequestException as exc:
        raise network_error(what, exc, changes=changes) from exc
    except (RecursionError, UnicodeError) as exc:
        raise Misconfigured(f"{what}: the answer is not Nessie's: {type(exc).__name__}: {exc}") from exc


def _said(response: requests.Response) -> tuple[bool, str]:
    """Return a flag, True if Nessie itself answered, and the answer's message."""
    try:
        body = response.json()
        return "errorCode" in body, str(body["message"])
    except (requests.JSONDecodeError, *PARSE_ERRORS):
        return False, response.reason
