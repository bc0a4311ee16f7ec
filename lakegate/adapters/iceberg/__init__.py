"""Iceberg tables through PyIceberg and the catalog's Iceberg REST. Vendor words and errors end here.

`tables` is the port. It opens a `catalog` for each ref, reads `manifests`, follows all that metadata files `reach`,
and fetches `files`, each once per publish: a table at a commit, a metadata file and the address of a ref never change.
`commits` are made once, and `errors` translates. PyArrow is not needed,
and no function has it: object storage is reached through s3fs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakegate.adapters.iceberg.catalog import RefCatalog
    from lakegate.adapters.iceberg.errors import ABSENT, iceberg_errors
    from lakegate.adapters.iceberg.files import MetadataIO, check_storage
    from lakegate.adapters.iceberg.tables import IcebergTables

__all__ = ["ABSENT", "IcebergTables", "MetadataIO", "RefCatalog", "check_storage", "iceberg_errors"]
_MODULES = {
    "ABSENT": "errors",
    "IcebergTables": "tables",
    "MetadataIO": "files",
    "RefCatalog": "catalog",
    "check_storage": "files",
    "iceberg_errors": "errors",
}


def __getattr__(name: str) -> Any:
    """Import a name where it is asked for: who needs one module alone has no use for a catalog's and AWS's clients."""
    if name not in _MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
