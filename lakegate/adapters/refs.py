"""Addresses of references in both of Nessie's APIs, its own and Iceberg's REST."""

from urllib.parse import quote

from lakegate.ports import Ref


def segment(ref: Ref) -> str:
    """Return a ref's path segment: a commit is addressed by its hash alone, which outlives its branch."""
    return f"@{ref.commit}" if ref.commit else quote(ref.branch, safe="")
