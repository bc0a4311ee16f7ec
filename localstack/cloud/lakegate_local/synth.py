"""`cdk synth` of the home's stack for the local cloud, if a source has changed. It deploys nothing."""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from lakegate.bundles import EMR_7
from lakegate.deployment.assembly import Cdk
from lakegate.errors import Misconfigured
from lakegate_local.processes import inherited
from lakegate_local.settings import LocalSettings, variable

SOURCES = ("lakegate", "handlers", "spark_jobs", "infra", "tools", "cdk.json", "pyproject.toml", "requirements.lock")
NOT_SOURCES = {"node_modules", "__pycache__"}
STAMP = ".inputs"
ARCHITECTURE = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())  # of this machine, as Lambda names it
FROM_SETTINGS = {  # context → the setting that decides it
    "name": "stack",
    "slack_channel": "slack_channel",
    "batch_window": "batch_window",
    "reconcile_minutes": "reconcile_minutes",
    "grace_seconds": "grace_seconds",
    "audit_tables": "audit_tables",
}


def context(settings: LocalSettings) -> dict[str, str]:
    """Return the stack's context, as a user on AWS would give it."""
    stand_in = {} if settings.slack_token else {"slack_api": f"{settings.slack}/api/"}
    return {
        **{name: str(getattr(settings, field)) for name, field in FROM_SETTINGS.items()},
        "nessie_uri": settings.nessie,
        "token_audience": settings.audience,
        "slack_secret": secret_name(settings),
        "event_bus": "default",  # which every account has
        "architecture": ARCHITECTURE,
        "canary_hours": "24",  # a function to call, which runs by itself once a day
        "ephemeral": "true",
        "release": EMR_7.release,  # its Spark is the one that is installed here
        **stand_in,
    }


def secret_name(settings: LocalSettings) -> str:
    return f"{settings.stack}-slack"


def synthesise(settings: LocalSettings) -> Path:
    """Synthesise the app and return its folder. Raise Misconfigured, with the app's message, if that fails."""
    output, wanted = settings.run / "cdk.out", inputs(settings.home, context(settings))
    stamp = output / STAMP
    if stamp.exists() and stamp.read_text() == wanted:
        return output
    if output.exists():
        shutil.rmtree(output)  # cdk keeps old assets, which are large
    done = subprocess.run(
        command(settings, output),
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
    """Return the app's message, with the local cloud's setting for each context that it names."""
    said = [f"-c {name} is {variable(field)} here" for name, field in FROM_SETTINGS.items() if f"-c {name}" in text]
    return "\n".join([text, *said])


def command(settings: LocalSettings, output: Path) -> list[str]:
    pairs = [part for name, value in context(settings).items() for part in ("--context", f"{name}={value}")]
    return Cdk(home=settings.home).command("synth", "--quiet", "--output", output, *pairs)


def environment(settings: LocalSettings) -> dict[str, str]:
    """Return an environment with the home's python, which `cdk.json` calls, and node, which jsii calls."""
    path = os.pathsep.join([str(settings.home / ".venv/bin"), inherited().get("PATH", "")])
    return inherited() | {
        "PATH": path,
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }


def inputs(home: Path, given: Mapping[str, str]) -> str:
    """Return a hash of all sources and of the context."""
    digest = hashlib.sha256(repr(sorted(given.items())).encode())
    for path in source_files(home):
        digest.update(f"{path.relative_to(home)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def source_files(home: Path) -> Iterator[Path]:
    for source in SOURCES:
        path = home / source
        for found in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if found.is_file() and not NOT_SOURCES.intersection(found.parts):
                yield found
