"""An installation's choices as its template records them, and what a deployment of others would lose. It is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

RECORD = "Lakegate"  # of the template's metadata, which a later deployment reads
NO_RECORD = "choices"  # accepts a stack that has no record
RUNTIME = "runtime"  # of the functions, which a release chooses and nobody gives
OLDEST = {  # of a stack whose record has no such name yet
    RUNTIME: "python3.11",
    "architecture": "x86_64",
    "express": False,
    "express_megabytes": 32,
}


class Kind(StrEnum):
    """A difference between a deployed value and a new one."""

    DROPPED = "dropped"  # it was given, and is not any more
    CHANGED = "changed"
    ADDED = "added"


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Every setting's value as JSON has it; `given` are those that differ from their default."""

    values: Mapping[str, Any]
    given: frozenset[str]

    @classmethod
    def of_template(cls, template: Mapping[str, Any]) -> Self | None:
        """Return the choices that a template records, or None if it records none."""
        record = template.get("Metadata", {}).get(RECORD)
        return None if record is None else cls(values=record["values"], given=frozenset(record["given"]))

    def to_metadata(self) -> dict[str, Any]:
        return {RECORD: {"values": dict(self.values), "given": sorted(self.given)}}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One setting's difference. It `stops` a deployment until a person accepts it by its name."""

    name: str
    kind: Kind
    before: object
    after: object
    means: str = ""
    stops: bool = True


CATALOG = "a catalog stack cannot be made without it"
OTHER_BUCKET = "what lies in the other bucket and is not decided never reaches the lake"
OTHER_KEY = "what was written under the other key can no longer be read, tables and receipts too"
OTHER_ISSUER = "Nessie must trust the OIDC issuer and know the clients first; one that does not refuses every token"
OTHER_IMAGE = "jobs run in an image that was made for the other release: change image with it"
OTHER_PREFIXES = "what lies below no prefix and is not decided never reaches the lake"
DROPPED = {
    "nessie_uri": "a catalog stack is made, and no file that the other Nessie decided is known to it",
    "nessie_ca": "functions, jobs and commands trust the usual authorities alone",
    "token_audience": "Nessie is sent no identity: with rules it refuses every call, without it lets anybody write",
    "token_issuer": CATALOG,
    "token_endpoint": "tokens come from AWS STS, and a Nessie that trusts the OIDC issuer refuses each of them",
    "token_scope": "clients ask for no scope, and an issuer that needs one refuses them",
    "token_claim": CATALOG,
    "token_clients": "no function, job or command has a client, and Nessie refuses every call",
    "nessie_image": CATALOG,
    "catalog_size": "the catalog has one task, its database one zone, and backups go after seven days",
    "catalog_host": CATALOG,
    "catalog_certificate": "the catalog's name has no certificate, unless catalog_zone is given",
    "catalog_zone": "the catalog's name has no certificate, unless catalog_certificate is given",
    "vpc": CATALOG,
    "azs": "the catalog's zones are the first two of the region, or not known",
    "slack_secret": "messages go to the functions' logs alone, and count as told",
    "slack_channel": "messages go to the functions' logs alone, and count as told",
    "slack_api": "messages go to Slack itself",
    "audit_tables": "what audits find is in their reports alone, and their tables get no more rows",
    "event_bus": "EventBridge is told nothing of what is published and rejected",
    "webhook_url": "the webhook is told nothing of what is published and rejected",
    "webhook_secret": "nothing is signed, so the webhook is told nothing",
    "lineage_url": "OpenLineage is told nothing of what is published and rejected",
    "lineage_secret": "OpenLineage's events are sent without a key",
    "alarm_topic": "nobody hears of alarms",
    "canary_hours": "no canary lands, and nobody hears of a loop that is broken while nothing lands",
    "rejected_percent": "nobody hears of many rejected files",
    "architecture": "functions run on ARM64",
    "express": "small batches are audited in a function again, and not by Spark",
    "release": OTHER_IMAGE,
    "image": "jobs run in the release's own image",
    "spark_conf": "jobs run without these properties",
    "uploaders": "whoever is not named can no longer upload",
    "landing_days": "the landing bucket keeps every file for ever",
    "landing_bucket": OTHER_BUCKET,
    "landing_prefixes": "all of the bucket is looked at, and people are told of each file that no contract routes",
    "kms_key": OTHER_KEY,
    "upload_keys": "what landed under these keys can no longer be read",
    "ephemeral": "buckets and database stay when their stacks are removed",
    "subnets": "functions and jobs leave the network, and reach AWS alone",
    "security_groups": "functions and jobs leave the network, and reach AWS alone",
}
CHANGED = {
    "nessie_uri": "what the other Nessie decided is not seen: files that landed lately are ingested again",
    "warehouse": "Nessie must have this warehouse, and new tables lie there; until it has, no job reaches a table",
    "token_audience": "Nessie refuses every token until its own setting is the same",
    "token_issuer": "Nessie refuses every token of the other issuer",
    "token_endpoint": OTHER_ISSUER,
    "token_claim": "Nessie knows no client until its tokens have the claim",
    "token_clients": "a client that is no longer listed has no rights in the catalog",
    "catalog_host": "who names the catalog's other address no longer finds it",
    "vpc": "CloudFormation refuses it while functions and jobs are in the other network",
    "azs": "CloudFormation refuses it while functions and jobs are in the other zones",
    "release": OTHER_IMAGE,
    "uploaders": DROPPED["uploaders"],
    "landing_bucket": OTHER_BUCKET,
    "landing_prefixes": OTHER_PREFIXES,
    "kms_key": OTHER_KEY,
    "upload_keys": DROPPED["upload_keys"],
    "landing_days": "files are deleted earlier, and what is not decided by then never reaches the lake",
}
ADDED = {
    "landing_bucket": OTHER_BUCKET,
    "landing_prefixes": OTHER_PREFIXES,
    "release": OTHER_IMAGE,
    "warehouse": CHANGED["warehouse"],
    "landing_days": "files are deleted after so many days, and what is not decided by then never reaches the lake",
    "ephemeral": "buckets and database go with their stacks when these are removed",
    "nessie_uri": "the catalog stack is left as it is, and no file that its Nessie decided is known to the other one",
    "token_audience": "Nessie must know the roles and its rules first; one that does not refuses every token",
    "token_endpoint": OTHER_ISSUER,
}
SECONDS = "calls may fail for the seconds in which AWS changes the functions, and are made again: nothing is lost"
NOTED = {  # of changes that lose nothing
    RUNTIME: f"functions run on another Python; {SECONDS}",
    "architecture": f"functions run on other processors; {SECONDS}",
    "release": "jobs run in the other release's image, and none runs while the application changes: files wait",
    "express": "small batches are audited in a function instead of by Spark, or no longer: the verdicts are the same",
}
MEANINGS = {Kind.DROPPED: DROPPED, Kind.CHANGED: CHANGED, Kind.ADDED: ADDED}


def differences(before: Choices | None, after: Choices) -> list[Difference]:
    """Return what a deployment changes. What falls back to its default always stops it; what changes or is added does
    if it loses something.
    """
    if before is None:
        means = "the deployed stack has no record of its choices: compare them by hand this once"
        return [Difference(name=NO_RECORD, kind=Kind.DROPPED, before="unknown", after="", means=means)]
    was = {**OLDEST, **before.values}
    names = [*after.values, *(name for name in before.values if name not in after.values)]
    return [
        _difference(name, was.get(name), before, after) for name in names if was.get(name) != after.values.get(name)
    ]


def second(name: str, others: Sequence[str]) -> list[Difference]:
    """Return the difference of an installation that is not there yet, beside others that are."""
    means = "this makes a second installation, with buckets of its own, and changes nothing of the one that is there"
    return (
        [Difference(name="name", kind=Kind.CHANGED, before=", ".join(others), after=name, means=means)]
        if others
        else []
    )


def _difference(name: str, was: Any, before: Choices, after: Choices) -> Difference:
    becomes, kind = after.values.get(name), _kind(name, before, after)
    means = MEANINGS[kind].get(name, "") if _loses(name, before, after) else ""
    if name not in after.values:
        means = "this release has no such setting"
    stops = kind is Kind.DROPPED or bool(means)
    return Difference(name=name, kind=kind, before=was, after=becomes, means=means or NOTED.get(name, ""), stops=stops)


def _kind(name: str, before: Choices, after: Choices) -> Kind:
    if name in before.given and name not in after.given:
        return Kind.DROPPED
    return Kind.CHANGED if name in before.given or name not in after.given else Kind.ADDED


def _loses(name: str, before: Choices, after: Choices) -> bool:
    """Return False for a longer time, for a list that loses no item, and for a release without an image of its own or
    with another. No prefix is every file.
    """
    was: Any = before.values.get(name)
    becomes: Any = after.values.get(name)
    if name == "release":
        return before.values.get("image") == after.values.get("image") != ""
    if name == "landing_prefixes" and not was:
        return True
    if name == "landing_days":
        return not becomes or not was or becomes < was
    return not isinstance(was, list) or not set(was) <= set(becomes)
