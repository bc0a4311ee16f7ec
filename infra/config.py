"""An installation's settings, as its settings file has them in tables. It knows no AWS resources."""

import platform
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from infra.catalog.sizes import SIZES
from infra.combinations import combination_faults
from lakegate.audit.bounded_http import trust
from lakegate.bundles import DEFAULT, RELEASES, bundle_of
from lakegate.contracts import BRANCH_DAYS
from lakegate.settings import COMPACT_AFTER_DAYS, WORKER_CORES

PYTHON = "3.13"  # of the functions
ARM64 = "arm64"  # as Lambda names it; its time costs a fifth less
MACHINE = {"aarch64": ARM64}.get(platform.machine(), platform.machine())
LONGEST_WINDOW = 300  # seconds
INCOMPLETE_UPLOAD_DAYS = 7
NEEDED_DAYS = max(BRANCH_DAYS, COMPACT_AFTER_DAYS + 1)  # of a landed file: retries, and the sweep, read it for so long
MOST_JOBS, LONGEST_JOB = 1000, 7 * 24 * 60  # EMR Serverless's limits: concurrent runs, minutes
MOST_EXPRESS = 64  # megabytes of a batch, which is what the engine takes
LONGEST_CANARY = 6 * 24  # hours; an alarm looks back seven days
LONGEST_LIST = 512  # characters; all of a function's environment has 4,096 bytes
CREATE, USUAL_RANGE = "create", "10.0.0.0/16"  # of a VPC that the stack makes
WIDEST, NARROWEST = 16, 24  # prefixes of its range: AWS's limit, and the least in which two zones have room
PRIVATE_RANGES = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))  # RFC 1918
TYPES = {bool: "true or false", int: "a whole number", str: "text in quotes", tuple: "a list of texts, in brackets"}
GRACE_SECONDS = {False: 100, True: 15}  # beyond a batch's window, for events on their way; less if ephemeral, for tests
SWEEP_MINUTES = {False: 5, True: 1}  # between two sweeps; less if ephemeral
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


def label_of(release: str) -> str:
    """Return EMR Serverless's own label of a release, which the setting has with `-arm64` for the other processor."""
    return release.removesuffix(f"-{ARM64}")


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


def split(folder: str) -> tuple[str, str]:
    """Return the bucket of s3://<bucket>/<folder>/, and the folder."""
    bucket, _, prefix = folder.removeprefix("s3://").partition("/")
    return bucket, prefix


def _are_of_one_bucket(folders: Iterable[str]) -> bool:
    buckets, folder_list = zip(*map(split, folders), strict=True)
    return len({*buckets}) == 1 and fits(folder_list)


def setting_name(field: str) -> str:
    """Return a field's name as a settings file has it, its table and its key in that: `spark_conf` → spark.conf."""
    return field.replace("_", ".", 1)


def _are_certificates(text: str) -> bool:
    if not _PEM.fullmatch(text):
        return False
    try:
        return trust(text) is not None
    except OSError:
        return False


def private_range(text: str) -> IPv4Network | None:
    """Return the range of a VPC that nobody on the internet has, or None for another text."""
    try:
        network = IPv4Network(text)
    except ValueError:
        return None
    is_private = any(network.subnet_of(private) for private in PRIVATE_RANGES)
    return network if is_private and WIDEST <= network.prefixlen <= NARROWEST else None


FOLDERS = f"are folders of one bucket, s3://<bucket>/<folder>/, up to {LONGEST_LIST} characters in all"
KEY = r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+"
Texts = tuple[str, ...]
Receiver = Annotated[str, form(r"https?://[^\s/@]+(/[^\s@]*)?", "is an address, https://…, without user and password")]
Secret = Annotated[str, form(r"(?!arn:)[A-Za-z0-9/_+=.@-]{1,256}", "is the secret's name, not its ARN")]


class Config(BaseModel):
    """One installation's settings: a field's first word is its table. With `catalog_image` there is a catalog stack.
    Defaults are not asked for a form. A number that may be 0 turns off what it is for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=setting_name, populate_by_name=True)

    name: Annotated[
        str,  # <name>-landing-<account>-<region> has at most 63 characters
        form(r"[a-z][a-z0-9-]{0,26}", "is up to 27 small letters, digits and hyphens, and begins with a letter"),
    ] = "lakegate"
    ephemeral: bool = False
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
    catalog_image: Annotated[
        str,
        form(
            r"[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+(:[\w.-]+|(:[\w.-]+)?@sha256:[0-9a-f]{64})",
            "is <registry>/<name> with its :<tag> or @sha256:<digest>",
        ),
    ] = ""
    catalog_size: Annotated[str, one_of(SIZES)] = "dev"
    catalog_certificate: Annotated[
        str,
        form(
            r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[A-Za-z0-9-]+|Z[A-Z0-9]{1,31}",
            "is the ARN of a certificate in ACM, arn:aws:acm:…, or the id of the host's public zone in Route 53, Z…",
        ),
    ] = ""
    token_audience: Annotated[
        str, form(r"[A-Za-z0-9._:/-]{1,128}", "is up to 128 letters, digits and characters of ._:/-")
    ] = ""
    token_issuer: Annotated[
        str,
        form(
            r"https?://[^\s/@]+(/\S*)?", "is the address of the account's STS issuer, or of the OIDC issuer, https://…"
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
    network_vpc: Annotated[
        str,
        holds(
            lambda text: text == CREATE or re.fullmatch(r"vpc-[0-9a-f]+", text) or private_range(text),
            f"is create, a new VPC's private range (/{WIDEST} to /{NARROWEST}), or the id of one, vpc-…",
        ),
    ] = ""
    network_zones: Annotated[
        Texts,
        holds(
            lambda zones: len(set(zones)) > 1,
            "names two availability zones at least, because a load balancer needs two",
        ),
    ] = ()
    network_subnets: Texts = ()
    network_security_groups: Texts = ()
    slack_secret: Secret = ""
    slack_channel: str = ""
    event_bus: Annotated[
        str,
        form(
            r"(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9._/-]{1,256}",
            "is the name or the ARN of an event bus, arn:aws:events:…:event-bus/<name>",
        ),
    ] = ""
    event_webhook_url: Receiver = ""
    event_webhook_secret: Secret = ""
    event_lineage_url: Receiver = ""
    event_lineage_secret: Secret = ""
    alarm_topic: Annotated[
        str,
        form(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]+", "is an SNS topic's ARN, arn:aws:sns:…"),
    ] = ""
    alarm_canary_hours: Annotated[
        int, within_bounds(0, LONGEST_CANARY, f"is 0, which is no canary, to {LONGEST_CANARY}, which is six days")
    ] = 0
    landing_folders: Annotated[
        Texts,
        # Without wildcards and variables of IAM, and without commas.
        forms(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/([A-Za-z0-9+.@_=-]+/)*", FOLDERS),
        holds(_are_of_one_bucket, FOLDERS),
    ] = ()
    landing_uploaders: Annotated[
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
    landing_keep_days: Annotated[
        int, holds(lambda days: days == 0 or days >= NEEDED_DAYS, f"is 0, which is for ever, or {NEEDED_DAYS} or more")
    ] = 0
    kms_key: Annotated[
        str,
        form(
            f"create|{KEY}",
            "is create, or the ARN of a key, arn:aws:kms:…:key/…, because an alias may become another key",
        ),
    ] = ""
    kms_upload_keys: Annotated[Texts, forms(KEY, "are ARNs of keys, arn:aws:kms:…:key/…")] = ()
    role_boundary: Annotated[
        str,
        form(r"arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[A-Za-z0-9+=,.@_/-]+", "is a policy's ARN, arn:aws:iam::…"),
    ] = ""
    spark_vcpus: int = 16
    spark_jobs_at_once: Annotated[int, within_bounds(1, MOST_JOBS, f"is 1 to {MOST_JOBS:,}")] = 2
    spark_timeout_minutes: Annotated[
        int, within_bounds(1, LONGEST_JOB, f"is 1 to {LONGEST_JOB:,}, which is seven days")
    ] = 60
    spark_release: Annotated[
        str, holds(lambda release: bundle_of(label_of(release)), f"is one whose Spark was tested: {RELEASES}")
    ] = DEFAULT.release
    spark_image: Annotated[
        str,
        form(
            r"[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9][a-z0-9._/-]*"
            r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}|@sha256:[0-9a-f]{64})",
            "is <account>.dkr.ecr.<region>.amazonaws.com/<repository> with its :<tag> or @<digest>",
        ),
    ] = ""
    spark_conf: Annotated[
        Texts,
        forms(r"spark\.[A-Za-z0-9._-]+=.*\S.*", "is a list of spark.<name>=<value>"),
        holds(
            lambda properties: not any(map(_CORE_SETTINGS.fullmatch, properties)),
            "says nothing of cores and numbers of executors: spark.vcpus and spark.jobs_at_once do",
        ),
        holds(fits, f"has up to {LONGEST_LIST} characters in all"),
    ] = ()
    batch_window_seconds: Annotated[
        int, within_bounds(0, LONGEST_WINDOW, f"is 0, which is at once, to {LONGEST_WINDOW}")
    ] = 20
    batch_express_megabytes: Annotated[
        int, within_bounds(0, MOST_EXPRESS, f"is 0, with which Spark runs every batch, to {MOST_EXPRESS}")
    ] = 32
    batch_audit_tables: bool = False

    @model_validator(mode="before")
    @classmethod
    def _strip(cls, values: dict[str, object]) -> dict[str, object]:
        """Return the values without those that are empty, for which the defaults stand. A file gives a list."""
        whole = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return {name: value for name, value in whole.items() if value not in (None, "", ())}

    @classmethod
    def parse(cls, values: Mapping[str, object]) -> tuple[Self, dict[str, str]]:
        """Return the settings, and by its name what each wrong value should be. A wrong text is one that is given for
        others, and for other wrong values the default stands in.
        """
        try:
            return cls.model_validate(values, strict=True, by_name=False), {}
        except ValidationError as error:
            wrong = {str(fault["loc"][0]): _words(fault) for fault in error.errors()}
        rest = {name: value for name, value in values.items() if name not in wrong}
        wrong_texts = {
            FIELDS[name]: values[name] for name in wrong if {str} == {type(values[name]), type(DEFAULTS.get(name))}
        }
        return cls.model_validate(rest, strict=True, by_name=False).model_copy(update=wrong_texts), wrong

    def faults(self, region: str = "", wrong: Collection[str] = ()) -> list[str]:
        """Return the faults of these settings together, but for those that name one which is `wrong` by itself.
        `region` is the stack's, if known.
        """
        texts = combination_faults(self, region)
        return [text for text in texts if not set(wrong).intersection(names_in(text))]

    def gaps(self) -> list[str]:
        """Return the settings that a catalog stack lacks and `lakegate deploy` fills in."""
        if not self.catalog_image:
            return []
        names = [setting_name(field) for field in ("catalog_certificate", "token_issuer") if not getattr(self, field)]
        return names if "@" in self.catalog_image else ["the digest of catalog.image", *names]

    @property
    def catalog_host(self) -> str:
        return self.nessie_uri.removeprefix("https://").rstrip("/")

    @property
    def creates_vpc(self) -> bool:
        return self.vpc_range is not None

    @property
    def vpc_range(self) -> IPv4Network | None:
        """Return the range of the VPC that the catalog stack makes, or None if it makes none."""
        return private_range(USUAL_RANGE if self.network_vpc == CREATE else self.network_vpc)

    @property
    def architecture(self) -> str:
        """Return the functions' architecture. An ephemeral installation's may run on this machine itself."""
        return MACHINE if self.ephemeral else ARM64

    @property
    def grace_seconds(self) -> int:
        return self.batch_window_seconds + GRACE_SECONDS[self.ephemeral]

    @property
    def executors(self) -> int:
        """Return the maximum of executors per job, beside its driver, so that all jobs together keep to the vCPUs."""
        return self.spark_vcpus // self.spark_jobs_at_once // WORKER_CORES - 1

    @property
    def spark_properties(self) -> dict[str, str]:
        """Return the values of `spark_conf` by name."""
        return {name: value for name, _, value in (text.partition("=") for text in self.spark_conf)}

    @property
    def prefixes(self) -> dict[str, set[str]]:
        return prefixes(self.landing_uploaders)

    @property
    def landing_bucket(self) -> str:
        """Return the bucket that is there, or "" if the stack makes one."""
        return split(self.landing_folders[0])[0] if self.landing_folders else ""

    @property
    def landing_prefixes(self) -> tuple[str, ...]:
        return tuple(prefix for _, prefix in map(split, self.landing_folders) if prefix)


FIELDS = {setting_name(name): name for name in Config.model_fields}  # by the setting's name
DEFAULTS = {name: Config.model_fields[field].default for name, field in FIELDS.items()}
_NAMES = re.compile(rf"(?<![\w.])({'|'.join(re.escape(name) for name in DEFAULTS if '.' in name)})(?!\w)")


def names_in(text: str) -> list[str]:
    """Return the settings that a fault of several is about."""
    return _NAMES.findall(text)


def _words(fault: ErrorDetails) -> str:
    name = str(fault["loc"][0])
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if name in DEFAULTS:
        return f"is {TYPES[type(DEFAULTS[name])]}"
    near = get_close_matches(name, DEFAULTS, n=1)
    return "is no setting" + (f": did you mean {near[0]}?" if near else "")
