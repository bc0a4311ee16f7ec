"""Operations of AWS that the product calls, read from its code, and the errors that AWS's models name for each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path

import botocore.loaders
import botocore.session
from botocore import xform_name
from botocore.model import StructureShape

PRODUCT = Path(__file__).resolve().parents[2] / "lakegate"
# A managed transfer's operations, by what the code calls.
PARTS = ("CreateMultipartUpload", "CompleteMultipartUpload", "AbortMultipartUpload")
TRANSFERS = {
    "copy": ("HeadObject", "CopyObject", "UploadPartCopy", *PARTS),
    "create_transfer_manager": ("PutObject", "UploadPart", *PARTS),
}
TYPES = "mypy_boto3_"


@dataclass(frozen=True, order=True)
class ModelError:
    """An error of an operation as its service answers it."""

    service: str
    code: str
    status: int


@cache
def called() -> frozenset[tuple[str, str]]:
    """Return each service with an operation that a module names which has a client of that service."""
    return frozenset(pair for path in PRODUCT.rglob("*.py") for pair in _called_by(path))


def _called_by(path: Path) -> Iterator[tuple[str, str]]:
    source = path.read_text()
    if "boto3" not in source and "Clients" not in source:
        return
    nodes = [*ast.walk(ast.parse(source))]
    words = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    words |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    words |= {node.id for node in nodes if isinstance(node, ast.Name)}
    for service in {service for node in nodes for service in _services(node)}:
        model = botocore.session.get_session().get_service_model(service)
        operations = {xform_name(name): (name,) for name in model.operation_names}
        transfers = TRANSFERS if service == "s3" else {}
        for word in words & {*operations, *transfers}:
            yield from ((service, name) for name in {**operations, **transfers}[word])


def _services(node: ast.AST) -> Iterator[str]:
    """Yield a service of which this code makes a client, or names a client's type."""
    if isinstance(node, ast.ImportFrom) and (module := node.module or "").startswith(TYPES):
        yield module.removeprefix(TYPES).partition(".")[0].replace("_", "-")
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in {"client", "clients", "ambient"}:
            yield str(node.args[0].value)


def errors_of(service: str, operation: str) -> Iterator[ModelError]:
    """Yield the operation's errors. The model of a service that speaks JSON says no status, but whose fault it is."""
    shapes = botocore.loaders.create_loader().load_service_model(service, "service-2")["shapes"]
    model = botocore.session.get_session().get_service_model(service).operation_model(operation)
    for shape in model.error_shapes:
        assert isinstance(shape, StructureShape)
        fault = HTTPStatus.INTERNAL_SERVER_ERROR if shapes[shape.name].get("fault") else HTTPStatus.BAD_REQUEST
        yield ModelError(service, str(shape.error_code), shape.metadata.get("error", {}).get("httpStatusCode", fault))
