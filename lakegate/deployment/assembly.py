"""The cdk command of a home, and the assembly of templates that it makes."""

import json
import subprocess
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from lakegate.errors import Misconfigured
from lakegate.home import home

DATABASE_PROTECTION = "DatabaseProtection"  # the catalog stack's parameter, true or false
FAILURE = (
    "cdk deploy has failed, as it says above. Correct the cause, and run the same command again: it begins by clearing "
    "away what this one has left half done, and deletes no data"
)
MANIFEST = "manifest.json"
STACK = "aws:cloudformation:stack"  # a stack among an assembly's artifacts
PROTECTION = "terminationProtection"  # of a stack's artifact
SUBNET = "AWS::EC2::Subnet"
APPLICATION = "AWS::EMRServerless::Application"


@dataclass(frozen=True, kw_only=True)
class Cdk:
    """The pinned cdk command of one home."""

    home: Path

    def command(self, *arguments: str | Path) -> list[str]:
        cdk = self.home / "infra/node_modules/aws-cdk/bin/cdk"
        if not cdk.exists():
            raise Misconfigured(f"{self.home} has no cdk command. Run there: {home().set_up(deploys=True)}")
        return [*map(str, (self.home / ".venv/bin/node", cdk)), "--no-notices", *map(str, arguments)]

    def synth(self, settings: Path, folder: Path, *options: str) -> "Assembly":
        """Make an environment's assembly in a folder."""
        command = self.command("synth", "--quiet", "--output", folder, "-c", f"settings={settings}", *options)
        process = subprocess.run(command, cwd=self.home, capture_output=True, text=True, check=False)  # noqa: S603
        if process.returncode:
            raise Misconfigured(f"cdk synth failed:\n{(process.stdout + process.stderr).strip()}")
        return Assembly(folder=folder)

    def bootstrap(self, account: str, region: str) -> None:
        """Make what every deployment by CDK uses. The command shows its progress itself."""
        command = self.command("bootstrap", "--app", "", f"aws://{account}/{region}")  # or it would run the home's app
        if subprocess.run(command, cwd=self.home, check=False).returncode:  # noqa: S603
            raise Misconfigured("cdk bootstrap has failed, as it says above, and nothing was deployed")

    def deploy(self, assembly: "Assembly", parameters: Mapping[str, str]) -> None:
        """Deploy all stacks of an assembly. The command shows its progress itself. `parameters` are by <stack>:<name>,
        and others stay as they are.
        """
        options = [word for name, value in parameters.items() for word in ("--parameters", f"{name}={value}")]
        command = self.command("deploy", "--all", "--require-approval", "never", *options, "--app", assembly.folder)
        if subprocess.run(command, cwd=self.home, check=False).returncode:  # noqa: S603
            raise Misconfigured(FAILURE)


@dataclass(frozen=True, kw_only=True)
class Asset:
    """A file that a stack needs, and the bucket and key that its template names; of some, the bucket is a pattern."""

    source: Path
    bucket: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The templates that cdk has made in a folder."""

    folder: Path

    def stacks(self) -> list[str]:
        """Return the names of the stacks, each after those that it needs."""
        artifacts = self._manifest()["artifacts"]
        dependencies = {name: artifact.get("dependencies", ()) for name, artifact in artifacts.items()}
        return [name for name in TopologicalSorter(dependencies).static_order() if artifacts[name]["type"] == STACK]

    @cached_property
    def wanted_protection(self) -> frozenset[str]:
        """Return the stacks that are to be protected from being deleted, as cdk has written it."""
        artifacts = self._manifest()["artifacts"]
        return frozenset(name for name in self.stacks() if artifacts[name]["properties"].get(PROTECTION))

    def parameters(self, name: str, value: str, stacks: Iterable[str]) -> dict[str, str]:
        """Return a value for a parameter of those stacks that have it, by <stack>:<name>."""
        return {f"{stack}:{name}": value for stack in stacks if name in self.template(stack).get("Parameters", {})}

    def protect(self, stacks: Collection[str]) -> None:
        """Have the cdk command protect these stacks, and no others. What is wanted in the end is kept in mind."""
        manifest, _ = self._manifest(), self.wanted_protection
        for name in self.stacks():
            manifest["artifacts"][name]["properties"][PROTECTION] = name in stacks
        (self.folder / MANIFEST).write_text(json.dumps(manifest))

    def _manifest(self) -> Any:
        return json.loads((self.folder / MANIFEST).read_text())

    def template(self, stack: str) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads((self.folder / f"{stack}.template.json").read_text())
        return document

    def assets(self, stack: str) -> list[Asset]:
        """Return the stack's assets, its template last. All are files, because `infra/packaging.py` makes the zips."""
        manifest = json.loads((self.folder / f"{stack}.assets.json").read_text())
        assets = [
            Asset(source=self.folder / entry["source"]["path"], bucket=place["bucketName"], key=place["objectKey"])
            for entry in manifest["files"].values()
            for place in entry["destinations"].values()
        ]
        return sorted(assets, key=lambda asset: asset.source.name == f"{stack}.template.json")


def zones_of(template: Mapping[str, Any]) -> list[str]:
    """Return the zones of a template's subnets, by their ids. Zones that are named in another way have none."""
    subnets = [entry["Properties"] for entry in template.get("Resources", {}).values() if entry["Type"] == SUBNET]
    zones = [subnet.get("AvailabilityZoneId") for subnet in subnets]
    return [*dict.fromkeys(filter(None, zones))]


def bootstrap_version(template: Mapping[str, Any]) -> str:
    """Return the name of the parameter in SSM that an account has once it is bootstrapped for this template, or "" for
    a template that needs no bootstrap.
    """
    return str(template.get("Parameters", {}).get("BootstrapVersion", {}).get("Default", ""))


def bucket_names(template: Mapping[str, Any], account: str, region: str) -> dict[str, str]:
    """Return the names that a template gives its buckets in an account and region, by their logical names."""
    place = {"AWS::AccountId": account, "AWS::Region": region}
    resources = template.get("Resources", {}).items()
    names = {key: body["Properties"]["BucketName"] for key, body in resources if body["Type"] == "AWS::S3::Bucket"}
    return {
        key: "".join(part if isinstance(part, str) else place[part["Ref"]] for part in name["Fn::Join"][1])
        for key, name in names.items()
    }


def changes_application(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return True if an application that is there is changed or removed, which AWS refuses while it is started."""
    before_by_name, after_by_name = _applications(before), _applications(after)
    return any(after_by_name.get(name) != properties for name, properties in before_by_name.items())


def _applications(template: Mapping[str, Any]) -> dict[str, Any]:
    resources = template.get("Resources", {}).items()
    return {name: resource.get("Properties") for name, resource in resources if resource["Type"] == APPLICATION}
