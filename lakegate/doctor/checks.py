"""Checks of an installation. They judge facts, and read nothing."""

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from lakegate.audit.model.probe import ProbeReport
from lakegate.bundles import Bundle
from lakegate.counts import count
from lakegate.doctor.facts import LandingBucket, Subnet
from lakegate.doctor.finding import Finding, ok, unknown, wrong
from lakegate.doctor.zones import alternatives
from lakegate.errors import Misconfigured
from lakegate.ports import JobRun
from lakegate.settings import Settings

UPGRADE = "deploy it again: lakegate deploy SETTINGS"
PUT_COMMAND = "aws s3api put-bucket"
OUTPUTS = ("IngestFunction", "SettleFunction", "ReconcileFunction", "LakeBucket")  # beside the settings
TESTED_RELEASE = (0, 99, 0)  # Nessie's release that every test runs with
BROKEN_RELEASES = ((0, 105, 5), (0, 106, 0))  # behind a load balancer, it names addresses that are not its own
NO_EXPORT = ((0, 92, 1), (0, 100, 0))  # the export as a ZIP loses what is in it
UNAUTHORIZED_STATUS = 401
LAST_DAYS = 30  # of a certificate, in which somebody has to renew it
IMAGE = "see docs/how-to/emr-image.md"
READ_LOG = "read its driver's log in the service's bucket, below logs/"
# What a failed run's reason says, and what to do then.
FAILURES = {
    r"Cannot run program|error=2, No such file": f"the image has no {{python}}: {IMAGE}",
    r"(?i)AccessDenied|Forbidden|status code:? 403": f"the job's role lacks a right in S3: {UPGRADE}",
    r"(?i)vCPU|capacity|quota": "the account has no room: have the quota of EMR Serverless raised",
}


def outputs(values: Mapping[str, str]) -> list[Finding]:
    """Judge the stack's outputs."""
    try:
        Settings.from_outputs(values)
    except Misconfigured as error:
        return [wrong("outputs", f"the stack is of another release: {error}", UPGRADE)]
    if missing_names := [name for name in OUTPUTS if not values.get(name)]:
        return [wrong("outputs", f"the stack is of another release: {', '.join(missing_names)} is missing", UPGRADE)]
    return [ok("outputs", "complete")]


def intake(*, is_open: bool) -> list[Finding]:
    """Judge the event source mapping and the rules that call functions."""
    if is_open:
        return [ok("intake", "open: files that land begin jobs")]
    todo = "unless a deployment is under way, open it: lakegate deploy SETTINGS"
    return [wrong("intake", "closed, by hand or by an interrupted deployment: files that land wait", todo)]


def landing_bucket(name: str, bucket: LandingBucket, region: str, keys: Collection[str] | None) -> list[Finding]:
    """Judge the landing bucket. `keys` are those that the functions may use in somebody else's; in one that the stack
    has made they may use its own.
    """
    subject = f"landing bucket {name}"
    if not bucket.is_versioned:
        message = "it keeps no versions, so a file that is replaced may be read in its middle"
        return [
            wrong(
                subject, message, f"{PUT_COMMAND}-versioning --bucket {name} --versioning-configuration Status=Enabled"
            )
        ]
    if not bucket.sends_events:
        message = "it sends no events to EventBridge: each file waits for the sweep"
        return [wrong(subject, message, "see docs/how-to/landing-bucket.md")]
    if region and bucket.region != region:
        message = f"it is in {bucket.region}, and rules see the events of {region} alone"
        return [wrong(subject, message, "take one in the stack's region")]
    if keys is not None and bucket.key and bucket.key not in keys:
        message = f"its default key is {bucket.key}, with which no function may decrypt"
        return [wrong(subject, message, "set kms.key or kms.upload_keys (docs/how-to/encryption.md)")]
    return [ok(subject, "versioned, and sends events")]


def nessie_release(release_text: str) -> list[Finding]:
    """Judge the release that Nessie says it is."""
    release = tuple(map(int, re.findall(r"[0-9]+", release_text)[:3]))
    trap = "; its export as a ZIP is broken: back up its database" if _is_within(release, NO_EXPORT) else ""
    if _is_within(release, BROKEN_RELEASES):
        return [
            wrong("Nessie's release", f"{release_text} breaks behind a load balancer", "run 0.107.0 or a later one")
        ]
    if release == TESTED_RELEASE:
        return [ok("Nessie's release", f"{release_text}, the tested one{trap}")]
    return [unknown("Nessie's release", f"{release_text} was not tried{trap}", "run make test with it, or run 0.99.0")]


def certificate(end: datetime | None, now: datetime) -> list[Finding]:
    """Judge the certificate of a catalog stack's balancer by its end, None if ACM has no such certificate."""
    subject, todo = "certificate", f"{UPGRADE}, which renews one of the installation's own authority"
    if end is None:
        return [wrong(subject, "ACM has none for Nessie's name any more", todo)]
    days = (end - now).days
    message = (
        f"Nessie's ends on {end:%d %B %Y}, in {count(days, 'day')}"
        if days >= 0
        else f"Nessie's ended on {end:%d %B %Y}"
    )
    return [wrong(subject, message, todo)] if days < LAST_DAYS else [ok(subject, message)]


def token(client: str, text: str, audience: str) -> list[Finding]:
    """Judge the token that an OIDC issuer gives a client, by its claims. Nessie alone verifies it."""
    subject, content = "tokens", claims(text)
    if content is None:
        todo = "have the issuer give its access tokens as JWTs (docs/how-to/identities.md)"
        return [wrong(subject, f"{client} gets one that is no JWT, which Nessie cannot verify", todo)]
    claim = content.get("aud", [])
    audiences = claim if isinstance(claim, list) else [claim]
    if audience and audience not in audiences:
        message = f"those of {client} are for {', '.join(map(str, audiences)) or 'no audience'}, and not for {audience}"
        return [
            wrong(
                subject,
                message,
                "have the issuer give them for it, or correct token.audience (docs/how-to/identities.md)",
            )
        ]
    claims_with_id = [name for name, value in content.items() if value == client]
    if not claims_with_id:
        todo = "choose the client's own id for token.clients, or have the issuer put it into a claim"
        return [wrong(subject, f"no claim of those of {client} has its id, so Nessie cannot know it", todo)]
    return [
        ok(subject, f"{client} gets those of {content.get('iss')}, with its id as {' and as '.join(claims_with_id)}")
    ]


def claims(token: str) -> Mapping[str, Any] | None:
    """Return a token's claims, or None if it is no JWT."""
    try:
        _, claims, _ = token.split(".")
        document = json.loads(urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def channel(name: str, *, is_member: bool | None) -> list[Finding]:
    """Judge the channel of messages by what Slack says of the bot there, which is None where it says nothing."""
    subject = "Slack's channel"
    if is_member is None:
        return [unknown(subject, "not tried", f"send a message to {name}, once deployed: lakegate doctor --message")]
    if not is_member:
        return [wrong(subject, f"the bot is not in {name}", "invite it, in Slack: /invite @…")]
    return [ok(subject, f"the bot is in {name}")]


def nessie_strangers(status: int | None) -> list[Finding]:
    """Judge the status with which Nessie answers a call without a token, or None where nobody sends one."""
    if status is None:
        todo = "keep it in a network of its own, or give it identities (docs/how-to/identities.md)"
        return [unknown("strangers", "Nessie is asked without tokens: whoever reaches it may write to main", todo)]
    if status == UNAUTHORIZED_STATUS:
        return [ok("strangers", "Nessie refuses a call without a token")]
    message = f"Nessie answers {status} to a call without a token"
    return [wrong("strangers", message, "set nessie.server.authentication.enabled=true in Nessie")]


def forbidden(subject: str, act: str, *, was_refused: bool) -> list[Finding]:
    """Judge an act that Nessie's rules forbid to this identity."""
    if was_refused:
        return [ok(subject, f"may not {act}")]
    todo = "give Nessie the rules of docs/how-to/identities.md, and no others"
    return [wrong(subject, f"may {act}", todo)]


def function(subject: str, act: str, *, was_refused: bool, has_identity: bool) -> list[Finding]:
    """Judge a function that has reached Nessie, and tried what its role may not where there are identities."""
    reachable = ok(subject, "reaches Nessie")
    return [reachable, *forbidden(subject, act, was_refused=was_refused)] if has_identity else [reachable]


def subnets(all_subnets: Iterable[Subnet], region: str) -> list[Finding]:
    """Judge the subnets of functions and jobs."""
    findings = [finding for subnet in all_subnets for finding in _subnet(subnet, region)]
    todo = "set subnets and security_groups, unless Nessie is at a public address"
    return findings or [unknown("subnets", "none: functions and jobs are in no network of yours", todo)]


def _subnet(subnet: Subnet, region: str) -> list[Finding]:
    name, zones = f"subnet {subnet.id}", alternatives(subnet.zone, region)
    if subnet.zone not in zones:
        return [wrong(name, f"is in {subnet.zone}, where EMR Serverless is not", f"take one in {', '.join(zones)}")]
    if subnet.way_out.startswith("igw-"):
        message = "its default route is an internet gateway, through which functions and jobs reach nothing"
        return [wrong(name, message, "take a private subnet, with a default route to a NAT gateway")]
    if not subnet.way_out:
        message = "no default route: Slack and webhooks are not reached, and AWS only by interface endpoints"
        return [unknown(name, message, "see docs/how-to/network.md for the endpoints that are needed")]
    if not subnet.reaches_s3:
        todo = "add a gateway endpoint for S3 to its route table, which is free"
        return [wrong(name, "S3 has no gateway endpoint: every byte of data pays for the NAT gateway", todo)]
    return [ok(name, f"in {subnet.zone}, out by {subnet.way_out}, S3 by its gateway endpoint")]


def quota(vcpus: float, vcpus_needed: int) -> list[Finding]:
    """Judge the account's vCPUs against those that all jobs together may use."""
    if vcpus_needed <= vcpus:
        return [ok("vCPUs", f"{vcpus_needed} of the account's {vcpus:g}")]
    message = f"jobs may use {vcpus_needed}, and the account has {vcpus:g}: a job that gets no executors crashes"
    return [wrong("vCPUs", message, f"have the quota of EMR Serverless raised, or set spark.vcpus to {vcpus:g}")]


def probe(run: JobRun, report: ProbeReport | None, bundle: Bundle, *, has_identity: bool) -> list[Finding]:
    """Judge a probe that has ended. Without a report it has failed before it could write one."""
    if report is None:
        return [_failed_probe(run, bundle)]
    return [
        ok("probe", f"job run {run.id} has read and written in the service's bucket"),
        _version("Python", report.python, bundle.python),
        _iceberg(report),
        _version("Spark", report.spark, bundle.spark),
        ok("AWS SDK", report.sdk),
        _reachable("Nessie from a job", report.nessie),
        _reachable("catalog from a job", report.catalog),
        *(forbidden("the job", "make a branch", was_refused=not report.made_branch) if has_identity else []),
    ]


def _version(subject: str, version: str, tested_version: str) -> Finding:
    return (
        ok(subject, version)
        if version.startswith(f"{tested_version}.")
        else wrong(subject, f"{version} is not {tested_version}", IMAGE)
    )


def _iceberg(report: ProbeReport) -> Finding:
    if report.is_tested:
        return ok("Iceberg", report.iceberg)
    return wrong("Iceberg", f"Spark has loaded {report.iceberg}, and not {report.iceberg_wanted} of the job", IMAGE)


def _reachable(subject: str, reason: str) -> Finding:
    todo = (
        "let the application's security groups reach Nessie, and give it the warehouse, rules and address that it needs"
    )
    return wrong(subject, reason, f"{todo} (docs/how-to/nessie.md)") if reason else ok(subject, "reached")


def _failed_probe(run: JobRun, bundle: Bundle) -> Finding:
    message = f"job run {run.id} has {run.state}: {run.reason or 'it gives no reason'}"
    todo = next((todo for words, todo in FAILURES.items() if re.search(words, run.reason)), READ_LOG)
    return wrong("probe", message, todo.format(python=f"python{bundle.python}"))


def _is_within(release: tuple[int, ...], bounds: tuple[tuple[int, ...], tuple[int, ...]]) -> bool:
    return bounds[0] <= release <= bounds[1]
