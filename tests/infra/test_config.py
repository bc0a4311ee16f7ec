"""Choices from CDK context: their types, and every fault at once."""

from __future__ import annotations

from typing import Any

import pytest

from infra.config import Config
from lakegate.errors import Misconfigured
from lakegate.settings import WORKER_CORES
from tests.support.authority import Authority

NESSIE = "https://nessie.example.com"
AUTHORITY = Authority.made("ours")
KEY = "arn:aws:kms:eu-central-1:123456789012:key/01234567-89ab-cdef-0123-456789abcdef"
ISSUER = "https://issuer.example.com/token"
CLIENTS = "spark=job:oidc/spark,ingest=in:oidc/ingest,publish=out:oidc/publish,observer=look:oidc/observer"
NETWORK: dict[str, Any] = {"nessie_uri": NESSIE, "subnets": ("subnet-1",), "security_groups": ("sg-1",)}


def test_nothing_chosen_but_a_nessie_and_a_network_is_the_default() -> None:
    assert Config.read({"nessie_uri": NESSIE, "subnets": "subnet-1", "security_groups": "sg-1"}.get) == Config(
        **NETWORK
    )


def test_without_a_network_jobs_would_not_reach_nessie() -> None:
    (fault,) = Config(nessie_uri=NESSIE).faults()
    assert "-c subnets=… and -c security_groups=…" in fault
    assert Config(nessie_uri=NESSIE, ephemeral=True).faults() == []


def test_text_from_the_command_line_takes_the_type_of_the_choice() -> None:
    given = {"batch_window": "4", "ephemeral": "true", "subnets": "subnet-1, subnet-2", "security_groups": ["sg-1"]}
    config = Config.read({"nessie_uri": NESSIE, **given}.get)
    assert (config.batch_window, config.ephemeral) == (4, True)
    assert (config.subnets, config.security_groups) == (("subnet-1", "subnet-2"), ("sg-1",))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch_window": "-1"}, "batch_window is 0, which is at once, to 300"),
        ({"batch_window": "soon"}, "batch_window is a whole number"),
        ({"reconcile_minutes": "0"}, "reconcile_minutes is 1 to 1,440"),
        ({"reconcile_minutes": "1441"}, "reconcile_minutes is 1 to 1,440"),
        ({"attempts": "0"}, "attempts is 1 or more"),
        ({"jobs_at_once": "0"}, "jobs_at_once is 1 to 1,000"),
        ({"jobs_at_once": "1001", "vcpus": "9999"}, "jobs_at_once is 1 to 1,000"),
        ({"jobs_at_once": "5"}, "vcpus is at least 4 for each of -c jobs_at_once"),
        ({"job_timeout_minutes": "0"}, "job_timeout_minutes is 1 to 10,080"),
        ({"job_timeout_minutes": "10081"}, "job_timeout_minutes is 1 to 10,080"),
        ({"release": "7.13.0"}, "release is one whose Spark was tested: emr-7."),
        ({"release": "emr-6.15.0"}, "release is one whose Spark was tested"),
        (
            {"release": "emr-spark-8.0.0"},
            "release is one whose Spark was tested: emr-7.<minor>.<patch> or emr-spark-8.1",
        ),
        ({"image": "public.ecr.aws/emr-serverless/spark/emr-7.13.0:latest"}, "image is <account>.dkr.ecr"),
        ({"image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lakegate"}, "with its :<tag> or @<digest>"),
        ({"spark_conf": "network.timeout=300s"}, "spark_conf is spark.<name>"),
        ({"spark_conf": "spark.jars.packages=a:b,c:d"}, "in a settings file, in a list"),
        ({"spark_conf": "spark.network.timeout"}, "spark_conf is spark.<name>"),
        ({"spark_conf": "spark.network.timeout= "}, "spark_conf is spark.<name>"),
        ({"spark_conf": "spark.executor.cores=4"}, "-c vcpus and -c jobs_at_once do"),
        ({"spark_conf": "spark.executor.instances=4"}, "-c vcpus and -c jobs_at_once do"),
        ({"spark_conf": "spark.dynamicAllocation.maxExecutors=9"}, "-c vcpus and -c jobs_at_once do"),
        ({"spark_conf": f"spark.x={'y' * 505}"}, "up to 512 characters"),
        ({"alarm_topic": "lake-alarms"}, "alarm_topic is an SNS topic.s ARN"),
        ({"ephemeral": "perhaps"}, "ephemeral is true or false"),
        ({"nessie_uri": "https://nessie.example.com/api"}, "without /api"),
        ({"nessie_uri": "https://nessie.example.com/api/v2"}, "without /api"),
        ({"nessie_uri": "https://nessie.example.com/iceberg/main/"}, "without /iceberg"),
        ({"nessie_uri": "https://me:secret@nessie.example.com"}, "without user and password"),
        ({"nessie_uri": "https://token@nessie.example.com/"}, "without user and password"),
        ({"nessie_uri": "nessie.internal:19120"}, "nessie_uri is an address"),
        ({"token_audience": "two words"}, "token_audience is up to 128"),
        ({"token_audience": "*"}, "token_audience is up to 128"),
        ({"token_audience": "lake", "nessie_uri": "http://10.0.0.1:19120"}, "token_audience needs an https://"),
        ({"token_audience": "lake", "job_timeout_minutes": "61"}, "job_timeout_minutes is at most 60 with"),
        ({"token_endpoint": ISSUER.removesuffix("/token")}, "token_endpoint is the address at which"),
        ({"token_endpoint": ISSUER.replace("s:", ":")}, "token_endpoint is the address at which"),
        ({"token_endpoint": ISSUER.replace("//", "//me:secret@")}, "token_endpoint is the address at which"),
        ({"token_endpoint": ISSUER, "nessie_uri": "http://10.0.0.1:19120"}, "token_endpoint needs an https://"),
        ({"token_endpoint": ISSUER}, "one client with a secret for each of spark, ingest, publish, observer"),
        ({"token_endpoint": ISSUER, "token_clients": CLIENTS.replace("=in", "=job")}, "and has job twice"),
        ({"token_endpoint": ISSUER, "token_clients": f"{CLIENTS},reader"}, "token_clients is <role>=<client id>"),
        ({"token_endpoint": ISSUER, "token_scope": "a  b"}, "token_scope is the scopes"),
        ({"token_endpoint": ISSUER, "token_claim": "a b"}, "token_claim is the name of the claim"),
        ({"token_clients": CLIENTS, "token_scope": "a"}, "for which -c token_scope, -c token_clients would be"),
        ({"name": "Lakegate"}, "name is up to 27"),
        ({"name": "my_lake"}, "name is up to 27"),
        ({"name": "n" * 28}, "name is up to 27"),
        ({"uploaders": "arn:aws:iam::123456789012:root,*"}, "uploaders are ARNs"),
        ({"uploaders": "123456789012"}, "uploaders are ARNs"),
        ({"uploaders": "arn:aws:iam::123456789012:role/a=acme"}, "a prefix that ends with /"),
        ({"uploaders": "arn:aws:iam::123456789012:role/a=/acme/"}, "a prefix that ends with /"),
        ({"uploaders": "arn:aws:iam::123456789012:role/a=*/"}, "uploaders are ARNs"),
        ({"uploaders": "arn:aws:iam::123456789012:role/a=${aws:username}/"}, "uploaders are ARNs"),
        ({"uploaders": "arn:aws:iam::123456789012:role/a=b=c/"}, "uploaders are ARNs"),
        (
            {"uploaders": "arn:aws:iam::123456789012:role/a,arn:aws:iam::123456789012:role/a=acme/"},
            "nobody both with and without",
        ),
        (
            {"uploaders": "arn:aws:iam::123456789012:role/a=a/,arn:aws:iam::123456789012:root=acme/"},
            "nobody else of an account that has a prefix",
        ),
        ({"uploaders": "arn:aws:s3:::somebodys-bucket"}, "uploaders are ARNs"),
        ({"landing_days": "29"}, "landing_days is 30 or more"),
        ({"landing_days": "60", "compact_after_days": "60"}, "landing_days is 61 or more"),
        ({"landing_days": "-1"}, "landing_days is 30 or more"),
        ({"nessie_uri": NESSIE}, "without, jobs reach only AWS"),
        ({"nessie_uri": NESSIE, "subnets": "subnet-1"}, "subnets and -c security_groups are given together"),
        ({"nessie_uri": NESSIE, "security_groups": "sg-1"}, "subnets and -c security_groups are given together"),
        ({"slack_secret": "token"}, "slack_channel"),
        ({"nessie_ca": "ca.pem"}, "nessie_ca is the text of authorities. certificates"),
        ({"nessie_ca": AUTHORITY.pem.replace("A", "B")}, "nessie_ca is the text of authorities. certificates"),
        ({"nessie_ca": f"{AUTHORITY.pem}-----BEGIN PRIVATE KEY-----"}, "and no more"),
        ({"nessie_ca": AUTHORITY.pem, "nessie_uri": "http://10.0.0.1"}, "nessie_ca is for an https://… address"),
        ({"kms_key": "alias/lake"}, "kms_key is create, or the ARN of a key"),
        ({"kms_key": KEY.replace("key/", "alias/")}, "kms_key is create, or the ARN of a key"),
        ({"upload_keys": f"{KEY},create"}, "upload_keys are ARNs of keys"),
        ({"landing_bucket": "s3://theirs"}, "landing_bucket is a bucket's name"),
        ({"landing_bucket": "theirs", "landing_days": "90"}, "uploaders and -c landing_days are for a bucket that"),
        ({"landing_bucket": "theirs", "uploaders": "arn:aws:iam::123456789012:root"}, "set them at -c landing_bucket"),
        ({"landing_prefixes": "in/"}, "landing_prefixes is for a bucket that is there"),
        ({"landing_bucket": "theirs", "landing_prefixes": "in"}, "landing_prefixes are folders that end with /"),
        ({"landing_bucket": "theirs", "landing_prefixes": "in/*/"}, "landing_prefixes are folders"),
        ({"landing_bucket": "theirs", "landing_prefixes": f"{'x' * 512}/"}, "up to 512 characters"),
        ({"landing_bucket": "theirs", "landing_prefixes": "in/,in/shop/"}, "none within another"),
        ({"landing_bucket": "theirs", "landing_prefixes": "in/,in/"}, "no folder twice"),
        (
            {"landing_bucket": "theirs", "landing_prefixes": "in/", "canary_hours": "6"},
            "landing_prefixes has to have _canary/ among them for -c canary_hours",
        ),
        ({"slack_secret": "arn:aws:secretsmanager:x:1:secret:s", "slack_channel": "C0"}, "not its ARN"),
        ({"event_bus": "a bus"}, "event_bus is the name or the ARN"),
        ({"event_bus": "arn:aws:sns:eu-central-1:123456789012:topic"}, "event_bus is the name or the ARN"),
        ({"webhook_url": "https://hook.example.com"}, "webhook_secret are given together"),
        ({"webhook_secret": "s"}, "webhook_secret are given together"),
        ({"webhook_url": "https://me:pass@hook.example.com", "webhook_secret": "s"}, "without user and password"),
        ({"webhook_url": "http://hook.example.com", "webhook_secret": "s"}, "webhook_url begins with https"),
        ({"webhook_url": "https://h", "webhook_secret": "arn:aws:secretsmanager:x:1:secret:s"}, "not its ARN"),
        ({"lineage_url": "lineage.example.com"}, "lineage_url is an address"),
        ({"lineage_secret": "s"}, "give -c lineage_url"),
    ],
)
def test_a_wrong_choice_is_named(given: dict[str, str], message: str) -> None:
    with pytest.raises(Misconfigured, match=message):
        Config.read(given.get)


@pytest.mark.parametrize("who", ["root", "role/uploads", "role/teams/etl/Uploads_1", "user/vendor@example.com"])
def test_an_uploader_is_an_account_a_role_or_a_user(who: str) -> None:
    uploader = f"arn:aws:iam::123456789012:{who}"
    config = Config(uploaders=(uploader,), **NETWORK)
    assert (config.faults(), config.prefixes) == ([], {uploader: {""}})
    config = Config(uploaders=(f"{uploader}=acme/", f"{uploader}=shared/in.2/"), **NETWORK)
    assert (config.faults(), config.prefixes) == ([], {uploader: {"acme/", "shared/in.2/"}})


def test_a_role_may_have_a_prefix_where_its_account_has_none() -> None:
    account = "arn:aws:iam::123456789012"
    assert Config(uploaders=(f"{account}:root", f"{account}:role/a=a/"), **NETWORK).faults() == []


@pytest.mark.parametrize(("days", "fold"), [(0, 14), (30, 14), (61, 60), (365, 14)])
def test_what_landed_is_kept_for_ever_or_long_enough_for_retries(days: int, fold: int) -> None:
    assert Config(landing_days=days, compact_after_days=fold, **NETWORK).faults() == []


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
    config = Config(vcpus=vcpus, jobs_at_once=jobs, **NETWORK)
    assert config.faults() == []
    assert config.executors == executors
    assert jobs * (1 + executors) * WORKER_CORES <= vcpus < jobs * (2 + executors) * WORKER_CORES


def test_a_topic_of_another_region_than_the_stacks_is_refused() -> None:
    topic = "arn:aws:sns:eu-central-1:123456789012:lake-alarms"
    config = Config(alarm_topic=topic, **NETWORK)
    assert config.faults() == config.faults("eu-central-1") == []
    (fault,) = config.faults("eu-central-2")
    assert "alarm_topic is a topic in eu-central-2" in fault
    assert Config(**NETWORK).faults("eu-central-2") == []


def test_an_image_is_of_the_stacks_region() -> None:
    image = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/lakegate"
    for name in (f"{image}:7.13", f"{image}/spark@sha256:{'0' * 64}"):
        config = Config(image=name, **NETWORK)
        assert config.faults() == config.faults("eu-central-1") == []
        (fault,) = config.faults("eu-central-2")
        assert "image is an image in eu-central-2" in fault


def test_properties_of_spark_are_taken_as_they_are_said() -> None:
    listed = ["spark.driver.extraClassPath=/a.jar:/b.jar", "spark.x.y=1,2", "spark.driver.extraJavaOptions=-Da=b -Dc=d"]
    config = Config.read({"spark_conf": listed, "ephemeral": "true", "nessie_uri": NESSIE}.get)
    assert config.spark_properties == {
        "spark.driver.extraClassPath": "/a.jar:/b.jar",
        "spark.x.y": "1,2",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
    }
    config = Config.read({"spark_conf": "spark.a=1, spark.b=2", "ephemeral": "true", "nessie_uri": NESSIE}.get)
    assert config.spark_properties == {"spark.a": "1", "spark.b": "2"}


def test_authorities_are_one_certificate_or_several() -> None:
    for text in (AUTHORITY.pem, f"\n{AUTHORITY.pem}\n{Authority.made('new').pem}"):
        assert Config(nessie_ca=text, **NETWORK).faults() == []


def test_keys_are_of_the_stacks_region_and_may_be_another_accounts() -> None:
    config = Config(kms_key=KEY, upload_keys=(KEY.replace("123456789012", "210987654321"),), **NETWORK)
    assert config.faults() == config.faults("eu-central-1") == []
    (fault,) = config.faults("eu-central-2")
    assert "kms_key and -c upload_keys are keys in eu-central-2" in fault
    assert Config(kms_key="create", **NETWORK).faults("eu-central-2") == []


def test_a_landing_bucket_that_is_there_has_prefixes_or_is_taken_whole() -> None:
    assert Config(landing_bucket="their.files-1", **NETWORK).faults() == []
    prefixes = ("in/shop/", "_canary/", "dt=2026/a.b+c@d/")
    assert Config(landing_bucket="theirs", landing_prefixes=prefixes, canary_hours=6, **NETWORK).faults() == []


def test_all_wrong_choices_are_named_at_once() -> None:
    with pytest.raises(Misconfigured) as caught:
        Config.read({"batch_window": "-1", "reconcile_minutes": "x", "ephemeral": "perhaps"}.get)
    assert [name in str(caught.value) for name in ("batch_window", "reconcile_minutes", "ephemeral")] == [True] * 3


def test_numbers_and_booleans_of_a_cdk_json_are_taken() -> None:
    config = Config.read({**NETWORK, "vcpus": 32, "audit_tables": True, "warehouse": 7, "attempts": ""}.get)
    assert (config.vcpus, config.audit_tables, config.warehouse, config.attempts) == (32, True, "7", 3)


def test_a_wrong_choice_is_named_without_its_combinations() -> None:
    with pytest.raises(Misconfigured) as refusal:
        Config.read({**NETWORK, "slack_secret": "arn:aws:x", "slack_channel": "C0", "webhook_url": "h"}.get)
    assert str(refusal.value).split("; ") == [
        "-c slack_secret is the secret's name, not its ARN",
        "-c webhook_url is an address, https://…, without user and password",
    ]


def test_an_issuer_s_clients_need_no_audience_and_their_jobs_may_run_for_longer_than_an_hour() -> None:
    own: dict[str, Any] = {"token_endpoint": ISSUER, "token_clients": tuple(CLIENTS.split(",")), "token_scope": "a/b c"}
    assert Config(**NETWORK, **own, job_timeout_minutes=240).faults() == []
    assert Config(**NETWORK, **own, token_audience="lake", job_timeout_minutes=240).faults() == []
