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
def nessie_errors(action: str, *, changes: bool = False) -> Iterator[None]:
    """Translate Nessie's and the network's errors into our own. `changes` marks a call that may change something."""
    action = f"Nessie: {action}"
    try:
        yield
    except NessieException as exc:
        from_nessie = exc.error_code != "UNKNOWN"
        raise status_error(action, exc.status_code, str(exc), is_catalog=from_nessie, changes=changes) from exc
    except (NessieInvalidUsageException, NessieCliError) as exc:
        raise Misconfigured(f"{action}: {exc}") from exc
    except requests.HTTPError as exc:
        from_nessie, text = _message(exc.response)
        text = f"{text} (asked at {place(exc.response.url)})"
        raise status_error(action, exc.response.status_code, text, is_catalog=from_nessie, changes=changes) from exc
    except requests.RequestException as exc:
        raise network_error(action, exc, changes=changes) from exc
    except (RecursionError, UnicodeError) as exc:
        raise Misconfigured(f"{action}: the answer is not Nessie's: {type(exc).__name__}: {exc}") from exc


def _message(response: requests.Response) -> tuple[bool, str]:
    """Return a flag, True if Nessie itself answered, and the answer's message."""
    try:
        body = response.json()
        return "errorCode" in body, str(body["message"])
    except (requests.JSONDecodeError, *PARSE_ERRORS):
        return False, response.reason
