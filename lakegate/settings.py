"""An installation's settings: names of buckets, functions and services. Only this module reads the environment; it
contacts nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Self

from lakegate.access import Role
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.client import Client
from lakegate.bundles import EMR_7
from lakegate.clients import FORM, ClientEntry
from lakegate.errors import Misconfigured

PREFIX = "LAKEGATE_"
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
REGION = "AWS_DEFAULT_REGION"
CHOICES = ("AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL", "AWS_PROFILE")  # each says which AWS is meant
ENV_FILE = PREFIX + "ENV_FILE"
INSTALLATION = PREFIX + "INSTALLATION"
FORMER = PREFIX + "STACK"  # what INSTALLATION was called
OPTION = INSTALLATION + "_NAMED"  # by --installation, which no file may override
WAREHOUSE = "warehouse"  # the lake bucket's folder that holds the catalog's warehouse
CODE = Path(__file__).parent.parent  # a function's own folder
CA_FILE = "nessie-ca.pem"  # there, because Lambda's environment has no room for certificates
PACKAGES = "packages.tar.zst"  # of the express lane, there, because unpacked they pass Lambda's limit
DESCRIPTION = "lakegate: write, audit, publish for Apache Iceberg"  # of a stack, by which installations are found
COMPACT_AFTER_DAYS = 14  # that a receipt stays on main
WORKER_CORES = 2  # vCPUs of a job's driver, and of each executor
LONGEST_QUEUE = 720  # minutes that a job run may queue before EMR Serverless gives it up


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One installation. The stack's outputs carry the same names in CamelCase, the functions' environment as
    LAKEGATE_*.
    """

    landing_bucket: str
    service_bucket: str
    lake_bucket: str
    nessie_uri: str
    warehouse: str
    application_id: str
    job_role_arn: str
    job_entry_point: str
    job_py_files: str
    job_jars: str
    landing_prefixes: str = ""  # that this installation's files land below, with commas; "": anywhere in the bucket
    name: str = "lakegate"  # of the installation, in what CloudWatch shows
    nessie_ca: str = ""  # authorities, as PEM text, that Nessie's certificate may be of
    token_audience: str = ""
    token_endpoint: str = ""  # of an OIDC issuer; "": tokens come from AWS STS
    token_scope: str = ""
    token_clients: str = ""  # with commas, as `lakegate.clients` reads them
    role: str = ""  # of this process, which says whose client it is
    release: str = EMR_7.release  # of EMR Serverless; a stack that does not say it is older than the others
    executors: int = 3  # of a job at most, beside its driver
    express_function: str = ""  # that runs small batches; "": Spark runs all of them
    express_megabytes: int = 0  # of a batch's files, that it takes at most
    spark_conf: str = ""  # JSON: a job's Spark properties by name, beside lakegate's
    slack_secret: str = ""
    slack_channel: str = ""
    event_bus: str = ""  # EventBridge's, by name or ARN, that gets what is published and rejected
    webhook_url: str = ""
    webhook_secret: str = ""  # of the keys that sign what it gets
    lineage_url: str = ""  # of a receiver of OpenLineage's events, which has /api/v1/lineage
    lineage_secret: str = ""  # of its API key; "": it asks for none
    ingest_dead_letter_queue_url: str = ""
    settle_dead_letter_queue_url: str = ""
    reminder_queue_url: str = ""  # of the function alone that may put reminders there
    job_timeout_minutes: int = 60
    jobs_at_once: int = 2
    batch_window: int = 0  # seconds; a stack that does not say it gathers in its queue
    grace_seconds: int = 120
    compact_after_days: int = COMPACT_AFTER_DAYS
    attempts: int = 3
    audit_tables: int = 0  # 1: what audits find becomes rows of tables

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Self:
        """Read LAKEGATE_* variables. Raise Misconfigured with every missing or malformed value at once. Authorities are
        in a file beside the code if the variable names it.
        """
        values = os.environ if env is None else env
        texts = {field.name: values.get(PREFIX + field.name.upper()) for field in fields(cls)}
        if texts["nessie_ca"] == CA_FILE:
            texts["nessie_ca"] = (CODE / CA_FILE).read_text()
        return cls.from_mapping(texts, PREFIX)

    @classmethod
    def from_outputs(cls, outputs: Mapping[str, str]) -> Self:
        """Read the stack's outputs (`LandingBucket` → landing_bucket); other outputs are ignored."""
        return cls.from_mapping({field.name: outputs.get(output_name(field.name)) for field in fields(cls)}, "output ")

    @classmethod
    def from_mapping(cls, values: Mapping[str, str | None], prefix: str = "") -> Self:
        wrong, kwargs = [], {}
        for field in fields(cls):
            text = values.get(field.name)
            if not text and field.default is MISSING:
                wrong.append(f"{prefix}{field.name.upper()} is missing")
            elif text and field.type is int and not text.isdigit():
                wrong.append(f"{prefix}{field.name.upper()}={text!r} is not a whole number")
            elif text:
                kwargs[field.name] = int(text) if field.type is int else text
        wrong += [
            f"{prefix}TOKEN_CLIENTS: {text!r} is not {FORM}"
            for text in str(kwargs.get("token_clients", "")).split(",")
            if text and not ClientEntry.parse(text)
        ]
        if wrong:
            raise Misconfigured("; ".join(wrong))
        settings = cls(**kwargs)  # type: ignore[arg-type]
        return replace(settings, nessie_uri=settings.nessie_uri.rstrip("/"))  # paths are appended to it

    @property
    def has_identity(self) -> bool:
        """Return True if Nessie is sent tokens."""
        return bool(self.token_audience or self.token_endpoint)

    def catalog(self, role: str) -> CatalogAddress:
        """Return the catalog's address for a process of this role. Raise as `client`."""
        return CatalogAddress(
            uri=self.nessie_uri,
            warehouse=self.warehouse,
            authorities=self.nessie_ca,
            audience=self.token_audience,
            client=self.client(role),
        )

    def client(self, role: str) -> Client | None:
        """Return the client of a role, or None if tokens come from no OIDC issuer. Raise Misconfigured if the role has
        none with a secret.
        """
        if not self.token_endpoint:
            return None
        for entry in filter(None, map(ClientEntry.parse, self.token_clients.split(","))):
            if entry.role == role and entry.secret:
                return Client(id=entry.id, secret=entry.secret, endpoint=self.token_endpoint, scope=self.token_scope)
        raise Misconfigured(f"token_clients has no client with a secret for the role {role or 'of this process'}")

    def to_env(self) -> dict[str, str]:
        """Return the environment that `from_env` reads."""
        return {PREFIX + field.name.upper(): str(getattr(self, field.name)) for field in fields(self)}


def output_name(field: str) -> str:
    """Return the output's name: `landing_bucket` → `LandingBucket`."""
    return "".join(part.capitalize() for part in field.split("_"))


@dataclass(frozen=True, kw_only=True)
class CommandLine:
    """Environment of the command line, beside AWS's configuration."""

    env_file: str = ""
    is_chosen: bool = False  # the environment says which installation is meant
    installation: str = "lakegate"  # its name, or the path of its settings file
    former: str = ""  # an installation by the variable of earlier releases
    debug: bool = False
    role: str = Role.OBSERVER  # in the catalog, of whoever runs a command that reads it

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Self:
        """Read LAKEGATE_ENV_FILE, LAKEGATE_INSTALLATION, LAKEGATE_ROLE and LAKEGATE_DEBUG (on unless empty or 0). An
        installation that the command line has named goes before.
        """
        values = os.environ if env is None else env
        name = values.get(OPTION) or values.get(INSTALLATION)
        return cls(
            env_file=values.get(ENV_FILE) or cls.env_file,
            is_chosen=bool(name) or any(map(values.get, CHOICES)),
            installation=name or cls.installation,
            former=values.get(FORMER, ""),
            debug=values.get(PREFIX + "DEBUG", "0") not in {"", "0"},
            role=values.get(PREFIX + "ROLE") or cls.role,
        )


def adopt(profile: Mapping[str, str]) -> None:
    """Put the profile into the environment for AWS's clients, and remove variables that would override it: other keys,
    profiles and regions if it names one, and endpoints of single services if it names one of all.
    """
    overrides = {*KEYS, "AWS_PROFILE"} if profile.keys() & {*KEYS, "AWS_PROFILE"} else set[str]()
    if profile.get("AWS_REGION"):
        overrides.add(REGION)
    elif "AWS_PROFILE" in profile:
        overrides.add("AWS_REGION")  # the profile has its own
    if "AWS_ENDPOINT_URL" in profile:
        overrides |= {name for name in os.environ if name.startswith("AWS_ENDPOINT_URL_")}
    for name in overrides:
        os.environ.pop(name, None)
    os.environ.update(profile)


def choose_installation(name: str) -> None:
    """Set the installation that --installation names, for this process and those that it runs."""
    os.environ[OPTION] = name


def choose_region(name: str) -> None:
    """Set the region that a person has named, for this process and those that it runs."""
    os.environ.update({REGION: name, "AWS_REGION": name})


def adopt_region() -> None:
    """Copy AWS_REGION to AWS_DEFAULT_REGION, because CDK reads the first and boto3 only the second."""
    if not os.environ.get(REGION) and (region := os.environ.get("AWS_REGION")):
        os.environ[REGION] = region
