"""A job run's own policy, evaluated as AWS does: what one attempt's job may touch, and that it always fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from lakegate.adapters.job_policy import LONGEST, job_policy
from lakegate.contracts.reading import LONGEST_TABLE
from lakegate.landing.attempts import Attempt
from lakegate.ports import Reach
from lakegate.settings import Settings
from tests.support.iam import Request, is_allowed, statements_of

ATTEMPT = Attempt(table="nyc.flights", batch="20130131T0405-1a2b3c4d", number=2)
SERVICE, LAKE = "lakegate-service-123456789012-eu-central-1", "lakegate-lake-123456789012-eu-central-1"
ASSETS = "cdk-hnb659fds-assets-123456789012-eu-central-1"
SETTINGS = Settings(
    landing_bucket="lakegate-landing-123456789012-eu-central-1",
    service_bucket=SERVICE,
    lake_bucket=LAKE,
    nessie_uri="https://nessie",
    warehouse="lake",
    application_id="00fabc123",
    job_role_arn="arn:aws:iam::123456789012:role/lakegate-SparkRole",
    job_entry_point=f"s3://{ASSETS}/lakegate/e1.py",
    job_py_files=f"s3://{ASSETS}/lakegate/e2.zip",
    job_jars=f"s3://{ASSETS}/lakegate/e3.jar,s3://{ASSETS}/lakegate/e4.jar",
)
EVERYTHING = [{"Effect": "Allow", "Action": "*", "Resource": "*"}]  # of the role: the policy under test narrows it
ID = "0190c5e2-8f1b-7a43-9d0e-5b6c7d8e9f00"
READ, WRITE = "s3:GetObject", "s3:PutObject"


def reach(attempt: Attempt = ATTEMPT, **other: Any) -> Reach:
    """Return what the workflow says of an attempt at a table that is there, with a foreign key to one that is there,
    too.
    """
    uri = f"s3://{SERVICE}"
    return replace(
        Reach(
            reads=(f"{uri}/attempts/{attempt.branch}/job.json", f"{uri}/staging/{attempt.branch}/"),
            writes=(f"{uri}/begun/{attempt.branch}", f"{uri}/reports/{attempt.branch}.json"),
            tables={attempt.table: f"s3://{LAKE}/warehouse/nyc/flights_{ID}", "_quarantine.nyc_flights": ""},
            references={"nyc.planes": f"s3://{LAKE}/warehouse/nyc/planes_{ID}"},
        ),
        **other,
    )


def may(policy: str, action: str, key: str) -> bool:
    request = Request(principal=SETTINGS.job_role_arn, action=action, resource=f"arn:aws:s3:::{key}")
    return is_allowed(request, EVERYTHING, session=statements_of(policy))


@pytest.mark.parametrize(
    ("key", "actions"),
    [
        (f"{SERVICE}/attempts/{ATTEMPT.branch}/job.json", {READ}),
        (f"{SERVICE}/attempts/{ATTEMPT.next().branch}/job.json", set()),
        (f"{SERVICE}/attempts/{ATTEMPT.branch}0/job.json", set()),
        (f"{SERVICE}/staging/{ATTEMPT.branch}/0a.parquet", {READ}),
        (f"{SERVICE}/staging/{ATTEMPT.branch}0/0a.parquet", set()),
        (f"{SERVICE}/staging/wap-nyc.planes-20130131T0405-0b0b0b0b-a2/0a.parquet", set()),
        (f"{SERVICE}/begun/{ATTEMPT.branch}", {READ, WRITE}),
        (f"{SERVICE}/begun/{ATTEMPT.next().branch}", set()),
        (f"{SERVICE}/reports/{ATTEMPT.branch}.json", {READ, WRITE}),
        (f"{SERVICE}/reports/{ATTEMPT.next().branch}.json", set()),
        (f"{SERVICE}/contracts/nyc.flights.yaml", set()),
        (f"{SERVICE}/receipts/x", set()),
        (f"{SERVICE}/logs/applications/00fabc123/jobs/00f/SPARK_DRIVER/stderr.gz", {READ, WRITE}),
        (f"{SERVICE}/logs/applications/00fother/jobs/00f/SPARK_DRIVER/stderr.gz", set()),
        (f"{ASSETS}/lakegate/e2.zip", {READ}),
        (f"{ASSETS}/another/e2.zip", set()),
        (f"{LAKE}/warehouse/nyc/flights_{ID}/data/1.parquet", {READ, WRITE}),
        (f"{LAKE}/warehouse/nyc/flights_{ID.replace('7', '8')}/data/1.parquet", set()),
        (f"{LAKE}/warehouse/nyc/flights_{ID}", set()),
        (f"{LAKE}/warehouse/_quarantine/nyc_flights_{ID}/metadata/1.json", {READ, WRITE}),
        (f"{LAKE}/warehouse/_quarantine/nyc_planes_{ID}/metadata/1.json", set()),
        (f"{LAKE}/warehouse/_quarantine/nyc_flights_late_{ID}/metadata/1.json", set()),
        (f"{LAKE}/warehouse/nyc/planes_{ID}/data/1.parquet", {READ}),
        (f"{LAKE}/warehouse/nyc/airports_{ID}/data/1.parquet", set()),
        (f"{SETTINGS.landing_bucket}/nyc/flights/1.parquet", set()),
    ],
)
def test_a_job_touches_its_own_files_report_and_tables_and_no_others(key: str, actions: set[str]) -> None:
    policy = job_policy(SETTINGS, ATTEMPT, reach())
    assert {action for action in (READ, WRITE) if may(policy, action, key)} == actions
    assert may(policy, "s3:AbortMultipartUpload", key) is (WRITE in actions)
    assert not may(policy, "s3:DeleteObject", key)


def test_a_job_writes_to_a_new_table_wherever_nessie_makes_it_and_to_no_table_whose_name_begins_so() -> None:
    policy = job_policy(SETTINGS, ATTEMPT, reach(tables={"nyc.flights": ""}))
    assert may(policy, WRITE, f"{LAKE}/warehouse/nyc/flights_{ID}/data/1.parquet")
    for other in (f"flights_late_{ID}", f"late_flights_{ID}", f"flight_{ID}", "flights", f"flights{ID}"):
        assert not may(policy, WRITE, f"{LAKE}/warehouse/nyc/{other}/data/1.parquet")


def test_a_job_reads_the_report_whose_data_files_it_reuses() -> None:
    earlier = replace(ATTEMPT, number=1).branch
    policy = job_policy(SETTINGS, ATTEMPT, reach(reads=(f"s3://{SERVICE}/reports/{earlier}.json",)))
    assert may(policy, READ, f"{SERVICE}/reports/{earlier}.json")
    assert not may(policy, WRITE, f"{SERVICE}/reports/{earlier}.json")


def test_a_job_keeps_what_its_role_may_beside_storage_and_lists_as_its_role_may() -> None:
    policy = statements_of(job_policy(SETTINGS, ATTEMPT, reach()))
    for action in ("sts:GetWebIdentityToken", "kms:Decrypt", "s3:ListBucket"):
        asked = Request(principal=SETTINGS.job_role_arn, action=action, resource="arn:aws:s3:::any")
        assert is_allowed(asked, EVERYTHING, session=policy)
        assert not is_allowed(asked, [], session=policy)


def test_a_job_of_many_foreign_keys_reads_every_table_and_writes_its_own_and_the_log_says_so() -> None:
    many = {f"nyc.table{number}": "" for number in range(40)}
    structlog.reset_defaults()
    with capture_logs() as logs:
        policy = job_policy(SETTINGS, ATTEMPT, reach(references=many))
    assert [entry["event"] for entry in logs] == ["job_not_narrowed"]
    assert may(policy, READ, f"{LAKE}/warehouse/nyc/table7_{ID}/data/1.parquet")
    assert may(policy, WRITE, f"{LAKE}/warehouse/nyc/flights_{ID}/data/1.parquet")
    assert not may(policy, WRITE, f"{LAKE}/warehouse/nyc/table7_{ID}/data/1.parquet")


@settings(max_examples=200, deadline=None)
@given(
    namespace=st.integers(1, LONGEST_TABLE - 2),
    bucket=st.sampled_from([1, 30, 63]),
    referred=st.integers(0, 40),
    partition=st.sampled_from(["aws", "aws-us-gov"]),
)
def test_a_policy_always_fits_and_gives_what_the_job_needs(
    namespace: int, bucket: int, referred: int, partition: str
) -> None:
    table = f"{'n' * namespace}.{'t' * (LONGEST_TABLE - 1 - namespace)}"
    attempt = Attempt(table=table, batch=ATTEMPT.batch, number=10**6)
    role = f"arn:{partition}:iam::123456789012:role/job"
    there = Reach(
        reads=(f"s3://{'s' * bucket}/attempts/{attempt.branch}/job.json",),
        writes=(f"s3://{'s' * bucket}/reports/{attempt.branch}.json",),
        tables={table: "", f"_quarantine.{table.replace('.', '_')}": ""},
        references={f"a.{'t' * 100}{number}": "" for number in range(referred)},
    )
    named = replace(SETTINGS, service_bucket="s" * bucket, lake_bucket="l" * bucket, job_role_arn=role)
    policy = job_policy(named, attempt, there)
    assert len(policy) <= LONGEST
    own = f"arn:{partition}:s3:::{'l' * bucket}/warehouse/{table.replace('.', '/')}_{ID}/data/1.parquet"
    for action, resource in (
        (WRITE, own),
        (READ, f"arn:{partition}:s3:::{'s' * bucket}/attempts/{attempt.branch}/job.json"),
        (WRITE, f"arn:{partition}:s3:::{'s' * bucket}/reports/{attempt.branch}.json"),
    ):
        asked = Request(principal=role, action=action, resource=resource)
        assert is_allowed(asked, EVERYTHING, session=statements_of(policy))
