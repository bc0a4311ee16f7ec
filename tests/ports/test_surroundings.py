"""Tests of what the doctor reads of an installation's surroundings: networks by an emulator, Nessie by a real one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from lakegate.access import Role
from lakegate.adapters.aws import Clients
from lakegate.adapters.http import TimeoutAdapter, door
from lakegate.adapters.surroundings import Surroundings
from lakegate.doctor.facts import Subnet
from lakegate.errors import Misconfigured
from tests.ports.test_runner import SETTINGS
from tests.support.nessie import Lake, unique
from tests.support.nessie_auth import FixedToken, NessieAuth


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield boto3.client("ec2")


def surroundings(*subnets: str) -> Surroundings:
    """The surroundings of an application in these subnets."""
    network = {"networkConfiguration": {"subnetIds": [*subnets], "securityGroupIds": ["sg-1"]}} if subnets else {}
    made: dict[str, Any] = {"type": "SPARK", "releaseLabel": "emr-7.13.0", "clientToken": "t", **network}
    application = boto3.client("emr-serverless").create_application(**made)["applicationId"]
    return Surroundings(replace(SETTINGS, application_id=application), TimeoutAdapter())


def test_a_private_subnet_has_a_nat_gateway_and_the_endpoint_of_its_own_route_table(aws: Any) -> None:
    vpc = aws.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = aws.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]
    table = aws.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    aws.associate_route_table(RouteTableId=table, SubnetId=subnet["SubnetId"])
    address = aws.allocate_address(Domain="vpc")["AllocationId"]
    nat = aws.create_nat_gateway(SubnetId=subnet["SubnetId"], AllocationId=address)["NatGateway"]["NatGatewayId"]
    aws.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", NatGatewayId=nat)
    service = "com.amazonaws.us-east-1.s3"
    aws.create_vpc_endpoint(VpcId=vpc, ServiceName=service, VpcEndpointType="Gateway", RouteTableIds=[table])
    (found,) = surroundings(subnet["SubnetId"]).subnets()
    zone = subnet["AvailabilityZoneId"]
    assert found == Subnet(id=subnet["SubnetId"], zone=zone, way_out=nat, reaches_s3=True)


def test_a_subnet_without_a_route_table_of_its_own_has_its_vpc_s(aws: Any) -> None:
    vpc = aws.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = aws.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    (found,) = surroundings(subnet).subnets()
    assert (found.way_out, found.reaches_s3) == ("", False)
    gateway = aws.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    aws.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    (main,) = aws.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
    aws.create_route(RouteTableId=main["RouteTableId"], DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    (found,) = surroundings(subnet).subnets()
    assert found.way_out == gateway


@pytest.mark.parametrize(
    ("place", "versioning", "notification", "default", "found"),
    [
        (None, {}, {}, {"SSEAlgorithm": "AES256"}, ("us-east-1", False, False, "")),
        (
            "us-west-2",
            {"Status": "Enabled"},
            {"EventBridgeConfiguration": {}},
            {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "arn:aws:kms:k"},
            ("us-west-2", True, True, "arn:aws:kms:k"),
        ),
        ("EU", {"Status": "Suspended"}, {}, {"SSEAlgorithm": "aws:kms"}, ("EU", False, False, "")),
    ],
)
def test_what_a_landing_bucket_s_owner_has_set_is_read(
    aws: Any,  # noqa: ARG001
    place: str | None,
    versioning: dict[str, str],
    notification: dict[str, Any],
    default: dict[str, str],
    found: tuple[str, bool, bool, str],
) -> None:
    s3, of = boto3.client("s3"), {"Bucket": SETTINGS.landing_bucket}
    rules: dict[str, Any] = {"Rules": [{"ApplyServerSideEncryptionByDefault": default}]}
    clients: Clients = lambda name: s3 if name == "s3" else boto3.client(name)  # type: ignore[call-overload]  # noqa: E731
    with Stubber(s3) as stub:
        stub.add_response("get_bucket_encryption", {"ServerSideEncryptionConfiguration": rules}, of)
        stub.add_response("get_bucket_location", {"LocationConstraint": place} if place else {}, of)
        stub.add_response("get_bucket_versioning", versioning, of)
        stub.add_response("get_bucket_notification_configuration", notification, of)
        read = Surroundings(SETTINGS, TimeoutAdapter(), clients).landing_bucket()
    assert (read.region, read.is_versioned, read.sends_events, read.key) == found


def test_an_application_in_no_network_has_no_subnets(aws: Any) -> None:  # noqa: ARG001
    assert surroundings().subnets() == []


def at(lake: Lake, token: str = "") -> Surroundings:
    settings = replace(SETTINGS, nessie_uri=lake.nessie_uri, warehouse=lake.warehouse)
    http = door(settings.nessie_uri, FixedToken(token)) if token else TimeoutAdapter()
    return Surroundings(settings, http, lambda _: None)


@pytest.mark.nessie
def test_nessie_says_which_release_it_is_and_has_the_warehouse(lake: Lake) -> None:
    place = at(lake)
    assert place.release() == "0.99.0"
    assert place.main()
    place.open_warehouse()


@pytest.mark.nessie
def test_a_warehouse_that_nessie_has_not_is_named(lake: Lake) -> None:
    with pytest.raises(Misconfigured, match="'elsewhere' is not known"):
        at(replace(lake, warehouse="elsewhere")).open_warehouse()


@pytest.mark.nessie
def test_without_rules_a_stranger_and_everybody_may_make_branches_which_go_again(lake: Lake) -> None:
    name = unique("doctor")
    assert at(lake).stranger() == 200
    assert at(lake).may_make_branch(name)
    assert at(lake).may_make_branch(name)  # so it was gone


@pytest.mark.nessie
@pytest.mark.parametrize("role", [Role.INGEST, Role.PUBLISH, Role.SPARK])
def test_with_rules_nobody_makes_a_branch_that_is_not_lakegate_s(guarded: NessieAuth, role: Role) -> None:
    place = at(guarded.lake, token=guarded.token(role))
    assert place.stranger() == 401
    assert not place.may_make_branch(unique("doctor"))
