"""docs/reference/settings.md: every setting of an installation with its default, which is the code's own.

`python -m tests.support.options` writes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from lakegate_local.settings import LocalSettings, variable

from infra.config import DEFAULTS

PAGE = Path(__file__).parents[2] / "docs/reference/settings.md"
OF_TESTS = {"ephemeral"}
HEAD = """# Settings

Each environment has one TOML file with its settings, and `lakegate deploy` takes that file ([Deploy](../how-to/deploying.md)). Nothing in it is secret, so keep it in version control. The cdk command takes it by `-c settings=…` once it has what `lakegate deploy` fills in: the digest of `catalog.image`, `catalog.certificate` and `token.issuer`.

`spark.vcpus` is the key `vcpus` in the table `[spark]`. 0 turns off what a number is for, and is refused where nothing can be turned off. The file is checked whole before anything is made, and every fault is told with its line.

`make reference` writes this page from the code.
"""  # noqa: E501 - a line of the page


@dataclass(frozen=True, kw_only=True)
class Option:
    """Settings that go together, with what they are. `without` says what holds where none is given."""

    names: tuple[str, ...]
    what: str
    without: str = ""


def option(names: str, what: str, without: str = "") -> Option:
    return Option(names=tuple(names.split()), what=what, without=without)


PARTS: dict[str, list[Option]] = {
    "The installation": [
        option(
            "name",
            "the stacks' name and the buckets' prefix, up to 27 small letters, digits and hyphens. The command line "
            "finds another one than the default by `--installation NAME`",
        ),
    ],
    "Nessie": [
        option(
            "nessie.uri",
            "Nessie's address, https://…, without `/api`; beside a setting of `catalog`, https:// and the name that "
            "Nessie is to have",
            "none: a catalog stack, `<name>-nessie.internal`",
        ),
        option(
            "nessie.ca",
            "the text of the certificates of authorities that Nessie's may be of, in PEM "
            "([Trust a certificate](../how-to/certificate.md))",
            "none: the usual authorities alone",
        ),
        option(
            "catalog.image catalog.size",
            "Nessie's image, whose tag a deployment pins to a digest, and `dev` or `prod` "
            "([The catalog stack](../how-to/catalog.md#sizes))",
            "Nessie 0.99.0; `dev`",
        ),
        option(
            "catalog.certificate",
            "for a catalog stack: the ARN of a certificate for Nessie's name, or the id of the public zone that the "
            "name is in",
            "none: one of a private authority",
        ),
    ],
    "Identities": [
        option(
            "token.audience",
            "the audience of the tokens by which Nessie knows each role. A Nessie of yours needs rules, and an "
            "`https://` address ([Identities and rights](../how-to/identities.md))",
            "`lakegate` with a catalog stack, else none: no identities",
        ),
        option(
            "token.issuer",
            "for a catalog stack: the address of the account's STS issuer, or of the OIDC issuer, https://…",
            "the account's, of which a deployment asks",
        ),
        option(
            "token.endpoint token.scope token.claim token.clients",
            "the address at which an OIDC issuer gives tokens, the scopes that are asked for, the claim that has a "
            "client's id (for a catalog stack), and a client for each role, `<role>=<client id>:<secret's name>` "
            "([Clients of an OIDC issuer](../how-to/identities.md#clients-of-an-oidc-issuer))",
            "none: tokens come from AWS STS",
        ),
    ],
    "Network": [
        option(
            "network.subnets network.security_groups",
            "where functions and jobs run: private subnets with a way to Nessie, S3, EMR Serverless, Lambda, Secrets "
            "Manager and Slack ([Give functions and jobs a way out](../how-to/network.md)). A Nessie of yours needs "
            "them: by itself EMR Serverless reaches nothing but AWS",
        ),
        option(
            "network.vpc network.zones",
            "for a catalog stack: the range of a new VPC, such as `10.20.0.0/16`, or the id of one, and zones in it "
            "([The catalog stack](../how-to/catalog.md#before-the-first-deployment))",
            "`create`, which is 10.0.0.0/16; two zones",
        ),
    ],
    "People": [
        option(
            "slack.secret slack.channel",
            "the name of the Secrets Manager secret whose whole text is the bot token (for GovSlack followed by a "
            "space and `https://slack-gov.com/api/`), and the channel. Invite the bot to it",
            "none: messages go to the functions' logs alone, and count as sent; what a command tells is not kept",
        ),
        option(
            "event.bus",
            "the name or the ARN of an EventBridge bus, in the region of the stack, that gets what is published "
            "and rejected ([Tell other systems](../how-to/events.md))",
            "none",
        ),
        option(
            "event.webhook_url event.webhook_secret",
            "the address of a webhook that is told the same, and the name of the Secrets Manager secret with the key "
            "that signs it ([Tell other systems](../how-to/events.md#a-webhook))",
            "none",
        ),
        option(
            "event.lineage_url event.lineage_secret",
            "the address of a receiver of OpenLineage's events, and the name of the secret with its API key "
            "([Tell other systems](../how-to/events.md#openlineage))",
            "none; no key",
        ),
        option(
            "alarm.topic",
            "the ARN of an SNS topic, in the region of the stack, that hears when an alarm goes off and when it ends. "
            "Each alarm has a page in the [runbook](../runbook/index.md). A new installation may tell first that no "
            "sweep has run yet",
            "none: nobody hears of alarms",
        ),
        option(
            "alarm.canary_hours",
            "a small file of lakegate's own lands every so many hours, up to 144, and an alarm goes off when none has "
            "reached `main` in that time and an hour. Each costs a batch, and metrics and an "
            "alarm less than $1 a month ([Canary](../how-to/canary.md))",
            "`0`",
        ),
    ],
    "Files": [
        option(
            "landing.uploaders",
            "ARNs of accounts, roles or users that may upload to the landing bucket; with a prefix, "
            "`<arn>=<prefix>/`, below that alone ([Let vendors upload](../how-to/identities.md#vendors-who-upload))",
            "none: who has rights in the stack's own account",
        ),
        option(
            "landing.keep_days",
            "after how many days what landed is deleted from the landing bucket: 30 or more "
            "([Costs](../explanation/costs.md#what-costs-money))",
            "`0`: for ever",
        ),
        option(
            "landing.folders",
            "the folders of a bucket that is there that are the installation's, `s3://<bucket>/<folder>/` "
            "([A landing bucket that is there](../how-to/landing-bucket.md))",
            "none: the stack makes a bucket",
        ),
        option(
            "kms.key",
            "`create`, or the ARN of a key of KMS, under which buckets, queues, logs and secrets lie "
            "([Encrypt with a key of your own](../how-to/encryption.md))",
            "none: AWS's own keys",
        ),
        option(
            "kms.upload_keys",
            "ARNs of further keys that uploads may lie under, such as a vendor's own "
            "([Uploads under a key](../how-to/encryption.md#uploads-under-a-key))",
        ),
    ],
    "Rights": [
        option(
            "role.boundary",
            "the ARN of a policy that every role of the stacks has as its permissions boundary "
            "([What a security review asks](../explanation/security-review.md))",
            "none",
        ),
    ],
    "Batches and jobs": [
        option(
            "batch.window_seconds",
            "the longest that a file waits for others of its table to become one batch: up to 300. A "
            "small file of a quiet table starts at once and does not wait; files that go to Spark, and those that land "
            "while an attempt of their table is under way, do "
            "([The life of a file](lifecycle.md#waiting-for-company))",
        ),
        option(
            "batch.express_megabytes",
            "batches up to this size, at most 64, are audited in a function, within seconds and for a fraction of a "
            "cent, if they can be; Spark gets the others, and with 0 all. A contract may say otherwise for its table, "
            "by `engine` ([Every word](contract-words.md))",
        ),
        option(
            "batch.audit_tables",
            "what each audit finds becomes rows of a table, `_audits.<namespace>_<table>`, in the commit that "
            "publishes or rejects its files ([Query audits](../how-to/query-audits.md))",
        ),
        option(
            "spark.timeout_minutes",
            "when a Spark job is given up: up to 10,080, which is seven days. An alarm goes off when a file that a "
            "contract routes has waited for its decision four times as long",
        ),
        option(
            "spark.vcpus",
            "how many vCPUs all jobs together may use; an account's quota is 16 until it is raised. A job has a driver "
            "of two, and as many executors of two as its share allows",
        ),
        option(
            "spark.jobs_at_once",
            "how many Spark jobs run at a time; jobs of the express lane do not count. While a table has its share of "
            "them, its files gather to one batch",
        ),
        option(
            "spark.release",
            "the release of EMR Serverless: `emr-spark-8.1.…` or `8.2.…`, which have Spark 4.1, or `emr-7.…`, which "
            "has Spark 3.5 ([EMR's image](../how-to/emr-image.md)). With `-arm64` at its end, jobs run on ARM64, which "
            "costs a fifth less; none has yet, and the probe of `lakegate deploy` is the first",
        ),
        option(
            "spark.image",
            "an image of that release in Amazon ECR, `<account>.dkr.ecr.<region>.amazonaws.com/<repository>:<tag>`, in "
            "the stack's region ([EMR's image](../how-to/emr-image.md))",
            "none: the release's own",
        ),
        option(
            "spark.conf",
            "a list of Spark's properties for every job, `spark.<name>=<value>`, which override lakegate's defaults; "
            "up to 512 characters. Cores and numbers of executors follow from `spark.vcpus` "
            "([EMR's image](../how-to/emr-image.md))",
        ),
    ],
}


LOCAL = [
    option("port nessie_port nessie_management_port slack_port", "the ports, on 127.0.0.1 alone, of LocalStack, of "
           "Nessie and its management, and of the Slack stand-in"),
    option("nessie_heap driver_memory", "the heaps of Nessie and of a Spark driver"),
    option("nessie_store", "`ROCKSDB` survives the end of Nessie's process, but no new start"),
    option("parallel_jobs", "how many Spark jobs run at once"),
    option("minute_seconds", "how long a minute of a job's time-out, of a rule's `rate(1 minute)` and of Lambda's wait "
           "before it calls a failed function again is; shorter in tests"),
    option("batch_window audit_tables", "as `batch.window_seconds` and `batch.audit_tables`"),
    option("slack_token slack_channel", "with the token of a bot, the real Slack is told, in that channel",
           "none: the stand-in; `#lakegate`"),
    option("stack", "the installation's name"),
    option("run profile", "the folder of its logs and data, which must be its own, because what is in it is removed, "
           "and the file by which commands find it. Give both, and ports, to a second local cloud",
           "`.local/run`; `.lakegate.env`"),
]  # fmt: skip
LOCAL_DEFAULTS = {field.name: field.default for field in fields(LocalSettings) if field.name != "home"}
LOCAL_HEAD = """## The local cloud

`lakegate local up` takes environment variables and no file. It refuses other names that begin with `LAKEGATE_LOCAL_`. Paths are of the checkout, or for an installed lakegate of `~/.cache/lakegate`.
"""  # noqa: E501 - a line of the page


def default(it: Option) -> str:
    """Return what holds where the settings are not given: the code's value, or the words for none."""
    known = LOCAL_DEFAULTS if it in LOCAL else DEFAULTS
    said = [_value(known[name]) for name in it.names]
    return it.without or "; ".join(said if any(said) else []) or "none"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`" if value or value == 0 else ""


def table(rows: list[Option], shown: Callable[[str], str] = str) -> str:
    lines = [f"| {', '.join(f'`{shown(name)}`' for name in it.names)} | {default(it)} | {it.what} |" for it in rows]
    return "\n".join(["| setting | default | what it is |", "|---|---|---|", *lines])


def page() -> str:
    parts = [f"## {title}\n\n{table(rows)}\n" for title, rows in PARTS.items()]
    return "\n".join([HEAD, *parts, LOCAL_HEAD, f"{table(LOCAL, variable)}\n"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
