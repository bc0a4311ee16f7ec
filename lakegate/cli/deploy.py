"""`lakegate deploy`: what a settings file would lose of what is deployed, then the cdk command, in stillness if needed.

Deploying needs the checkout's `infra`, which is no part of the installed package.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import boto3

from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.stacks import Stacks
from lakegate.cli.doctor import code, examine, tell
from lakegate.cli.profile import load_profile
from lakegate.cli.terminal import busy, say
from lakegate.deployment.assembly import Cdk, changes_application
from lakegate.deployment.choices import Choices, Difference, differences, second
from lakegate.deployment.still import change
from lakegate.errors import Misconfigured, Refused
from lakegate.settings import adopt_region


def deploy(file: Path, accepted: Sequence[str], *, probe: bool) -> int:
    """Bring an installation to an environment's settings file, and examine it. Raise Refused if that loses what nobody
    has accepted.
    """
    load_profile()
    adopt_region()
    cdk, after = _checkout(file)
    name = str(after.values["name"])
    stacks = Stacks()
    with busy("reading what is deployed"):
        deployed = stacks.template(name)
        found = (
            second(name, stacks.installations())
            if deployed is None
            else differences(Choices.of_template(deployed), after)
        )
    say(*map(_line, found))
    _require_accepted(found, accepted, file)
    with TemporaryDirectory(prefix="deploy-", dir=cdk.checkout / ".local") as folder:
        with busy("synthesising"):
            assembly = cdk.synth(file.resolve(), Path(folder))
        change(
            AwsIntake(stacks.resources(name) if deployed else ()),
            lambda: cdk.deploy(assembly),
            say,
            time.sleep,
            must_stand_still=changes_application(deployed or {}, assembly.template(name)),
        )
    say(f"{name} is deployed")
    findings = examine(name, probe=probe)
    tell(findings)
    return code(findings)


def _checkout(file: Path) -> tuple[Cdk, Choices]:
    """Return the cdk command of the checkout that this command is of, and the file's choices."""
    try:
        import infra  # noqa: PLC0415
        from infra.choices import choices  # noqa: PLC0415
        from infra.settings_file import SettingsFile  # noqa: PLC0415
    except ImportError as error:
        raise Misconfigured("lakegate deploys from its checkout: clone it, and run there: make setup") from error
    region = boto3.Session().region_name or ""
    return Cdk(checkout=Path(str(infra.__file__)).parents[1]), choices(
        SettingsFile.read(file).config(lambda _: None, region)
    )


def _line(difference: Difference) -> str:
    it = difference
    change = f"{it.kind}: {it.name}, {_value(it.before)} → {_value(it.after)}"
    return f"{change}: {it.means}" if it.means else change


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in ("", None) else str(value)


def _require_accepted(found: Sequence[Difference], accepted: Sequence[str], file: Path) -> None:
    names = [it.name for it in found if it.stops and it.name not in accepted]
    if names:
        again = " ".join(f"--accept {name}" for name in (*accepted, *names))
        raise Refused(
            f"nothing was deployed, because this would lose what is deployed: {', '.join(names)}. Put it into {file}, "
            f"or if it is meant, run: lakegate deploy {file} {again}"
        )
