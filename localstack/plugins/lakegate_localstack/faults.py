"""Faults of CloudFormation's resources that a test asks for, by a call of its own."""

import json
from typing import Any

from localstack.http import Response, route
from localstack.services.edge import ROUTER

PATH = "/_lakegate/faults"  # takes a JSON object: what is said, by an action and a resource's logical name, "Add Queue"
faults: dict[str, str] = {}


def apply() -> None:
    ROUTER.add(_put)


@route(PATH, methods=["PUT"])
def _put(request: Any) -> Response:
    faults.clear()
    faults.update(json.loads(request.data))
    return Response(status=204)
