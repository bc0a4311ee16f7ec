"""`lakegate package`: the stacks of a settings file for those who deploy by CloudFormation or Terraform alone."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lakegate.cli.deploy import config_of_file
from lakegate.cli.terminal import busy, print_lines
from lakegate.deployment.assembly import Cdk
from lakegate.deployment.package import ASSETS, require_place, write
from lakegate.errors import Misconfigured
from lakegate.home import home

if TYPE_CHECKING:
    from infra.config import Config

FILES = ("infra/terraform/main.tf", "infra/deployer.json")  # go beside the stacks


def package(file: Path, folder: Path) -> None:
    """Write the package of a settings file into the folder. It deploys nothing."""
    require_place(folder)
    cdk, name = Cdk(home=home().root), config_to_package(file).name
    with TemporaryDirectory(prefix="package-", dir=cdk.home / ".local") as target, busy("synthesising"):
        assembly = cdk.synth(file.resolve(), Path(target), "-c", "package=true")
        write(assembly, name, [cdk.home / path for path in FILES], folder)
    print_lines(
        f"{folder} has the stacks of {name}, and their assets. Copy those into a bucket of the stacks' region with "
        f"`aws s3 sync {folder / ASSETS} s3://BUCKET`, and apply {folder} as a Terraform module with bucket = BUCKET"
    )


def config_to_package(file: Path) -> "Config":
    """Return the file's settings. Raise Misconfigured for what is wrong, and for what `lakegate deploy` alone adds."""
    config = config_of_file(file)
    if gaps := config.gaps():
        raise Misconfigured(f"{file} lacks {', '.join(gaps)}: a package asks AWS for nothing, so give all of it")
    return config
