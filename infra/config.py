"""An installation's options, read from CDK context (`-c name=value`) or a settings file. It knows no AWS resources."""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Self

from infra.catalog.faults import catalog_faults
from infra.data.faults import data_faults
from infra.ingest.faults import channel_faults, token_faults
from lakegate.audit.bounded_http import trust
from lakegate.bundles import DEFAULT, RELEASES, tested
from lakegate.contracts import BRANCH_DAYS
from lakegate.errors import Misconfigured
from lakegate.settings import WORKER_CORES

PYTHON = "3.13"  # of the functions
ARCHITECTURES = ("arm64", "x86_64")  # of the functions, as Lambda names them
LONGEST_WINDOW = 300  # seconds
INCOMPLETE_UPLOAD_DAYS = 7
DAY = 24 * 60  # minutes
MOST_JOBS, LONGEST_JOB = 1000, 7 * 24 * 60  # EMR Serverless's limits: concurrent runs, minutes
MOST_EXPRESS = 64  # megabytes of a batch, which is what the engine takes
LONGEST_CANARY = 6 * 24  # hours; an alarm looks back seven days
_NAME = re.compile(r"[a-z][a-z0-9-]{0,26}")  # <name>-landing-<account>-<region> has at most 63 characters then
_ADDRESS = re.compile(r"https?://[^/\s]+(/\S*)?")
_WITH_USER = re.compile(r"https?://[^/]*@.*")
_OF_CLIENTS = re.compile(r"https?://[^/]+(/.*)?/(api(/v[0-9]+)?|iceberg(/[^/]*)?)/*")  # paths that clients append
_UPLOADER = re.compile(
    r"arn:aws[a-z-]*:iam::[0-9]{12}:(root|(role|user)/[A-Za-z0-9+,.@_/-]+)"
    r"(=([A-Za-z0-9+.@_-]+/)+)?"  # a prefix: without IAM's wildcards and variables, which begin with * ? $
)
_PEM = re.compile(r"\s*(-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+")
_IMAGE = re.compile(
    r"[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9][a-z0-9._/-]*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})"
)
_PROPERTY = re.compile(r"spark\.[A-Za-z0-9._-]+=.*\S.*")
_COUNTED = re.compile(r"spark\.((driver|executor)\.cores|executor\.instances|dynamicAllocation\..*)=.*")  # as vCPUs
LONGEST_CONF = 512  # characters; all of a function's environment has 4,096 bytes
_RUNBOOK = re.compile(r"\S{1,500}")  # an alarm's description has up to 1,024 characters
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Config:
    """One installation's choices. Without `nessie_uri` there is a catalog stack."""

    name: str = "lakegate"
    nessie_uri: str = ""
    nessie_ca: str = ""
    warehouse: str = "lake"
    token_audience: str = ""
    token_issuer: str = ""
    token_endpoint: str = ""
    token_scope: str = ""
    token_claim: str = ""
    token_clients: tuple[str, ...] = ()
    nessie_image: str = ""
    catalog_size: str = "dev"
    catalog_host: str = ""
    catalog_certificate: str = ""
    catalog_zone: str = ""
    vpc: str = ""
    azs: tuple[str, ...] = ()
    slack_secret: str = ""
    slack_channel: str = ""
    slack_api: str = ""
    event_bus: str = ""
    webhook_url: str = ""
    webhook_secret: str = ""
    lineage_url: str = ""
    lineage_secret: str = ""
    alarm_topic: str = ""
    runbook: str = "docs/runbook"
    undecided_minutes: int = 240
    rejected_percent: int = 0  # 0: no alarm
    canary_hours: int = 0  # 0: no canary
    architecture: str = "arm64"
    batch_window: int = 20
    reconcile_minutes: int = 5
    job_timeout_minutes: int = 60
    release: str = DEFAULT.release
    image: str = ""
    spark_conf: tuple[str, ...] = ()
    vcpus: int = 16
    jobs_at_once: int = 2
    grace_seconds: int = 120
    compact_after_days: int = 14
    attempts: int = 3
    audit_tables: bool = False
    express: bool = True
    express_megabytes: int = 32
    uploaders: tuple[str, ...] = ()
    landing_days: int = 0  # 0: for ever
    landing_bucket: str = ""
    landing_prefixes: tuple[str, ...] = ()
    kms_key: str = ""
    upload_keys: tuple[str, ...] = ()
    ephemeral: bool = False
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()

    @classmethod
    def read(cls, look_up: Callable[[str], object], region: str = "") -> Self:
        """Read the context. Raise Misconfigured with everything that is wrong at once. `region` is the stack's, if
        known.
        """
        config, wrong = cls.parse(look_up)
        if wrong := [*wrong, *config.faults(region)]:
            raise Misconfigured("; ".join(wrong))
        return config

    @classmethod
    def parse(cls, look_up: Callable[[str], object]) -> tuple[Self, list[str]]:
        """Return the choices with a fault for each value of another type, for which the default stands in."""
        values, wrong = {}, []
        for field in fields(cls):
            given = look_up(field.name)
            try:
                values[field.name] = _parse(given, field.default)
            except ValueError as error:
                wrong.append(f"-c {field.name}={given}: {error}")
        return cls(**values), wrong  # type: ignore[arg-type]

    @property
    def creates_vpc(self) -> bool:
        return self.vpc == "create"

    @property
    def executors(self) -> int:
        """Return the maximum of executors per job, beside its driver, so that all jobs together stay below `vcpus`."""
        return self.vcpus // self.jobs_at_once // WORKER_CORES - 1

    @property
    def spark_properties(self) -> dict[str, str]:
        """Return the values of `spark_conf` by name."""
        return {name: value for name, _, value in (each.partition("=") for each in self.spark_conf)}

    @property
    def prefixes(self) -> dict[str, set[str]]:
        """Return the prefixes below which each uploader may write, by its ARN; "" is the whole landing bucket."""
        found: dict[str, set[str]] = {}
        for uploader in self.uploaders:
            arn, _, prefix = uploader.partition("=")
            found.setdefault(arn, set()).add(prefix)
        return found

    @property
    def _accounts_with_prefix(self) -> list[str]:
        """Return the ARNs, up to their last colon, of accounts that may write below prefixes."""
        return [
            arn.removesuffix("root")
            for arn, found in self.prefixes.items()
            if arn.endswith(":root") and "" not in found
        ]

    @property
    def needed_days(self) -> int:
        """Return the least number of days for which the landing bucket must keep a file. A retry needs the file for as
        long as a contract keeps a rejected batch's branch by default, and the sweep for as long as receipts are
        on main.
        """
        return max(BRANCH_DAYS, self.compact_after_days + 1)

    def faults(self, region: str = "") -> list[str]:
        """Return the faults of these choices together. A text names each setting that it is about as `-c <name>`, by
        which a settings file finds its line.
        """
        return [
            text
            for is_wrong, text in (
                (
                    not _NAME.fullmatch(self.name),
                    "-c name is up to 27 small letters, digits and hyphens, and begins with a letter",
                ),
                (
                    bool(self.nessie_uri) and not _ADDRESS.fullmatch(self.nessie_uri),
                    "-c nessie_uri is an address, https://…",
                ),
                (
                    bool(_WITH_USER.fullmatch(self.nessie_uri)),
                    "-c nessie_uri is given without user and password, because readers of stack or job would see them",
                ),
                (
                    bool(_OF_CLIENTS.fullmatch(self.nessie_uri)),
                    "-c nessie_uri is given without /api, and without /iceberg",
                ),
                (
                    bool(self.nessie_ca) and not _is_certificates(self.nessie_ca),
                    "-c nessie_ca is the text of authorities' certificates, -----BEGIN CERTIFICATE-----…, and no more",
                ),
                (
                    bool(self.nessie_ca) and self.nessie_uri.startswith("http:"),
                    "-c nessie_ca is for an https://… address of -c nessie_uri",
                ),
                (
                    not 0 <= self.batch_window <= LONGEST_WINDOW,
                    f"-c batch_window is 0, which is at once, to {LONGEST_WINDOW} seconds",
                ),
                (
                    bool(self.alarm_topic) and not _TOPIC.fullmatch(self.alarm_topic),
                    "-c alarm_topic is an SNS topic's ARN, arn:aws:sns:…",
                ),
                (
                    bool(region and self.alarm_topic) and f":sns:{region}:" not in self.alarm_topic,
                    f"-c alarm_topic is a topic in {region}, the stack's region, because alarms reach no other region",
                ),
                (
                    not _RUNBOOK.fullmatch(self.runbook),
                    "-c runbook is the address or path of the runbook's folder, without spaces",
                ),
                (self.undecided_minutes < 1, "-c undecided_minutes is 1 or more"),
                (not 0 <= self.rejected_percent <= 100, "-c rejected_percent is 0, which is no alarm, to 100"),  # noqa: PLR2004
                (
                    not 0 <= self.canary_hours <= LONGEST_CANARY,
                    f"-c canary_hours is 0, which is no canary, to {LONGEST_CANARY}, which is six days",
                ),
                (
                    self.architecture not in ARCHITECTURES,
                    f"-c architecture, the functions' processors, is one of {', '.join(ARCHITECTURES)}",
                ),
                (not 1 <= self.reconcile_minutes <= DAY, f"-c reconcile_minutes is 1 to {DAY:,}, which is a day"),
                (
                    self.grace_seconds <= self.batch_window,
                    "-c grace_seconds is over -c batch_window: otherwise the sweep takes files that still gather",
                ),
                (
                    tested(self.release) is None,
                    f"-c release is one whose Spark was tested: {RELEASES}",
                ),
                (
                    bool(self.image) and not _IMAGE.fullmatch(self.image),
                    "-c image is <account>.dkr.ecr.<region>.amazonaws.com/<repository> with its :<tag> or @<digest>",
                ),
                (
                    bool(region and self.image) and f".ecr.{region}." not in self.image,
                    f"-c image is an image in {region}, the stack's region, because EMR takes none of another region",
                ),
                (
                    not all(_PROPERTY.fullmatch(each) for each in self.spark_conf),
                    "-c spark_conf is spark.<name>=<value>,…; one with a comma is given in a settings file, in a list",
                ),
                (
                    any(_COUNTED.fullmatch(each) for each in self.spark_conf),
                    "-c spark_conf says nothing of cores and numbers of executors: -c vcpus and -c jobs_at_once do",
                ),
                (
                    len("".join(self.spark_conf)) > LONGEST_CONF,
                    f"-c spark_conf has up to {LONGEST_CONF} characters in all",
                ),
                (not 1 <= self.jobs_at_once <= MOST_JOBS, f"-c jobs_at_once is 1 to {MOST_JOBS:,}"),
                (
                    self.jobs_at_once >= 1 and self.executors < 1,
                    f"-c vcpus is at least {2 * WORKER_CORES} for each of -c jobs_at_once",
                ),
                (
                    not 1 <= self.job_timeout_minutes <= LONGEST_JOB,
                    f"-c job_timeout_minutes is 1 to {LONGEST_JOB:,}, which is seven days",
                ),
                (self.attempts < 1, "-c attempts is 1 or more"),
                (
                    not 1 <= self.express_megabytes <= MOST_EXPRESS,
                    f"-c express_megabytes is 1 to {MOST_EXPRESS}; with -c express=false Spark runs every batch",
                ),
                (
                    self.compact_after_days <= INCOMPLETE_UPLOAD_DAYS,
                    f"-c compact_after_days is over {INCOMPLETE_UPLOAD_DAYS}: S3 dates an upload in parts by its start",
                ),
                (
                    not all(_UPLOADER.fullmatch(uploader) for uploader in self.uploaders),
                    (
                        "-c uploaders are ARNs of accounts, roles or users, each alone or with a prefix that ends "
                        "with /: arn:aws:iam::<account>:root=<prefix>/,…"
                    ),
                ),
                (
                    any("" in prefixes and len(prefixes) > 1 for prefixes in self.prefixes.values()),
                    "-c uploaders names nobody both with and without a prefix",
                ),
                (
                    any(
                        arn.startswith(account) and arn != f"{account}root"
                        for account in self._accounts_with_prefix
                        for arn in self.prefixes
                    ),
                    "-c uploaders names nobody else of an account that has a prefix, which holds for all of it",
                ),
                (
                    bool(self.landing_days) and self.landing_days < self.needed_days,
                    f"-c landing_days is {self.needed_days} or more: a retry needs the file",
                ),
                (
                    bool(self.slack_secret) != bool(self.slack_channel),
                    "-c slack_secret and -c slack_channel are given together",
                ),
                (self.slack_secret.startswith("arn:"), "-c slack_secret is the secret's name, not its ARN"),
            )
            if is_wrong
        ] + [
            *token_faults(self),
            *channel_faults(self, region),
            *data_faults(self, region),
            *catalog_faults(self, region),
        ]


def _is_certificates(text: str) -> bool:
    if not _PEM.fullmatch(text):
        return False
    try:
        return trust(text) is not None
    except OSError:
        return False


def _parse(given: object, default: object) -> object:
    """Return the value in the type of its default; `-c` gives text, cdk.json may give numbers, booleans and lists."""
    if given is None or given == "":
        return default
    if isinstance(default, bool):
        return _one_of(str(given).lower(), {"true": True, "false": False})
    if isinstance(default, int):
        return int(str(given))
    if isinstance(default, tuple):
        parts = given if isinstance(given, list) else str(given).split(",")
        return tuple(str(part).strip() for part in parts)
    return str(given)


def _one_of(text: str, meanings: dict[str, bool]) -> bool:
    if text not in meanings:
        raise ValueError(f"must be one of {', '.join(meanings)}")
    return meanings[text]
