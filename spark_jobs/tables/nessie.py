"""Nessie's answer to where a branch stands, by its REST API and the standard library. It changes nothing."""

import json
import urllib.parse

from lakegate.audit.bounded_http import asked

TIMEOUT_SECONDS = 30
LARGEST = 1024**2  # bytes: a branch's name and its hash


def head(nessie_uri: str, branch: str) -> str:
    """Return the commit that the branch points to."""
    url = f"{nessie_uri}/api/v2/trees/{urllib.parse.quote(branch, safe='')}"
    _, body = asked(url, TIMEOUT_SECONDS, largest=LARGEST)
    return str(json.loads(body)["reference"]["hash"])
