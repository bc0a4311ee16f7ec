"""Choice of the installation that the commands talk to: a CloudFormation stack of the ambient AWS configuration, by
its name, which --installation says, or by a settings file that has the name.

A file `.lakegate.env` in the working directory (or the one that LAKEGATE_ENV_FILE names) may choose it in dotenv's
format. It overrides the environment, and may set only the variables in NAMES: such a file may come with a folder that a
stranger packed, and other AWS settings run programs. An installed lakegate without a named installation takes the
local cloud that it has started, from any folder.
"""

import getpass
import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from dotenv import dotenv_values

from lakegate import bootstrap
from lakegate.adapters.account import foreign_storage, region
from lakegate.adapters.aws import CONFIG, aws_errors
from lakegate.adapters.function_urls import FunctionUrls
from lakegate.adapters.lake import IcebergLake
from lakegate.adapters.warehouse import S3Warehouse
from lakegate.cli.installation import Installation
from lakegate.cli.readers.place import Place
from lakegate.cli.terminal import remark
from lakegate.errors import LakegateError, Misconfigured, Retryable
from lakegate.home import home
from lakegate.operations.operation import Direct, Operations
from lakegate.operations.remote import Remote
from lakegate.settings import ENV_FILE, FORMER, INSTALLATION, CommandLine, Settings, adopt, adopt_region
from lakegate.workflow.cleaning.clean import clean
from lakegate.workflow.service import Service
from lakegate.workflow.verification.verify import verify

PROFILE_NAME = ".lakegate.env"
NAMES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    INSTALLATION,
    "NO_PROXY",
    "no_proxy",
)
PATIENCE = Config(read_timeout=900, retries={"max_attempts": 0})  # a function may run for 15 minutes, and only once


def connect() -> Installation:
    """Return the installation on its real services. Raise Retryable if none can be reached."""
    profile = load_profile()
    adopt_region()
    command_line = CommandLine.from_env()
    stack_outputs = outputs(name_of(command_line.installation))
    settings = replace(Settings.from_outputs(stack_outputs), role=command_line.role)
    service = bootstrap.service(settings)
    return Installation(
        operations=_operations(service, settings, stack_outputs),
        landing=service.landing,
        lake=IcebergLake(settings.nessie_uri, settings.warehouse, bootstrap.nessie_door(settings)),
        branches=service.branches,
        place=_place(settings, stack_outputs, profile),
        clock=service.clock,
        clean=partial(clean, service, S3Warehouse()),
        verify=partial(verify, service, S3Warehouse()),
        token=partial(_token, settings),
    )


def _token(settings: Settings) -> str:
    """Return a token of this person for the catalog, or "" if they get none: main's tables take none."""
    try:
        own_tokens = bootstrap.tokens(settings)
        return own_tokens.token() if own_tokens else ""
    except Misconfigured:
        return ""


def _place(settings: Settings, stack_outputs: Mapping[str, str], profile: Path | None) -> Place:
    return Place.of(
        settings,
        region=region(),
        s3_endpoint=foreign_storage(),
        read_policy=stack_outputs.get("ReadLakePolicy", ""),
        variables=str(profile.resolve()) if profile else "",
    )


def _operations(service: Service, settings: Settings, stack_outputs: Mapping[str, str]) -> Operations:
    """Return the operations of the installation's own functions, or if an earlier release deployed it, of this process
    with the person's own rights.
    """
    operations = remote(stack_outputs)
    return operations or Direct(
        service=service,
        by=person(),
        sweep=partial(invoke, stack_outputs.get("ReconcileFunction", "")),
        reading=partial(bootstrap.reading, settings),
    )


def remote(stack_outputs: Mapping[str, str]) -> Remote | None:
    """Return the operations of the functions that the outputs name, or None if an earlier release deployed them."""
    if "ReadUrl" not in stack_outputs:
        return None
    urls = FunctionUrls(
        read=stack_outputs["ReadUrl"],
        act=stack_outputs["ActUrl"],
        read_policy=stack_outputs["ReadPolicy"],
        act_policy=stack_outputs["ActPolicy"],
    )
    return Remote(functions=urls)


def person() -> str:
    """Return the name for main's log; in a container a user may have none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def load_profile() -> Path | None:
    """Read the profile file, if there is one, into the environment, inform a person at a terminal, and return it."""
    if former := CommandLine.from_env().former:
        raise Misconfigured(f"{FORMER} is read no more: unset it, and give the command --installation {former}")
    path = _profile()
    if path is None:
        return None
    values = {name: value or "" for name, value in dotenv_values(path, interpolate=False).items()}
    if FORMER in values:
        raise Misconfigured(f"{path} says {FORMER}: write {INSTALLATION}={values[FORMER]}")
    if strange := sorted(values.keys() - NAMES):
        raise Misconfigured(f"{path} may not set {', '.join(strange)}; it may set {', '.join(NAMES)}")
    if "AWS_ENDPOINT_URL" in values and not (values.get("AWS_ACCESS_KEY_ID") and values.get("AWS_SECRET_ACCESS_KEY")):
        raise Misconfigured(
            f"{path} names an AWS_ENDPOINT_URL, which would receive requests with your own credentials: "
            f"add the AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY that are meant for it"
        )
    adopt(values)
    remark(f"{path}: {CommandLine.from_env().installation} at {values.get('AWS_ENDPOINT_URL', 'AWS')}")
    return path


def _profile() -> Path | None:
    """Return the profile file, or None if there is none."""
    command_line = CommandLine.from_env()
    path = Path(command_line.env_file or PROFILE_NAME)
    if path.is_file():
        return path
    if command_line.env_file:
        raise Misconfigured(f"there is no {path}, which {ENV_FILE} names. For the local cloud run: lakegate local up")
    own_home = home()
    is_up = not own_home.is_checkout and own_home.profile.is_file()
    return own_home.profile if is_up and not command_line.is_chosen else None


def name_of(installation: str) -> str:
    """Return the installation's name, which a settings file has, too. Raise Misconfigured if it cannot be read."""
    if not installation.endswith(".toml"):
        return installation
    try:
        name = tomllib.loads(Path(installation).read_text(encoding="utf-8")).get("name", CommandLine.installation)
    except (OSError, ValueError) as error:
        raise Misconfigured(f"the settings file {installation} cannot be read: {error}") from error
    return str(name)


def outputs(stack: str) -> Mapping[str, str]:
    """Return the stack's outputs."""
    try:
        with aws_errors(f"reading the stack {stack!r}"):
            answer: Any = boto3.client("cloudformation", config=CONFIG).describe_stacks(StackName=stack)
    except LakegateError as error:
        hint = (
            f"For the local cloud run: lakegate local up{_in_checkout()}. For AWS set AWS_REGION and AWS_PROFILE, and "
            "name the installation by --installation NAME"
        )
        raise Retryable(f"no installation can be reached: {str(error).rstrip('.')}. {hint}") from error
    return {item["OutputKey"]: item["OutputValue"] for item in answer["Stacks"][0].get("Outputs", [])}


def _in_checkout() -> str:
    hint = ", and be in its checkout (or set LAKEGATE_ENV_FILE to its .lakegate.env)"
    return hint if home().is_checkout else ""


def invoke(function: str) -> None:
    """Run a function of the installation and wait for it."""
    if not function:
        raise Misconfigured("the stack names no ReconcileFunction; deploy it again")
    with aws_errors(f"running the function {function}"):
        answer = boto3.client("lambda", config=PATIENCE).invoke(FunctionName=function)
        body = answer["Payload"].read().decode(errors="replace")
    if answer.get("FunctionError"):
        raise Retryable(f"the function {function} failed: {body}; its log says more. Run: lakegate reconcile")
