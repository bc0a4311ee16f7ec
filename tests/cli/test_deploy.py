"""`lakegate deploy` and `lakegate doctor` on an emulator of AWS, with a stand-in for the cdk command."""

from __future__ import annotations

import io
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pytest
from lakegate_local.slack_server import SlackStandIn
from moto.cloudformation.models import cloudformation_backends
from moto.core.models import DEFAULT_ACCOUNT_ID as ACCOUNT
from typer.testing import CliRunner, Result

from infra.choices import choices
from infra.config import Config
from infra.settings_file import SettingsFile
from lakegate.adapters.account import ECS_ROLE
from lakegate.adapters.stacks import Stacks
from lakegate.cli.app import app
from lakegate.cli.deploy import Deployment, config_of_file
from lakegate.deployment.assembly import MANIFEST, PROTECTION, STACK
from lakegate.settings import DESCRIPTION
from tests.cli.test_preflight import READING
from tests.infra.conftest import CATALOG
from tests.support.authority import Authority
from tests.support.aws_account import AwsAccount, account
from tests.support.federation import ISSUER, Federation
from tests.support.image_registry import Registry, registry_and_client
from tests.support.outputs import OUTPUTS
from tests.support.wsgi import serving

pytestmark = pytest.mark.filterwarnings("ignore:Tried to parse AWS.*")
RUN = subprocess.run
ASSUMED = {"Version": "2012-10-17", "Statement": []}
BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"
HERE = OUTPUTS | {"NessieUri": "http://127.0.0.1:9"}  # where nobody answers


def template(config: Config, description: str = DESCRIPTION) -> dict[str, Any]:
    """A stack of these choices, as far as a deployment looks at it."""
    function = {
        "Runtime": "python3.13",
        "Handler": "index.handler",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
        "Code": {"ZipFile": "def handler(*_): pass"},
    }
    target = {"Id": "1", "Arn": {"Fn::GetAtt": ["Function", "Arn"]}}
    mapping = {"FunctionName": {"Ref": "Function"}, "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}}
    resources = {
        "Queue": {"Type": "AWS::SQS::Queue"},
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": ASSUMED}},
        "Function": {"Type": "AWS::Lambda::Function", "Properties": function},
        "Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": mapping},
        "Sweep": {
            "Type": "AWS::Events::Rule",
            "Properties": {"Name": "sweep", "ScheduleExpression": "rate(5 minutes)", "Targets": [target]},
        },
        "App": {"Type": "AWS::EMRServerless::Application", "Properties": {"ReleaseLabel": config.spark_release}},
    }
    return {
        "Description": description,
        "Parameters": {"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": BOOTSTRAP}},
        "Metadata": choices(config).to_metadata(),
        "Resources": resources,
        "Outputs": {name: {"Value": value} for name, value in HERE.items()},
    }


def named_bucket(prefix: str) -> dict[str, Any]:
    name = {"Fn::Join": ["", [prefix, {"Ref": "AWS::AccountId"}, "-", {"Ref": "AWS::Region"}]]}
    return {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": name}}


@dataclass(kw_only=True)
class World:
    """An account with a stack, a settings file, and what the cdk command did: `deployed` is the rule's state then."""

    folder: Path
    aws: AwsAccount
    fails: bool = False
    deployed: list[str] = field(default_factory=list)
    bootstrapped: list[str] = field(default_factory=list)
    buckets: dict[str, str] = field(default_factory=dict)
    protected: list[bool] = field(default_factory=list)
    zones: list[tuple[str, ...]] = field(default_factory=list)

    def bootstrap(self) -> None:
        boto3.client("ssm").put_parameter(Name=BOOTSTRAP, Value="30", Type="String", Overwrite=True)

    def make(self, config: Config) -> None:
        self.bootstrap()
        boto3.client("cloudformation").create_stack(
            StackName=config.name, TemplateBody=json.dumps(template(config)), Capabilities=["CAPABILITY_IAM"]
        )

    def deploy(self, config: Config, *options: str) -> Result:
        """Run `lakegate deploy` with a file that gives these choices."""
        lines = [f"{name} = {json.dumps(choices(config).values[name])}\n" for name in choices(config).given]
        return self.deploy_text("".join(lines), *options)

    def deploy_text(self, text: str, *options: str) -> Result:
        """Run `lakegate deploy` with a file of this text."""
        file = self.folder / "dev.toml"
        file.write_text(text)
        return CliRunner().invoke(app, ["deploy", str(file), "--no-probe", *options])

    def cdk(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "synth" in command:
            folder, file = Path(command[command.index("--output") + 1]), command[-1].removeprefix("settings=")
            self.wanted = SettingsFile.read(Path(file)).config()
            self.zones.append(self.wanted.network_zones)
            own = template(self.wanted)
            own["Resources"] |= {name: named_bucket(prefix) for name, prefix in self.buckets.items()}
            (folder / f"{self.wanted.name}.template.json").write_text(json.dumps(own))
            stack = {"type": STACK, "properties": {} if self.wanted.ephemeral else {PROTECTION: True}}
            (folder / MANIFEST).write_text(json.dumps({"artifacts": {self.wanted.name: stack}}))
            return subprocess.CompletedProcess(command, 0, "", "")
        if "bootstrap" in command:
            self.bootstrapped.append(command[-1])
            return subprocess.CompletedProcess(command, 0)
        self.deployed.append(self.sweep())
        if not self.fails:
            self.bring()
            manifest = json.loads(Path(command[-1], MANIFEST).read_text())
            is_protected = manifest["artifacts"][self.wanted.name]["properties"].get(PROTECTION, False)
            self.stack().enable_termination_protection = is_protected
            self.protected.append(is_protected)
        return subprocess.CompletedProcess(command, int(self.fails))

    def bring(self) -> None:
        """Do what CloudFormation does."""
        names = [it["StackName"] for it in boto3.client("cloudformation").describe_stacks()["Stacks"]]
        if self.wanted.name not in names:
            self.make(self.wanted)
            return
        body = json.dumps(template(self.wanted))
        boto3.client("cloudformation").update_stack(
            StackName=self.wanted.name, TemplateBody=body, Capabilities=["CAPABILITY_IAM"]
        )

    def stack(self, name: str = "") -> Any:
        """The emulator's own stack, whose state is the test's to set."""
        stacks = cloudformation_backends[ACCOUNT]["us-east-1"].stacks.values()
        return next(stack for stack in stacks if stack.name == (name or self.wanted.name))

    @staticmethod
    def sweep() -> str:
        states: Mapping[str, str] = {it["Name"]: it["State"] for it in boto3.client("events").list_rules()["Rules"]}
        return states.get("sweep", "none")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.chdir(tmp_path)
    stand_in = SlackStandIn(token="xoxb-test", file=tmp_path / "slack.jsonl")
    with account(monkeypatch) as aws, serving(stand_in) as slack:
        made = World(folder=tmp_path, aws=aws)
        monkeypatch.setattr(subprocess, "run", made.cdk)
        boto3.client("secretsmanager").create_secret(Name="lake/slack", SecretString=f"xoxb-test {slack}/api/")
        boto3.client("ssm").delete_parameter(Name=BOOTSTRAP)
        aws.quotas["emr-serverless"] = {"Max concurrent vCPUs per account": 64.0}
        yield made


@pytest.fixture
def federation(world: World) -> Federation:
    world.aws.federation.is_on = False
    return world.aws.federation


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The registry of the default image."""
    with registry_and_client(tmp_path) as (registry, images):
        monkeypatch.setattr("infra.completion.IMAGE", registry.image)
        monkeypatch.setattr("infra.gaps.Images", lambda: images)
        monkeypatch.setattr("lakegate.adapters.site.Images", lambda: images)
        yield registry


NESSIE = "https://nessie.example.com"
BEFORE = Config(ephemeral=True, nessie_uri=NESSIE, slack_secret="lake/slack", slack_channel="C0", spark_vcpus=32)


def test_a_choice_that_is_dropped_stops_the_deployment_until_it_is_accepted(world: World) -> None:
    world.make(BEFORE)
    after = Config(ephemeral=True, nessie_uri=NESSIE, spark_vcpus=64)
    told = world.deploy(after)
    assert told.exit_code == 1
    assert "dropped: slack.secret, lake/slack → none\n" in told.stdout
    assert "changed: spark.vcpus, 32 → 64\n" in told.stdout
    assert "--accept slack.secret --accept slack.channel --accept spark.vcpus\n" in told.stderr
    assert world.deployed == []
    world.deploy(after, "--accept", "slack.secret", "--accept", "slack.channel")
    assert world.deployed == []
    told = world.deploy(after, "--accept", "slack.secret", "--accept", "slack.channel", "--accept", "spark.vcpus")
    assert world.deployed == ["ENABLED"]
    assert "lakegate is deployed" in told.stdout


def test_an_application_changes_while_nothing_begins_a_job(world: World) -> None:
    world.make(BEFORE)
    told = world.deploy(Config(**{**vars(BEFORE), "spark_release": "emr-7.12.0"}), "--accept", "spark.release")
    assert (world.deployed, world.sweep()) == (["DISABLED"], "ENABLED")
    assert "changed: spark.release, emr-spark-8.1.0 → emr-7.12.0\n" in told.stdout


def test_a_cdk_command_that_fails_leaves_the_intake_open(world: World) -> None:
    world.make(BEFORE)
    world.fails = True
    told = world.deploy(Config(**{**vars(BEFORE), "spark_release": "emr-7.12.0"}), "--accept", "spark.release")
    assert told.exit_code == 2
    assert "cdk deploy has failed" in told.stderr
    assert (world.deployed, world.sweep()) == (["DISABLED"], "ENABLED")


@pytest.mark.parametrize("code", [0, 3])
def test_another_program_changes_the_stacks_while_nothing_begins_a_job(
    world: World, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    world.make(BEFORE)

    def apply(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        world.deployed.append(f"{command}, {world.sweep()}")
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", apply)
    result = CliRunner().invoke(app, ["hold", "--", "terraform", "apply", "-auto-approve"])
    assert result.exit_code == code, result.output
    assert world.deployed == ["['terraform', 'apply', '-auto-approve'], DISABLED"]
    assert world.sweep() == "ENABLED"


def test_a_program_that_is_not_there_leaves_the_intake_open(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.make(BEFORE)
    monkeypatch.setattr(subprocess, "run", RUN)
    result = CliRunner().invoke(app, ["hold", "--", "no-such-program"])
    assert result.exit_code == 2
    assert "no-such-program: No such file" in result.stderr
    assert world.sweep() == "ENABLED"


def test_a_file_of_one_line_is_deployed_once_the_account_s_switch_may_be_turned_on(
    world: World, federation: Federation, registry: Registry
) -> None:
    world.bootstrap()
    line = 'name = "lake"\n'
    told = world.deploy_text(line)
    assert (told.exit_code, world.deployed, federation.asked) == (1, [], [])
    assert "a switch of the whole account" in told.stderr
    assert re.search(r"run: lakegate deploy \S+dev\.toml --accept federation\.", told.stderr.replace("\n", " "))
    assert [it["Name"] for it in boto3.client("secretsmanager").list_secrets()["SecretList"]] == ["lake/slack"]
    boto3.client("iam").delete_role(RoleName=ECS_ROLE)
    told = world.deploy_text(line, "--accept", "federation")
    assert boto3.client("iam").list_roles(PathPrefix="/aws-service-role/ecs.amazonaws.com/")["Roles"]
    assert re.search(r"✓ certificate: Nessie's ends on .*, in 82[45] days", told.stdout)
    assert (world.deployed[0], federation.asked) == ("none", ["enable"])
    recorded = choices(world.wanted).values
    assert (recorded["token.issuer"], recorded["nessie.uri"]) == (ISSUER, "https://lake-nessie.internal")
    assert recorded["catalog.certificate"].startswith("arn:aws:acm:us-east-1:")
    world.deployed.clear()
    registry.asked.clear()
    told = world.deploy_text(line)
    assert (len(world.deployed), registry.asked) == (1, [])
    assert not re.search("changed|dropped|added|new certificate", told.stdout)


def test_an_account_that_cdk_never_used_is_bootstrapped_if_that_is_meant(world: World) -> None:
    first = Config(name="first", ephemeral=True, nessie_uri=NESSIE)
    told = world.deploy(first)
    assert (told.exit_code, world.bootstrapped, world.deployed) == (1, [], [])
    assert re.search(r"account 123456789012 has none.*\n?.*dev\.toml --accept bootstrap$", told.stderr)
    told = world.deploy(first, "--accept", "bootstrap")
    assert (world.bootstrapped, world.deployed) == (["aws://123456789012/us-east-1"], ["none"])
    world.deploy(first, "--accept", "bootstrap")
    assert len(world.bootstrapped) == 1


def test_a_first_installation_is_deployed_and_a_second_one_only_if_it_is_meant(world: World) -> None:
    world.bootstrap()
    told = world.deploy(Config(name="first", ephemeral=True, nessie_uri=NESSIE))
    assert world.deployed == ["none"]
    second = Config(name="second", ephemeral=True, nessie_uri=NESSIE)
    told = world.deploy(second)
    assert told.exit_code == 1
    assert "name, first → second: this makes a second installation" in told.stdout
    assert len(world.deployed) == 1
    world.deploy(second, "--accept", "name")
    assert len(world.deployed) == 2


def test_a_first_deployment_protects_what_is_made_as_its_last_step_and_later_ones_keep_it(world: World) -> None:
    world.bootstrap()
    vpc = boto3.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    of = {"VpcId": vpc, "CidrBlock": "10.0.0.0/24", "AvailabilityZone": "us-east-1a"}
    subnet = boto3.client("ec2").create_subnet(**of)["Subnet"]["SubnetId"]
    own = Config(name="lake", nessie_uri=NESSIE, network_subnets=(subnet,), network_security_groups=("sg-1",))
    world.fails = True
    assert world.deploy(own).exit_code == 2
    world.fails = False
    told = world.deploy(own)
    assert world.protected == [False, True]
    assert "protecting what is made from being deleted\n" in told.stdout
    world.deploy(own)
    assert world.protected == [False, True, True]


def test_nothing_is_made_where_the_account_would_not_take_it(world: World) -> None:
    world.aws.quotas["emr-serverless"] = {"Max concurrent vCPUs per account": 8.0}
    world.aws.asked.clear()
    told = world.deploy(BEFORE, "--accept", "bootstrap")
    assert (told.exit_code, world.bootstrapped, world.deployed) == (1, [], [])
    assert "✗ vCPUs: jobs may use 32, and the account has 8" in told.stdout
    assert "nothing was made, because a deployment would fail" in told.stderr
    assert [it for it in world.aws.asked if not it.partition(":")[2].startswith(READING)] == []
    world.aws.quotas["emr-serverless"] = {"Max concurrent vCPUs per account": 32.0}
    world.deploy(BEFORE, "--accept", "bootstrap")
    assert len(world.deployed) == 1


def test_to_look_alone_makes_nothing(world: World) -> None:
    told = world.deploy(BEFORE, "--check")
    assert told.exit_code == 0
    assert "✓ vCPUs: 32 of the account's 64" in told.stdout
    world.make(BEFORE)
    world.aws.asked.clear()
    told = world.deploy(Config(**{**vars(BEFORE), "spark_vcpus": 64}), "--check")
    assert told.exit_code == 1
    assert "✓ vCPUs: 64 of the account's 64" in told.stdout
    assert "--accept spark.vcpus" in told.stderr
    assert (world.bootstrapped, world.deployed) == ([], [])
    assert [it for it in world.aws.asked if not it.partition(":")[2].startswith(READING)] == []


def test_a_new_network_is_where_spark_runs_and_stays_there(world: World, registry: Registry) -> None:
    world.bootstrap()
    zone = boto3.client("route53").create_hosted_zone(Name="example.com", CallerReference="1")["HostedZone"]["Id"]
    own = Config(
        **CATALOG
        | {
            "catalog_image": registry.image + registry.digest,
            "token_issuer": ISSUER,
            "catalog_certificate": zone.rpartition("/")[2],
            "alarm_topic": "",
        },
        ephemeral=True,
    )
    world.fails = True
    told = world.deploy(own)
    assert "✓ zones: use1-az1, use1-az2\n" in told.stdout, told.stdout + told.stderr
    assert world.zones == [("use1-az1", "use1-az2")]
    resources: dict[str, Any] = {"Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}}}
    for number, it in enumerate(("use1-az4", "use1-az5")):
        of = {"VpcId": {"Ref": "Vpc"}, "CidrBlock": f"10.0.{number}.0/24", "AvailabilityZoneId": it}
        resources[f"Subnet{number}"] = {"Type": "AWS::EC2::Subnet", "Properties": of}
    body = json.dumps({"Resources": resources})
    boto3.client("cloudformation").create_stack(StackName="lakegate-catalog", TemplateBody=body)
    told = world.deploy(own)
    assert "✓ zones: use1-az4, use1-az5\n" in told.stdout, told.stdout + told.stderr
    assert world.zones[1:] == [("use1-az4", "use1-az5")]
    told = world.deploy(own.model_copy(update={"network_zones": ("use1-az1", "use1-az2")}), "--check")
    assert "✗ zones: the network is in use1-az4, use1-az5, and subnets in which functions and jobs" in told.stdout
    world.stack("lakegate-catalog").status = "ROLLBACK_COMPLETE"  # then there is no network
    told = world.deploy(own, "--check")
    assert "✓ zones: use1-az1, use1-az2\n" in told.stdout, told.stdout + told.stderr


def test_a_failed_creation_is_no_installation_that_a_corrected_file_could_change(world: World) -> None:
    world.make(BEFORE)
    world.wanted = BEFORE
    world.stack().status = "CREATE_IN_PROGRESS"  # how the emulator's stack is left
    assert Stacks().installations() == []
    world.stack().status = "UPDATE_ROLLBACK_FAILED"
    assert Stacks().installations() == [BEFORE.name]


def test_buckets_that_exist_are_taken_over_only_if_that_is_meant(world: World) -> None:
    world.bootstrap()
    world.buckets = {"Lake": "lakegate-lake-"}
    boto3.client("s3").create_bucket(Bucket=f"lakegate-lake-{ACCOUNT}-us-east-1")
    told = world.deploy(BEFORE)
    assert (told.exit_code, world.deployed) == (1, [])
    assert "lakegate was not made, because these buckets exist" in told.stderr
    assert f": lakegate-lake-{ACCOUNT}-us-east-1. Give another name" in told.stderr
    assert told.stderr.endswith("dev.toml --accept existing\n")


def test_a_wrong_settings_file_is_told_before_anything_is_asked(world: World) -> None:
    told = world.deploy(Config(ephemeral=True, nessie_uri=NESSIE).model_copy(update={"batch_window_seconds": -1}))
    assert told.exit_code == 2
    assert re.search(r"dev\.toml:[1-3]: batch\.window_seconds is 0, which is at once, to 300", told.stderr)
    assert world.deployed == []


def test_a_file_of_an_earlier_release_is_told_with_all_that_is_to_be_written(world: World) -> None:
    file = world.folder / "dev.toml"
    pem = json.dumps(Authority.made("ours").pem)
    wide = f"spark_conf = ['spark.a={'b' * 200}']"
    flat = f"nessie_uri = {NESSIE!r}\nnessie_ca = {pem}\nephemeral = true\nattempts = 5\n{wide}\n"
    file.write_text(flat)
    told = CliRunner().invoke(app, ["deploy", str(file), "--no-probe"])
    assert (told.exit_code, world.deployed) == (2, [])
    file.write_text(told.stderr.partition("\n")[2])
    assert choices(config_of_file(file)).given == {"nessie.uri", "nessie.ca", "ephemeral", "spark.conf"}


def test_without_a_region_it_is_said_what_to_set(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    told = world.deploy(BEFORE)
    assert (told.exit_code, world.deployed) == (2, [])
    assert "AWS_REGION" in told.stderr


def test_the_doctor_tells_what_it_cannot_reach_from_what_is_wrong(world: World) -> None:
    world.aws.quotas["emr-serverless"] = {"Max concurrent vCPUs per account": 16.0}
    world.make(BEFORE)
    told = CliRunner().invoke(app, ["doctor", "--json"])
    assert told.exit_code == 1, told.stderr
    found = {it["subject"]: it for it in json.loads(told.stdout)}
    assert {subject: found[subject]["verdict"] for subject in ("outputs", "intake", "Nessie", "vCPUs")} == {
        "outputs": "ok",
        "intake": "ok",
        "Nessie": "unknown",
        "vCPUs": "wrong",
    }
    assert not found.keys() & {"Nessie's release", "warehouse", "strangers"}  # it is told once that nobody answers
    assert "jobs may use 32, and the account has 16" in found["vCPUs"]["said"]
    boto3.client("events").disable_rule(Name="sweep")
    told = CliRunner().invoke(app, ["doctor"])
    assert told.exit_code == 1
    assert "✗ intake: closed" in told.stdout


def test_a_person_at_the_terminal_is_asked_for_the_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setattr("sys.stdin", Terminal("eu-north-1\n"))
    file = tmp_path / "dev.toml"
    file.write_text(f"ephemeral = true\n[nessie]\nuri = '{NESSIE}'\n")
    assert config_of_file(file).nessie_uri == NESSIE
    assert boto3.Session().region_name == "eu-north-1"


class Terminal(io.StringIO):
    """A person's answers."""

    def isatty(self) -> bool:
        return True


def test_no_canary_lands_where_its_folder_is_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    config = BEFORE.model_copy(update={"landing_folders": ("s3://theirs/in/",)})
    assert config.landing_prefixes == ("in/",)
    assert Deployment(file=tmp_path / "dev.toml", acceptances=(), config=config).prove() == 0
    assert "no canary was landed, because landing.folders has no _canary/" in capsys.readouterr().out
