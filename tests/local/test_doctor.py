"""`lakegate doctor` on the local cloud: what is well is ok, and what is broken is named."""

from __future__ import annotations

import pytest

from lakegate.doctor.finding import Verdict
from tests.local.installation import DONE, REJECTED, Installation
from tests.local.kinds import Aws

pytestmark = pytest.mark.local
RELIED_ON = (
    *("outputs", "intake", "Nessie", "Nessie's release", "warehouse", "the function read", "the function act"),
    *("Slack", "Slack's channel", "event bus", "probe"),
)
FOUND_BY_PROBE = ("Python", "Iceberg", "Spark", "Nessie from a job", "catalog from a job")


def verdicts(installation: Installation, *options: str, code: int) -> dict[str, str]:
    return {it["subject"]: it["verdict"] for it in installation.json("doctor", *options, code=code)}


def test_a_healthy_installation_is_well_as_far_as_it_can_be_seen(installation: Installation) -> None:
    found = verdicts(installation, "--probe", "--message", code=DONE)
    assert {subject: found.get(subject) for subject in (*RELIED_ON, *FOUND_BY_PROBE)} == dict.fromkeys(
        (*RELIED_ON, *FOUND_BY_PROBE), Verdict.OK
    )
    assert Verdict.WRONG not in found.values()
    assert installation.messages("lakegate doctor")


def test_what_is_broken_is_named_with_what_to_run(installation: Installation, aws: Aws) -> None:
    secret = installation.outputs["SlackSecret"]
    token = aws("secretsmanager").get_secret_value(SecretId=secret)["SecretString"]
    (sweep,) = [name for name in rules(aws) if "Sweep" in name]
    aws("secretsmanager").put_secret_value(SecretId=secret, SecretString=f"xoxb-other {token.split()[1]}")
    aws("events").disable_rule(Name=sweep)
    try:
        found = verdicts(installation, code=REJECTED)
    finally:
        aws("secretsmanager").put_secret_value(SecretId=secret, SecretString=token)
        aws("events").enable_rule(Name=sweep)
    assert {subject for subject, verdict in found.items() if verdict == Verdict.WRONG} == {"Slack", "intake"}


def rules(aws: Aws) -> list[str]:
    return [rule["Name"] for rule in aws("events").list_rules()["Rules"]]
