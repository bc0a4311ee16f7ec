"""`lakegate deploy`: what a settings file changes of what is deployed, then the cdk command, in stillness if needed.

Deploying needs `infra`, which is in a home and no part of the installed package: `home_commands` goes there first.
"""

import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.prompt import Prompt

from lakegate.adapters.account import Account, region
from lakegate.adapters.aws import aws_errors
from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.stacks import Stacks
from lakegate.cli.doctor import code, examine, print_findings
from lakegate.cli.profile import load_profile
from lakegate.cli.terminal import busy, console, print_lines
from lakegate.deployment.assembly import Cdk, bootstrap_version, changes_application
from lakegate.deployment.choices import Choices, Difference, differences, second
from lakegate.deployment.still import change
from lakegate.errors import Misconfigured, Refused
from lakegate.home import home
from lakegate.settings import adopt_region, choose_region

_REGION = re.compile("[a-z]{2}(-[a-z]+)+-[0-9]")
BOOTSTRAP = "bootstrap"  # accepts CDK's own bucket and roles


def deploy(file: Path, acceptances: Sequence[str], *, probe: bool) -> int:
    """Bring an installation to an environment's settings file, and examine it. Raise Refused if that drops or changes
    what nobody has accepted.
    """
    cdk, after = Cdk(home=home().root), choices_of_file(file)
    from infra.choices import deployed_choices  # noqa: PLC0415

    name = str(after.values["name"])
    stacks = Stacks()
    with busy("reading what is deployed"):
        old_template = stacks.template(name)
        changes = (
            second(name, stacks.installations())
            if old_template is None
            else differences(deployed_choices(old_template), after)
        )
    print_lines(*map(_line, changes))
    _require_accepted(changes, acceptances, file)
    with TemporaryDirectory(prefix="deploy-", dir=cdk.home / ".local") as folder:
        with busy("synthesising"):
            assembly = cdk.synth(file.resolve(), Path(folder))
        _bootstrap(cdk, assembly.template(name), acceptances, file)
        change(
            AwsIntake(lambda: stacks.resources(name)),
            lambda: cdk.deploy(assembly),
            print_lines,
            time.sleep,
            must_stand_still=changes_application(old_template or {}, assembly.template(name)),
        )
    print_lines(f"{name} is deployed")
    findings = examine(name, probe=probe)
    print_findings(findings)
    return code(findings)


def choices_of_file(file: Path) -> Choices:
    """Return the file's choices, in the region where its stacks are to be. It asks no service, and nothing need be
    installed for it. Raise Misconfigured with everything that is wrong.
    """
    load_profile()
    adopt_region()
    try:
        from infra.choices import choices  # noqa: PLC0415
        from infra.settings_file import SettingsFile  # noqa: PLC0415
    except ImportError as error:
        own_home = home()
        raise Misconfigured(
            f"{own_home.root} lacks what a deployment needs. Run: {own_home.set_up(deploys=True)}"
        ) from error
    settings = SettingsFile.read(file)
    settings.config()  # every fault is reported before a person is asked
    return choices(settings.config(_region()))


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
