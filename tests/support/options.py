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
OF_TESTS = {"slack_api", "ephemeral"}  # for the local cloud alone
HEAD = """# Settings

Each environment has one TOML file with its settings, and `lakegate deploy` takes that file ([Deploy](../how-to/deploying.md)). Nothing in it is secret, so keep it in version control. If you use the cdk command, name the file by `-c settings=…`. A setting given as `-c name=value` has precedence over the file; write a list with commas there.

The file is checked whole before anything is made, and every fault is told with its line.

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
        option(
            "architecture",
            "the processors of the functions: `arm64`, whose time costs a fifth less, or `x86_64`. Jobs are not asked "
            "([Costs](../explanation/costs.md))",
        ),
    ],
    "Nessie": [
        option("nessie_uri", "Nessie's address, https://…, without `/api`", "none: there is a catalog stack"),
        option("warehouse", "the warehouse's name in Nessie"),
        option(
            "nessie_ca",
            "the text of the certificates of authorities that Nessie's may be of, in PEM "
            "([Trust a certificate](../how-to/certificate.md))",
            "none: the usual authorities alone",
        ),
        option(
            "nessie_image catalog_size",
            "for a catalog stack: Nessie's image by its digest, and `dev` or `prod` "
            "([The catalog stack](../how-to/catalog.md#sizes))",
        ),
        option(
            "catalog_host catalog_zone catalog_certificate",
            "for a catalog stack: Nessie's name, and either the id of the public zone that it is in, or the ARN of its "
            "certificate",
        ),
        option(
            "vpc azs",
            "for a catalog stack: `create` or the id of a VPC, and zones in it "
            "([The catalog stack](../how-to/catalog.md#before-the-first-deployment))",
        ),
    ],
    "Identities": [
        option(
            "token_audience",
            "the audience of the tokens by which Nessie knows each role. A catalog stack needs it, unless an OIDC "
            "issuer has clients, and has the rules; a Nessie of yours needs rules, and an `https://` address "
            "([Identities and rights](../how-to/identities.md))",
            "none: no identities",
        ),
        option(
            "token_issuer",
            "for a catalog stack: the address of the account's STS issuer, or of the OIDC issuer, https://…",
        ),
        option(
            "token_endpoint token_scope token_claim token_clients",
            "the address at which an OIDC issuer gives tokens, the scopes that are asked for, the claim that has a "
            "client's id (for a catalog stack), and a client for each role, `<role>=<client id>:<secret's name>` "
            "([Clients of an OIDC issuer](../how-to/identities.md#clients-of-an-oidc-issuer))",
            "none: tokens come from AWS STS",
        ),
    ],
    "People": [
        option(
            "slack_secret slack_channel",
            "the name of the Secrets Manager secret whose whole text is the bot token, and the channel. Invite the bot "
            "to it",
            "none: messages go to the functions' logs alone, and count as told; what a command tells is not kept",
        ),
        option(
            "event_bus",
            "the name or the ARN of an EventBridge bus, in the region of the stack, that is told of what is published "
            "and rejected ([Tell other systems](../how-to/events.md))",
            "none",
        ),
        option(
            "webhook_url webhook_secret",
            "the address of a webhook that is told the same, and the name of the Secrets Manager secret with the key "
            "that signs it ([Tell other systems](../how-to/events.md#a-webhook))",
            "none",
        ),
        option(
            "lineage_url lineage_secret",
            "the address of a receiver of OpenLineage's events, and the name of the secret with its API key "
            "([Tell other systems](../how-to/events.md#openlineage))",
            "none; no key",
        ),
        option(
            "alarm_topic",
            "the ARN of an SNS topic, in the region of the stack, that hears when an alarm goes off and when it ends. "
            "Each alarm has a page in the [runbook](../runbook/index.md). A new installation may tell first that no "
            "sweep has run yet",
            "none: nobody hears of alarms",
        ),
        option(
            "runbook",
            "the address of the folder with the alarms' pages, as it stands in each alarm's description",
        ),
        option(
            "undecided_minutes",
            "an alarm goes off when a file that a contract routes has waited for its decision for so long",
        ),
        option(
            "rejected_percent",
            "an alarm goes off when so many of a hundred files that were decided within an hour were rejected",
            "none: no alarm",
        ),
        option(
            "canary_hours",
            "a small file of lakegate's own lands every so many hours, up to 144, and an alarm goes off when none has "
            "reached `main` in that time and an hour. Each costs a Spark job: with 6, about $1.60 a month, and less "
            "than $1 of metrics and an alarm ([Canary](../how-to/canary.md))",
            "none: no canary",
        ),
    ],
    "Files and jobs": [
        option(
            "batch_window",
            "the longest, in seconds, that a file waits for others of its table to become one batch: up to 300. A "
            "small file of a quiet table starts at once and does not wait; files that go to Spark, and those that land "
            "while an attempt of their table is under way, do "
            "([The life of a file](lifecycle.md#waiting-for-company))",
        ),
        option("reconcile_minutes", "how often the sweep runs: 1 to 1,440, which is a day"),
        option(
            "grace_seconds",
            "more than `batch_window`: how long an event is waited for before the sweep takes a file up, and how long "
            "the attempt after a crash waits",
        ),
        option(
            "attempts",
            "how many attempts in a row may crash or run for too long before a file alone is rejected; one whose job "
            "never came to its files does not count",
        ),
        option(
            "audit_tables",
            "what each audit finds becomes rows of a table, `_audits.<namespace>_<table>`, in the commit that "
            "publishes or rejects its files ([Query audits](../how-to/query-audits.md))",
        ),
        option("job_timeout_minutes", "when a Spark job is given up: up to 10,080, which is seven days"),
        option(
            "express express_megabytes",
            "small batches are audited in a function, within seconds and for a fraction of a cent, and Spark gets "
            "those that have more megabytes, up to 64, or that only Spark can audit; with `false`, Spark gets all. A "
            "contract may say otherwise for its table, by `engine` ([Every word](contract-words.md))",
        ),
        option(
            "vcpus",
            "how many vCPUs all jobs together may use; an account's quota is 16 until it is raised. A job has a driver "
            "of two, and as many executors of two as its share allows",
        ),
        option(
            "jobs_at_once",
            "how many Spark jobs run at a time; jobs of the express lane do not count. While a table has its share of "
            "them, its files gather to one batch",
        ),
        option(
            "release",
            "the release of EMR Serverless: `emr-spark-8.1.…` or `8.2.…`, which have Spark 4.1, or `emr-7.…`, which "
            "has Spark 3.5 ([EMR's image](../how-to/emr-image.md))",
        ),
        option(
            "image",
            "an image of that release in Amazon ECR, `<account>.dkr.ecr.<region>.amazonaws.com/<repository>:<tag>`, in "
            "the stack's region ([EMR's image](../how-to/emr-image.md))",
            "none: the release's own",
        ),
        option(
            "spark_conf",
            "properties of Spark for every job, `spark.<name>=<value>,…`, which override lakegate's defaults; up to "
            "512 characters. Cores and numbers of executors follow from `vcpus` "
            "([EMR's image](../how-to/emr-image.md))",
        ),
    ],
    "Storage": [
        option(
            "uploaders",
            "ARNs of accounts, roles or users that may upload to the landing bucket; with a prefix, "
            "`<arn>=<prefix>/`, below that alone ([Let vendors upload](../how-to/identities.md#vendors-who-upload))",
            "none: who has rights in the stack's own account",
        ),
        option(
            "landing_days",
            "after how many days what landed is deleted from the landing bucket: 30 or more, and more than "
            "`compact_after_days` ([Costs](../explanation/costs.md#what-costs-money))",
            "none: for ever",
        ),
        option(
            "landing_bucket landing_prefixes",
            "the name of a bucket that is there, and the folders in it, each with its `/`, that are the installation's "
            "([A landing bucket that is there](../how-to/landing-bucket.md))",
            "none: the stack makes one",
        ),
        option(
            "compact_after_days",
            "more than 7: how long a receipt stays on Nessie's `main` before it is moved to the archive in the "
            "service's bucket, where it is known for ever: merges slow down with what `main` holds (about 6 ms a "
            "thousand receipts)",
        ),
        option(
            "kms_key",
            "`create`, or the ARN of a key of KMS, under which buckets, queues, logs and secrets lie "
            "([Encrypt with a key of your own](../how-to/encryption.md))",
            "none: AWS's own keys",
        ),
        option(
            "upload_keys",
            "ARNs of further keys that uploads may lie under, such as a vendor's own "
            "([Uploads under a key](../how-to/encryption.md#uploads-under-a-key))",
        ),
    ],
    "Network": [
        option(
            "subnets security_groups",
            "where functions and jobs run: private subnets with a way to Nessie, S3, EMR Serverless, Lambda, Secrets "
            "Manager and Slack ([Give functions and jobs a way out](../how-to/network.md)). They have to be given with "
            "`nessie_uri`: by itself EMR Serverless reaches nothing but AWS, so not Nessie",
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
    option("batch_window reconcile_minutes grace_seconds audit_tables", "as the installation's settings of that name"),
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
    return f"`{value}`" if value else ""


def table(rows: list[Option], shown: Callable[[str], str] = str) -> str:
    lines = [f"| {', '.join(f'`{shown(name)}`' for name in it.names)} | {default(it)} | {it.what} |" for it in rows]
    return "\n".join(["| setting | default | what it is |", "|---|---|---|", *lines])


def page() -> str:
    parts = [f"## {title}\n\n{table(rows)}\n" for title, rows in PARTS.items()]
    return "\n".join([HEAD, *parts, LOCAL_HEAD, f"{table(LOCAL, variable)}\n"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
