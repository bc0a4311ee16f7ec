"""`lakegate package`, with the real cdk command: no template needs a bootstrap, and every asset is there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hcl2
import pytest
from typer.testing import CliRunner

from lakegate.cli.app import app
from tests.infra.conftest import CATALOG, ROOT
from tests.support.settings import settings_file

pytestmark = pytest.mark.synth
MODULE = ROOT / "infra/terraform/main.tf"
BUCKET = "${AssetsBucket}"
needs_terraform = pytest.mark.skipif(not shutil.which("terraform"), reason="this machine has no Terraform")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of an installation with a catalog."""
    folder = tmp_path_factory.mktemp("package")
    file = settings_file(folder / "prod.toml", name="lake", **CATALOG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_REGION", "eu-central-1")
        result = CliRunner().invoke(app, ["package", str(file), str(folder / "out")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return folder / "out"


@pytest.fixture(scope="module")
def templates(package: Path) -> dict[str, Any]:
    return {name: json.loads((package / "assets" / key).read_text()) for name, key in keys(package).items()}


def keys(package: Path) -> dict[str, str]:
    """Each stack's key of its template."""
    stacks = json.loads((package / "stacks.json").read_text())["stacks"]
    return {name: stack["template"] for name, stack in stacks.items()}


def texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            yield from (text for key, inner in value.items() for text in (key, *texts(inner)))
        case list():
            yield from (text for inner in value for text in texts(inner))
        case str():
            yield value


def codes(value: Any) -> Iterator[str]:
    """The keys of functions' zips in a template."""
    if isinstance(value, dict):
        if value.get("S3Bucket") == {"Fn::Sub": BUCKET}:
            yield value["S3Key"]
        value = list(value.values())
    if isinstance(value, list):
        yield from (key for inner in value for key in codes(inner))


def test_no_template_refers_to_a_bootstrap(templates: dict[str, Any]) -> None:
    assert list(templates) == ["lake-data", "lake-catalog", "lake"]
    for template in templates.values():
        assert not [text for text in texts(template) if "hnb659fds" in text or "bootstrap" in text.lower()]
        assert "Rules" not in template


def test_each_asset_that_a_template_names_is_in_the_package_and_no_other(
    package: Path, templates: dict[str, Any]
) -> None:
    urls = {
        text.removeprefix(f"s3://{BUCKET}/")
        for template in templates.values()
        for text in texts(template)
        if text.startswith(f"s3://{BUCKET}/")
    }
    named = urls | {key for template in templates.values() for key in codes(template)}
    files = {str(path.relative_to(package / "assets")) for path in package.glob("assets/**/*") if path.is_file()}
    assert len(named) > 4
    assert named | set(keys(package).values()) == files
    assert {key.split("/")[0] for key in files} == {"lake"}  # the job's role reads below the installation's name


def test_the_module_deploys_each_stack_with_what_its_template_asks_for(
    package: Path, templates: dict[str, Any]
) -> None:
    assert (package / "main.tf").read_text() == MODULE.read_text()
    assert (package / "deployer.json").read_text() == (ROOT / "infra/deployer.json").read_text()
    with MODULE.open() as file:
        module = hcl2.load(file)
    stacks = {
        name.strip('"'): body
        for resource in module["resource"]
        for kind, named in resource.items()
        if kind.strip('"') == "aws_cloudformation_stack"
        for name, body in named.items()
    }
    assert set(stacks) == {"data", "catalog", "service"}
    (values,) = [block["values"] for block in module["locals"]]
    asked = {name for template in templates.values() for name in template.get("Parameters", {})}
    assert asked == set(values)
    assert "data" in str(stacks["catalog"]["depends_on"])
    assert all(
        f"aws_cloudformation_stack.{role}" in str(stacks["service"]["depends_on"]) for role in ("data", "catalog")
    )
    assert len(MODULE.read_text().splitlines()) <= 80


@needs_terraform
def test_the_module_has_the_form_that_terraform_gives_it() -> None:
    command = ["terraform", "fmt", "-check", "-diff", str(MODULE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_terraform
def test_the_module_finds_each_template_and_its_parameters_in_the_package(package: Path, tmp_path: Path) -> None:
    """Terraform evaluates all but the resources, for which it would need the provider."""
    blocks = re.findall(r"^(?:variable|locals) .*?^}\n", MODULE.read_text(), flags=re.MULTILINE | re.DOTALL)
    module = "".join(blocks).replace("data.aws_s3_bucket.assets.bucket_regional_domain_name", '"host"')
    (tmp_path / "main.tf").write_text(module)
    shutil.copy(package / "stacks.json", tmp_path)
    command = ["terraform", f"-chdir={tmp_path}", "console", "-var=bucket=theirs"]
    question = "jsonencode([local.urls, local.parameters])"
    done = subprocess.run(command, input=question, capture_output=True, text=True, check=True)
    urls, parameters = json.loads(json.loads(done.stdout))
    assert urls == {name: f"https://host/{key}" for name, key in keys(package).items()}
    assert parameters == {
        "lake-data": {},
        "lake-catalog": {"DatabaseProtection": "true"},
        "lake": {"AssetsBucket": "theirs"},
    }


def test_a_file_with_gaps_makes_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = settings_file(tmp_path / "prod.toml", **CATALOG | {"token_issuer": ""})
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    result = CliRunner().invoke(app, ["package", str(file), str(tmp_path / "out")])
    assert result.exit_code == 2
    assert "lacks token.issuer: a package asks AWS for nothing" in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_no_place_for_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = settings_file(tmp_path / "prod.toml", **CATALOG)
    monkeypatch.setattr(sys, "argv", ["lakegate"])
    result = CliRunner().invoke(app, ["package", str(file), str(tmp_path)])
    assert result.exit_code == 2
    assert "no package is in" in result.stderr
    assert list(tmp_path.iterdir()) == [file]
