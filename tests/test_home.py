"""The home of the package: a checkout, or in the user's cache what a wheel carries."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest
from lakegate_local import synth

from lakegate import home as module
from lakegate.home import home, unpack

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A wheel's package, as it is installed."""
    made = tmp_path / "site-packages/lakegate"
    for name, text in {
        "errors.py": "1",
        "__pycache__/errors.pyc": "",
        "carried/tools/setup.py": "2",
        "carried/cdk.json": "3",
        "../spark_jobs/engine.py": "4",
        "../spark_jobs/__pycache__/engine.pyc": "",
        "../others/module.py": "of no home",
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    return made


def files(root: Path) -> dict[str, str]:
    found = {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
    return {name: text for name, text in found.items() if not name.startswith(module.MANIFEST)}


def test_this_checkout_is_a_home() -> None:
    assert home() == module.Home(root=ROOT, is_checkout=True)


def test_the_home_of_an_installed_package_is_in_the_user_s_cache(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert home(package).root == tmp_path / "cache/lakegate"
    assert not home(package).is_checkout


def test_what_is_unpacked_is_a_home_and_no_checkout(package: Path, tmp_path: Path) -> None:
    unpack(tmp_path / "home", package)
    assert home(tmp_path / "home/lakegate") == module.Home(root=tmp_path / "home", is_checkout=False)


def test_a_wheel_is_unpacked_as_a_checkout_has_it(package: Path, tmp_path: Path) -> None:
    unpack(tmp_path / "home", package)
    assert files(tmp_path / "home") == {
        "lakegate/errors.py": "1",
        "tools/setup.py": "2",
        "cdk.json": "3",
        "spark_jobs/engine.py": "4",
    }


def test_another_version_replaces_what_was_unpacked_and_nothing_else(package: Path, tmp_path: Path) -> None:
    root = tmp_path / "home"
    unpack(root, package)
    (root / ".venv").mkdir()
    (root / ".venv/made").write_text("by set-up")
    (package / "carried/cdk.json").unlink()
    (package / "errors.py").write_text("another")
    (package.parent / "spark_jobs/engine.py").write_text("another engine")
    unpack(root, package)
    assert files(root) == {
        "lakegate/errors.py": "another",
        "spark_jobs/engine.py": "another engine",
        "tools/setup.py": "2",
        ".venv/made": "by set-up",
    }


def test_unpacking_again_writes_nothing(package: Path, tmp_path: Path) -> None:
    root = tmp_path / "home"
    unpack(root, package)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.name != f"{module.MANIFEST}.lock"}
    unpack(root, package)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def carried() -> set[str]:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    packages = {"lakegate", "spark_jobs"}
    placed = {source: f"lakegate/carried/{source}" for source in wheel["only-include"] if source not in packages}
    assert wheel["sources"] == placed
    assert wheel["force-include"] == {source: f"lakegate/carried/{source}" for source in wheel["force-include"]}
    return {*wheel["only-include"], *wheel["force-include"]}


def test_a_wheel_carries_all_that_set_up_reads(tmp_path: Path) -> None:
    for name in carried():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    setup = runpy.run_path(str(tmp_path / "tools/setup.py"))
    pythons = ("python3.11", str(setup["UNPACKED"] / "bin/python3.13"))
    asked = [step for part in ("local", "deploy") for step in setup["steps"](part, *pythons)]
    assert len({step.fingerprint() for step in asked}) > 5
    assert [step.what for step in asked if step.is_done()] == []


def test_a_wheel_carries_all_that_is_deployed_and_shown() -> None:
    app = re.search(r"-m (\w+)", json.loads((ROOT / "cdk.json").read_text())["app"])
    assert app
    assert {*synth.SOURCES, app[1], "examples", "contracts", "localstack"} <= carried()
