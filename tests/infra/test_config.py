"""Settings: what each of them may be, alone and together."""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra.config import DEFAULTS, FIELDS, INCOMPLETE_UPLOAD_DAYS, MACHINE, SWEEP_MINUTES, Config, setting_name
from lakegate.settings import COMPACT_AFTER_DAYS, WORKER_CORES
from tests.support.authority import Authority

NESSIE = "https://nessie.example.com"
AUTHORITY = Authority.made("ours")
KEY = "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"
ISSUER = "https://issuer.example.com/token"
CLIENTS = ("spark=job:oidc/spark", "ingest=in:oidc/ingest", "publish=out:oidc/publish", "observer=look:oidc/observer")
NETWORK: dict[str, Any] = {
    "nessie_uri": NESSIE,
    "network_subnets": ("subnet-1",),
    "network_security_groups": ("sg-1",),
}


def faults_of(fields: dict[str, Any], region: str = "") -> list[str]:
    """Return the faults of a file's settings, by the names of their fields."""
    config, wrong = Config.parse({setting_name(name): value for name, value in fields.items()})
    return [*(f"{name} {words}" for name, words in wrong.items()), *config.faults(region, wrong)]


def test_nothing_chosen_but_a_nessie_and_a_network_is_the_default() -> None:
    assert faults_of(NETWORK) == []


def test_there_are_forty_one_settings_at_most_each_in_a_table_but_for_two() -> None:
    assert len(DEFAULTS) <= 41
    assert {name for name in DEFAULTS if "." not in name} == {"name", "ephemeral"}


def test_every_number_has_its_unit_in_its_name() -> None:
    units = ("_seconds", "_minutes", "hours", "_days", "megabytes", "vcpus", "jobs_at_once")
    numbers = [name for name, default in DEFAULTS.items() if type(default) is int]
    assert len(numbers) > 5
    assert [name for name in numbers if not name.endswith(units)] == []


@pytest.mark.parametrize("name", [name for name, default in DEFAULTS.items() if type(default) is int])
def test_0_turns_something_off_or_is_refused(name: str) -> None:
    can_be_off = {"batch.window_seconds", "batch.express_megabytes", "alarm.canary_hours", "landing.keep_days"}
    found = faults_of(NETWORK | {FIELDS[name]: 0})
    assert (not found) == (name in can_be_off)
    assert [text for text in found if not text.startswith(name)] == []


def test_without_a_network_jobs_would_not_reach_nessie() -> None:
    (fault,) = Config(nessie_uri=NESSIE).faults()
    assert "network.subnets and network.security_groups" in fault
    assert Config(nessie_uri=NESSIE, ephemeral=True).faults() == []


def test_an_ephemeral_installation_is_quick_and_runs_on_this_machine() -> None:
    for fields, expected in (({}, (120, 5, "arm64")), ({"ephemeral": True}, (35, 1, MACHINE))):
        config = Config(**NETWORK | fields)
        assert (config.grace_seconds, SWEEP_MINUTES[config.ephemeral], config.architecture) == expected


@pytest.mark.parametrize("seconds", [0, 20, 300])
@pytest.mark.parametrize("ephemeral", [True, False])
def test_the_sweep_takes_no_file_that_still_gathers(seconds: int, ephemeral: bool) -> None:  # noqa: FBT001
    assert Config(batch_window_seconds=seconds, ephemeral=ephemeral, **NETWORK).grace_seconds > seconds


def test_a_receipt_outlives_an_upload_in_parts_which_s3_dates_by_its_start() -> None:
    assert COMPACT_AFTER_DAYS > INCOMPLETE_UPLOAD_DAYS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_window_seconds": -1}, "batch.window_seconds is 0, which is at once, to 300"),
        ({"batch_window_seconds": "soon"}, "batch.window_seconds is a whole number"),
        ({"spark_jobs_at_once": 0}, "spark.jobs_at_once is 1 to 1,000"),
        ({"spark_release": "emr-7.13.0-sparc"}, "spark.release is one whose Spark was tested"),
        ({"spark_jobs_at_once": 1001, "spark_vcpus": 9999}, "spark.jobs_at_once is 1 to 1,000"),
        ({"spark_jobs_at_once": 5}, "spark.vcpus is at least 4 for each of spark.jobs_at_once"),
        ({"spark_timeout_minutes": 0}, "spark.timeout_minutes is 1 to 10,080"),
        ({"spark_timeout_minutes": 10081}, "spark.timeout_minutes is 1 to 10,080"),
        ({"spark_release": "7.13.0"}, "spark.release is one whose Spark was tested: emr-7."),
        ({"spark_release": "emr-6.15.0"}, "spark.release is one whose Spark was tested"),
        (
            {"spark_release": "emr-spark-8.0.0"},
            "spark.release is one whose Spark was tested: emr-7.<minor>.<patch> or emr-spark-8.1",
        ),
        ({"spark_image": "public.ecr.aws/emr-serverless/spark/emr-7.13.0:latest"}, "spark.image is <account>.dkr.ecr"),
        ({"spark_image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lakegate"}, "with its :<tag> or @<digest>"),
        ({"spark_conf": ("network.timeout=300s",)}, "spark.conf is a list of spark.<name>=<value>"),
        ({"spark_conf": ("spark.network.timeout",)}, "spark.conf is a list of spark.<name>=<value>"),
        ({"spark_conf": ("spark.network.timeout= ",)}, "spark.conf is a list of spark.<name>=<value>"),
        ({"spark_conf": ("spark.executor.cores=4",)}, "spark.vcpus and spark.jobs_at_once do"),
        ({"spark_conf": ("spark.executor.instances=4",)}, "spark.vcpus and spark.jobs_at_once do"),
        ({"spark_conf": ("spark.dynamicAllocation.maxExecutors=9",)}, "spark.vcpus and spark.jobs_at_once do"),
        ({"spark_conf": (f"spark.x={'y' * 505}",)}, "up to 512 characters"),
        ({"alarm_topic": "lake-alarms"}, "alarm.topic is an SNS topic.s ARN"),
        ({"ephemeral": "perhaps"}, "ephemeral is true or false"),
        ({"batch_express_megabytes": 65}, "batch.express_megabytes is 0, with which Spark runs every batch, to 64"),
        ({"nessie_uri": "https://nessie.example.com/api"}, "without /api"),
        ({"nessie_uri": "https://nessie.example.com/api/v2"}, "without /api"),
        ({"nessie_uri": "https://nessie.example.com/iceberg/main/"}, "without /iceberg"),
        ({"nessie_uri": "https://me:secret@nessie.example.com"}, "without user and password"),
        ({"nessie_uri": "https://token@nessie.example.com/"}, "without user and password"),
        ({"nessie_uri": "nessie.internal:19120"}, "nessie.uri is an address"),
        ({"token_audience": "two words"}, "token.audience is up to 128"),
        ({"token_audience": "*"}, "token.audience is up to 128"),
        ({"token_audience": "lake", "nessie_uri": "http://10.0.0.1:19120"}, "token.audience needs an https://"),
        ({"token_audience": "lake", "spark_timeout_minutes": 61}, "spark.timeout_minutes is at most 60 with"),
        ({"token_endpoint": ISSUER.removesuffix("/token")}, "token.endpoint is the address at which"),
        ({"token_endpoint": ISSUER.replace("s:", ":")}, "token.endpoint is the address at which"),
        ({"token_endpoint": ISSUER.replace("//", "//me:secret@")}, "token.endpoint is the address at which"),
        ({"token_endpoint": ISSUER, "nessie_uri": "http://10.0.0.1:19120"}, "token.endpoint needs an https://"),
        ({"token_endpoint": ISSUER}, "one client with a secret for each of spark, ingest, publish, observer"),
        (
            {"token_endpoint": ISSUER, "token_clients": tuple(each.replace("=in", "=job") for each in CLIENTS)},
            "and has job twice",
        ),
        ({"token_endpoint": ISSUER, "token_clients": (*CLIENTS, "reader")}, "token.clients is <role>=<client id>"),
        ({"token_endpoint": ISSUER, "token_scope": "a  b"}, "token.scope is the scopes"),
        ({"token_endpoint": ISSUER, "token_claim": "a b"}, "token.claim is the name of the claim"),
        ({"token_clients": CLIENTS, "token_scope": "a"}, "for which token.scope, token.clients would be"),
        ({"name": "Lakegate"}, "name is up to 27"),
        ({"name": "my_lake"}, "name is up to 27"),
        ({"name": "n" * 28}, "name is up to 27"),
        ({"landing_uploaders": ("arn:aws:iam::123456789012:root", "*")}, "landing.uploaders are ARNs"),
        ({"landing_uploaders": ("123456789012",)}, "landing.uploaders are ARNs"),
        ({"landing_uploaders": ("arn:aws:iam::123456789012:role/a=acme",)}, "a prefix that ends with /"),
        ({"landing_uploaders": ("arn:aws:iam::123456789012:role/a=/acme/",)}, "a prefix that ends with /"),
        ({"landing_uploaders": ("arn:aws:iam::123456789012:role/a=*/",)}, "landing.uploaders are ARNs"),
        ({"landing_uploaders": ("arn:aws:iam::123456789012:role/a=${aws:username}/",)}, "landing.uploaders are ARNs"),
        ({"landing_uploaders": ("arn:aws:iam::123456789012:role/a=b=c/",)}, "landing.uploaders are ARNs"),
        (
            {"landing_uploaders": ("arn:aws:iam::123456789012:role/a", "arn:aws:iam::123456789012:role/a=acme/")},
            "nobody both with and without",
        ),
        (
            {"landing_uploaders": ("arn:aws:iam::123456789012:role/a=a/", "arn:aws:iam::123456789012:root=acme/")},
            "nobody else of an account that has a prefix",
        ),
        ({"landing_uploaders": ("arn:aws:s3:::somebodys-bucket",)}, "landing.uploaders are ARNs"),
        ({"landing_keep_days": 29}, "landing.keep_days is 0, which is for ever, or 30 or more"),
        ({"landing_keep_days": -1}, "landing.keep_days is 0, which is for ever, or 30 or more"),
        ({"nessie_uri": NESSIE}, "without, jobs reach only AWS"),
        (
            {"nessie_uri": NESSIE, "network_subnets": ("subnet-1",)},
            "network.subnets and network.security_groups are given together",
        ),
        (
            {"nessie_uri": NESSIE, "network_security_groups": ("sg-1",)},
            "network.subnets and network.security_groups are given together",
        ),
        ({"slack_secret": "token"}, "slack.channel"),
        ({"nessie_ca": "ca.pem"}, "nessie.ca is the text of authorities. certificates"),
        ({"nessie_ca": AUTHORITY.pem.replace("A", "B")}, "nessie.ca is the text of authorities. certificates"),
        ({"nessie_ca": f"{AUTHORITY.pem}-----BEGIN PRIVATE KEY-----"}, "and no more"),
        ({"nessie_ca": AUTHORITY.pem, "nessie_uri": "http://10.0.0.1"}, "nessie.ca is for an https://… address"),
        ({"kms_key": "alias/lake"}, "kms.key is create, or the ARN of a key"),
        ({"kms_key": KEY.replace("key/", "alias/")}, "kms.key is create, or the ARN of a key"),
        ({"kms_upload_keys": (KEY, "create")}, "kms.upload_keys are ARNs of keys"),
        ({"landing_folders": ("theirs/in/",)}, "landing.folders are folders of one bucket, s3://<bucket>/<folder>/"),
        ({"landing_folders": ("s3://theirs/in",)}, "landing.folders are folders"),
        ({"landing_folders": ("s3://theirs",)}, "landing.folders are folders"),
        ({"landing_folders": ("s3://theirs/in/*/",)}, "landing.folders are folders"),
        ({"landing_folders": ("s3://theirs/in/", "s3://ours/in/")}, "landing.folders are folders of one bucket"),
        ({"landing_folders": (f"s3://theirs/{'x' * 512}/",)}, "up to 512 characters"),
        (
            {"landing_folders": ("s3://theirs/",), "landing_keep_days": 90},
            "landing.keep_days are for a bucket of the stack.s",
        ),
        (
            {"landing_folders": ("s3://theirs/",), "landing_uploaders": ("arn:aws:iam::123456789012:root",)},
            "set them at that of landing.folders",
        ),
        ({"landing_folders": ("s3://theirs/in/", "s3://theirs/in/shop/")}, "none within another"),
        ({"landing_folders": ("s3://theirs/in/", "s3://theirs/")}, "none within another"),
        ({"landing_folders": ("s3://theirs/in/", "s3://theirs/in/")}, "no folder twice"),
        (
            {"landing_folders": ("s3://theirs/in/",), "alarm_canary_hours": 6},
            "landing.folders has to have _canary/ among them for alarm.canary_hours",
        ),
        ({"slack_secret": "arn:aws:secretsmanager:x:1:secret:s", "slack_channel": "C0"}, "not its ARN"),
        ({"event_bus": "a bus"}, "event.bus is the name or the ARN"),
        ({"event_bus": "arn:aws:sns:eu-central-1:123456789012:topic"}, "event.bus is the name or the ARN"),
        ({"event_webhook_url": "https://hook.example.com"}, "event.webhook_secret are given together"),
        ({"event_webhook_secret": "s"}, "event.webhook_secret are given together"),
        (
            {"event_webhook_url": "https://me:pass@hook.example.com", "event_webhook_secret": "s"},
            "without user and password",
        ),
        (
            {"event_webhook_url": "http://hook.example.com", "event_webhook_secret": "s"},
            "event.webhook_url begins with https",
        ),
        (
            {"event_webhook_url": "https://h", "event_webhook_secret": "arn:aws:secretsmanager:x:1:secret:s"},
            "not its ARN",
        ),
        ({"event_lineage_url": "lineage.example.com"}, "event.lineage_url is an address"),
        ({"event_lineage_secret": "s"}, "give event.lineage_url"),
    ],
)
def test_a_wrong_choice_is_named(given: dict[str, Any], message: str) -> None:
    assert re.search(message, "; ".join(faults_of(given)))


@pytest.mark.parametrize("who", ["root", "role/uploads", "role/teams/etl/Uploads_1", "user/vendor@example.com"])
def test_an_uploader_is_an_account_a_role_or_a_user(who: str) -> None:
    uploader = f"arn:aws:iam::123456789012:{who}"
    config = Config(landing_uploaders=(uploader,), **NETWORK)
    assert (config.faults(), config.prefixes) == ([], {uploader: {""}})
    config = Config(landing_uploaders=(f"{uploader}=acme/", f"{uploader}=shared/in.2/"), **NETWORK)
    assert (config.faults(), config.prefixes) == ([], {uploader: {"acme/", "shared/in.2/"}})


def test_a_role_may_have_a_prefix_where_its_account_has_none() -> None:
    account = "arn:aws:iam::123456789012"
    assert Config(landing_uploaders=(f"{account}:root", f"{account}:role/a=a/"), **NETWORK).faults() == []


@pytest.mark.parametrize("days", [0, 30, 365])
def test_what_landed_is_kept_for_ever_or_long_enough_for_retries(days: int) -> None:
    assert Config(landing_keep_days=days, **NETWORK).faults() == []


@pytest.mark.parametrize(
    "address",
    [
        "https://nessie.example.com",
        "http://10.0.0.1:19120/",
        "https://gateway.example.com/api/nessie",
        "http://api",
        "http://iceberg/nessie",
        "https://nessie.example.com/of/somebody@example.com",
    ],
)
def test_what_nessie_may_be_called_is_no_fault(address: str) -> None:
    assert Config(**NETWORK | {"nessie_uri": address}, name="lake-2").faults() == []


def test_the_longest_name_leaves_room_for_buckets_in_every_region() -> None:
    longest = Config(name="n" * 27, **NETWORK)
    assert longest.faults() == []
    assert len(f"{longest.name}-landing-123456789012-ap-southeast-1") == 63


@pytest.mark.parametrize(("vcpus", "jobs", "executors"), [(16, 2, 3), (16, 4, 1), (400, 10, 19), (17, 3, 1)])
def test_all_jobs_at_once_have_no_more_workers_than_there_are_vcpus(vcpus: int, jobs: int, executors: int) -> None:
    config = Config(spark_vcpus=vcpus, spark_jobs_at_once=jobs, **NETWORK)
    assert config.faults() == []
    assert config.executors == executors
    assert jobs * (1 + executors) * WORKER_CORES <= vcpus < jobs * (2 + executors) * WORKER_CORES


def test_a_topic_of_another_region_than_the_stacks_is_refused() -> None:
    topic = "arn:aws:sns:eu-central-1:123456789012:lake-alarms"
    config = Config(alarm_topic=topic, **NETWORK)
    assert config.faults() == config.faults("eu-central-1") == []
    (fault,) = config.faults("eu-central-2")
    assert "alarm.topic is a topic in eu-central-2" in fault
    assert Config(**NETWORK).faults("eu-central-2") == []


def test_an_image_is_of_the_stacks_region() -> None:
    image = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lakegate"
    for name in (f"{image}:7.13", f"{image}/spark@sha256:{'0' * 64}"):
        config = Config(spark_image=name, **NETWORK)
        assert config.faults() == config.faults("eu-central-1") == []
        (fault,) = config.faults("eu-central-2")
        assert "spark.image is an image in eu-central-2" in fault


def test_properties_of_spark_are_taken_as_they_are_said() -> None:
    listed = ("spark.driver.extraClassPath=/a.jar:/b.jar", "spark.x.y=1,2", "spark.driver.extraJavaOptions=-Da=b -Dc=d")
    config = Config(spark_conf=listed, **NETWORK)
    assert config.faults() == []
    assert config.spark_properties == {
        "spark.driver.extraClassPath": "/a.jar:/b.jar",
        "spark.x.y": "1,2",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
    }


def test_authorities_are_one_certificate_or_several() -> None:
    for text in (AUTHORITY.pem, f"\n{AUTHORITY.pem}\n{Authority.made('new').pem}"):
        assert Config(nessie_ca=text, **NETWORK).faults() == []


def test_keys_are_of_the_stacks_region_and_may_be_another_accounts() -> None:
    config = Config(kms_key=KEY, kms_upload_keys=(KEY.replace("123456789012", "210987654321"),), **NETWORK)
    assert config.faults() == config.faults("eu-central-1") == []
    (fault,) = config.faults("eu-central-2")
    assert "kms.key and kms.upload_keys are keys in eu-central-2" in fault
    assert Config(kms_key="create", **NETWORK).faults("eu-central-2") == []


def test_a_landing_bucket_that_is_there_has_folders_or_is_taken_whole() -> None:
    whole = Config(landing_folders=("s3://their.files-1/",), **NETWORK)
    assert (whole.faults(), whole.landing_bucket, whole.landing_prefixes) == ([], "their.files-1", ())
    prefixes = ("in/shop/", "_canary/", "dt=2026/a.b+c@d/")
    config = Config(landing_folders=tuple(f"s3://t-1/{it}" for it in prefixes), alarm_canary_hours=6, **NETWORK)
    assert (config.faults(), config.landing_bucket, config.landing_prefixes) == ([], "t-1", prefixes)
    assert (Config(**NETWORK).landing_bucket, Config(**NETWORK).landing_prefixes) == ("", ())


def test_a_wrong_choice_is_named_without_its_combinations() -> None:
    wrong = {"slack_secret": "arn:aws:x", "slack_channel": "C0", "event_webhook_url": "h"}
    assert faults_of(NETWORK | wrong) == [
        "slack.secret is the secret's name, not its ARN",
        "event.webhook_url is an address, https://…, without user and password",
    ]


def test_an_issuer_s_clients_need_no_audience_and_their_jobs_may_run_for_longer_than_an_hour() -> None:
    own: dict[str, Any] = {"token_endpoint": ISSUER, "token_clients": CLIENTS, "token_scope": "a/b c"}
    assert Config(**NETWORK, **own, spark_timeout_minutes=240).faults() == []
    assert Config(**NETWORK, **own, token_audience="lake", spark_timeout_minutes=240).faults() == []
