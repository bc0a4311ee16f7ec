"""An installation's own key: what lies under it, who may use it for what, and a landing bucket that is there already.

Policies are evaluated as AWS does for a request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.adapters.job_policy import job_policy
from lakegate.landing.attempts import Attempt
from lakegate.ports import Reach
from tests.infra.conftest import CONTEXT, REVIEWED, Reviewed, synthesised
from tests.infra.template import Stack, flat
from tests.ports.test_runner import SETTINGS
from tests.support import iam
from tests.support.authority import Authority
from tests.support.iam import Request, listed

pytestmark = pytest.mark.synth
ACCOUNT, REGION = "123456789012", "eu-central-1"
KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/01234567-89ab-cdef-0123-456789abcdef"
(VENDORS,) = REVIEWED["kms_upload_keys"]
GIVEN = CONTEXT | {
    "kms_key": KEY,
    "kms_upload_keys": (VENDORS,),
    "landing_uploaders": (),
    "landing_keep_days": 0,
    "landing_folders": tuple(f"s3://their-files/{folder}/" for folder in ("in/shop", "in/nyc", "_canary")),
    "nessie_ca": Authority.made("ours").pem,
}
BUCKET, QUEUE, LOG, ROLE = "AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::Logs::LogGroup", "AWS::IAM::Role"
VALUES = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::URLSuffix": "amazonaws.com",
}
STARTERS = ("IngestRole", "SettleRole", "ReconcileRole", "ActRole")
DECRYPT, ENCRYPT = "kms:Decrypt", "kms:GenerateDataKey"


@pytest.fixture(scope="module")
def made(reviewed: Reviewed) -> Stack:
    """Every stack of an installation that makes its key."""
    return reviewed.stack


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """An installation with a key, a landing bucket and a Nessie that are there already."""
    return synthesised(GIVEN, tmp_path_factory.mktemp("cdk.out"))


def spelled(stack: Stack, value: Any) -> Any:
    """A value as AWS sees it, with ARNs made of logical ids."""
    names = {name: f"arn:aws:x:::{name}" for name in stack.template["Resources"]} | VALUES
    match value:
        case dict() if value.keys() & {"Ref", "Fn::GetAtt", "Fn::Join", "Fn::Sub"}:
            return re.sub(r"<([\w:]+)(?:\.Arn)?>|\$\{([\w:]+)\}", lambda it: names[it[1] or it[2]], flat(value))
        case dict():
            return {name: spelled(stack, inner) for name, inner in value.items()}
        case list():
            return [spelled(stack, inner) for inner in value]
        case _:
            return value


def own(stack: Stack, role: str) -> list[dict[str, Any]]:
    return [spelled(stack, statement) for statement in stack.statements(role)]


def arn(stack: Stack, kind: str, part: str) -> str:
    return f"arn:aws:x:::{stack.name(kind, part)}"


def context(service: str, name: str, thing: str) -> Mapping[str, list[str]]:
    through = f"{service}.{REGION}.amazonaws.com"
    return {"kms:ViaService": [through], f"kms:EncryptionContext:{name}": [thing]}


def may(stack: Stack, role: str, action: str, key: str, thing: str, service: str = "s3") -> bool:
    """True if a role's own policies let it use a key through a service, for something."""
    name = {"s3": "aws:s3:arn", "sqs": "aws:sqs:arn", "secretsmanager": "SecretARN"}[service]
    request = Request(
        principal=f"arn:aws:iam::{ACCOUNT}:role/{role}",
        action=action,
        resource=key,
        context=context(service, name, thing),
    )
    return iam.is_allowed(request, own(stack, role))


def beginning(name: str) -> str:
    """A logical id without CDK's digest."""
    return re.sub(r"[0-9A-F]{8}$", "", name)


def roles(stack: Stack) -> list[str]:
    """The beginnings of all roles' names."""
    return [beginning(name) for name in stack.resources(ROLE)]


def users(stack: Stack, action: str, key: str, thing: str, service: str = "s3") -> set[str]:
    """The roles that may use a key for something, by the beginnings of their names."""
    return {role for role in roles(stack) if may(stack, role, action, key, thing, service)}


def own_key(stack: Stack) -> str:
    return arn(stack, "AWS::KMS::Key", "StorageKey")


FUNCTIONS = {*STARTERS, "ReadRole"}


def test_a_key_that_is_made_is_rotated_and_outlives_the_stack(made: Stack) -> None:
    name = made.name("AWS::KMS::Key", "StorageKey")
    assert made.resources("AWS::KMS::Key")[name]["EnableKeyRotation"] is True
    resource = made.template["Resources"][name]
    assert (resource["UpdateReplacePolicy"], resource["DeletionPolicy"]) == ("Retain", "RetainExceptOnCreate")


def test_buckets_queues_logs_and_the_database_s_secret_are_under_the_key(made: Stack) -> None:
    key = own_key(made)
    for what in ("Landing", "Lake", "Service"):
        (rule,) = made.one(BUCKET, f"Storage{what}")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        said = spelled(made, rule["ServerSideEncryptionByDefault"])
        assert (said, rule["BucketKeyEnabled"]) == ({"KMSMasterKeyID": key, "SSEAlgorithm": "aws:kms"}, True)
    keys = [spelled(made, it["KmsMasterKeyId"]) for it in made.resources(QUEUE).values()]
    keys += [spelled(made, it["KmsKeyId"]) for it in made.resources(LOG).values()]
    keys += [spelled(made, it["KmsKeyId"]) for it in made.resources("AWS::SecretsManager::Secret").values()]
    assert keys == [key] * len(keys)
    assert not any("SqsManagedSseEnabled" in it for it in made.resources(QUEUE).values())
    assert len(keys) == len(made.resources(QUEUE)) + len(made.resources(LOG)) + 1


def test_logs_of_access_go_to_a_bucket_of_their_own_which_s3_can_write_to(made: Stack) -> None:
    access = made.name(BUCKET, "StorageAccess")
    (rule,) = made.resources(BUCKET)[access]["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"
    logged = [it["LoggingConfiguration"] for name, it in made.resources(BUCKET).items() if name != access]
    assert [it["DestinationBucketName"] for it in logged] == [{"Ref": access}] * 3


def test_files_that_landed_are_decrypted_by_functions_and_nobody_else(made: Stack) -> None:
    landing = arn(made, BUCKET, "StorageLanding")
    for key in (own_key(made), VENDORS):
        for thing in (landing, f"{landing}/shop/orders/x.parquet"):  # with a bucket key, and without
            assert users(made, DECRYPT, key, thing) == FUNCTIONS | ({"CanaryRole"} if key != VENDORS else set())
    assert users(made, ENCRYPT, own_key(made), landing) == {"CanaryRole"}
    assert users(made, ENCRYPT, VENDORS, landing) == set()


def test_each_bucket_s_objects_are_for_who_has_rights_in_that_bucket(made: Stack) -> None:
    key, lake, service = own_key(made), arn(made, BUCKET, "StorageLake"), arn(made, BUCKET, "StorageService")
    writers = {*STARTERS, "SparkRole", "ExpressRole"}
    assert users(made, ENCRYPT, key, lake) == {*writers, "ServerRole"}
    assert users(made, DECRYPT, key, lake) == {*writers, "ServerRole", "ReadRole"}
    assert users(made, ENCRYPT, key, service) == {*writers, "CanaryRole"}
    assert users(made, DECRYPT, key, service) == {*writers, "CanaryRole", "ReadRole"}
    assert users(made, DECRYPT, key, "arn:aws:s3:::another") == set()
    assert users(made, DECRYPT, VENDORS, lake) == users(made, DECRYPT, VENDORS, service) == set()


def test_whoever_has_a_right_in_a_bucket_has_its_part_of_the_key(made: Stack) -> None:
    """Without it, S3 refuses what the role's right allows."""
    for role in roles(made):
        for what in ("Landing", "Lake", "Service"):
            actions = {action for action, _ in made.rights_in(role, BUCKET, f"Storage{what}")}
            bucket = arn(made, BUCKET, f"Storage{what}")
            reads = bool(actions & {"s3:GetObject", "s3:GetObjectVersion", "s3:PutObject"})
            assert may(made, role, DECRYPT, own_key(made), bucket) is reads, (role, what)
            assert may(made, role, ENCRYPT, own_key(made), bucket) is ("s3:PutObject" in actions), (role, what)


def test_no_role_uses_the_key_by_itself(made: Stack) -> None:
    for role in roles(made):
        for statement in own(made, role):
            if any(action.startswith("kms:") for action in listed(statement["Action"])):
                assert statement["Condition"].keys() == {"StringEquals", "StringLike"}
                assert set(listed(statement["Action"])) <= {DECRYPT, ENCRYPT}
                assert "*" not in listed(statement["Resource"])


def test_messages_are_decrypted_by_who_takes_them_and_sent_by_who_sends_them(made: Stack) -> None:
    key = own_key(made)
    inbox, failed = arn(made, QUEUE, "InboxQueue"), arn(made, QUEUE, "InboxDeadLetters")
    settled, swept = arn(made, QUEUE, "SettleDeadLetters"), arn(made, QUEUE, "ReconcileDeadLetters")
    assert users(made, DECRYPT, key, inbox, "sqs") == {"IngestRole"}
    assert users(made, DECRYPT, key, failed, "sqs") == {"ReconcileRole", "ActRole"}
    assert users(made, ENCRYPT, key, settled, "sqs") == {"SettleRole"}
    assert users(made, DECRYPT, key, settled, "sqs") == {"SettleRole", "ReconcileRole", "ActRole"}
    assert users(made, ENCRYPT, key, swept, "sqs") == {"ReconcileRole"}


def test_secrets_are_decrypted_by_who_reads_them(made: Stack) -> None:
    slack = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:lakegate/slack-a1B2c3"
    assert users(made, DECRYPT, own_key(made), slack, "secretsmanager") == set(STARTERS)
    password = arn(made, "AWS::SecretsManager::Secret", "DatabasePassword")
    assert users(made, DECRYPT, own_key(made), password, "secretsmanager") == {"ServerStarter"}


def test_a_job_s_own_policy_leaves_it_the_key_for_its_own_files_alone(made: Stack) -> None:
    """The key is the bucket's, so it is the job's right to objects that tells its files from another's."""
    who = f"arn:aws:iam::{ACCOUNT}:role/spark"
    settings = replace(SETTINGS, job_role_arn=who, service_bucket="service-bucket", lake_bucket="lake-bucket")
    attempt = Attempt(table="shop.orders", batch="20260101T000000Z-0123456789ab", number=1)
    staged = "s3://service-bucket/staging/mine/x.parquet"
    reach = Reach(reads=(staged,), writes=("s3://service-bucket/reports/mine.json",), tables={})
    session = iam.statements_of(job_policy(settings, attempt, reach))
    ours = {
        arn(made, BUCKET, "StorageService"): "arn:aws:s3:::service-bucket",
        arn(made, BUCKET, "StorageLake"): "arn:aws:s3:::lake-bucket",
    }

    def renamed(value: Any) -> Any:
        match value:
            case str():
                return next((value.replace(was, now) for was, now in ours.items() if was in value), value)
            case list():
                return [renamed(each) for each in value]
            case dict():
                return {name: renamed(each) for name, each in value.items()}
            case _:
                return value

    statements = renamed(own(made, "SparkRole"))

    def allowed(action: str, resource: str, values: Mapping[str, list[str]]) -> bool:
        request = Request(principal=who, action=action, resource=resource, context=values)
        return iam.is_allowed(request, statements, session=session)

    for thing in ("arn:aws:s3:::service-bucket", "arn:aws:s3:::lake-bucket"):
        assert allowed(DECRYPT, own_key(made), context("s3", "aws:s3:arn", thing))
        assert allowed(ENCRYPT, own_key(made), context("s3", "aws:s3:arn", thing))
    landing = arn(made, BUCKET, "StorageLanding")
    assert not allowed(DECRYPT, own_key(made), context("s3", "aws:s3:arn", landing))
    assert allowed("s3:GetObject", "arn:aws:s3:::service-bucket/staging/mine/x.parquet", {})
    assert not allowed("s3:GetObject", "arn:aws:s3:::service-bucket/staging/others/x.parquet", {})


def policy(stack: Stack) -> list[dict[str, Any]]:
    return [spelled(stack, it) for it in stack.one("AWS::KMS::Key", "StorageKey")["KeyPolicy"]["Statement"]]


def by_policy(stack: Stack, who: str, action: str, **values: str) -> bool:
    """True if the key's policy itself allows it, or leaves it to the account for the account's own roles."""
    spelled_out = {name.replace("__", ":"): [value] for name, value in values.items()}
    request = Request(principal=who, action=action, resource="*", context=spelled_out)
    return iam.effects(request, policy(stack)) == {"Allow"}


OURS, THEIRS = f"arn:aws:iam::{ACCOUNT}:role/any", "arn:aws:iam::210987654321:role/uploads"


def test_the_account_administers_the_key_and_uses_it_through_three_services_alone(made: Stack) -> None:
    for action in ("kms:PutKeyPolicy", "kms:ScheduleKeyDeletion", "kms:DescribeKey"):
        assert by_policy(made, OURS, action)
        assert not by_policy(made, THEIRS, action)
    for action in (DECRYPT, ENCRYPT, "kms:Encrypt", "kms:ReEncryptFrom", "kms:CreateGrant"):
        assert not by_policy(made, OURS, action)
    for service in ("s3", "sqs", "secretsmanager"):
        assert by_policy(made, OURS, DECRYPT, kms__ViaService=f"{service}.{REGION}.amazonaws.com")
    assert not by_policy(made, OURS, DECRYPT, kms__ViaService=f"rds.{REGION}.amazonaws.com")


def test_services_use_the_key_for_this_installation_s_logs_and_this_account_s_events(made: Stack) -> None:
    logs, name = f"logs.{REGION}.amazonaws.com", "kms:EncryptionContext:aws:logs:arn"

    def logged(group: str) -> bool:
        return by_policy(made, logs, ENCRYPT, **{name: f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{group}"})

    assert logged("/aws/lambda/lakegate-ingest")
    assert logged("lakegate-catalog-ServerLog-0a1b")
    assert not logged("/aws/lambda/another")
    assert by_policy(made, "events.amazonaws.com", ENCRYPT, aws__SourceAccount=ACCOUNT)
    assert not by_policy(made, "events.amazonaws.com", ENCRYPT, aws__SourceAccount="210987654321")
    assert not by_policy(made, "sns.amazonaws.com", ENCRYPT, aws__SourceAccount=ACCOUNT)


def test_an_uploader_of_another_account_encrypts_what_it_puts_in_the_landing_bucket(made: Stack) -> None:
    landing = f"arn:aws:s3:::lakegate-landing-{ACCOUNT}-{REGION}"

    def puts(who: str, bucket: str) -> bool:
        values = context("s3", "aws:s3:arn", bucket)
        request = Request(principal=who, action=ENCRYPT, resource="*", context=values)
        return iam.effects(request, policy(made)) == {"Allow"}

    assert puts(THEIRS, landing)
    assert puts(THEIRS, f"{landing}/acme/x.csv")
    assert not puts(THEIRS, landing.replace("-landing-", "-lake-"))
    assert not puts("arn:aws:iam::321098765432:role/uploads", landing)


def effects(stack: Stack, **headers: str) -> set[str]:
    """The landing bucket's policy answers an upload with these headers: Allow, Deny, or both."""
    bucket = stack.name(BUCKET, "StorageLanding")
    found = [it for it in stack.resources("AWS::S3::BucketPolicy").values() if it["Bucket"] == {"Ref": bucket}]
    statements = [spelled(stack, it) for each in found for it in each["PolicyDocument"]["Statement"]]
    name = "s3:x-amz-server-side-encryption"
    values = {f"{name}{header.replace('_', '-')}": [value] for header, value in headers.items()}
    values |= {"aws:SecureTransport": ["true"], "s3:TlsVersion": ["1.3"]}
    resource = f"{arn(stack, BUCKET, 'StorageLanding')}/acme/x.csv"
    return iam.effects(Request(principal=THEIRS, action="s3:PutObject", resource=resource, context=values), statements)


def test_uploads_are_under_the_bucket_s_key_or_one_that_functions_can_use(made: Stack) -> None:
    assert effects(made) == {"Allow"}
    for key in (own_key(made), VENDORS):
        assert effects(made, **{"": "aws:kms", "_aws_kms_key_id": key}) == {"Allow"}
    assert "Deny" in effects(made, **{"": "aws:kms", "_aws_kms_key_id": KEY})
    assert "Deny" in effects(made, **{"": "aws:kms"})  # AWS's own key
    assert "Deny" in effects(made, **{"": "aws:kms:dsse"})
    assert "Deny" in effects(made, **{"": "AES256"})
    assert "Deny" in effects(made, _customer_algorithm="AES256")


def test_upload_keys_alone_leave_the_buckets_as_they_are(stack: Stack) -> None:
    """Of a stack without a key: nothing is under one, nobody uses one, and there is no fourth bucket."""
    assert stack.resources("AWS::KMS::Key") == {}
    assert len(stack.resources(BUCKET)) == 3
    assert not [action for role in roles(stack) for action, _ in stack.rights(role) if action.startswith("kms:")]


@pytest.mark.parametrize(
    ("policy_name", "what"),
    [("ReadersReadLake", "Lake"), ("CleanerCleanLake", "Service"), ("VerifierVerify", "Service")],
)
def test_people_s_policies_have_the_key_s_part(made: Stack, policy_name: str, what: str) -> None:
    document = made.one("AWS::IAM::ManagedPolicy", policy_name)["PolicyDocument"]
    statements = [spelled(made, it) for it in document["Statement"]]
    request = Request(
        principal=OURS,
        action=DECRYPT,
        resource=own_key(made),
        context=context("s3", "aws:s3:arn", arn(made, BUCKET, f"Storage{what}")),
    )
    assert iam.is_allowed(request, statements)


def test_the_docs_have_the_policy_that_a_key_of_one_s_own_needs(made: Stack) -> None:
    """A key that is given by its ARN has a policy of its owner's."""
    text = (Path(__file__).parents[2] / "docs/how-to/encryption.md").read_text()
    (told,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    wanted = json.dumps([it for it in policy(made) if not it["Sid"].startswith("Upload2")])
    for name, value in (("ACCOUNT", ACCOUNT), ("REGION", REGION), ("VENDOR", "210987654321")):
        wanted = wanted.replace(value, f"<{name}>")
    assert json.loads(told) == json.loads(wanted)


def test_a_key_that_is_given_is_used_as_it_is(given: Stack) -> None:
    assert given.resources("AWS::KMS::Key") == {}
    lake = arn(given, BUCKET, "StorageLake")
    assert users(given, DECRYPT, KEY, lake) == {*STARTERS, "SparkRole", "ExpressRole", "ReadRole"}
    assert {it["KmsMasterKeyId"] for it in given.resources(QUEUE).values()} == {KEY}


def test_authorities_are_in_the_outputs_and_of_functions_a_file(given: Stack) -> None:
    """All of a function's environment has four kilobytes."""
    assert given.template["Outputs"]["NessieCa"]["Value"] == GIVEN["nessie_ca"]
    told = [it["Environment"]["Variables"] for it in given.resources("AWS::Lambda::Function").values()]
    assert [it["LAKEGATE_NESSIE_CA"] for it in told] == ["nessie-ca.pem"] * 7
    assert max(sum(len(name) + len(flat(value)) for name, value in it.items()) for it in told) < 3500


THEIR_BUCKET = "arn:aws:s3:::their-files"


def test_a_landing_bucket_that_is_there_is_neither_made_nor_changed(given: Stack) -> None:
    assert {beginning(name) for name in given.resources(BUCKET)} == {
        "StorageLake",
        "StorageService",
        "StorageAccess",
    }
    assert len(given.resources("AWS::S3::BucketPolicy")) == 3
    assert given.template["Outputs"]["LandingBucket"]["Value"] == "their-files"
    assert given.template["Outputs"]["LandingPrefixes"]["Value"] == "in/shop/,in/nyc/,_canary/"


def test_what_lands_below_the_prefixes_alone_goes_to_the_inbox(given: Stack) -> None:
    assert given.one("AWS::Events::Rule", "InboxLanded")["EventPattern"]["detail"] == {
        "bucket": {"name": ["their-files"]},
        "object": {"key": [{"prefix": each} for each in ("in/shop/", "in/nyc/", "_canary/")]},
    }


def in_their_bucket(given: Stack, role: str, action: str, key: str = "", **values: str) -> bool:
    resource = f"{THEIR_BUCKET}/{key}" if key else THEIR_BUCKET
    asked = {name.replace("__", ":"): [value] for name, value in values.items()}
    request = Request(principal=OURS, action=action, resource=resource, context=asked)
    return iam.is_allowed(request, own(given, role))


@pytest.mark.parametrize("role", sorted(FUNCTIONS))
def test_in_a_bucket_of_somebody_else_s_a_function_reads_and_lists_below_the_prefixes_alone(
    given: Stack, role: str
) -> None:
    assert in_their_bucket(given, role, "s3:GetObjectVersion", "in/shop/x.csv")
    assert not in_their_bucket(given, role, "s3:GetObjectVersion", "in/others/x.csv")
    for prefix, may_list in (("in/shop/", True), ("in/nyc/2026/x.csv", True), ("", False), ("in/", False)):
        assert in_their_bucket(given, role, "s3:ListBucketVersions", s3__prefix=prefix) is may_list
    assert not in_their_bucket(given, role, "s3:ListBucketVersions")
    for action in ("s3:ListBucket", "s3:PutObject", "s3:DeleteObject", "s3:GetBucketPolicy"):
        assert not in_their_bucket(given, role, action, s3__prefix="in/shop/")
        assert not in_their_bucket(given, role, action, "in/shop/x.csv")


def test_nobody_else_has_a_right_in_it_but_the_canary_on_its_own_key(given: Stack) -> None:
    theirs = {
        role: {(action, it.removeprefix(THEIR_BUCKET)) for action, it in given.rights(role) if "their-files" in it}
        for role in ("SparkRole", "CanaryRole")
    }
    assert theirs["SparkRole"] == set()
    assert {what for _, what in theirs["CanaryRole"]} == {
        "arn:<AWS::Partition>:s3:::their-files/_canary/heartbeat.parquet"
    }
    landing = f"{THEIR_BUCKET}/in/shop/x.csv"
    assert users(given, DECRYPT, VENDORS, landing) == FUNCTIONS
