"""`cdk synth` of the home's stack for the local cloud, if a source has changed. It deploys nothing."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from lakegate.bundles import EMR_7
from lakegate.deployment.assembly import Cdk
from lakegate.errors import Misconfigured
from lakegate_local.processes import inherited
from lakegate_local.settings import LocalSettings, variable

SOURCES = ("lakegate", "handlers", "spark_jobs", "infra", "tools", "cdk.json", "pyproject.toml", "requirements.lock")
NOT_SOURCES = {"node_modules", "__pycache__"}
STAMP = ".inputs"
FROM_SETTINGS = {  # the installation's setting → the one here that decides it
    "name": "stack",
    "slack.channel": "slack_channel",
    "batch.window_seconds": "batch_window",
    "batch.audit_tables": "audit_tables",
}


def choices(settings: LocalSettings) -> dict[str, object]:
    """Return the installation's settings by their names, as a user on AWS would give them."""
    return {
        **{name: getattr(settings, field) for name, field in FROM_SETTINGS.items()},
        "nessie.uri": settings.nessie,
        "token.audience": settings.audience,
        "slack.secret": secret_name(settings),
        "event.bus": "default",  # which every account has
        "alarm.canary_hours": 24,  # a function to call, which runs by itself once a day
        "ephemeral": True,
        "spark.release": EMR_7.release,  # its Spark is the one that is installed here
    }


def settings_file(settings: LocalSettings) -> str:
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in choices(settings).items())


def secret_name(settings: LocalSettings) -> str:
    return f"{settings.stack}-slack"


def synthesise(settings: LocalSettings) -> Path:
    """Synthesise the app and return its folder. Raise Misconfigured, with the app's message, if that fails."""
    output, text = settings.run / "cdk.out", settings_file(settings)
    wanted = inputs(settings.home, text)
    stamp = output / STAMP
    if stamp.exists() and stamp.read_text() == wanted:
        return output
    if output.exists():
        shutil.rmtree(output)  # cdk keeps old assets, which are large
    settings.run.mkdir(parents=True, exist_ok=True)
    file = settings.run / "settings.toml"
    file.write_text(text)
    done = subprocess.run(
        Cdk(home=settings.home).command("synth", "--quiet", "--output", output, "-c", f"settings={file}"),
        cwd=settings.home,
        env=environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Misconfigured(f"cdk synth failed:\n{explained((done.stdout + done.stderr).strip())}")
    stamp.write_text(wanted)
    return output


def explained(text: str) -> str:
    """Return the app's message, with the local cloud's setting for each of the installation's that it names."""
    notes = [f"{name} is {variable(field)} here" for name, field in FROM_SETTINGS.items() if f": {name} " in text]
    return "\n".join([text, *notes])


def environment(settings: LocalSettings) -> dict[str, str]:
    """Return an environment with the home's python, which `cdk.json` calls, and node, which jsii calls."""
    path = os.pathsep.join([str(settings.home / ".venv/bin"), inherited().get("PATH", "")])
    return inherited() | {
        "PATH": path,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }


def inputs(home: Path, settings: str) -> str:
    """Return a hash of all sources and of the settings file."""
    digest = hashlib.sha256(settings.encode())
    for path in source_files(home):
        digest.update(f"{path.relative_to(home)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def source_files(home: Path) -> Iterator[Path]:
    for source in SOURCES:
        path = home / source
        for found in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if found.is_file() and not NOT_SOURCES.intersection(found.parts):
                yield found
