"""The cdk command of a home, and the assembly of templates that it makes."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from lakegate.errors import Misconfigured
from lakegate.home import home

STACK = "aws:cloudformation:stack"  # a stack among an assembly's artifacts
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

    def synth(self, settings: Path, folder: Path) -> "Assembly":
        """Make an environment's assembly in a folder."""
        command = self.command("synth", "--quiet", "--output", folder, "-c", f"settings={settings}")
        process = subprocess.run(command, cwd=self.home, capture_output=True, text=True, check=False)  # noqa: S603
        if process.returncode:
            raise Misconfigured(f"cdk synth failed:\n{(process.stdout + process.stderr).strip()}")
        return Assembly(folder=folder)

    def bootstrap(self, account: str, region: str) -> None:
        """Make what every deployment by CDK uses. The command shows its progress itself."""
        command = self.command("bootstrap", f"aws://{account}/{region}")
        if subprocess.run(command, cwd=self.home, check=False).returncode:  # noqa: S603
            raise Misconfigured("cdk bootstrap has failed, as it says above, and nothing was deployed")

    def deploy(self, assembly: "Assembly") -> None:
        """Deploy all stacks of an assembly. The command shows its progress itself."""
        command = self.command("deploy", "--all", "--require-approval", "never", "--app", assembly.folder)
        if subprocess.run(command, cwd=self.home, check=False).returncode:  # noqa: S603
            raise Misconfigured(
                "cdk deploy has failed, as it says above, and CloudFormation has put back what it had changed. Correct "
                "the cause, and run the same command again"
            )


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """The templates that cdk has made in a folder."""

    folder: Path

    def stacks(self) -> list[str]:
        """Return the names of the stacks, each after those that it needs."""
        artifacts = json.loads((self.folder / "manifest.json").read_text())["artifacts"]
        dependencies = {name: artifact.get("dependencies", ()) for name, artifact in artifacts.items()}
        return [name for name in TopologicalSorter(dependencies).static_order() if artifacts[name]["type"] == STACK]

    def template(self, stack: str) -> Mapping[str, Any]:
        document: Mapping[str, Any] = json.loads((self.folder / f"{stack}.template.json").read_text())
        return document


def bootstrap_version(template: Mapping[str, Any]) -> str:
    """Return the name of the parameter in SSM that an account has once it is bootstrapped for this template, or "" for
    a template that needs no bootstrap.
    """
    return str(template.get("Parameters", {}).get("BootstrapVersion", {}).get("Default", ""))


def changes_application(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return True if an application that is there is changed or removed, which AWS refuses while it is started."""
    before_by_name, after_by_name = _applications(before), _applications(after)
    return any(after_by_name.get(name) != properties for name, properties in before_by_name.items())


def _applications(template: Mapping[str, Any]) -> dict[str, Any]:
    resources = template.get("Resources", {}).items()
    return {name: resource.get("Properties") for name, resource in resources if resource["Type"] == APPLICATION}
