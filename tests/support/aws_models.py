"""A hook of botocore that holds every request of this process to AWS's own model of it."""

from __future__ import annotations

from typing import Any

from botocore.handlers import BUILTIN_HANDLERS, REGISTER_LAST
from botocore.model import OperationModel
from lakegate_localstack.request_models import broken

__all__ = ["BROKEN", "broken", "hold_requests"]
BROKEN: list[str] = []


def hold_requests() -> None:
    """Hold every request of this process to its model from now on, and keep what it breaks in BROKEN."""
    BUILTIN_HANDLERS.append(("before-parameter-build", _hold, REGISTER_LAST))


def _hold(params: Any, model: OperationModel, **_: Any) -> None:
    BROKEN.extend(f"{model.service_model.service_name}:{model.name} {it}" for it in broken(params, model.input_shape))
