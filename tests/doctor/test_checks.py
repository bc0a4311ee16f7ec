"""Tests of what the doctor says of each fact."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lakegate_localstack import issuer as local

from lakegate.audit.model.probe import ProbeReport
from lakegate.bundles import EMR_7
from lakegate.doctor import checks, preflight
from lakegate.doctor.facts import LandingBucket, Subnet
from lakegate.doctor.finding import Finding, Verdict, findings_or_error, ok
from lakegate.errors import Misconfigured, Retryable
from lakegate.ports import JobRun, JobState
from tests.support.outputs import OUTPUTS

GOOD = Subnet(id="subnet-a", zone="use1-az1", way_out="nat-0a", reaches_s3=True)


def judged(findings: list[Finding]) -> tuple[Verdict, str]:
    """The verdict of the only finding, and its text. Whatever is not ok says what to do."""
    (finding,) = findings
    assert (finding.verdict is Verdict.OK) == (not finding.todo)
    return finding.verdict, f"{finding.subject}: {finding.said} {finding.todo}"


def test_outputs_are_complete() -> None:
    assert judged(checks.outputs(OUTPUTS))[0] is Verdict.OK


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_is_missing_is_named(name: str) -> None:
    verdict, said = judged(checks.outputs({key: value for key, value in OUTPUTS.items() if key != name}))
    assert verdict is Verdict.WRONG
    assert name.lower() in said.lower().replace("_", "")


@pytest.mark.parametrize(
    ("days", "verdict", "said"),
    [
        (400, Verdict.OK, "certificate: Nessie's ends on 02 January 2028, in 400 days"),
        (30, Verdict.OK, "in 30 days"),
        (29, Verdict.WRONG, "in 29 days deploy it again: lakegate deploy SETTINGS, which renews"),
        (-1, Verdict.WRONG, "Nessie's ended on 27 November 2026"),
        (None, Verdict.WRONG, "ACM has none for Nessie's name any more"),
    ],
)
def test_a_certificate_is_renewed_before_it_ends(days: int | None, verdict: Verdict, said: str) -> None:
    now = datetime(2026, 11, 28, 12, tzinfo=UTC)
    judgement, text = judged(checks.certificate(None if days is None else now + timedelta(days=days), now))
    assert (judgement, said in text) == (verdict, True)


KEY = "arn:aws:kms:us-east-1:123456789012:key/a"


@pytest.mark.parametrize(
    ("found", "keys", "verdict", "said"),
    [
        ({}, None, Verdict.OK, "versioned, and sends events"),
        ({"key": KEY}, None, Verdict.OK, "versioned"),  # the stack's own
        ({"key": KEY}, ["", KEY], Verdict.OK, "versioned"),
        ({"key": KEY}, [""], Verdict.WRONG, "set kms.key or kms.upload_keys"),
        ({"is_versioned": False}, None, Verdict.WRONG, "put-bucket-versioning --bucket theirs"),
        ({"sends_events": False}, [""], Verdict.WRONG, "waits for the sweep"),
        ({"region": "us-west-2"}, [""], Verdict.WRONG, "take one in the stack's region"),
    ],
)
def test_a_landing_bucket_is_as_its_owner_has_to_set_it(
    found: dict[str, Any], keys: list[str] | None, verdict: Verdict, said: str
) -> None:
    good = LandingBucket(region="us-east-1", is_versioned=True, sends_events=True, key="")
    judgement, text = judged(checks.landing_bucket("theirs", replace(good, **found), "us-east-1", keys))
    assert judgement is verdict
    assert said in text


def test_a_closed_intake_is_wrong() -> None:
    assert judged(checks.intake(is_open=True))[0] is Verdict.OK
    assert judged(checks.intake(is_open=False))[0] is Verdict.WRONG


@pytest.mark.parametrize(
    ("release", "verdict", "trap"),
    [
        ("0.92.0", Verdict.UNKNOWN, False),
        ("0.92.1", Verdict.UNKNOWN, True),
        ("0.99.0", Verdict.OK, True),
        ("0.100.0", Verdict.UNKNOWN, True),
        ("0.100.1", Verdict.UNKNOWN, False),
        ("0.105.4", Verdict.UNKNOWN, False),
        ("0.105.5", Verdict.WRONG, False),
        ("0.106.0", Verdict.WRONG, False),
        ("0.106.1", Verdict.UNKNOWN, False),
        ("0.107.0", Verdict.UNKNOWN, False),
        ("0.99.0-SNAPSHOT", Verdict.OK, True),
        ("strange", Verdict.UNKNOWN, False),
    ],
)
def test_releases_of_nessie(release: str, verdict: Verdict, trap: bool) -> None:  # noqa: FBT001
    found, said = judged(checks.nessie_release(release))
    assert (found, "export as a ZIP is broken" in said) == (verdict, trap)


ISSUER = local.Issuer("https://issuer.example.com")
OWN = {"iss": ISSUER.uri, "azp": "look", "client_id": "look", "aud": ["lake", "account"]}


@pytest.mark.parametrize(
    ("claims", "audience", "said"),
    [
        (OWN, "lake", ""),
        (OWN | {"aud": "lake"}, "lake", ""),
        ({"iss": ISSUER.uri, "client_id": "look"}, "", ""),
        (OWN, "other", "those of look are for lake, account, and not for other"),
        ({"client_id": "look"}, "lake", "those of look are for no audience, and not for lake"),
        ({"iss": ISSUER.uri, "sub": "0a-1b"}, "", "no claim of those of look has its id"),
    ],
)
def test_a_client_s_token_says_what_nessie_has_to_be_told(claims: dict[str, Any], audience: str, said: str) -> None:
    verdict, text = judged(checks.token("look", ISSUER.signed(claims), audience))
    assert verdict is (Verdict.WRONG if said else Verdict.OK)
    assert (said or "look gets those of https://issuer.example.com, with its id as ") in text


@pytest.mark.parametrize("text", ["opaque", "a.b.c", "a.eA.c", f"a.{local.coded({})}", "a.WzFd.c"])
def test_a_token_that_is_no_jwt_is_told(text: str) -> None:
    verdict, said = judged(checks.token("look", text, "lake"))
    assert verdict is Verdict.WRONG
    assert "no JWT" in said


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (401, Verdict.OK),
        (200, Verdict.WRONG),
        (403, Verdict.WRONG),
        (None, Verdict.UNKNOWN),
    ],
)
def test_strangers_are_refused_where_there_are_identities(status: int | None, verdict: Verdict) -> None:
    assert judged(checks.nessie_strangers(status))[0] is verdict


@pytest.mark.parametrize(
    ("was_refused", "has_identity", "verdicts"),
    [
        (True, True, [Verdict.OK, Verdict.OK]),
        (False, True, [Verdict.OK, Verdict.WRONG]),
        (False, False, [Verdict.OK]),
    ],
)
def test_a_function_reaches_nessie_and_may_not_what_rules_forbid_it(
    was_refused: bool,  # noqa: FBT001
    has_identity: bool,  # noqa: FBT001
    verdicts: list[Verdict],
) -> None:
    found = checks.function("the function act", "make a branch", was_refused=was_refused, has_identity=has_identity)
    assert [each.verdict for each in found] == verdicts


def test_what_rules_forbid_is_refused() -> None:
    assert judged(checks.forbidden("the job", "make a branch", was_refused=True)) == (
        Verdict.OK,
        "the job: may not make a branch ",
    )
    assert judged(checks.forbidden("the job", "make a branch", was_refused=False))[0] is Verdict.WRONG


@pytest.mark.parametrize(
    ("change", "region", "verdict", "said"),
    [
        ({}, "us-east-1", Verdict.OK, "out by nat-0a"),
        ({"zone": "use1-az3"}, "us-east-1", Verdict.WRONG, "use1-az3, where EMR Serverless is not"),
        ({"zone": "cac1-az3"}, "ca-central-1", Verdict.WRONG, "take one in cac1-az1, cac1-az2, cac1-az4"),
        ({"zone": "euc1-az12"}, "eu-central-1", Verdict.WRONG, "take one in euc1-az1, euc1-az2, euc1-az3"),
        ({"zone": "euc1-az3"}, "eu-central-1", Verdict.OK, "in euc1-az3"),
        ({"way_out": "igw-1"}, "us-east-1", Verdict.WRONG, "take a private subnet"),
        ({"way_out": ""}, "us-east-1", Verdict.UNKNOWN, "no default route"),
        ({"reaches_s3": False}, "us-east-1", Verdict.WRONG, "gateway endpoint"),
    ],
)
def test_subnets(change: dict[str, Any], region: str, verdict: Verdict, said: str) -> None:
    subnet = Subnet(**{"id": "subnet-a", "zone": "use1-az1", "way_out": "nat-0a", "reaches_s3": True, **change})
    found, text = judged(checks.subnets([subnet], region))
    assert (found, said in text, "subnet-a" in text) == (verdict, True, True)


def test_a_region_whose_zones_lack_the_service_takes_no_network() -> None:
    verdict, said = judged(preflight.zones(["usw1-az3"], "us-west-1", ["usw1-az2", "usw1-az3"]))
    assert verdict is Verdict.WRONG
    assert "choose another region" in said


def test_a_zone_that_the_account_has_not_is_named_with_those_that_it_has() -> None:
    verdict, said = judged(preflight.zones(["use1-az1", "use1-az2"], "us-east-1", ["use1-az3", "use1-az4", "use1-az5"]))
    assert verdict is Verdict.WRONG
    assert "the account has no zone use1-az1 set network.zones to two of use1-az4, use1-az5" in said


@pytest.mark.parametrize(
    ("claims", "verdict", "words"),
    [
        ({}, Verdict.OK, "is of https://0a/, for lake"),
        ({"iss": "https://0b"}, Verdict.WRONG, "its iss is https://0b.*correct token.issuer"),
        ({"aud": "another"}, Verdict.WRONG, "its aud is another.*correct token.audience"),
    ],
)
def test_a_token_of_sts_is_as_nessie_will_want_it(claims: dict[str, str], verdict: Verdict, words: str) -> None:
    text = local.Issuer("https://0a").token("arn:aws:iam::123456789012:role/me", {}, ["lake"], timedelta(60), **claims)
    found, said = judged(preflight.token(text, "https://0a/", "lake"))
    assert found is verdict
    assert re.search(words, said)


def test_each_subnet_is_judged_and_none_is_told() -> None:
    assert len(checks.subnets([GOOD, GOOD], "us-east-1")) == 2
    assert judged(checks.subnets([], "us-east-1"))[0] is Verdict.UNKNOWN


@pytest.mark.parametrize(("has", "verdict"), [(16, Verdict.OK), (15.5, Verdict.WRONG), (400, Verdict.OK)])
def test_the_quota_has_room_for_all_jobs(has: float, verdict: Verdict) -> None:
    assert judged(checks.quota(has, 16))[0] is verdict


REPORT = ProbeReport(
    nonce="n",
    python="3.11.9",
    spark="3.5.6-amzn-1",
    iceberg="1.11.0",
    iceberg_wanted="1.11.0",
    is_tested=True,
    sdk="2.42.1",
    nessie="",
    catalog="",
)
SUCCEEDED = JobRun(id="00run", branch="probe-n", state=JobState.SUCCEEDED)


def faults(change: dict[str, Any], *, has_identity: bool = False) -> dict[str, str]:
    found = checks.probe(SUCCEEDED, replace(REPORT, **change), EMR_7, has_identity=has_identity)
    assert all(it.todo for it in found if it.verdict is not Verdict.OK)
    return {it.subject: it.said for it in found if it.verdict is not Verdict.OK}


@pytest.mark.parametrize(
    ("change", "subject", "said"),
    [
        ({"python": "3.9.16"}, "Python", "3.9.16 is not 3.11"),
        ({"spark": "4.1.1-amzn-0"}, "Spark", "4.1.1-amzn-0 is not 3.5"),
        ({"iceberg": "1.10.0-amzn-1", "is_tested": False}, "Iceberg", "Spark has loaded 1.10.0-amzn-1, and not 1.11.0"),
        ({"nessie": "URLError: timed out"}, "Nessie from a job", "URLError: timed out"),
        ({"catalog": "UnknownHostException: lake"}, "catalog from a job", "UnknownHostException: lake"),
    ],
)
def test_each_way_in_which_an_image_or_a_network_is_wrong_is_named_alone(
    change: dict[str, Any], subject: str, said: str
) -> None:
    ((found, text),) = faults(change).items()
    assert (found, said in text) == (subject, True)


def test_a_probe_that_finds_all_well_has_no_faults() -> None:
    assert faults({}) == faults({}, has_identity=True) == {}


def test_a_job_that_may_make_branches_is_wrong_where_there_are_identities() -> None:
    assert list(faults({"made_branch": True}, has_identity=True)) == ["the job"]


@pytest.mark.parametrize(
    ("reason", "todo"),
    [
        ('Cannot run program "python3.11": error=2, No such file', "the image has no python3.11"),
        ("Caused by: java.io.IOException: error=2, No such file or directory", "the image has no python3.11"),
        ("JobError: AccessDeniedException; the job at s3://…", "lacks a right in S3"),
        ("Status Code: 403; Error Code: AccessDenied", "lacks a right in S3"),
        ("account level max vCPU limit reached", "quota"),
        ("something else", "driver's log"),
    ],
)
def test_a_probe_that_fails_says_what_to_do(reason: str, todo: str) -> None:
    run = JobRun(id="00run", branch="probe-n", state=JobState.FAILED, reason=reason)
    verdict, said = judged(checks.probe(run, None, EMR_7, has_identity=False))
    assert verdict is Verdict.WRONG
    assert reason in said
    assert todo in said


def test_a_reading_that_fails_is_a_finding() -> None:
    def fail(error: Exception) -> list[Finding]:
        raise error

    assert findings_or_error("x", lambda: [ok("x", "fine")], "look") == [ok("x", "fine")]
    assert judged(findings_or_error("x", lambda: fail(Retryable("no answer")), "look")) == (
        Verdict.UNKNOWN,
        "x: no answer look",
    )
    assert judged(findings_or_error("x", lambda: fail(Misconfigured("403")), "look")) == (Verdict.WRONG, "x: 403 look")
    assert judged(findings_or_error("x", lambda: fail(Misconfigured("x: 403")), "look")) == (
        Verdict.WRONG,
        "x: 403 look",
    )
