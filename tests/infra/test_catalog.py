"""The catalog's stack: who may reach what, what outlives it, what its sizes differ in, and what Nessie is told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.sizes import SIZES
from lakegate.access import RULES, nessie_settings
from lakegate.deployment.assembly import DATABASE_PROTECTION
from tests.infra.conftest import CATALOG, composed
from tests.infra.template import Stack, flat

pytestmark = pytest.mark.synth
DIGEST = CATALOG["catalog_image"].partition("@")[2]
ISSUER, AUDIENCE = CATALOG["token_issuer"], CATALOG["token_audience"]
ECR = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"
GIVEN = CATALOG | {
    "network_vpc": "vpc-0123456789abcdef0",
    "network_subnets": ("subnet-0123456789abcdef0", "subnet-0123456789abcdef1"),
    "network_zones": ("eu-central-1a", "eu-central-1b"),
    "network_security_groups": ("sg-0123456789abcdef0",),
    "catalog_size": "prod",
    "catalog_image": f"{ECR}/quay/projectnessie/nessie:0.99.0@{DIGEST}",
}
THROWN_AWAY = CATALOG | {
    "catalog_certificate": "Z0123456789ABCDEFGHIJ",
    "network_vpc": "10.20.0.0/20",
    "network_zones": ("use1-az4", "use1-az6"),
    "catalog_size": "prod",
    "ephemeral": True,
}
GROUP, DATABASE, SERVICE = "AWS::EC2::SecurityGroup", "AWS::RDS::DBInstance", "AWS::ECS::Service"
TASK, ROLE, VPC = "AWS::ECS::TaskDefinition", "AWS::IAM::Role", "AWS::EC2::VPC"
# https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html
GIGABYTES_BY_CPU = {256: (1, 2), 512: range(1, 5), 1024: range(2, 9), 2048: range(4, 17), 4096: range(8, 31)}


def assembly(context: dict[str, Any], factory: pytest.TempPathFactory) -> Any:
    return composed(context, factory.mktemp("made"))


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A network that is there, the size `prod`, and an image in ECR."""
    return assembly(GIVEN, tmp_path_factory)


@pytest.fixture(scope="module")
def thrown_away(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return assembly(THROWN_AWAY, tmp_path_factory)


def whole(app: Any) -> Stack:
    return Stack.of(stack.template for stack in app.stacks)


def environment(stack: Stack) -> dict[str, str]:
    (container,) = stack.one(TASK, "ServerTask")["ContainerDefinitions"]
    return {each["Name"]: flat(each["Value"]) for each in container["Environment"]}


def ways_in(stack: Stack) -> set[tuple[str, str, int]]:
    """Every (source, target, port) that a security group lets in."""

    def part(reference: Any) -> str:
        return re.sub(r"Group[0-9A-F]*$|[0-9A-F]{8}$", "", flat(reference).strip("<>").split(".")[0])

    rules = stack.resources("AWS::EC2::SecurityGroupIngress").values()
    assert all(rule["FromPort"] == rule["ToPort"] for rule in rules)
    return {(part(rule["SourceSecurityGroupId"]), part(rule["GroupId"]), rule["FromPort"]) for rule in rules}


def test_there_is_a_catalog_stack_where_no_nessie_is_given(made: Any, app: Any) -> None:
    assert {stack.id for stack in made.stacks} == {"lakegate-data", "lakegate-catalog", "lakegate"}
    assert {stack.id for stack in app.stacks} == {"lakegate-data", "lakegate"}


def test_stacks_need_each_other_in_one_direction(made: Any) -> None:
    names = {stack.id for stack in made.stacks}
    needed = {stack.id: {each.id for each in stack.dependencies} & names for stack in made.stacks}
    assert list(TopologicalSorter(needed).static_order()) == ["lakegate-data", "lakegate-catalog", "lakegate"]


def test_cloudformation_finds_nothing_wrong_with_the_templates(made: Any, given: Any, thrown_away: Any) -> None:
    for each in (made, given, thrown_away):
        reports = json.loads(Path(each.directory, "validation-report.json").read_text())["pluginReports"]
        assert [violation for report in reports for violation in report["violations"]] == []


@pytest.mark.parametrize("fixture", ["made", "given"])
def test_nessie_s_ports_are_open_to_the_balancer_and_the_database_to_nessie(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    stack = whole(request.getfixturevalue(fixture))
    assert ways_in(stack) == {
        ("NetworkClients", "Front", 443),
        ("Front", "Server", 19120),
        ("Front", "Server", 9000),
        ("Server", "Database", 5432),
    }
    assert [group for group in stack.resources(GROUP).values() if "SecurityGroupIngress" in group] == []
    balancer = stack.one("AWS::ElasticLoadBalancingV2::LoadBalancer", "Front")
    assert (balancer["Scheme"], len(balancer["SecurityGroups"])) == ("internal", 1)
    placed = stack.one(SERVICE, "Server")["NetworkConfiguration"]["AwsvpcConfiguration"]
    assert (placed["AssignPublicIp"], len(placed["SecurityGroups"])) == ("DISABLED", 1)


def test_the_balancer_ends_tls_and_sends_calls_to_tasks_that_are_ready(made: Any) -> None:
    stack = whole(made)
    listener = stack.one("AWS::ElasticLoadBalancingV2::Listener", "Front")
    assert (listener["Protocol"], listener["Port"]) == ("HTTPS", 443)
    assert listener["Certificates"] == [{"CertificateArn": CATALOG["catalog_certificate"]}]
    assert "TLS13" in listener["SslPolicy"]
    target = stack.one("AWS::ElasticLoadBalancingV2::TargetGroup", "Front")
    assert (target["Port"], target["HealthCheckPort"], target["HealthCheckPath"]) == (19120, "9000", "/q/health/ready")


def test_a_certificate_is_made_where_the_host_s_public_zone_is_given(thrown_away: Any, made: Any) -> None:
    stack, kind = whole(thrown_away), "AWS::CertificateManager::Certificate"
    proof = {"DomainName": "nessie.example.com", "HostedZoneId": "Z0123456789ABCDEFGHIJ"}
    certificate = stack.one(kind, "Front")
    assert (certificate["DomainName"], certificate["ValidationMethod"]) == ("nessie.example.com", "DNS")
    assert certificate["DomainValidationOptions"] == [proof]
    listener = stack.one("AWS::ElasticLoadBalancingV2::Listener", "Front")
    assert listener["Certificates"] == [{"CertificateArn": {"Ref": stack.name(kind, "Front")}}]
    assert whole(made).resources(kind) == {}


def test_the_name_is_a_private_zone_s_and_the_clients_address(made: Any) -> None:
    stack = whole(made)
    assert stack.one("AWS::Route53::HostedZone", "Front")["Name"] == "nessie.example.com."
    assert stack.one("AWS::Route53::HostedZone", "Front")["VPCs"][0]["VPCId"] == {"Ref": stack.name(VPC, "Network")}
    assert stack.one("AWS::Route53::RecordSet", "Front")["Name"] == "nessie.example.com."
    assert stack.template["Outputs"]["NessieUri"]["Value"] == "https://nessie.example.com"


@pytest.mark.parametrize("fixture", ["made", "given"])
def test_functions_and_jobs_are_clients(fixture: str, request: pytest.FixtureRequest) -> None:
    stack = whole(request.getfixturevalue(fixture))
    clients = {"Fn::GetAtt": [stack.name(GROUP, "NetworkClients"), "GroupId"]}
    groups = [clients, *(["sg-0123456789abcdef0"] if fixture == "given" else [])]
    placed = [each["VpcConfig"] for each in stack.resources("AWS::Lambda::Function").values()]
    placed.append(stack.one("AWS::EMRServerless::Application", "Spark")["NetworkConfiguration"])
    assert [each["SecurityGroupIds"] for each in placed] == [groups] * len(placed)
    assert {len(each["SubnetIds"]) for each in placed} == {2}


def test_the_database_is_closed_encrypted_and_outlives_the_stack(made: Any, given: Any) -> None:
    for stack in (whole(made), whole(given)):
        database = stack.one(DATABASE, "Database")
        assert (database["PubliclyAccessible"], database["StorageEncrypted"]) == (False, True)
        assert database["DeletionProtection"] == {"Ref": DATABASE_PROTECTION}
        assert stack.template["Parameters"][DATABASE_PROTECTION]["Default"] == "true"
        for kind in (DATABASE, "AWS::RDS::DBSubnetGroup", "AWS::SecretsManager::Secret", GROUP):
            resource = stack.template["Resources"][stack.name(kind, "Database")]
            assert (resource["UpdateReplacePolicy"], resource["DeletionPolicy"]) == ("Retain", "RetainExceptOnCreate")


def test_a_new_network_has_the_range_that_is_chosen(made: Any, thrown_away: Any) -> None:
    for app, whole_range in ((made, "10.0.0.0/16"), (thrown_away, "10.20.0.0/20")):
        stack = whole(app)
        assert stack.one(VPC, "Network")["CidrBlock"] == whole_range
        subnets = [IPv4Network(it["CidrBlock"]) for it in stack.resources("AWS::EC2::Subnet").values()]
        assert {it.supernet(2) for it in subnets} == {IPv4Network(whole_range)}
        assert len({*subnets}) == 4


def test_an_ephemeral_catalog_leaves_nothing_behind(thrown_away: Any) -> None:
    stack = whole(thrown_away)
    assert stack.one(DATABASE, "Database")["DeletionProtection"] is False
    kept = [name for name, body in stack.template["Resources"].items() if "Retain" in body.get("DeletionPolicy", "")]
    assert kept == []


def test_the_catalog_s_stack_is_protected_from_deletion_unless_it_is_ephemeral(made: Any, thrown_away: Any) -> None:
    assert [app.get_stack_by_name("lakegate-catalog").termination_protection for app in (made, thrown_away)] == [
        True,
        False,
    ]


def texts(value: Any) -> Iterator[str]:
    """Every text and every name in a template."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    else:
        yield str(value)


def test_no_template_has_a_secret_and_no_environment_the_database_s(made: Any) -> None:
    stack = whole(made)
    (container,) = stack.one(TASK, "ServerTask")["ContainerDefinitions"]
    secret = stack.name("AWS::SecretsManager::Secret", "DatabasePassword")
    names = {f"quarkus.datasource.postgresql.{what}": what for what in ("username", "password")}
    assert {each["Name"]: flat(each["ValueFrom"]) for each in container["Secrets"]} == {
        name: f"<{secret}>:{what}::" for name, what in names.items()
    }
    assert not names.keys() & environment(stack).keys()
    assert environment(stack)["quarkus.datasource.postgresql.jdbc.url"] == (
        f"jdbc:postgresql://<{stack.name(DATABASE, 'Database')}.Endpoint.Address>:5432/nessie?sslmode=require"
    )
    database = stack.one(DATABASE, "Database")
    assert flat(database["MasterUserPassword"]) == f"{{{{resolve:secretsmanager:<{secret}>:SecretString:password::}}}}"
    made_up = stack.one("AWS::SecretsManager::Secret", "DatabasePassword")
    assert "SecretString" not in made_up
    assert made_up["GenerateSecretString"]["PasswordLength"] >= 30
    assert not [text for text in texts(stack.template) if re.search(r"-----BEGIN|AKIA|xox[bp]-", text)]


def test_nessie_knows_its_callers_by_the_rules_of_access(made: Any) -> None:
    told = environment(whole(made))
    assert told.items() >= nessie_settings(ISSUER, AUDIENCE).items()
    assert sum(name.startswith("nessie.server.authorization.rules.") for name in told) == len(RULES)
    assert told["nessie.catalog.service.s3.default-options.request-signing-enabled"] == "false"


def test_nessie_keeps_the_warehouse_in_the_lake_bucket_and_has_rights_on_that_alone(made: Any) -> None:
    stack = whole(made)
    lake = stack.name("AWS::S3::Bucket", "StorageLake")
    assert environment(stack)["nessie.catalog.warehouses.lake.location"] == f"s3://<{lake}>/warehouse"
    assert stack.rights("ServerRole") == {
        ("s3:ListBucket", f"<{lake}.Arn>"),
        *((f"s3:{what}", f"<{lake}.Arn>/warehouse/*") for what in ("GetObject", "PutObject", "AbortMultipartUpload")),
    }


def test_who_starts_a_task_reads_its_secret_writes_its_log_and_pulls_its_image(made: Any, given: Any) -> None:
    stack = whole(made)
    log, secret = stack.name("AWS::Logs::LogGroup", "ServerLog"), "AWS::SecretsManager::Secret"
    its_own = {
        ("logs:CreateLogStream", f"<{log}.Arn>"),
        ("logs:PutLogEvents", f"<{log}.Arn>"),
        ("secretsmanager:GetSecretValue", f"<{stack.name(secret, 'DatabasePassword')}>"),
        ("secretsmanager:DescribeSecret", f"<{stack.name(secret, 'DatabasePassword')}>"),
    }
    assert stack.rights("ServerStarter") == its_own
    repository = "arn:<AWS::Partition>:ecr:eu-central-1:123456789012:repository/quay/projectnessie/nessie"
    pulls = {"BatchCheckLayerAvailability", "BatchGetImage", "GetDownloadUrlForLayer"}
    assert whole(given).rights("ServerStarter") == {
        *its_own,
        *((f"ecr:{what}", repository) for what in pulls),
        ("ecr:GetAuthorizationToken", "*"),
    }


@pytest.mark.parametrize("role", ["ServerRole", "ServerStarter"])
def test_a_role_is_for_tasks_of_this_account(made: Any, role: str) -> None:
    (trust,) = whole(made).one(ROLE, role)["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "ecs-tasks.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def test_a_task_is_of_a_size_that_fargate_has_and_of_an_image_that_never_changes(made: Any, given: Any) -> None:
    for app, image in (
        (made, CATALOG["catalog_image"]),
        (given, f"{ECR.replace('amazonaws.com', '<AWS::URLSuffix>')}/quay/projectnessie/nessie@{DIGEST}"),
    ):
        task = whole(app).one(TASK, "ServerTask")
        cpu, megabytes = int(task["Cpu"]), int(task["Memory"])
        assert megabytes % 1024 == 0
        assert megabytes // 1024 in GIGABYTES_BY_CPU[cpu]
        assert task["RuntimePlatform"] == {"CpuArchitecture": "ARM64", "OperatingSystemFamily": "LINUX"}
        assert [flat(each["Image"]) for each in task["ContainerDefinitions"]] == [image]


def test_every_size_is_one_that_fargate_has() -> None:
    for size in SIZES.values():
        assert size.memory in [1024 * each for each in GIGABYTES_BY_CPU[size.cpu]]


def test_a_log_ends_some_day(made: Any) -> None:
    catalog = Stack(made.get_stack_by_name("lakegate-catalog").template)
    assert {log["RetentionInDays"] for log in catalog.resources("AWS::Logs::LogGroup").values()} == {90}
    (container,) = catalog.one(TASK, "ServerTask")["ContainerDefinitions"]
    assert container["LogConfiguration"]["Options"]["awslogs-group"] == {
        "Ref": catalog.name("AWS::Logs::LogGroup", "ServerLog")
    }


def test_a_failed_deployment_goes_back_and_a_good_one_never_leaves_the_catalog_without_a_task(made: Any) -> None:
    deployment = whole(made).one(SERVICE, "Server")["DeploymentConfiguration"]
    assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
    assert deployment["MinimumHealthyPercent"] == 100


def test_tasks_begin_once_their_way_is_open(made: Any) -> None:
    stack = whole(made)
    after = set(stack.template["Resources"][stack.name(SERVICE, "Server")]["DependsOn"])
    ways = {*stack.resources("AWS::EC2::SecurityGroupIngress"), *stack.resources("AWS::EC2::SecurityGroupEgress")}
    policies = {name for name in stack.resources("AWS::IAM::Policy") if name.startswith("Server")}
    assert len(policies) == 2
    assert after >= {*ways, *policies, *stack.resources("AWS::EC2::Route"), stack.name(DATABASE, "Database")}


def said(stack: Stack) -> dict[str, Any]:
    database = stack.one(DATABASE, "Database")
    return {
        "tasks": stack.one(SERVICE, "Server")["DesiredCount"],
        "database": database["DBInstanceClass"],
        "zones": database["MultiAZ"],
        "backups": database["BackupRetentionPeriod"],
    }


def test_prod_survives_a_zone_and_dev_does_not(made: Any, given: Any) -> None:
    assert said(whole(made)) == {"tasks": 1, "database": "db.t4g.micro", "zones": False, "backups": 7}
    assert said(whole(given)) == {"tasks": 2, "database": "db.t4g.small", "zones": True, "backups": 35}


def test_a_new_network_has_two_zones_a_way_out_and_a_free_way_to_s3(made: Any, thrown_away: Any) -> None:
    for app, gateways in ((made, 1), (thrown_away, 2)):
        stack = whole(app)
        private = {name for name in stack.resources("AWS::EC2::Subnet") if "Private" in name}
        assert len(private) == 2
        assert len(stack.resources("AWS::EC2::NatGateway")) == gateways
        routes = [each for each in stack.resources("AWS::EC2::Route").values() if "NatGatewayId" in each]
        assert len({flat(route["RouteTableId"]) for route in routes}) == 2
        (endpoint,) = stack.resources("AWS::EC2::VPCEndpoint").values()
        assert flat(endpoint["ServiceName"]) == "com.amazonaws.<AWS::Region>.s3"
        assert {flat(each) for each in endpoint["RouteTableIds"]} >= {flat(route["RouteTableId"]) for route in routes}
        database = stack.one("AWS::RDS::DBSubnetGroup", "Database")
        assert {each["Ref"] for each in database["SubnetIds"]} == private


def test_zones_of_a_new_network_are_those_of_the_ids_that_are_given(thrown_away: Any) -> None:
    subnets = whole(thrown_away).resources("AWS::EC2::Subnet").values()
    assert sorted(each["AvailabilityZoneId"] for each in subnets) == 2 * ["use1-az4"] + 2 * ["use1-az6"]
    assert not any("AvailabilityZone" in each for each in subnets)


def test_zones_that_are_given_by_an_account_s_own_names_are_taken(tmp_path_factory: pytest.TempPathFactory) -> None:
    app = assembly(CATALOG | {"network_zones": ("us-east-1b", "us-east-1c")}, tmp_path_factory)
    subnets = whole(app).resources("AWS::EC2::Subnet").values()
    assert {each["AvailabilityZone"] for each in subnets} == {"us-east-1b", "us-east-1c"}


def test_a_network_that_is_there_is_used_as_it_is(given: Any) -> None:
    stack = whole(given)
    for kind in (VPC, "AWS::EC2::Subnet", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::VPCEndpoint"):
        assert stack.resources(kind) == {}
    subnets = list(GIVEN["network_subnets"])
    assert stack.one("AWS::RDS::DBSubnetGroup", "Database")["SubnetIds"] == subnets
    assert stack.one("AWS::ElasticLoadBalancingV2::LoadBalancer", "Front")["Subnets"] == subnets
    assert stack.one(SERVICE, "Server")["NetworkConfiguration"]["AwsvpcConfiguration"]["Subnets"] == subnets
    assert {group["VpcId"] for group in stack.resources(GROUP).values()} == {GIVEN["network_vpc"]}


def test_nothing_is_a_custom_resource_or_a_look_up(made: Any, given: Any, thrown_away: Any) -> None:
    for app in (made, given, thrown_away):
        assert "missing" not in json.loads(Path(app.directory, "manifest.json").read_text())
        assert not [
            kind for kind in (body["Type"] for body in whole(app).template["Resources"].values()) if "Custom" in kind
        ]


def test_readers_find_their_group_in_the_outputs(made: Any) -> None:
    catalog = made.get_stack_by_name("lakegate-catalog").template
    assert catalog["Outputs"]["ClientsSecurityGroup"]["Value"]["Fn::GetAtt"][1] == "GroupId"
