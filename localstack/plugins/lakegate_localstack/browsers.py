"""A refusal of all requests from browsers. Otherwise any web page could run programs on this machine, because functions
and jobs are plain processes here and LocalStack checks no credentials. LocalStack itself lets requests without an
origin pass.
"""
# ruff: noqa: PLC0415 (tests import this without LocalStack)

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

PAGE = ("origin", "referer")
FETCH = "sec-fetch-"  # a page can suppress origin and referer, but not these headers
HERE = (".127.0.0.1", ".localhost", ".localhost.localstack.cloud")  # a page's own domain may resolve to 127.0.0.1, too


def apply() -> None:
    from localstack.aws.handlers.cors import CorsEnforcer
    from localstack.utils.patch import patch

    patch(CorsEnforcer.__call__)(_refuse)


def _refuse(_original: Any, _enforcer: Any, chain: Any, context: Any, response: Any) -> None:
    if is_from_browser(dict(context.request.headers)):
        response.status_code = HTTPStatus.FORBIDDEN
        chain.terminate()


def is_from_browser(headers: Mapping[str, str]) -> bool:
    """Return True for a browser's headers, or for a host name that no client of the local cloud uses."""
    sent = {name.lower(): value for name, value in headers.items()}
    host = sent.get("host", "127.0.0.1").partition(":")[0].lower()
    return not f".{host}".endswith(HERE) or any(name in PAGE or name.startswith(FETCH) for name in sent)
