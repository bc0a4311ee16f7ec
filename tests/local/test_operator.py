"""People at the installation's functions: who may call two URLs needs no other right, and is known by name."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3
import pyarrow as pa
import pytest
import requests
from botocore.client import BaseClient

from examples.bad_files import parquet
from tests.local.installation import REJECTED, Installation
from tests.local.kinds import Aws
from tests.local.things import CONTRACT, Things, rows

pytestmark = pytest.mark.local
FINDING = {("cloudformation", "DescribeStacks")}


@dataclass(frozen=True, kw_only=True)
class Person:
    """A user of the account with the stack's two policies, at a command line with that user's own key."""

    arn: str
    desk: Installation


@pytest.fixture
def ann(installation: Installation, aws: Aws, tmp_path: Path) -> Person:
    iam, name = aws("iam"), f"ann-{uuid.uuid4().hex[:8]}"
    user = iam.create_user(UserName=name)["User"]
    for policy in ("ReadPolicy", "ActPolicy"):
        iam.attach_user_policy(UserName=name, PolicyArn=installation.outputs[policy])
    key = iam.create_access_key(UserName=name)["AccessKey"]
    profile = tmp_path / "ann.env"
    lines = dict(
        line.split("=", 1)
        for line in installation.settings.profile.read_text().splitlines()
        if not line.startswith("#")
    )
    del lines["AWS_SESSION_TOKEN"]  # a role's session has one, and a user's key has none
    lines |= {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    profile.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return Person(arn=user["Arn"], desk=replace(installation, settings=replace(installation.settings, profile=profile)))


@contextmanager
def calls() -> Iterator[set[tuple[str, str]]]:
    """The calls of AWS's APIs that this process makes, by credentials that it reads anew. Function URLs are none."""
    made: set[tuple[str, str]] = set()
    original = BaseClient._make_api_call  # type: ignore[attr-defined]

    def noted(self: Any, operation: str, arguments: Any) -> Any:
        made.add((self.meta.service_model.service_name, operation))
        return original(self, operation, arguments)

    with patch.object(BaseClient, "_make_api_call", noted), patch.object(boto3, "DEFAULT_SESSION", None):
        yield made


def bad(start: int) -> bytes:
    """Rows of which one has a weight that the contract forbids."""
    table = rows(start, 3)
    return parquet(table.set_column(2, "weight", pa.array([-1.0, 2.0, 3.0])))


def test_a_person_operates_the_installation_with_the_right_to_two_functions_alone(
    installation: Installation, things: Things, ann: Person, tmp_path: Path
) -> None:
    keys = [f"{things.prefix}/{number}.parquet" for number in range(2)]
    batches = []
    for number, key in enumerate(keys):  # one after another, so that each is a batch of its own
        installation.put(key, bad(number * 10))
        installation.wait(key, code=REJECTED)
        batches += [it["batch"] for it in installation.json("status")["rejected"] if key in it["files"]]
    other = tmp_path / "other.yaml"
    other.write_text(CONTRACT.format(table=f"{things.table}_other", prefix=f"{things.prefix}_other"))

    with calls() as made:
        status = ann.desk.json("status")
        shown = ann.desk.run("show", batches[0])
        retried = ann.desk.json("retry", batches[0])
        ann.desk.wait(batches[0], code=REJECTED)
        ann.desk.run("approve", batches[0], "--why", "weighed again")
        ann.desk.run("discard", batches[1], "--why", "a test")
        ann.desk.run("contract", "push", other)
        ann.desk.run("reconcile")
    assert made == FINDING

    assert set(batches) <= {it["batch"] for it in status["rejected"]}
    assert "weight" in shown
    assert retried["attempt"] == 2
    (counted,) = installation.query(f"SELECT count(*) AS n FROM {things.table}")
    assert counted == {"n": 3}
    for batch in batches:
        by = [it["record"]["by"] for it in ann.desk.json("show", batch)["decisions"] if it["record"]["by"]]
        assert by == [ann.arn]


def test_a_request_without_a_signature_reaches_no_function(installation: Installation) -> None:
    for url in ("ReadUrl", "ActUrl"):
        body = json.dumps({"format": 1, "operation": "ShowStatus", "arguments": {}})
        assert requests.post(installation.outputs[url], data=body, timeout=300).status_code == 403
