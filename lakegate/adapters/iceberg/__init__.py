"""Iceberg tables through PyIceberg: what each adapter of a catalog needs. Vendor words and errors end here.

`catalog` is one ref of the Iceberg REST of a Nessie. `identity` is what must be equal before data files move,
`manifests` list them, `specs` carry their partitions, and `reach` follows all that metadata files name. `files` are
fetched once per publish: a metadata file never changes. `commits` are made once, and `errors` translates. PyArrow is
not needed, and of the functions only the express lane's has it: object storage is reached through s3fs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakegate.adapters.iceberg.catalog import RefCatalog
    from lakegate.adapters.iceberg.errors import ABSENT, iceberg_errors
    from lakegate.adapters.iceberg.files import MetadataIO, check_storage

__all__ = ["ABSENT", "MetadataIO", "RefCatalog", "check_storage", "iceberg_errors"]
_MODULES = {
    "ABSENT": "errors",
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
