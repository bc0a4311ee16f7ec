"""Least privilege, role by role, read off the template. tests/local/test_rights.py proves it by what roles ask for."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest

from tests.infra.template import Stack, flat
from tests.support.iam import listed

pytestmark = pytest.mark.synth
STARTERS = ("IngestRole", "SettleRole", "ReconcileRole", "ActRole")  # of attempts
FUNCTIONS = (*STARTERS, "ReadRole")
ROLES = (*FUNCTIONS, "ExpressRole", "SparkRole")
BUCKET = "AWS::S3::Bucket"
FIND = {("s3:ListBucket", "")}


def below(*prefixes: str, actions: tuple[str, ...]) -> set[tuple[str, str]]:
    return {(action, f"/{prefix}/*") for prefix in prefixes for action in actions}


NETWORK = {  # what Lambda asks for to put a function into subnets; the actions take no resource
    "ec2:CreateNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:DeleteNetworkInterface",
    "ec2:AssignPrivateIpAddresses",
    "ec2:UnassignPrivateIpAddresses",
}
TOKENS = "sts:GetWebIdentityToken"  # a token of the role itself; it takes no resource
READ, WRITE = ("s3:GetObject",), ("s3:PutObject",)
WRITE_PARTS = (*WRITE, "s3:AbortMultipartUpload")
READ_LANDING = {
    ("s3:ListBucket", ""),
    ("s3:ListBucketVersions", ""),
    ("s3:GetObjectVersion", "/*"),
}
USE_SERVICE = (
    FIND
    | below("contracts", "attempts", "begun", "reports", "handovers", actions=READ)
    | below("staging", "notes", "receipts", "closed", actions=READ)
    | below("staging", actions=WRITE_PARTS)
    | below("attempts", "notes", "receipts", "closed", actions=WRITE)
    | below("notes", actions=("s3:DeleteObject",))
)
OBSERVE_SERVICE = FIND | below(
    *("contracts", "attempts", "begun", "reports", "handovers", "notes", "receipts", "closed"), actions=READ
)
PUSH = below("contracts", actions=("s3:DeleteObject", "s3:PutObject"))
RUN_JOB = (
    FIND
    | below("attempts", "begun", "staging", "reports", "logs/applications", actions=READ)
    | below("begun", "reports", actions=WRITE)
    | below("logs/applications", actions=WRITE_PARTS)
)
RUN_EXPRESS_JOB = below("attempts", "staging", actions=READ) | below("begun", "reports", "handovers", actions=WRITE)
SEND = {("sqs:SendMessage", "")}  # Lambda, for a function whose call has failed
WAREHOUSE = FIND | below("warehouse", actions=(*READ, *WRITE_PARTS))
WAREHOUSE_WHOLE = FIND | below("warehouse", actions=(*READ, *WRITE))


@pytest.mark.parametrize("role", FUNCTIONS)
def test_a_function_reads_the_landing_bucket_and_nothing_more(stack: Stack, role: str) -> None:
    assert stack.rights_in(role, BUCKET, "StorageLanding") == READ_LANDING


@pytest.mark.parametrize("role", ["SparkRole", "ExpressRole"])
def test_a_job_has_no_right_in_the_landing_bucket(stack: Stack, role: str) -> None:
    assert stack.rights_in(role, BUCKET, "StorageLanding") == set()


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("IngestRole", USE_SERVICE),
        ("SettleRole", USE_SERVICE),
        ("ReconcileRole", USE_SERVICE),
        ("ActRole", USE_SERVICE | PUSH),
        ("ReadRole", OBSERVE_SERVICE),
        ("SparkRole", RUN_JOB),
        ("ExpressRole", RUN_EXPRESS_JOB),
    ],
)
def test_each_role_uses_its_own_prefixes_of_the_service_bucket(
    stack: Stack, role: str, rights: set[tuple[str, str]]
) -> None:
    assert stack.rights_in(role, BUCKET, "StorageService") == rights


@pytest.mark.parametrize(
    ("role", "rights"),
    [*((role, WAREHOUSE) for role in (*STARTERS, "SparkRole")), ("ExpressRole", WAREHOUSE_WHOLE)],
)
def test_who_opens_attempts_settles_or_appends_adds_to_the_warehouse_and_deletes_nothing(
    stack: Stack, role: str, rights: set[tuple[str, str]]
) -> None:
    assert stack.rights_in(role, BUCKET, "StorageLake") == rights


def may_read(stack: Stack, policy: str, key: str) -> bool:
    """Return True if one of the readers' policies allows to read an object of the lake bucket."""
    statements = stack.one("AWS::IAM::ManagedPolicy", f"Readers{policy}")["PolicyDocument"]["Statement"]
    allowed = [statement for statement in statements if statement["Action"] == "s3:GetObject"]
    assert allowed == statements  # nothing is denied, so that the two add up, and nothing else is allowed
    assert {statement["Effect"] for statement in statements} == {"Allow"}
    patterns = [flat(resource) for statement in allowed for resource in listed(statement["Resource"])]
    lake = stack.name(BUCKET, "StorageLake")
    return any(fnmatchcase(f"<{lake}.Arn>/{key}", pattern) for pattern in patterns)


@pytest.mark.parametrize(
    ("key", "policies"),
    [
        ("warehouse/nyc/flights_0f3a/data/00000.parquet", {"ReadLake"}),
        ("warehouse/z9/a_0f3a/metadata/00000.metadata.json", {"ReadLake"}),
        ("warehouse/_quarantine/nyc_flights_0f3a/data/00000.parquet", {"ReadQuarantine"}),
        ("warehouse/_audits/nyc_flights_0f3a/data/00000.parquet", {"ReadAudits"}),
        ("warehouse/_lakegate/receipts", set()),
        ("warehouse/_canary/heartbeat_0f3a/data/00000.parquet", set()),
        ("elsewhere/nyc/flights", set()),
    ],
)
def test_who_reads_the_lake_reads_quarantine_and_audits_by_policies_of_their_own(
    stack: Stack, key: str, policies: set[str]
) -> None:
    readers = ("ReadLake", "ReadQuarantine", "ReadAudits")
    assert {policy for policy in readers if may_read(stack, policy, key)} == policies


def allowed(stack: Stack, policy: str) -> set[tuple[str, str]]:
    """Every (action, resource) of a policy that allows and does nothing else."""
    statements = stack.one("AWS::IAM::ManagedPolicy", policy)["PolicyDocument"]["Statement"]
    assert {statement["Effect"] for statement in statements} == {"Allow"}
    return {
        (action, flat(resource))
        for statement in statements
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def test_who_verifies_reads_what_is_compared_and_lists_what_landed_and_changes_nothing(stack: Stack) -> None:
    lake, service, landing = (stack.name(BUCKET, f"Storage{name}") for name in ("Lake", "Service", "Landing"))
    asked = ("attempts", "reports", "receipts", "closed", "notes")
    assert allowed(stack, "VerifierVerify") == {
        ("s3:ListBucket", f"<{lake}.Arn>"),
        ("s3:ListBucket", f"<{service}.Arn>"),
        ("s3:ListBucketVersions", f"<{landing}.Arn>"),
        ("s3:GetObject", f"<{lake}.Arn>/warehouse/*"),
        *(("s3:GetObject", f"<{service}.Arn>/{it}/*") for it in asked),
    }


def test_who_cleans_deletes_from_the_warehouse_and_no_earlier_versions_and_keeps_notes(stack: Stack) -> None:
    lake, service = (stack.name(BUCKET, name) for name in ("StorageLake", "StorageService"))
    assert allowed(stack, "CleanerCleanLake") == {
        ("s3:ListBucket", f"<{lake}.Arn>"),
        ("s3:ListBucket", f"<{service}.Arn>"),
        ("s3:GetObject", f"<{lake}.Arn>/warehouse/*"),
        ("s3:DeleteObject", f"<{lake}.Arn>/warehouse/*"),
        *(("s3:GetObject", f"<{service}.Arn>/{it}/*") for it in ("contracts", "attempts", "reports", "cleaning")),
        ("s3:PutObject", f"<{service}.Arn>/cleaning/*"),
    }


def test_the_policies_of_readers_and_people_are_nobodys_yet(stack: Stack) -> None:
    policies = stack.resources("AWS::IAM::ManagedPolicy")
    assert len(policies) == 7
    assert not [policy for policy in policies.values() if {"Roles", "Users", "Groups"} & policy.keys()]


@pytest.mark.parametrize("role", ROLES)
def test_no_role_may_do_everything_or_act_on_everything_but_a_functions_network_and_its_own_tokens(
    stack: Stack, role: str
) -> None:
    wide = {(action, resource) for action, resource in stack.rights(role) if "*" in action or resource == "*"}
    network = NETWORK if role != "SparkRole" else set()
    assert wide == {(action, "*") for action in {*network, TOKENS}}


@pytest.mark.parametrize("role", ROLES)
def test_no_role_has_a_managed_policy(stack: Stack, role: str) -> None:
    assert "ManagedPolicyArns" not in stack.one("AWS::IAM::Role", role)


@pytest.mark.parametrize("role", STARTERS)
def test_a_function_runs_jobs_of_this_application_alone(stack: Stack, role: str) -> None:
    assert stack.rights_in(role, "AWS::EMRServerless::Application", "SparkApplication") == {
        ("emr-serverless:StartJobRun", ""),
        ("emr-serverless:ListJobRuns", ""),
        ("emr-serverless:GetJobRun", "/jobruns/*"),
        ("emr-serverless:TagResource", "/jobruns/*"),  # a run is started with its tags
    }


@pytest.mark.parametrize("role", STARTERS)
def test_a_function_hands_the_job_role_to_emr_alone(stack: Stack, role: str) -> None:
    passing = [statement for statement in stack.statements(role) if "iam:PassRole" in listed(statement["Action"])]
    assert [(flat(each["Resource"]), each["Condition"]) for each in passing] == [
        (
            f"<{stack.name('AWS::IAM::Role', 'SparkRole')}.Arn>",
            {"StringEquals": {"iam:PassedToService": "emr-serverless.amazonaws.com"}},
        )
    ]


@pytest.mark.parametrize("role", STARTERS)
def test_a_function_calls_the_express_lanes_by_its_name(stack: Stack, role: str) -> None:
    [called] = [resource for action, resource in stack.rights(role) if action == "lambda:InvokeFunction"]
    assert called.endswith(":function:lakegate-express")


def test_the_spark_job_starts_no_jobs_and_reads_no_secret(stack: Stack) -> None:
    assert {action.split(":")[0] for action, _ in stack.rights("SparkRole")} == {"s3", "sts"}


def test_the_express_job_starts_no_jobs_reads_no_secret_and_takes_from_no_queue(stack: Stack) -> None:
    called = {resource for action, resource in stack.rights("ExpressRole") if action.startswith("lambda:")}
    assert called == {f"<{stack.name('AWS::Lambda::Function', 'SettleFunction')}.Arn>"}
    services = {action.split(":")[0] for action, _ in stack.rights("ExpressRole")}
    assert services == {"s3", "sts", "logs", "lambda", "ec2"}


def test_the_spark_job_reads_what_was_uploaded_for_this_stack_and_no_other_stacks_assets(stack: Stack) -> None:
    assets = {(action, resource) for action, resource in stack.rights("SparkRole") if "-assets-" in resource}
    bucket = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"
    assert assets == {("s3:GetObject", f"arn:<AWS::Partition>:s3:::{bucket}/lakegate/*")}
    outputs = {name: flat(body["Value"]) for name, body in stack.template["Outputs"].items()}
    uris = [outputs["JobEntryPoint"], outputs["JobPyFiles"], *outputs["JobJars"].split(",")]
    assert {uri.rpartition("/")[0] for uri in uris} == {f"s3://{bucket}/lakegate"}


@pytest.mark.parametrize("role", STARTERS)
def test_a_function_puts_events_on_one_bus_alone(stack: Stack, role: str) -> None:
    [(action, bus)] = [(a, r) for a, r in stack.rights(role) if a.startswith("events:")]
    assert (action, bus.rpartition(":")[2]) == ("events:PutEvents", "event-bus/lake-events")


@pytest.mark.parametrize("role", STARTERS)
def test_a_function_reads_the_secrets_of_those_that_it_tells_alone(stack: Stack, role: str) -> None:
    secrets = {(a, r) for a, r in stack.rights(role) if a.startswith("secretsmanager:")}
    assert {action for action, _ in secrets} == {"secretsmanager:GetSecretValue"}
    assert {resource.rpartition(":secret:")[2] for _, resource in secrets} == {
        f"lakegate/{name}-??????" for name in ("slack", "webhook", "lineage")
    }


@pytest.mark.parametrize(
    ("role", "actions"),
    [
        (
            "IngestRole",
            {
                "sqs:ReceiveMessage",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:SendMessage",
            },
        ),
        ("SettleRole", set()),
        ("ReconcileRole", set()),
        ("ActRole", set()),
        ("ReadRole", set()),
        ("SparkRole", set()),
        ("ExpressRole", set()),
    ],
)
def test_ingest_alone_takes_from_the_queue_and_puts_reminders_there(stack: Stack, role: str, actions: set[str]) -> None:
    assert {action for action, _ in stack.rights_in(role, "AWS::SQS::Queue", "InboxQueue")} == actions


@pytest.mark.parametrize("queue", ["InboxDeadLetters", "SettleDeadLetters"])
def test_the_sweep_alone_reads_dead_letters_and_deletes_those_that_it_has_handled(stack: Stack, queue: str) -> None:
    drained = {("sqs:ReceiveMessage", ""), ("sqs:DeleteMessage", "")}
    rights = {role: stack.rights_in(role, "AWS::SQS::Queue", queue) - SEND for role in ROLES}
    assert rights == {role: drained if role in ("ReconcileRole", "ActRole") else set() for role in ROLES}


@pytest.mark.parametrize("role", [*FUNCTIONS, "ExpressRole"])
def test_a_function_writes_to_its_own_log_alone(stack: Stack, role: str) -> None:
    log = stack.name("AWS::Logs::LogGroup", role.replace("Role", "Log"))
    logs = {resource for action, resource in stack.rights(role) if action.startswith("logs:")}
    assert logs == {f"<{log}.Arn>"}


@pytest.mark.parametrize(
    ("role", "service"),
    [
        ("IngestRole", "lambda.amazonaws.com"),
        ("SettleRole", "lambda.amazonaws.com"),
        ("ReconcileRole", "lambda.amazonaws.com"),
        ("ActRole", "lambda.amazonaws.com"),
        ("ReadRole", "lambda.amazonaws.com"),
        ("ExpressRole", "lambda.amazonaws.com"),
        ("SparkRole", "emr-serverless.amazonaws.com"),
    ],
)
def test_a_role_is_for_one_service(stack: Stack, role: str, service: str) -> None:
    trust = stack.one("AWS::IAM::Role", role)["AssumeRolePolicyDocument"]["Statement"]
    assert [each["Principal"] for each in trust] == [{"Service": service}]


@pytest.mark.parametrize(
    ("role", "part"),
    [
        ("IngestRole", "ingest"),
        ("SettleRole", "publish"),
        ("ReconcileRole", "publish"),
        ("ActRole", "publish"),
        ("ReadRole", "observer"),
        ("SparkRole", "spark"),
    ],
)
def test_a_role_has_its_part_in_the_catalog_and_tokens_for_its_audience_alone(
    stack: Stack, role: str, part: str
) -> None:
    tags = {tag["Key"]: tag["Value"] for tag in stack.one("AWS::IAM::Role", role)["Tags"]}
    assert tags == {"lakegate": part}
    asking = [each for each in stack.statements(role) if TOKENS in listed(each["Action"])]
    assert [(each["Action"], each["Condition"]) for each in asking] == [
        (TOKENS, {"ForAllValues:StringEquals": {"sts:IdentityTokenAudience": ["lakegate-test"]}})
    ]


def test_emr_takes_the_jobs_role_for_this_application_of_this_account_alone(stack: Stack) -> None:
    (trust,) = stack.one("AWS::IAM::Role", "SparkRole")["AssumeRolePolicyDocument"]["Statement"]
    arn = {"Fn::GetAtt": [stack.name("AWS::EMRServerless::Application", "SparkApplication"), "Arn"]}
    assert trust["Action"] == "sts:AssumeRole"
    assert trust["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}},
        "ArnLike": {"aws:SourceArn": [arn, {"Fn::Join": ["", [arn, "/*"]]}]},
    }


def test_there_are_no_roles_but_these(stack: Stack) -> None:
    assert len(stack.resources("AWS::IAM::Role")) == len(ROLES) + 1  # the canary's


def test_the_function_that_answers_questions_changes_nothing_and_reads_rows_of_the_warehouse(stack: Stack) -> None:
    rights = {action for action, _ in stack.rights("ReadRole")} - NETWORK - {TOKENS}
    assert rights == {
        "s3:ListBucket",
        "s3:ListBucketVersions",
        "s3:GetObject",
        "s3:GetObjectVersion",
        "emr-serverless:ListJobRuns",
        "emr-serverless:GetJobRun",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
    }
    assert stack.rights_in("ReadRole", BUCKET, "StorageLake") == {
        ("s3:GetObject", "/warehouse/*"),
        ("s3:ListBucket", ""),
    }


@pytest.mark.parametrize("what", ["Read", "Act"])
def test_a_person_s_policy_is_to_call_one_function_at_its_url_and_to_find_it(stack: Stack, what: str) -> None:
    policy = stack.one("AWS::IAM::ManagedPolicy", f"People{what}")["PolicyDocument"]["Statement"]
    arn = f"<{stack.name('AWS::Lambda::Function', f'{what}Function')}.Arn>"
    said = [(each["Effect"], each["Action"], flat(each["Resource"]), each.get("Condition")) for each in policy]
    assert said == [
        ("Allow", "lambda:InvokeFunctionUrl", arn, {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}),
        # Whoever may invoke the function otherwise writes the event, and with it the name of the caller.
        ("Allow", "lambda:InvokeFunction", arn, {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}),
        ("Allow", "cloudformation:DescribeStacks", "<AWS::StackId>", None),
    ]


def test_two_functions_have_urls_which_nobody_calls_unknown_and_no_page_calls(stack: Stack) -> None:
    urls = stack.resources("AWS::Lambda::Url").values()
    functions = {f"<{stack.name('AWS::Lambda::Function', f'{what}Function')}.Arn>" for what in ("Read", "Act")}
    assert {flat(url["TargetFunctionArn"]) for url in urls} == functions
    assert [url["AuthType"] for url in urls] == ["AWS_IAM", "AWS_IAM"]
    assert not [url for url in urls if "Cors" in url]
    invokers = [each["Principal"] for each in stack.resources("AWS::Lambda::Permission").values()]
    assert set(invokers) == {"events.amazonaws.com"}


def test_the_canary_lands_under_its_own_key_and_pushes_its_own_contract_and_may_nothing_else(stack: Stack) -> None:
    key = "/_canary/heartbeat.parquet"
    landing = {(action, key) for action in (*WRITE, "s3:GetObjectVersion")}
    assert stack.rights_in("CanaryRole", BUCKET, "StorageLanding") == landing
    contract = {(action, "/contracts/_canary.heartbeat.yaml") for action in WRITE}
    assert stack.rights_in("CanaryRole", BUCKET, "StorageService") == FIND | below("contracts", actions=READ) | contract
    services = {action.split(":")[0] for action, _ in stack.rights("CanaryRole")}
    assert services == {"s3", "logs", "sqs", "ec2"}
    assert stack.rights_in("CanaryRole", "AWS::SQS::Queue", "CanaryDeadLetters") == SEND
