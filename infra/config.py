"""An installation's options, read from CDK context (`-c name=value`) or a settings file. It knows no AWS resources."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from infra.catalog.sizes import SIZES
from infra.combinations import combination_faults
from lakegate.audit.bounded_http import trust
from lakegate.bundles import DEFAULT, RELEASES, bundle_of
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
LONGEST_LIST = 512  # characters; all of a function's environment has 4,096 bytes
TYPES = {bool: "true or false", int: "a whole number", str: "text in quotes", tuple: "a list of texts, in brackets"}
SETTING_NAME = re.compile(r"-c (\w+)")  # a setting, in a fault of several
_WITH_USER = re.compile(r"https?://[^/]*@.*")
_OF_CLIENTS = re.compile(r"https?://[^/]+(/.*)?/(api(/v[0-9]+)?|iceberg(/[^/]*)?)/*")  # paths that clients append
_CORE_SETTINGS = re.compile(
    r"spark\.((driver|executor)\.cores|executor\.instances|dynamicAllocation\..*)=.*"
)  # as vCPUs
_PEM = re.compile(r"\s*(-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+")


def holds(is_right: Callable[[Any], object], words: str) -> AfterValidator:
    """Return a rule for a value; `words` tell whoever gave another what it is."""

    def check(value: Any) -> Any:
        if not is_right(value):
            raise ValueError(words)
        return value

    return AfterValidator(check)


def form(pattern: str, words: str) -> AfterValidator:
    return holds(re.compile(pattern).fullmatch, words)


def forms(pattern: str, words: str) -> AfterValidator:
    return holds(lambda texts: all(re.fullmatch(pattern, text) for text in texts), words)


def within_bounds(least: int, greatest: int, words: str) -> AfterValidator:
    return holds(lambda number: least <= number <= greatest, words)


def one_of(names: Collection[str]) -> AfterValidator:
    return holds(names.__contains__, f"is one of {', '.join(names)}")


def fits(texts: Iterable[str]) -> bool:
    return len(",".join(texts)) <= LONGEST_LIST


def prefixes(uploaders: Iterable[str]) -> dict[str, set[str]]:
    """Return the prefixes below which each uploader may write, by its ARN; "" is the whole landing bucket."""
    prefixes_by_arn: dict[str, set[str]] = {}
    for uploader in uploaders:
        arn, _, prefix = uploader.partition("=")
        prefixes_by_arn.setdefault(arn, set()).add(prefix)
    return prefixes_by_arn


def _are_whole_or_below_prefixes(uploaders: Iterable[str]) -> bool:
    return not any("" in prefix_set and len(prefix_set) > 1 for prefix_set in prefixes(uploaders).values())


def _are_of_other_accounts(uploaders: Iterable[str]) -> bool:
    """Return whether nobody else is of an account that has a prefix."""
    prefixes_by_arn = prefixes(uploaders)
    roots = [arn for arn, prefix_set in prefixes_by_arn.items() if arn.endswith(":root") and "" not in prefix_set]
    return not any(
        arn != root and arn.startswith(root.removesuffix("root")) for root in roots for arn in prefixes_by_arn
    )


def _are_certificates(text: str) -> bool:
    if not _PEM.fullmatch(text):
        return False
    try:
        return trust(text) is not None
    except OSError:
        return False


FOLDERS = f"are folders that end with /, up to {LONGEST_LIST} characters in all"
KEY = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+"
Texts = tuple[Annotated[str, StringConstraints(strip_whitespace=True)], ...]
Receiver = Annotated[str, form(r"https?://[^\s/@]+(/[^\s@]*)?", "is an address, https://…, without user and password")]
Secret = Annotated[str, form(r"(?!arn:)[A-Za-z0-9/_+=.@-]{1,256}", "is the secret's name, not its ARN")]
Positive = Annotated[int, holds(lambda number: number >= 1, "is 1 or more")]


class Config(BaseModel):
    """One installation's choices. Without `nessie_uri` there is a catalog stack. Defaults are not asked for a form."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    name: Annotated[
        str,  # <name>-landing-<account>-<region> has at most 63 characters
        form(r"[a-z][a-z0-9-]{0,26}", "is up to 27 small letters, digits and hyphens, and begins with a letter"),
    ] = "lakegate"
    nessie_uri: Annotated[
        str,
        form(r"https?://[^/\s]+(/\S*)?", "is an address, https://…"),
        holds(
            lambda text: not _WITH_USER.fullmatch(text),
            "is given without user and password, because readers of stack or job would see them",
        ),
        holds(lambda text: not _OF_CLIENTS.fullmatch(text), "is given without /api, and without /iceberg"),
    ] = ""
    nessie_ca: Annotated[
        str,
        holds(_are_certificates, "is the text of authorities' certificates, -----BEGIN CERTIFICATE-----…, and no more"),
    ] = ""
    warehouse: str = "lake"
    token_audience: Annotated[
        str, form(r"[A-Za-z0-9._:/-]{1,128}", "is up to 128 letters, digits and characters of ._:/-")
    ] = ""
    token_issuer: Annotated[
        str,
        form(
            r"https://[^\s/@]+(/\S*)?", "is the address of the account's STS issuer, or of the OIDC issuer, https://…"
        ),
    ] = ""
    token_endpoint: Annotated[
        str,
        form(r"https://[^\s/@?#]+/[^\s?#]*", "is the address at which the OIDC issuer gives tokens, https://…/token"),
    ] = ""
    token_scope: Annotated[
        str,  # RFC 6749's characters
        form(
            r"(?!.{257})[!#-\[\]-~]+( [!#-\[\]-~]+)*", "is the scopes that clients ask for, with one space between two"
        ),
    ] = ""
    token_claim: Annotated[
        str, form(r"[A-Za-z0-9_-]{1,64}", "is the name of the claim that has the client's id, such as client_id")
    ] = ""
    token_clients: Texts = ()
    nessie_image: Annotated[
        str,
        form(
            r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[\w.-]+)?@sha256:[0-9a-f]{64}",
            "is <registry>/<name>@sha256:<digest>: a tag alone may become another image by tomorrow",
        ),
    ] = ""
    catalog_size: Annotated[str, one_of(SIZES)] = "dev"
    catalog_host: Annotated[
        str,
        form(
            r"(?!.{254})([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}",
            "is a host's name in small letters, nessie.example.com",
        ),
    ] = ""
    catalog_certificate: Annotated[
        str,
        form(
            r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+",
            "is the ARN of a certificate in ACM, arn:aws:acm:…",
        ),
    ] = ""
    catalog_zone: Annotated[str, form(r"Z[A-Z0-9]{1,31}", "is the id of a hosted zone in Route 53, Z…")] = ""
    vpc: Annotated[str, form(r"create|vpc-[0-9a-f]+", "is create, or the id of a VPC, vpc-…")] = ""
    azs: Annotated[
        Texts,
        holds(
            lambda zones: len(set(zones)) > 1,
            "names two availability zones at least, because a load balancer needs two",
        ),
    ] = ()
    slack_secret: Secret = ""
    slack_channel: str = ""
    slack_api: str = ""
    event_bus: Annotated[
        str,
        form(
            r"(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9._/-]{1,256}",
            "is the name or the ARN of an event bus, arn:aws:events:…:event-bus/<name>",
        ),
    ] = ""
    webhook_url: Receiver = ""
    webhook_secret: Secret = ""
    lineage_url: Receiver = ""
    lineage_secret: Secret = ""
    alarm_topic: Annotated[
        str,
        form(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+", "is an SNS topic's ARN, arn:aws:sns:…"),
    ] = ""
    runbook: Annotated[
        str,  # an alarm's description has up to 1,024 characters
        form(r"\S{1,500}", "is the address or path of the runbook's folder, without spaces"),
    ] = "docs/runbook"
    undecided_minutes: Positive = 240
    rejected_percent: Annotated[int, within_bounds(0, 100, "is 0, which is no alarm, to 100")] = 0
    canary_hours: Annotated[
        int, within_bounds(0, LONGEST_CANARY, f"is 0, which is no canary, to {LONGEST_CANARY}, which is six days")
    ] = 0
    architecture: Annotated[str, one_of(ARCHITECTURES)] = "arm64"
    batch_window: Annotated[
        int, within_bounds(0, LONGEST_WINDOW, f"is 0, which is at once, to {LONGEST_WINDOW} seconds")
    ] = 20
    reconcile_minutes: Annotated[int, within_bounds(1, DAY, f"is 1 to {DAY:,}, which is a day")] = 5
    job_timeout_minutes: Annotated[
        int, within_bounds(1, LONGEST_JOB, f"is 1 to {LONGEST_JOB:,}, which is seven days")
    ] = 60
    release: Annotated[str, holds(bundle_of, f"is one whose Spark was tested: {RELEASES}")] = DEFAULT.release
    image: Annotated[
        str,
        form(
            r"[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9][a-z0-9._/-]*"
            r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})",
            "is <account>.dkr.ecr.<region>.amazonaws.com/<repository> with its :<tag> or @<digest>",
        ),
    ] = ""
    spark_conf: Annotated[
        Texts,
        forms(
            r"spark\.[A-Za-z0-9._-]+=.*\S.*",
            "is spark.<name>=<value>,…; one with a comma is given in a settings file, in a list",
        ),
        holds(
            lambda properties: not any(map(_CORE_SETTINGS.fullmatch, properties)),
            "says nothing of cores and numbers of executors: -c vcpus and -c jobs_at_once do",
        ),
        holds(fits, f"has up to {LONGEST_LIST} characters in all"),
    ] = ()
    vcpus: int = 16
    jobs_at_once: Annotated[int, within_bounds(1, MOST_JOBS, f"is 1 to {MOST_JOBS:,}")] = 2
    grace_seconds: int = 120
    compact_after_days: Annotated[
        int,
        holds(
            lambda days: days > INCOMPLETE_UPLOAD_DAYS,
            f"is over {INCOMPLETE_UPLOAD_DAYS}: S3 dates an upload in parts by its start",
        ),
    ] = 14
    attempts: Positive = 3
    audit_tables: bool = False
    express: bool = True
    express_megabytes: Annotated[
        int, within_bounds(1, MOST_EXPRESS, f"is 1 to {MOST_EXPRESS}; with -c express=false Spark runs every batch")
    ] = 32
    uploaders: Annotated[
        Texts,
        forms(
            r"arn:aws[a-z-]*:iam::[0-9]{12}:(root|(role|user)/[A-Za-z0-9+,.@_/-]+)"
            r"(=([A-Za-z0-9+.@_-]+/)+)?",  # a prefix: without IAM's wildcards and variables, which begin with * ? $
            "are ARNs of accounts, roles or users, each alone or with a prefix that ends with /: "
            "arn:aws:iam::<account>:root=<prefix>/,…",
        ),
        holds(_are_whole_or_below_prefixes, "names nobody both with and without a prefix"),
        holds(_are_of_other_accounts, "names nobody else of an account that has a prefix, which holds for all of it"),
    ] = ()
    landing_days: int = 0  # 0: for ever
    landing_bucket: Annotated[str, form(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "is a bucket's name")] = ""
    landing_prefixes: Annotated[
        Texts,
        forms(r"([A-Za-z0-9+.@_=-]+/)+", FOLDERS),  # without wildcards and variables of IAM, and without commas
        holds(fits, FOLDERS),
    ] = ()
    kms_key: Annotated[
        str,
        form(
            f"create|{KEY}",
            "is create, or the ARN of a key, arn:aws:kms:…:key/…, because an alias may become another key",
        ),
    ] = ""
    upload_keys: Annotated[Texts, forms(KEY, "are ARNs of keys, arn:aws:kms:…:key/…")] = ()
    ephemeral: bool = False
    subnets: Texts = ()
    security_groups: Texts = ()

    @model_validator(mode="before")
    @classmethod
    def _given(cls, values: dict[str, object]) -> dict[str, object]:
        """Return the values without those that are empty, for which the defaults stand. A file gives a list."""
        whole = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return {name: value for name, value in whole.items() if value not in (None, "", ())}

    @classmethod
    def read(cls, look_up: Callable[[str], object], region: str = "") -> Self:
        """Read the context. Raise Misconfigured with everything that is wrong at once. `region` is the stack's, if
        known.
        """
        config, wrong = cls.parse(context_values(look_up))
        faults = [f"-c {name} {words}" for name, words in wrong.items()]
        if faults := [*faults, *config.faults(region, wrong)]:
            raise Misconfigured("; ".join(faults))
        return config

    @classmethod
    def parse(cls, values: Mapping[str, object], *, strict: bool = False) -> tuple[Self, dict[str, str]]:
        """Return the choices, and by its name what each wrong value should be. A wrong text is one that is given for
        others, and for other wrong values the default stands in. `strict` takes no text for a number.
        """
        try:
            return cls.model_validate(values, strict=strict), {}
        except ValidationError as error:
            wrong = {str(fault["loc"][0]): _words(fault) for fault in error.errors()}
        rest = {name: value for name, value in values.items() if name not in wrong}
        wrong_texts = {name: values[name] for name in wrong if {str} == {type(values[name]), type(DEFAULTS.get(name))}}
        return cls.model_validate(rest, strict=strict).model_copy(update=wrong_texts), wrong

    def faults(self, region: str = "", wrong: Collection[str] = ()) -> list[str]:
        """Return the faults of these choices together, but for those that name one which is `wrong` by itself. A text
        names each setting that it is about as `-c <name>`, by which a settings file finds its line.
        """
        texts = combination_faults(self, region)
        return [text for text in texts if not set(wrong).intersection(SETTING_NAME.findall(text))]

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
        return {name: value for name, _, value in (text.partition("=") for text in self.spark_conf)}

    @property
    def prefixes(self) -> dict[str, set[str]]:
        return prefixes(self.uploaders)

    @property
    def needed_days(self) -> int:
        """Return the least number of days for which the landing bucket must keep a file. A retry needs the file for as
        long as a contract keeps a rejected batch's branch by default, and the sweep for as long as receipts are
        on main.
        """
        return max(BRANCH_DAYS, self.compact_after_days + 1)


DEFAULTS = {name: field.default for name, field in Config.model_fields.items()}


def context_values(look_up: Callable[[str], object]) -> dict[str, object]:
    """Return what the command line or cdk.json gives. A list is a text with commas there."""
    values = {name: look_up(name) for name in DEFAULTS}
    return {
        name: value.split(",") if isinstance(value, str) and isinstance(DEFAULTS[name], tuple) else value
        for name, value in values.items()
        if value not in (None, "")
    }


def _words(fault: ErrorDetails) -> str:
    name = str(fault["loc"][0])
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if name in DEFAULTS:
        return f"is {TYPES[type(DEFAULTS[name])]}"
    near = get_close_matches(name, DEFAULTS, n=1)
    return "is no setting" + (f": did you mean {near[0]}?" if near else "")
