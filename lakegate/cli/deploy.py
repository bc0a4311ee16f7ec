"""`lakegate deploy`: what a settings file changes of what is deployed, then the cdk command, in stillness if needed.

Deploying needs `infra`, which is in a home and no part of the installed package: `home_commands` goes there first.
"""

import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rich.prompt import Prompt

from lakegate.adapters.account import Account, region
from lakegate.adapters.aws import aws_errors
from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.site import Site
from lakegate.adapters.stacks import Stacks
from lakegate.cli.canary import prove
from lakegate.cli.doctor import code, examine, print_findings
from lakegate.cli.exits import Exit
from lakegate.cli.preflight import Preflight
from lakegate.cli.profile import connect, load_profile
from lakegate.cli.recovery import at_rest, recover
from lakegate.cli.terminal import busy, console, print_lines
from lakegate.deployment.assembly import (
    DATABASE_PROTECTION,
    Assembly,
    Cdk,
    bootstrap_version,
    bucket_names,
    changes_application,
    zones_of,
)
from lakegate.deployment.choices import Choices, Difference, differences, second
from lakegate.deployment.states import is_half_updated
from lakegate.deployment.still import change
from lakegate.doctor.zones import choose
from lakegate.errors import Misconfigured, Refused
from lakegate.home import home
from lakegate.landing import canary
from lakegate.settings import adopt_region, choose_installation, choose_region

if TYPE_CHECKING:
    from infra.config import Config
    from infra.gaps import Gaps

_REGION = re.compile("[a-z]{2}(-[a-z]+)+-[0-9]")
BOOTSTRAP = "bootstrap"  # accepts CDK's own bucket and roles
TAKEOVER = "existing"  # accepts a removed installation's buckets of the same name
FEDERATION = "federation"  # accepts tokens of the account's own issuer


def deploy(file: Path, acceptances: Sequence[str], *, probe: bool, check: bool) -> int:
    """Bring an installation to an environment's settings file, and examine it; with `check`, only look whether that
    could be done. Raise Refused if that drops or changes what nobody has accepted, or could not be done.
    """
    deployment = Deployment(file=file, acceptances=acceptances, config=config_of_file(file))
    if check:
        deployment.preflight()
        deployment.compare()
        return Exit.SUCCESS
    deployment.compare()
    deployment.preflight()
    with TemporaryDirectory(prefix="deploy-", dir=deployment.cdk.home / ".local") as folder:
        assembly = deployment.synthesise(Path(folder))
        deployment.bootstrap(assembly)
        deployment.bring(assembly)
        deployment.protect(assembly)
    print_lines(f"{deployment.name} is deployed")
    findings = examine(deployment.name, probe=probe)
    print_findings(findings)
    return max(code(findings), deployment.prove() if probe else Exit.SUCCESS)


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One run of the command, step by step. Each step may be taken again, by a run after one that was interrupted."""

    file: Path
    acceptances: Sequence[str]
    config: "Config"
    cdk: Cdk = field(default_factory=lambda: Cdk(home=home().root))
    stacks: Stacks = field(default_factory=Stacks)

    @property
    def name(self) -> str:
        return self.config.name

    @cached_property
    def deployed_template(self) -> Mapping[str, Any] | None:
        """The installation's template, or None if its stack was never made."""
        return self._template(self.name)

    def _template(self, stack: str) -> Mapping[str, Any] | None:
        """Return a stack's template; None if it was never complete, as one whose creation failed."""
        state = at_rest(self.stacks, stack, print_lines, time.sleep)
        return self.stacks.template(stack) if state.was_made else None

    @cached_property
    def record(self) -> Choices | None:
        """The choices that the installation's template records, if it does."""
        from infra.choices import deployed_choices  # noqa: PLC0415

        return None if self.deployed_template is None else deployed_choices(self.deployed_template)

    @cached_property
    def gaps(self) -> "Gaps":
        """The gaps of the settings, closed by what is known."""
        from infra.gaps import Gaps  # noqa: PLC0415

        zones = self._zones()
        return Gaps(self.config.model_copy(update={"network_zones": zones}) if zones else self.config, self.record)

    @cached_property
    def network_zones(self) -> tuple[str, ...] | None:
        """The zones of the deployed network, by their ids; None if there is no network."""
        template = self._template(f"{self.name}-catalog")
        return None if template is None else tuple(zones_of(template))

    def _zones(self) -> tuple[str, ...]:
        """Return the zones of a network that is made: those that are given, where it is already, or the first two."""
        if self.config.network_zones or not self.config.creates_vpc:
            return self.config.network_zones
        return choose(Site().zones().values(), region()) if self.network_zones is None else self.network_zones

    def compare(self) -> None:
        """Print what the file changes. Raise Refused unless it is accepted."""
        from infra.choices import choices  # noqa: PLC0415

        with busy("reading what is deployed"):
            changes = (
                second(self.name, [name for name in self.stacks.installations() if name != self.name])
                if self.deployed_template is None
                else differences(self.record, choices(self.gaps.config))
            )
        print_lines(*map(_line, changes))
        _require_accepted(changes, self.acceptances, self.file)
        if self.gaps.need_federation:
            _require_federation(self.acceptances, self.file)

    def preflight(self) -> None:
        """Print what the deployment would meet in the account. Raise Refused if it would fail there."""
        from infra.catalog.sizes import SIZES  # noqa: PLC0415
        from infra.choices import choices  # noqa: PLC0415

        with busy("looking at the account"):
            config = self.gaps.config
            preflight = Preflight.by(
                choices(config).values,
                self.record.values if self.record else {},
                addresses=SIZES[config.catalog_size].nat_gateways,
                deployed_zones=self.network_zones,
            )
            findings = preflight.findings()
        print_findings(findings)
        if code(findings):
            raise Refused(
                "nothing was made, because a deployment would fail for what is ✗ above. Do what is said there, and run "
                f"the same command again. To look alone: {_repeat_command(self.file, *self.acceptances)} --check"
            )

    def synthesise(self, folder: Path) -> Assembly:
        """Fill the gaps, with what changes the account, and make the templates of the whole settings."""
        from infra.settings_file import write  # noqa: PLC0415

        file = write(folder / "settings.toml", self.gaps.fill(datetime.now(UTC), print_lines))
        with busy("synthesising"):
            return self.cdk.synth(file, folder)

    def bootstrap(self, assembly: Assembly) -> None:
        _bootstrap(self.cdk, assembly.template(self.name), self.acceptances, self.file)

    def bring(self, assembly: Assembly) -> None:
        """Recover every stack from what an earlier deployment has left, and deploy all, in stillness if needed."""
        status, before = self.stacks.state(self.name).status, self.deployed_template or {}
        change(
            AwsIntake(lambda: self.stacks.resources(self.name)),
            lambda: self._recover_and_deploy(assembly),
            print_lines,
            time.sleep,
            must_stand_still=is_half_updated(status) or changes_application(before, assembly.template(self.name)),
        )

    def _recover_and_deploy(self, assembly: Assembly) -> None:
        """Deploy with the protection that there is. CloudFormation could not take back a first deployment that fails if
        it were protected before.
        """
        states = {stack: recover(self.stacks, stack, print_lines, time.sleep) for stack in assembly.stacks()}
        new_stacks = [stack for stack, state in states.items() if not state.was_made]
        for stack in new_stacks:
            self._take_over(stack, assembly.template(stack))
        protected_stacks = {stack for stack in assembly.wanted_protection if states[stack].is_protected}
        self._deploy(assembly, protected_stacks, assembly.parameters(DATABASE_PROTECTION, "false", new_stacks))

    def protect(self, assembly: Assembly) -> None:
        """Protect stacks and database from being deleted, once all of them are there."""
        states = {stack: self.stacks.state(stack) for stack in assembly.stacks()}
        parameters = [state.parameters.get(DATABASE_PROTECTION) for state in states.values()]
        if "false" in parameters or not all(states[stack].is_protected for stack in assembly.wanted_protection):
            print_lines("protecting what is made from being deleted")
            every_parameter = assembly.parameters(DATABASE_PROTECTION, "true", assembly.stacks())
            self._deploy(assembly, assembly.wanted_protection, every_parameter)

    def prove(self) -> Exit:
        """Have a canary reach main, unless no file below its folder is taken."""
        prefixes = self.config.landing_prefixes
        if prefixes and not canary.KEY.startswith(prefixes):
            print_lines(f"no canary was landed, because landing.folders has no {canary.KEY.partition('/')[0]}/")
            return Exit.SUCCESS
        choose_installation(self.name)
        return prove(connect())

    def _deploy(self, assembly: Assembly, protected_stacks: Collection[str], parameters: Mapping[str, str]) -> None:
        assembly.protect(protected_stacks)
        self.cdk.deploy(assembly, parameters)

    def _take_over(self, stack: str, template: Mapping[str, Any]) -> None:
        """Take over buckets that exist under the names of a new stack's, once a person has said so."""
        account = Account()
        every_bucket = bucket_names(template, account.id, account.region)
        buckets = {name: bucket for name, bucket in every_bucket.items() if bucket in account.buckets()}
        if not buckets:
            return
        if TAKEOVER not in self.acceptances:
            raise Refused(
                f"{stack} was not made, because these buckets exist, which a failed or removed installation of this "
                f"name has left: {', '.join(buckets.values())}. Give another name, or have them taken over with all "
                f"that is in them: {_repeat_command(self.file, *self.acceptances, TAKEOVER)}"
            )
        self.stacks.take_over(stack, template, buckets)
        at_rest(self.stacks, stack, print_lines, time.sleep)


def config_of_file(file: Path) -> "Config":
    """Return the file's settings, in the region where its stacks are to be. It asks no service, and nothing need be
    installed for it. Raise Misconfigured with everything that is wrong.
    """
    load_profile()
    adopt_region()
    try:
        from infra.settings_file import SettingsFile  # noqa: PLC0415
    except ImportError as error:
        own_home = home()
        raise Misconfigured(
            f"{own_home.root} lacks what a deployment needs. Run: {own_home.set_up(deploys=True)}"
        ) from error
    settings = SettingsFile.read(file)
    settings.config()  # every fault is reported before a person is asked
    return settings.config(_region())


def _region() -> str:
    """Return the region that is set, or that a person at the terminal names."""
    with aws_errors("reading AWS's configuration of this machine"):
        region_name = region()
    if not region_name and sys.stdin.isatty():
        region_name = Prompt.ask("The region for the stacks, such as eu-central-1", console=console(stderr=True))
        if not _REGION.fullmatch(region_name):
            raise Misconfigured(f"{region_name!r} is no region of AWS, such as eu-central-1")
        choose_region(region_name)
    if not region_name:
        raise Misconfigured(
            "no region is set, in which the stacks would be made. Set AWS_REGION, as in: AWS_REGION=eu-central-1 "
            "lakegate deploy …, or the region of the profile that AWS_PROFILE names"
        )
    return region_name


def _line(difference: Difference) -> str:
    line = difference
    change = f"{line.kind}: {line.name}, {_value(line.before)} → {_value(line.after)}"
    return f"{change}: {line.means}" if line.means else change


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in ("", None) else str(value)


def _require_accepted(changes: Sequence[Difference], acceptances: Sequence[str], file: Path) -> None:
    names = [change.name for change in changes if change.stops and change.name not in acceptances]
    if names:
        raise Refused(
            f"nothing was deployed, because nobody has accepted what this changes: {', '.join(names)}. Correct {file}, "
            f"or if it is meant, run: {_repeat_command(file, *acceptances, *names)}"
        )


def _require_federation(acceptances: Sequence[str], file: Path) -> None:
    if FEDERATION not in acceptances:
        account = Account()
        raise Refused(
            f"nothing was deployed, because account {account.id} gives no tokens to its roles, by which Nessie knows "
            "them. Outbound web identity federation is a switch of the whole account: it lets a role that may call "
            "sts:GetWebIdentityToken prove to others who it is, and gives nobody a right. To have it turned on, run: "
            f"{_repeat_command(file, *acceptances, FEDERATION)}. Or give token.endpoint, of an OIDC issuer of yours"
        )


def _bootstrap(cdk: Cdk, template: Mapping[str, Any], acceptances: Sequence[str], file: Path) -> None:
    """Bootstrap an account that never was, once a person has said so: it makes roles that may deploy anything."""
    version = bootstrap_version(template)
    if not version or (account := Account()).has_parameter(version):
        return
    if BOOTSTRAP not in acceptances:
        raise Refused(
            f"nothing was deployed, because CDK needs a bucket and roles of its own in {account.region}, once for all "
            f"that it deploys there, and account {account.id} has none. To have them made, too, run: "
            f"{_repeat_command(file, *acceptances, BOOTSTRAP)}"
        )
    cdk.bootstrap(account.id, account.region)


def _repeat_command(file: Path, *acceptances: str) -> str:
    return " ".join(["lakegate deploy", str(file), *(f"--accept {name}" for name in acceptances)])
