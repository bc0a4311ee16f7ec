"""A record of calls: what each role, and each service on its own behalf, asks of the local cloud.

LocalStack enforces no policy, so a test holds this record against the policies. A call is written once, however often
it is made, with the parameters that name what it is about: no body, and no secret.
"""
# ruff: noqa: PLC0415 (tests import this without LocalStack)

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakegate_localstack.settings import PackSettings

NAMES = {
    *("Bucket", "Key", "VersionId", "CopySource", "Prefix", "Delete", "ACL", "Tagging", "ServerSideEncryption"),
    *("QueueUrl", "QueueName", "FunctionName", "SecretId", "logGroupName", "logStreamName"),
    *("applicationId", "jobRunId", "executionRoleArn", "tags", "RoleArn", "Audience"),
}
ASSUME_ROLE, PUT_EVENTS = ("sts", "AssumeRole"), ("events", "PutEvents")
UNNAMED = "session-"  # of a service that acts for a role, with another number each time


def apply() -> None:
    from localstack.aws.handlers import run_custom_response_handlers
    from localstack.utils.aws.request_context import extract_access_key_id_from_auth_header

    calls = Calls(PackSettings.from_env().calls)

    def note(_chain: Any, context: Any, response: Any) -> None:
        if context.operation is not None:
            calls.note(
                key=extract_access_key_id_from_auth_header(context.request.headers) or "",
                behalf=context.internal_request_params or {},
                operation=(context.service.service_name, context.operation.name),
                request=context.service_request or {},
                answer=context.service_response or {},
                status=response.status_code,
            )

    run_custom_response_handlers.append(note)


class Calls:
    """The calls so far. A session's access key is known from the answer to the service that asked for it. A person may
    have a session of the same role, which is none of the role's doing.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        self._sessions: dict[str, tuple[str, str]] = {}
        self._written: set[str] = set()

    def note(
        self,
        *,
        key: str,
        behalf: Mapping[str, Any],
        operation: tuple[str, str],
        request: Mapping[str, Any],
        answer: Mapping[str, Any],
        status: int,
    ) -> None:
        """Write the call, unless it is a person's or is written already."""
        if operation == ASSUME_ROLE and "Credentials" in answer and _service(behalf)[0]:
            made = answer["Credentials"]["AccessKeyId"]
            self._sessions[made] = (request["RoleArn"], request["RoleSessionName"])
        who, session = self._sessions.get(key) or _service(behalf)
        session = "" if session.startswith(UNNAMED) else session
        if who:
            self._write(
                {
                    "who": who,
                    "session": session,
                    "source": behalf.get("source_arn") or "",
                    "service": operation[0],
                    "operation": operation[1],
                    "parameters": _named(operation, request),
                    "status": status,
                }
            )

    def _write(self, call: Mapping[str, Any]) -> None:
        line = json.dumps(call, sort_keys=True, default=str)
        with self._lock:
            if line not in self._written:
                self._written.add(line)
                with self._path.open("a") as record:
                    record.write(f"{line}\n")


def _named(operation: tuple[str, str], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that name something; of events only their buses."""
    if operation == PUT_EVENTS:
        return {"buses": sorted({entry.get("EventBusName", "default") for entry in request["Entries"]})}
    return {name: value for name, value in request.items() if name in NAMES}


def _service(behalf: Mapping[str, Any]) -> tuple[str, str]:
    """Return the service that calls on its own behalf, if one does. It has no session."""
    principal = behalf.get("service_principal")
    return (f"{principal}.amazonaws.com" if principal else "", "")
