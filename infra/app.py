"""CDK app: `python -m infra.app` packages the zips and writes the cloud assembly.

It needs no account and no Docker. Deploying is the cdk command's part.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# jsii looks for `node` when aws_cdk is imported, and set-up has put a pinned one into the environment.
os.environ.setdefault("JSII_NODE", str(Path(sys.executable).with_name("node")))

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from infra.catalog.stack import CatalogStack
from infra.config import DEFAULTS, Config, label_of
from infra.data.stack import DataStack
from infra.former import CONSTANTS, NEW_NAMES
from infra.ingest.spark import Artifacts
from infra.ingest.stack import IngestStack
from infra.network import Network
from infra.packaging import add_authorities, express, package
from infra.settings_file import SettingsFile
from lakegate.bundles import of_release
from lakegate.errors import Misconfigured
from lakegate.home import home

ROOT = home().root
BOUNDARY = "@aws-cdk/core:permissionsBoundary"  # gives each role of the stacks one
OF_CLIENTS = "secretsmanager-2.44.4.jar"  # of the same SDK as the bundle, which lacks this service
# CDK's recommended flags that differ from its defaults, set here for tests and the cdk command alike.
FLAGS = {
    "@aws-cdk/core:defaultCrossStackReferences": "strong",
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True,
    "@aws-cdk/core:enablePartitionLiterals": True,
}


def build(context: Mapping[str, object] | None = None, outdir: Path | None = None) -> App:
    """Return the app with its stacks; what the cdk command passes with `-c` overrides `context`."""
    app = App(
        context={**FLAGS, **(context or {})},
        outdir=str(outdir) if outdir else None,
        analytics_reporting=False,
    )
    config = _config(app)
    build_folder = ROOT / ".local/build" / config.architecture
    bundles = package(ROOT, build_folder, config.architecture)
    artifacts = Artifacts(
        entry_point=ROOT / "spark_jobs/append_and_audit.py",
        py_files=bundles.py_files,
        jars=tuple(ROOT / ".local/jars" / jar for jar in jars(config)),
    )
    functions = add_authorities(bundles.functions, config.nessie_ca) if config.nessie_ca else bundles.functions
    compose(app, config, functions, artifacts, express(ROOT, build_folder, config.architecture, functions))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app, verbose=True))
    return app


def jars(config: Config) -> tuple[str, ...]:
    """Return the jars of the job. It reads a secret only where it is a client."""
    jar_names = of_release(label_of(config.spark_release)).jars
    return (*jar_names, OF_CLIENTS) if config.token_endpoint else jar_names


def compose(app: App, config: Config, functions: Path, artifacts: Artifacts, express: Path) -> None:
    """Put the stacks into the app, each after those that it needs."""
    if config.role_boundary:
        app.node.set_context(BOUNDARY, {"arn": config.role_boundary})
    data = DataStack(app, config=config)
    network = Network(subnets=config.network_subnets, security_groups=config.network_security_groups)
    if config.catalog_image:
        network = CatalogStack(app, config=config, data=data).network
    IngestStack(
        app,
        config=config,
        data=data,
        network=network,
        functions=functions,
        express=express,
        artifacts=artifacts,
    )


def _config(app: App) -> Config:
    """Return the settings of `-c settings=<file>`. Raise Misconfigured for another `-c` that looks like one of them."""
    if names := [name for name in (*DEFAULTS, *NEW_NAMES, *CONSTANTS) if app.node.try_get_context(name) is not None]:
        raise Misconfigured(f"settings are in a file alone: put {', '.join(names)} there, and give -c settings=<file>")
    if path := app.node.try_get_context("settings"):
        config = SettingsFile.read(Path(str(path))).config(_region())
        if gaps := config.gaps():
            raise Misconfigured(
                f"{path} lacks what only lakegate deploy fills in: {', '.join(gaps)}. Give them: docs/how-to/catalog.md"
            )
        return config
    raise Misconfigured("give the settings file of an environment: -c settings=<file>")


def _region() -> str:
    """Return the cdk command's region, or "" without credentials, because then the command only guesses one."""
    return os.environ.get("CDK_DEFAULT_REGION", "") if os.environ.get("CDK_DEFAULT_ACCOUNT") else ""


def main() -> None:
    try:
        build().synth()
    except Misconfigured as error:
        sys.exit(f"lakegate: {error}")


if __name__ == "__main__":
    main()
