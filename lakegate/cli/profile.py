"""Which installation the commands talk to: the CloudFormation stack of the ambient AWS configuration.

A file `.lakegate.env` in the working directory (or the one that LAKEGATE_ENV_FILE names) may set that configuration, in
dotenv's format: AWS_ENDPOINT_URL, AWS_REGION, credentials, LAKEGATE_STACK. It goes before the environment.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from dotenv import load_dotenv

from lakegate import bootstrap
from lakegate.adapters.aws import CONFIG, aws_errors
from lakegate.cli.installation import Installation
from lakegate.cli.query import IcebergLake
from lakegate.errors import LakegateError, Misconfigured, Retryable
from lakegate.settings import CommandLine, Settings

PROFILE = ".lakegate.env"
PATIENCE = Config(read_timeout=900, retries={"max_attempts": 0})  # a function may run for 15 minutes, and only once


def connect() -> Installation:
    """The installation on its real services. Raises Retryable where none can be reached."""
    load_profile()
    found = outputs(CommandLine.from_env().stack)
    settings = Settings.from_outputs(found)
    service = bootstrap.service(settings)
    return Installation(
        service=service,
        sweep=partial(invoke, found.get("ReconcileFunction", "")),
        lake=IcebergLake(service.nessie_uri, service.warehouse),
    )


def load_profile() -> Path | None:
    """Read the profile file into the environment, and say which one it was. One that is named must be there."""
    named = CommandLine.from_env().env_file
    path = Path(named or PROFILE)
    if named and not path.is_file():
        raise Misconfigured(
            f"there is no file {named}, which LAKEGATE_ENV_FILE names. If it is a local cloud's, run: lakegate local up"
        )
    return path if path.is_file() and load_dotenv(path, override=True) else None


def outputs(stack: str) -> Mapping[str, str]:
    """What the stack says of itself."""
    try:
        with aws_errors(f"reading the stack {stack!r}"):
            found: Any = boto3.client("cloudformation", config=CONFIG).describe_stacks(StackName=stack)["Stacks"][0]
    except LakegateError as error:
        what = (
            "For the local cloud run: lakegate local up, and be in its checkout (or set LAKEGATE_ENV_FILE to its "
            ".lakegate.env). For AWS set AWS_REGION, AWS_PROFILE and LAKEGATE_STACK"
        )
        raise Retryable(f"no installation can be reached: {str(error).rstrip('.')}. {what}") from error
    return {item["OutputKey"]: item["OutputValue"] for item in found.get("Outputs", [])}


def invoke(function: str) -> None:
    """Run a function of the installation and wait for it."""
    if not function:
        raise Misconfigured("the stack names no ReconcileFunction; deploy it again")
    with aws_errors(f"running the function {function}"):
        answer = boto3.client("lambda", config=PATIENCE).invoke(FunctionName=function)
        body = answer["Payload"].read().decode(errors="replace")
    if answer.get("FunctionError"):
        raise Retryable(f"the function {function} failed: {body}; its log says more. Run: lakegate reconcile")
