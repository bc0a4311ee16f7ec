"""Events as EventBridge delivers them, and what an event lacks or has too much of, by what is published of each kind.

S3's is a model of Powertools for AWS Lambda. EMR Serverless's has the members of the sample in its user guide
("Automating EMR Serverless with Amazon EventBridge", 2026), each of the shape that botocore's model gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import botocore.session
from aws_lambda_powertools.utilities.parser.models import EventBridgeModel, S3EventNotificationEventBridgeModel
from pydantic import BaseModel, ValidationError

from tests.support import aws_models

Event = dict[str, Any]
ACCOUNT, REGION = "123456789012", "eu-central-1"
CREATED, ENDED = "Object Created", "EMR Serverless Job Run State Change"
SAMPLE = {
    *("jobRunId", "applicationId", "arn", "releaseLabel", "state", "previousState"),
    *("createdBy", "updatedAt", "createdAt"),
}
TIMES = {"updatedAt", "createdAt"}


def object_created(bucket: str, key: str, version: str, *, size: int = 1, sequencer: str = "00") -> Event:
    """Return the event of an object that was written in one request."""
    detail = {
        "version": "0",
        "bucket": {"name": bucket},
        "object": {"key": key, "size": size, "etag": "0", "version-id": version, "sequencer": sequencer},
        "request-id": "C3D13FE58DE4C810",
        "requester": ACCOUNT,
        "source-ip-address": "192.0.2.1",
        "reason": "PutObject",
    }
    return _event("aws.s3", CREATED, [f"arn:aws:s3:::{bucket}"], detail)


def run_ended(run: str, state: str = "SUCCESS") -> Event:
    """Return the event of a job run that has ended."""
    application = f"arn:aws:emr-serverless:{REGION}:{ACCOUNT}:/applications/00f1"
    detail = {
        "jobRunId": run,
        "applicationId": "00f1",
        "arn": f"{application}/jobruns/{run}",
        "releaseLabel": "emr-7.13.0",
        "state": state,
        "previousState": "RUNNING",
        "createdBy": f"arn:aws:sts::{ACCOUNT}:assumed-role/settle/lakegate",
        "updatedAt": "2013-01-31T04:09:00.299487Z",
        "createdAt": "2013-01-31T04:05:00.325900Z",
    }
    return _event("aws.emr-serverless", ENDED, [], detail)


def _event(source: str, kind: str, resources: list[str], detail: Event) -> Event:
    return {
        "version": "0",
        "id": "00df3ec6-5da1-36e6-ab71-20f0de68f8a0",
        "detail-type": kind,
        "source": source,
        "account": ACCOUNT,
        "time": "2013-01-31T04:09:00Z",
        "region": REGION,
        "resources": resources,
        "detail": detail,
    }


def faults(event: Event) -> list[str]:
    """Return what the event lacks, has too much of or spells in another way than AWS."""
    kind = event.get("detail-type")
    if kind == CREATED:
        return list(_of_model(S3EventNotificationEventBridgeModel, event))
    assert kind == ENDED, f"nothing is known of {kind}"
    return [*_of_model(EventBridgeModel, event), *_of_run(event["detail"])]


def _of_model(model: type[BaseModel], event: Event) -> Iterator[str]:
    try:
        known = model.model_validate(event).model_dump(by_alias=True, exclude_unset=True)
    except ValidationError as error:
        yield from (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
    else:
        yield from (f"{path}: unknown" for path in sorted({*_paths(event)} - {*_paths(known)}))


def _paths(value: Any, path: str = "") -> Iterator[str]:
    for name, inner in value.items() if isinstance(value, Mapping) else ():
        yield f"{path}{name}"
        yield from _paths(inner, f"{path}{name}.")


def _of_run(detail: Event) -> Iterator[str]:
    yield from (f"detail.{name}: missing or unknown" for name in sorted(SAMPLE ^ {*detail}))
    for name in sorted(TIMES & {*detail}):
        if datetime.fromisoformat(detail[name]).tzinfo is None:
            yield f"detail.{name}: no zone"
    shape = botocore.session.get_session().get_service_model("emr-serverless").shape_for("JobRun")
    texts = {name: text for name, text in detail.items() if name not in TIMES | {"previousState"}}
    for member in (texts, {"state": detail.get("previousState")}):
        yield from (f"detail{fault}" for fault in aws_models.broken(member, shape))
