"""People at the installation's functions: who may call two URLs needs no other right, and is known by name."""

from __future__ import annotations

import json
import subprocess
import sys
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
from lakegate_local.person import credentials

from examples.bad_files import parquet
from lakegate.access import Role
from lakegate.landing.attempts import Attempt
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


def profile_of(installation: Installation) -> dict[str, str]:
    lines = installation.settings.profile.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.fixture
def ann(installation: Installation, aws: Aws, tmp_path: Path) -> Person:
    iam, name = aws("iam"), f"ann-{uuid.uuid4().hex[:8]}"
    user = iam.create_user(UserName=name)["User"]
    for policy in ("ReadPolicy", "ActPolicy"):
        iam.attach_user_policy(UserName=name, PolicyArn=installation.outputs[policy])
    key = iam.create_access_key(UserName=name)["AccessKey"]
    profile = tmp_path / "ann.env"
    lines = profile_of(installation)
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


OUTSIDE = """
import socket, sys
connect = socket.socket.connect
def outside(self, address):
    if address[1] in {ports}:
        raise OSError("Nessie is in a network of its own")
    return connect(self, address)
socket.socket.connect = outside
from lakegate.cli.app import app
app(sys.argv[1:])
"""


def from_outside(desk: Installation, *arguments: str, code: int = 0, says: str = "") -> str:
    """Return what a command prints on a laptop that has no way to Nessie, or if it fails, has said as its error."""
    program = OUTSIDE.format(ports={desk.settings.nessie_port, desk.settings.nessie_management_port})
    command = [sys.executable, "-c", program, *arguments]
    ended = subprocess.run(command, env=desk.environment, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, says in ended.stderr) == (code, True), ended.stderr
    return ended.stdout


def test_rows_are_seen_from_any_laptop_and_branches_by_whom_the_catalog_lets_see_them(
    installation: Installation, things: Things, ann: Person, tmp_path: Path
) -> None:
    good, spoilt = f"{things.prefix}/good.parquet", f"{things.prefix}/bad.parquet"
    installation.put(good, parquet(rows(0, 5)))
    installation.wait(good)
    installation.put(spoilt, bad(20))
    installation.wait(spoilt, code=REJECTED)
    [branch] = {it["branch"] for it in installation.json("status")["rejected"] if spoilt in it["files"]}
    reader = tmp_path / "reader.env"
    own = credentials(installation.settings, "reader", Role.READER)
    reader.write_text("".join(f"{name}={value}\n" for name, value in (profile_of(installation) | own).items()))
    people = {
        "observer": installation,
        "reader": replace(installation, settings=replace(installation.settings, profile=reader)),
        "ann, who has no role in the catalog": ann.desk,
    }
    count = f"SELECT count(*) AS n, sum(weight) AS w FROM {things.table}"
    answers = {who: json.loads(from_outside(desk, "query", count, "--json")) for who, desk in people.items()}
    assert answers == {who: [{"n": 5, "w": 5.0}] for who in people}
    moment = "SELECT TIMESTAMPTZ '2013-01-01 06:00:00+01' AS at"  # DuckDB needs a package of its own for a zone
    assert json.loads(from_outside(installation, "query", moment, "--json")) == [{"at": "2013-01-01T05:00:00+00:00"}]
    on_branch = ("query", count, "--json", "--ref", branch)
    assert json.loads(from_outside(installation, *on_branch))[0]["n"] == 8
    refusals = [
        (people["reader"], on_branch, "VIEW_REFERENCE"),
        (ann.desk, on_branch, "a role with the tag lakegate=observer"),
        (ann.desk, ("query", "SELECT count(*) FROM _lakegate.receipts"), "is a table of lakegate's own"),
        (ann.desk, ("query", "FROM read_text('/proc/self/environ')"), "file system operations are disabled"),
        (installation, ("query", "COPY (SELECT 1) TO '/tmp/x.csv'"), "give one statement that reads"),
    ]
    for desk, arguments, says in refusals:
        from_outside(desk, *arguments, code=2, says=says)
    too_long = ("query", "SELECT sha256(range::TEXT) AS x FROM range(150000)")
    assert "149,800 more are not shown" in from_outside(ann.desk, *too_long)
    from_outside(ann.desk, *too_long, "--json", code=1, says="ask for fewer rows by LIMIT")
    batch = Attempt.parse(branch).batch  # type: ignore[union-attr]
    from_outside(installation, "show", batch, "--rows", "weight ≥ 0", code=3, says="Nessie is in a network of its own")


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
