"""Tests of what the stacks are made of: buckets, queues, rules, functions, the application, outputs."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from infra.config import Config
from lakegate.adapters.emr import spark_defaults
from lakegate.settings import PREFIX, Settings, output_name
from tests.infra.conftest import CONTEXT, EPHEMERAL, synthesised
from tests.infra.template import Stack, flat

pytestmark = pytest.mark.synth
ROOT = Path(__file__).resolve().parents[2]
BUCKETS = ("Landing", "Lake", "Service")
FUNCTIONS = ("Ingest", "Settle", "Reconcile", "Canary", "Read", "Act", "Express")
QUEUES = ("InboxQueue", "InboxDeadLetters", "SettleDeadLetters", "ReconcileDeadLetters", "CanaryDeadLetters")
RULES = ("InboxLanded", "SparkJobEnded", "Sweep", "CanaryDue")
FUNCTION, QUEUE, RULE = "AWS::Lambda::Function", "AWS::SQS::Queue", "AWS::Events::Rule"


def denies_plain_http(statements: list[dict[str, Any]]) -> bool:
    return any(
        each["Effect"] == "Deny"
        and each["Principal"] == {"AWS": "*"}
        and each.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
        for each in statements
    )


def policy_of(stack: Stack, kind: str, attribute: str, name: str) -> list[dict[str, Any]]:
    """The statements of the only resource policy on a queue or a bucket."""
    policies = stack.resources(kind).values()
    (found,) = [policy for policy in policies if {"Ref": name} in (policy[attribute], *policy[attribute])]
    statements: list[dict[str, Any]] = found["PolicyDocument"]["Statement"]
    return statements


@pytest.mark.parametrize("what", BUCKETS)
def test_a_bucket_is_named_by_account_and_region(stack: Stack, what: str) -> None:
    bucket = stack.one("AWS::S3::Bucket", f"Storage{what}")
    assert flat(bucket["BucketName"]) == f"lakegate-{what.lower()}-<AWS::AccountId>-<AWS::Region>"


@pytest.mark.parametrize("what", BUCKETS)
def test_a_bucket_is_closed_to_the_public_and_encrypted(stack: Stack, what: str) -> None:
    bucket = stack.one("AWS::S3::Bucket", f"Storage{what}")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"


@pytest.mark.parametrize("what", BUCKETS)
def test_a_bucket_answers_over_tls_only(stack: Stack, what: str) -> None:
    name = stack.name("AWS::S3::Bucket", f"Storage{what}")
    assert denies_plain_http(policy_of(stack, "AWS::S3::BucketPolicy", "Bucket", name))


@pytest.mark.parametrize("what", BUCKETS)
def test_a_bucket_outlives_the_stack(stack: Stack, what: str) -> None:
    resource = stack.template["Resources"][stack.name("AWS::S3::Bucket", f"Storage{what}")]
    assert resource["UpdateReplacePolicy"] == "Retain"
    assert resource["DeletionPolicy"] == "RetainExceptOnCreate"


@pytest.mark.parametrize("what", BUCKETS)
def test_uploads_that_never_finish_are_cleaned_up(stack: Stack, what: str) -> None:
    rules = stack.one("AWS::S3::Bucket", f"Storage{what}")["LifecycleConfiguration"]["Rules"]
    assert any("AbortIncompleteMultipartUpload" in rule and "Prefix" not in rule for rule in rules)


def expiring(stack: Stack, what: str) -> dict[str, tuple[int | None, int | None, bool]]:
    """By prefix: after how many days objects go, and versions that are replaced, and whether delete markers do."""
    rules = stack.one("AWS::S3::Bucket", f"Storage{what}")["LifecycleConfiguration"]["Rules"]
    return {
        rule.get("Prefix", ""): (
            rule.get("ExpirationInDays"),
            rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays"),
            rule.get("ExpiredObjectDeleteMarker", False),
        )
        for rule in rules
        if any("Expir" in setting for setting in rule)
    }


def test_nothing_expires_but_staged_copies_and_logs_and_what_was_replaced(stack: Stack) -> None:
    replaced = (None, 30, True)
    assert expiring(stack, "Service") == {"staging/": (14, 1, False), "logs/": (90, 1, False), "": replaced}
    assert expiring(stack, "Lake") == {"": replaced}
    canaries = {"_canary/heartbeat.parquet": (None, 30, False)}  # the last one stays
    assert expiring(stack, "Landing") == {"": (90, 90, False), **canaries}


def test_uploaders_may_put_files_in_the_landing_bucket_and_nothing_else(stack: Stack) -> None:
    name = stack.name("AWS::S3::Bucket", "StorageLanding")
    (allowed,) = [
        each for each in policy_of(stack, "AWS::S3::BucketPolicy", "Bucket", name) if each["Effect"] == "Allow"
    ]
    assert set(allowed["Principal"]["AWS"]) == set(CONTEXT["landing_uploaders"])
    assert set(allowed["Action"]) == {"s3:PutObject", "s3:AbortMultipartUpload"}
    assert flat(allowed["Resource"]) == f"<{name}.Arn>/*"


def test_without_uploaders_and_landing_days_nobody_else_may_upload_and_nothing_that_landed_expires(
    tmp_path: Path,
) -> None:
    stack = synthesised(EPHEMERAL, tmp_path)
    policy = policy_of(stack, "AWS::S3::BucketPolicy", "Bucket", stack.name("AWS::S3::Bucket", "StorageLanding"))
    assert {each["Effect"] for each in policy} == {"Deny"}
    assert expiring(stack, "Landing") == {}
    assert not [name for kind in (FUNCTION, RULE) for name in stack.resources(kind) if "Canary" in name]


@pytest.mark.parametrize("what", BUCKETS)
def test_what_is_overwritten_or_deleted_can_be_had_back(stack: Stack, what: str) -> None:
    assert stack.one("AWS::S3::Bucket", f"Storage{what}")["VersioningConfiguration"] == {"Status": "Enabled"}


def test_the_landing_bucket_sends_events(stack: Stack) -> None:
    bucket = stack.one("AWS::S3::Bucket", "StorageLanding")
    assert bucket["NotificationConfiguration"] == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


def test_there_are_no_functions_but_ours_and_no_custom_resources(stack: Stack) -> None:
    assert len(stack.resources(FUNCTION)) == len(FUNCTIONS)
    kinds = {body["Type"] for body in stack.template["Resources"].values()}
    assert not [kind for kind in kinds if "Custom" in kind]


@pytest.mark.parametrize("queue", QUEUES)
def test_a_queue_is_encrypted_and_answers_over_tls_only(stack: Stack, queue: str) -> None:
    assert stack.one(QUEUE, queue)["SqsManagedSseEnabled"] is True
    assert denies_plain_http(policy_of(stack, "AWS::SQS::QueuePolicy", "Queues", stack.name(QUEUE, queue)))


def test_there_are_no_queues_and_rules_but_these(stack: Stack) -> None:
    assert len(stack.resources(QUEUE)) == len(QUEUES)
    assert len(stack.resources(RULE)) == len(RULES)


def test_what_lands_goes_to_the_inbox(stack: Stack) -> None:
    rule = stack.one(RULE, "InboxLanded")
    assert rule["EventPattern"] == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"bucket": {"name": [{"Ref": stack.name("AWS::S3::Bucket", "StorageLanding")}]}},
    }
    assert [flat(target["Arn"]) for target in rule["Targets"]] == [f"<{stack.name(QUEUE, 'InboxQueue')}.Arn>"]


def test_a_message_that_keeps_failing_goes_to_the_dead_letters(stack: Stack) -> None:
    redrive = stack.one(QUEUE, "InboxQueue")["RedrivePolicy"]
    assert flat(redrive["deadLetterTargetArn"]) == f"<{stack.name(QUEUE, 'InboxDeadLetters')}.Arn>"
    assert redrive["maxReceiveCount"] == 5


def test_the_inbox_is_read_in_batches_that_may_fail_in_part(stack: Stack) -> None:
    mapping = stack.one("AWS::Lambda::EventSourceMapping", "Ingest")
    assert mapping["BatchSize"] == 10
    assert mapping["MaximumBatchingWindowInSeconds"] == 0
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert flat(mapping["EventSourceArn"]) == f"<{stack.name(QUEUE, 'InboxQueue')}.Arn>"


def test_ingest_alone_is_told_where_reminders_go_and_all_know_how_long_files_wait(stack: Stack) -> None:
    told = {name: stack.one(FUNCTION, f"{name}Function")["Environment"]["Variables"] for name in ("Ingest", "Settle")}
    assert flat(told["Ingest"]["LAKEGATE_REMINDER_QUEUE_URL"]) == f"<{stack.name(QUEUE, 'InboxQueue')}>"
    assert not told["Settle"].get("LAKEGATE_REMINDER_QUEUE_URL")
    assert {variables["LAKEGATE_BATCH_WINDOW"] for variables in told.values()} == {"20"}


def test_a_message_stays_hidden_for_six_times_what_ingest_may_take(stack: Stack) -> None:
    timeout = stack.one(FUNCTION, "IngestFunction")["Timeout"]
    assert stack.one(QUEUE, "InboxQueue")["VisibilityTimeout"] >= 6 * timeout


@pytest.mark.parametrize(
    ("rule", "dead_letters"),
    [
        ("InboxLanded", "InboxDeadLetters"),
        ("SparkJobEnded", "SettleDeadLetters"),
        ("Sweep", "ReconcileDeadLetters"),
        ("CanaryDue", "CanaryDeadLetters"),
    ],
)
def test_an_event_that_cannot_be_delivered_goes_to_the_dead_letters(stack: Stack, rule: str, dead_letters: str) -> None:
    queue = stack.name(QUEUE, dead_letters)
    (target,) = stack.one(RULE, rule)["Targets"]
    assert flat(target["DeadLetterConfig"]["Arn"]) == f"<{queue}.Arn>"
    senders = [
        flat(each["Condition"]["ArnEquals"]["aws:SourceArn"])
        for each in policy_of(stack, "AWS::SQS::QueuePolicy", "Queues", queue)
        if each["Effect"] == "Allow" and each["Principal"] == {"Service": "events.amazonaws.com"}
    ]
    assert senders == [f"<{stack.name(RULE, rule)}.Arn>"]


@pytest.mark.parametrize("what", ["Settle", "Reconcile"])
def test_an_event_that_a_function_fails_on_goes_to_the_dead_letters(stack: Stack, what: str) -> None:
    queue = f"<{stack.name(QUEUE, f'{what}DeadLetters')}.Arn>"
    config = stack.one("AWS::Lambda::EventInvokeConfig", what)
    assert flat(config["DestinationConfig"]["OnFailure"]["Destination"]) == queue
    assert config["FunctionName"] == {"Ref": stack.name(FUNCTION, f"{what}Function")}
    assert ("sqs:SendMessage", queue) in stack.rights(f"{what}Role")


@pytest.mark.parametrize("queue", ["InboxDeadLetters", "SettleDeadLetters"])
def test_a_dead_letter_raises_an_alarm_if_two_sweeps_have_not_handled_it_either(stack: Stack, queue: str) -> None:
    alarm = stack.one("AWS::CloudWatch::Alarm", queue)
    assert alarm["Dimensions"] == [
        {"Name": "QueueName", "Value": {"Fn::GetAtt": [stack.name(QUEUE, queue), "QueueName"]}}
    ]
    assert (alarm["MetricName"], alarm["Statistic"]) == ("ApproximateNumberOfMessagesVisible", "Maximum")
    assert (alarm["Threshold"], alarm["Period"], alarm["EvaluationPeriods"]) == (1, 300, 3)
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


def test_a_topic_hears_of_every_alarm_and_when_all_is_well_again(stack: Stack) -> None:
    alarms = stack.resources("AWS::CloudWatch::Alarm").values()
    assert len({alarm["AlarmName"] for alarm in alarms}) == len(alarms) >= 12
    assert [alarm["AlarmActions"] for alarm in alarms] == [[CONTEXT["alarm_topic"]]] * len(alarms)
    assert [alarm["OKActions"] for alarm in alarms] == [[CONTEXT["alarm_topic"]]] * len(alarms)


def test_a_sweep_that_failed_is_not_tried_again_and_a_late_one_is_given_up(stack: Stack) -> None:
    called = stack.one("AWS::Lambda::EventInvokeConfig", "Reconcile")
    assert (called["MaximumRetryAttempts"], called["MaximumEventAgeInSeconds"]) == (0, 600)
    (target,) = stack.one(RULE, "Sweep")["Targets"]
    assert target["RetryPolicy"] == {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 600}


def test_an_event_that_settle_failed_on_is_tried_again(stack: Stack) -> None:
    assert "MaximumRetryAttempts" not in stack.one("AWS::Lambda::EventInvokeConfig", "Settle")


# Three intervals of five minutes, and the ten that a sweep may take: Lambda counts it when it has ended.
@pytest.mark.parametrize(
    ("part", "metric", "goes_off"),
    [
        ("ReconcileMissed", "Invocations", ("LessThanThreshold", 1, "breaching")),
        ("ReconcileErrors", "Errors", ("GreaterThanOrEqualToThreshold", 2, "notBreaching")),
    ],
)
def test_sweeps_that_are_not_run_and_sweeps_that_fail_are_told(
    stack: Stack, part: str, metric: str, goes_off: tuple[str, int, str]
) -> None:
    alarm = stack.one("AWS::CloudWatch::Alarm", part)
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/Lambda", metric, "Sum")
    assert [flat(each["Value"]) for each in alarm["Dimensions"]] == [f"<{stack.name(FUNCTION, 'ReconcileFunction')}>"]
    assert (alarm["Period"], alarm["EvaluationPeriods"]) == (25 * 60, 1)
    assert (alarm["ComparisonOperator"], alarm["Threshold"], alarm["TreatMissingData"]) == goes_off


def test_files_that_nobody_takes_from_the_inbox_are_told(stack: Stack) -> None:
    alarm = stack.one("AWS::CloudWatch::Alarm", "InboxWaiting")
    queue = stack.name(QUEUE, "InboxQueue")
    assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": {"Fn::GetAtt": [queue, "QueueName"]}}]
    assert (alarm["MetricName"], alarm["Statistic"]) == ("ApproximateAgeOfOldestMessage", "Maximum")
    assert alarm["Threshold"] == 2 * stack.one(QUEUE, "InboxQueue")["VisibilityTimeout"]
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"


def test_settle_hears_of_every_job_of_this_application_that_ended(stack: Stack) -> None:
    rule = stack.one(RULE, "SparkJobEnded")
    application = stack.name("AWS::EMRServerless::Application", "SparkApplication")
    assert rule["EventPattern"] == {
        "source": ["aws.emr-serverless"],
        "detail-type": ["EMR Serverless Job Run State Change"],
        "detail": {
            "applicationId": [{"Fn::GetAtt": [application, "ApplicationId"]}],
            "state": ["SUCCESS", "FAILED", "CANCELLED"],
        },
    }
    assert [flat(target["Arn"]) for target in rule["Targets"]] == [f"<{stack.name(FUNCTION, 'SettleFunction')}.Arn>"]


def test_reconcile_runs_by_the_clock(stack: Stack) -> None:
    rule = stack.one(RULE, "Sweep")
    assert rule["ScheduleExpression"] == "rate(5 minutes)"
    assert [flat(target["Arn"]) for target in rule["Targets"]] == [f"<{stack.name(FUNCTION, 'ReconcileFunction')}.Arn>"]


def test_a_canary_lands_by_the_clock(stack: Stack) -> None:
    rule = stack.one(RULE, "CanaryDue")
    assert rule["ScheduleExpression"] == "rate(6 hours)"
    assert [flat(target["Arn"]) for target in rule["Targets"]] == [f"<{stack.name(FUNCTION, 'CanaryFunction')}.Arn>"]


@pytest.mark.parametrize(
    ("what", "handler", "timeout"),
    [
        ("Ingest", "ingest.handler", 300),
        ("Settle", "settle.handler", 300),
        ("Reconcile", "reconcile.handler", 600),
        ("Canary", "canary.handler", 300),
        ("Read", "operate.read", 600),
        ("Act", "operate.act", 600),
        ("Express", "express.handler", 300),
    ],
)
def test_a_function_runs_its_handler_on_the_runtime_of_its_wheels(
    stack: Stack, what: str, handler: str, timeout: int
) -> None:
    function = stack.one(FUNCTION, f"{what}Function")
    assert function["Handler"] == f"handlers.{handler}"
    assert (function["Runtime"], function["Architectures"]) == ("python3.13", ["arm64"])
    assert function["Timeout"] == timeout
    assert function["MemorySize"] >= 1024


def test_functions_are_of_two_zips_of_which_one_has_arrow_for_jobs_queries_and_canaries(stack: Stack) -> None:
    keys = {name: function["Code"]["S3Key"] for name, function in stack.resources(FUNCTION).items()}
    large = {keys.pop(stack.name(FUNCTION, f"{name}Function")) for name in ("Express", "Read", "Canary")}
    assert len(keys) == len(FUNCTIONS) - 3
    assert (len(large), len({*keys.values()}), len(large | {*keys.values()})) == (1, 1, 2)
    read = stack.one(FUNCTION, "ReadFunction")
    assert (read["MemorySize"], read["EphemeralStorage"]) == (3008, {"Size": 4096})


def test_settle_is_told_of_the_end_of_an_express_job_whichever_it_is_and_none_is_tried_twice(stack: Stack) -> None:
    config = stack.one("AWS::Lambda::EventInvokeConfig", "Express")
    settle = f"<{stack.name(FUNCTION, 'SettleFunction')}.Arn>"
    assert {name: flat(it["Destination"]) for name, it in config["DestinationConfig"].items()} == {
        "OnSuccess": settle,
        "OnFailure": settle,
    }
    assert (config["MaximumRetryAttempts"], config["MaximumEventAgeInSeconds"]) == (0, 60)
    assert ("lambda:InvokeFunction", settle) in stack.rights("ExpressRole")


def test_the_express_function_has_room_for_its_packages_and_a_batch(stack: Stack) -> None:
    function = stack.one(FUNCTION, "ExpressFunction")
    assert (function["MemorySize"], function["EphemeralStorage"]) == (3008, {"Size": 1024})


def test_without_the_express_lane_nothing_is_left_of_it(tmp_path: Path) -> None:
    stack = synthesised({**EPHEMERAL, "batch_express_megabytes": 0}, tmp_path)
    assert [name for name in stack.template["Resources"] if name.startswith("Express")] == []
    assert {action for role in stack.resources("AWS::IAM::Role") for action, _ in stack.rights(role)}.isdisjoint(
        {"lambda:InvokeFunction"}
    )
    assert stack.one(FUNCTION, "IngestFunction")["Environment"]["Variables"]["LAKEGATE_EXPRESS_FUNCTION"] == ""
    assert len(stack.resources(FUNCTION)) == len(FUNCTIONS) - 2  # no canary, either


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_functions_environment_is_exactly_what_settings_read(stack: Stack, what: str) -> None:
    environment = stack.one(FUNCTION, f"{what}Function")["Environment"]["Variables"]
    assert set(environment) == {PREFIX + field.name.upper() for field in fields(Settings)}
    settings = Settings.from_env({name: flat(value) for name, value in environment.items()})
    assert settings.nessie_uri == "https://nessie.example.com"
    assert settings.service_bucket == f"<{stack.name('AWS::S3::Bucket', 'StorageService')}>"
    assert settings.slack_secret == "lakegate/slack"


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_functions_log_is_its_own_and_ends_some_day(stack: Stack, what: str) -> None:
    log = stack.name("AWS::Logs::LogGroup", f"{what}Log")
    assert stack.one(FUNCTION, f"{what}Function")["LoggingConfig"] == {"LogGroup": {"Ref": log}}
    assert stack.resources("AWS::Logs::LogGroup")[log]["RetentionInDays"] == 90


def test_the_application_runs_spark_on_the_pinned_release_and_only_when_needed(stack: Stack) -> None:
    application = stack.one("AWS::EMRServerless::Application", "SparkApplication")
    assert (application["ReleaseLabel"], application["Type"]) == ("emr-spark-8.1.0", "SPARK")
    assert not {"ImageConfiguration", "RuntimeConfiguration"} & application.keys()
    assert application["Architecture"] == "X86_64"
    assert application["AutoStartConfiguration"] == {"Enabled": True}
    assert application["AutoStopConfiguration"]["Enabled"] is True


def test_runs_that_there_is_no_room_for_wait_instead_of_failing(stack: Stack) -> None:
    application = stack.one("AWS::EMRServerless::Application", "SparkApplication")
    assert application["SchedulerConfiguration"] == {"MaxConcurrentRuns": 2, "QueueTimeoutMinutes": 720}


def test_the_outputs_are_what_the_command_line_reads_and_what_tests_look_at(stack: Stack) -> None:
    not_chosen = {"LandingPrefixes", "NessieCa", "TokenEndpoint", "TokenScope", "TokenClients", "Role"}
    not_chosen.add("ReminderQueueUrl")  # it is ingest's alone
    assert set(stack.template["Outputs"]) == {output_name(field.name) for field in fields(Settings)} - not_chosen | {
        "ReadLakePolicy",
        "ReadQuarantinePolicy",
        "ReadAuditsPolicy",
        "CleanLakePolicy",
        "VerifyPolicy",
        "ReadUrl",
        "ReadPolicy",
        "ActUrl",
        "ActPolicy",
        "IngestFunction",
        "SettleFunction",
        "ReconcileFunction",
        "IngestQueueUrl",
        "ReconcileDeadLetterQueueUrl",
    }


def test_the_command_line_and_the_functions_have_the_same_settings_but_for_reminders(stack: Stack) -> None:
    outputs = {name: flat(body["Value"]) for name, body in stack.template["Outputs"].items()}
    environment = stack.one(FUNCTION, "IngestFunction")["Environment"]["Variables"]
    ingest = Settings.from_env({n: flat(v) for n, v in environment.items()})
    assert Settings.from_outputs(outputs) == replace(ingest, reminder_queue_url="")


def test_a_job_is_three_jars_one_zip_and_one_script_from_the_artifacts_bucket(stack: Stack) -> None:
    outputs = {name: flat(body["Value"]) for name, body in stack.template["Outputs"].items()}
    uris = [outputs["JobEntryPoint"], outputs["JobPyFiles"], *outputs["JobJars"].split(",")]
    assert [uri.rpartition(".")[2] for uri in uris] == ["py", "zip", "jar", "jar", "jar"]
    assert {uri.split("/")[2] for uri in uris} == {"cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"}


def properties_of_a_run(stack: Stack) -> dict[str, str]:
    """Return the Spark properties that each job run of this stack starts with."""
    outputs = {name: flat(body["Value"]) for name, body in stack.template["Outputs"].items()}
    return spark_defaults(Settings.from_outputs(outputs))


def test_every_job_run_has_our_python_and_as_many_workers_as_its_share_of_the_quota(stack: Stack) -> None:
    application = stack.one("AWS::EMRServerless::Application", "SparkApplication")
    said = properties_of_a_run(stack)
    assert {value for name, value in said.items() if "python" in name.lower()} == {"python3.13"}
    assert {"spark.pyspark.python", "spark.pyspark.driver.python"} <= said.keys()
    cores = int(said["spark.driver.cores"]) + 3 * int(said["spark.executor.cores"])
    begins_with = {said["spark.dynamicAllocation.initialExecutors"], said["spark.executor.instances"]}
    assert begins_with == {"1"}  # the greater one counts, and may not be more than the most
    assert said["spark.dynamicAllocation.maxExecutors"] == "3"
    assert application["SchedulerConfiguration"]["MaxConcurrentRuns"] * cores == Config().spark_vcpus


def test_a_worker_has_more_disk_than_emrs_twenty_gigabytes_and_no_more_than_it_takes(stack: Stack) -> None:
    said = {what: properties_of_a_run(stack)[f"spark.emr-serverless.{what}.disk"] for what in ("driver", "executor")}
    assert said == {"driver": "50G", "executor": "100G"}


def test_an_installations_own_properties_of_spark_are_every_runs(stack: Stack) -> None:
    said = properties_of_a_run(stack)
    assert (said["spark.network.timeout"], said["spark.driver.extraJavaOptions"]) == ("300s", "-Da=b -Dc=d")


def test_the_landing_bucket_takes_no_upload_that_the_functions_could_not_read(stack: Stack) -> None:
    name = stack.name("AWS::S3::Bucket", "StorageLanding")
    refused = [
        each["Condition"]
        for each in policy_of(stack, "AWS::S3::BucketPolicy", "Bucket", name)
        if each["Effect"] == "Deny" and each["Action"] == "s3:PutObject"
    ]
    header = "s3:x-amz-server-side-encryption"
    assert {"StringEquals": {header: ["aws:kms", "aws:kms:dsse"]}} in refused
    assert {"Null": {f"{header}-customer-algorithm": "false"}} in refused


@pytest.mark.parametrize(("suffix", "architecture"), [("", "X86_64"), ("-arm64", "ARM64")])
def test_the_application_is_of_the_architecture_that_is_proved_unless_the_other_is_chosen(
    tmp_path: Path, suffix: str, architecture: str
) -> None:
    made = synthesised(CONTEXT | {"spark_release": f"emr-spark-8.1.0{suffix}"}, tmp_path)
    application = made.one("AWS::EMRServerless::Application", "Spark")
    assert (application["Architecture"], application["ReleaseLabel"]) == (architecture, "emr-spark-8.1.0")
    assert made.template["Outputs"]["Release"]["Value"] == "emr-spark-8.1.0"
