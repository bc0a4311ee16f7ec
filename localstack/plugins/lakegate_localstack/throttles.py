"""Throttles by a bucket of tokens for each operation, as AWS documents them for an account and region. A caller that
finds the bucket empty is refused.

EMR Serverless gives a token a second ("API limits" of its user guide). Calls of the local cloud itself cost none, and
those of its owner cost none, by which tests look on.
"""
# ruff: noqa: PLC0415 (tests import this without LocalStack)

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lakegate_localstack.request_models import SESSION_KEYS
from lakegate_localstack.settings import PackSettings

Operation = tuple[str, str]

SMALL, LARGE = (10, 1), (600, 600)  # tokens, and those that a second brings
LIMITS: dict[Operation, tuple[int, int]] = {
    **{("emr-serverless", name): SMALL for name in ("StartJobRun", "ListJobRuns", "GetJobRun", "CancelJobRun")},
    **{("emr-serverless", f"{verb}Application"): SMALL for verb in ("Get", "Update", "Start", "Stop")},
    **{("sts", name): LARGE for name in ("AssumeRole", "GetCallerIdentity", "GetWebIdentityToken")},
}


def apply() -> None:
    from localstack.aws.api import CommonServiceException
    from localstack.aws.handlers import serve_custom_service_request_handlers
    from localstack.utils.aws.request_context import extract_access_key_id_from_auth_header

    # A minute of the settings is shorter where time is, and so is a second.
    buckets = Buckets(LIMITS, hurry=60.0 / PackSettings.from_env().minute)

    def refuse(_chain: Any, context: Any, _response: Any) -> None:
        operation = (context.service.service_name, context.operation.name) if context.operation else ("", "")
        key = extract_access_key_id_from_auth_header(context.request.headers) or ""
        of_role = key.startswith(SESSION_KEYS) and not context.is_internal_call
        if of_role and not buckets.take((context.account_id, context.region), operation):
            raise CommonServiceException("ThrottlingException", "Rate exceeded", 429, sender_fault=True)

    serve_custom_service_request_handlers.append(refuse)


@dataclass
class Bucket:
    """Tokens at a time of the clock."""

    tokens: float
    at: float


@dataclass
class Buckets:
    """A bucket for each operation and place. `hurry` is how many times as fast as a clock they fill."""

    limits: dict[Operation, tuple[int, int]]
    hurry: float = 1.0
    clock: Callable[[], float] = time.monotonic
    _buckets: dict[tuple[tuple[str, str], Operation], Bucket] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, place: tuple[str, str], operation: Operation) -> bool:
        """Take a token. Return False if there is none; an operation without a limit needs none."""
        if operation not in self.limits:
            return True
        most, rate = self.limits[operation]
        now = self.clock()
        with self._lock:
            bucket = self._buckets.setdefault((place, operation), Bucket(most, now))
            bucket.tokens = min(most, bucket.tokens + (now - bucket.at) * rate * self.hurry)
            bucket.at = now
            if bucket.tokens < 1:
                return False
            bucket.tokens -= 1
            return True
