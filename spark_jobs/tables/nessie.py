"""The head of a branch, by its REST API and the standard library. It changes nothing."""

import json
import urllib.parse
from urllib.request import Request

from lakegate.audit.bounded_http import open_url, trust
from lakegate.audit.model.catalog import CatalogAddress

TIMEOUT_SECONDS = 30


def head(catalog: CatalogAddress, branch: str, token: str = "") -> str:
    """Return the commit that the branch points to. Send the token, if there is one."""
    url = f"{catalog.uri}/api/v2/trees/{urllib.parse.quote(branch, safe='')}"
    identity = {"Authorization": f"Bearer {token}"} if token else {}
    request = Request(url, headers=identity)  # noqa: S310 (the job's own address)
    _, body = open_url(request, TIMEOUT_SECONDS, context=trust(catalog.authorities))
    return str(json.loads(body)["reference"]["hash"])
