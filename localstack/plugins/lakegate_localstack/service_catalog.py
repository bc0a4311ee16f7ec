"""A catalogue of the services that LocalStack has; others are refused. LocalStack itself reads the models of all four
hundred services of AWS at its first request, which takes most of a start.
"""

from typing import Any

from localstack.aws import spec
from localstack.services.plugins import SERVICE_PLUGINS
from localstack.utils.patch import patch
from werkzeug.exceptions import NotImplemented as NotThere

OTHER_PROTOCOLS = {"sqs-query"}  # a second model of a service that LocalStack has
SECOND = "v2"  # both versions of a service sign requests alike


def apply() -> None:
    patch(spec.list_services)(_list_services)
    patch(spec.ServiceCatalog.by_signing_name)(_by_signing_name)


def _list_services(_original: Any) -> list[Any]:
    had = {*SERVICE_PLUGINS.list_available(), *OTHER_PROTOCOLS}
    names = spec.loader.list_available_services("service-2")
    return [spec.load_service(name) for name in names if name.removesuffix(SECOND) in had]


def _by_signing_name(original: Any, catalog: Any, name: str) -> Any:
    """Return the service of a signing name. Raise NotThere for others, which LocalStack would send to S3."""
    found = original(catalog, name)
    if not found:
        raise NotThere(f"the local cloud has no service {name!r}")
    return found
