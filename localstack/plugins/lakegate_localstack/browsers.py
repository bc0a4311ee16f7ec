"""Refuses what a browser sends. Any web page could else have this machine run what it likes: functions and jobs are
plain processes here, and LocalStack asks nobody for credentials. By itself it lets requests pass that name no page.
"""
# ruff: noqa: PLC0415 (what needs no LocalStack is tested without)

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

PAGE = ("origin", "referer")
FETCH = "sec-fetch-"  # browsers send them to this machine, whatever a page says of origin and referer
HERE = (".127.0.0.1", ".localhost", ".localhost.localstack.cloud")  # other names may be a page's own and lead here, too


def apply() -> None:
    from localstack.aws.handlers.cors import CorsEnforcer
    from localstack.utils.patch import patch

    patch(CorsEnforcer.__call__)(_refuse)


def _refuse(_original: Any, _enforcer: Any, chain: Any, context: Any, response: Any) -> None:
    if is_from_browser(dict(context.request.headers)):
        response.status_code = HTTPStatus.FORBIDDEN
        chain.terminate()


def is_from_browser(headers: Mapping[str, str]) -> bool:
    """Whether it says so, or is for a name that no client of the local cloud uses."""
    sent = {name.lower(): value for name, value in headers.items()}
    host = sent.get("host", "127.0.0.1").partition(":")[0].lower()
    return not f".{host}".endswith(HERE) or any(name in PAGE or name.startswith(FETCH) for name in sent)
