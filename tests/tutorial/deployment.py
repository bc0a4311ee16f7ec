"""`make test-wheel`, too: what deploys, from the built wheel, in an empty home outside the checkout, up to where AWS
comes in: region and settings are judged before anything is installed, and the stacks are made.
"""

from __future__ import annotations

import json
import sys

from tests.tutorial.page import Step
from tests.tutorial.reader import Reader, read_in_an_empty_home, size

INSTALL = """\
python3 -m venv lakegate-env
. lakegate-env/bin/activate
pip install --quiet lakegate
"""
SETTINGS = """\
name = "lake"
nessie.uri = "https://nessie.example.com"
network.subnets = ["subnet-0a", "subnet-0b"]
network.security_groups = ["sg-0a"]
"""
WITHOUT_AWS = "export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true\n"


def deployed(reader: Reader) -> None:
    """Go as far as the cdk command would. Raise SystemExit where a step does not end as it should."""
    reader.does(Step(text=INSTALL + WITHOUT_AWS))
    reader.does(Step(name="prod.toml", text=SETTINGS))
    reader.does(Step(name="wrong.toml", text=f"{SETTINGS}spark.vcpus = 'many'\n"))
    for command in ("lakegate deploy prod.toml", "lakegate package prod.toml lake"):
        reader.does(Step(text=f"{command}\n", code=2, prints="… AWS_REGION …"))
    reader.does(Step(text="export AWS_REGION=eu-central-1\nlakegate deploy wrong.toml\n", code=2, prints="… vcpus …"))
    cache = reader.home / ".cache/lakegate"
    if (cache / ".venv").exists():
        sys.exit("Something was installed for settings that are wrong.")
    reader.does(Step(text="lakegate package prod.toml lake\n", prints="… stacks of lake …"))
    stacks = json.loads((reader.here / "lake/stacks.json").read_text())["stacks"]
    if [*stacks] != ["lake-data", "lake"] or not (reader.here / "lake/assets" / stacks["lake"]["template"]).exists():
        sys.exit(f"The package has not the stacks: {stacks}")
    reader.does(Step(text="lakegate deploy prod.toml\n", code=2, prints="… credentials …"))
    print(f"\n{size(cache)} MB are set up in the user's cache.")  # noqa: T201 - it talks to a terminal


if __name__ == "__main__":
    read_in_an_empty_home(deployed, __doc__)
