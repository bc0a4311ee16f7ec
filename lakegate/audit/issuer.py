"""Answers of an OIDC issuer, as far as they may be shown: an issuer may echo the client's secret in any of its words.

It is beside the audit because Spark's job asks an issuer too. It sends nothing.
"""

import base64
import json
import re
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

from lakegate.audit.bounded_http import RedirectedError

CODES = frozenset(
    {
        "access_denied",
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_grant_type",
        "unsupported_response_type",
    }
)
"""Error codes of RFC 6749: words that no issuer can put a secret in."""
REDIRECT_MESSAGE = "redirects, and no redirect is followed: set the address at which the issuer itself answers"
LONGEST = 40  # characters of a code that RFC 6749 has not
PIECE = 6  # characters in a row that a code and a secret may not share
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")
_BEARER = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750: anything else is no header's value
_IN_ICEBERG = re.compile(r"[A-Za-z ]+: ([a-z_]+)(?:$|:)")


def answer_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object in an answer's body, or an empty one if it has none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def access_token(answer: dict[str, Any]) -> str:
    """Return the answer's token, or "" if it has none that fits a header."""
    token = answer.get("access_token")
    return token if isinstance(token, str) and _BEARER.fullmatch(token) else ""


def error_code(answer: dict[str, Any], client: str, secret: str) -> str:
    """Return the answer's error code, or "" if it has none that may be shown."""
    code = answer.get("error")
    if not isinstance(code, str) or code in CODES:
        return code if isinstance(code, str) else ""
    is_code = len(code) <= LONGEST and _CODE.fullmatch(code)
    return code if is_code and not _shares(code, client, secret) else ""


def code_in(message: str) -> str:
    """Return the code of RFC 6749 in a message of Iceberg's own client, or "" if it has none."""
    code = _IN_ICEBERG.match(message)
    return code[1] if code and code[1] in CODES else ""


def no_answer_message(error: Exception) -> str:
    """Return why no answer came. Words of this machine are shown, and of the answer none."""
    cause = error.reason if isinstance(error, URLError) and not isinstance(error, HTTPError) else error
    if isinstance(error, RedirectedError):
        return REDIRECT_MESSAGE
    is_ours = isinstance(cause, OSError) and not isinstance(cause, HTTPError | HTTPException)
    return f"{type(cause).__name__}: {cause}" if is_ours else type(cause).__name__


def _shares(code: str, client: str, secret: str) -> bool:
    """Return True if the code has a piece of the secret, in whatever way it may be written with a code's letters."""
    for text in _spellings(client, secret):
        size = min(PIECE, len(text))
        if any(text[at : at + size] in code for at in range(len(text) - size + 1)):
            return True
    return False


def _spellings(client: str, secret: str) -> Iterator[str]:
    """Yield the secret's texts in small letters. In percents or as JSON it has signs that no code has, beside itself.

    Base64 looks different by where in what was encoded the secret began: after `client:`, or at any of three places.
    """
    pair = f"{client}:{secret}"
    for text in (secret, secret[::-1], re.sub(r"[^a-z]+", "_", secret.casefold())):
        yield text.casefold()
    for text in (pair, *("\0" * shift + secret for shift in range(3))):
        yield base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode().rstrip("=").casefold()
