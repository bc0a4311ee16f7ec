"""Preflight of `lakegate deploy`: what a deployment would meet, asked of the account before anything is made there.

It is an examination of an installation that is not there yet, by the settings that it is to have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

from lakegate import bootstrap
from lakegate.adapters.account import Account, region
from lakegate.adapters.aws import is_denied
from lakegate.adapters.site import Site
from lakegate.adapters.slack import SlackNotifier
from lakegate.adapters.stacks import Stacks
from lakegate.adapters.surroundings import Surroundings
from lakegate.cli.doctor import Check, Examination, is_well
from lakegate.clients import parse_list
from lakegate.doctor import preflight
from lakegate.doctor.facts import Subnet
from lakegate.doctor.finding import Finding, is_transient, ok
from lakegate.settings import Settings

CORRECT = "correct it, or get the right to look (docs/how-to/deploying.md)"
OF_SETTINGS = (
    *("name", "nessie.uri", "nessie.ca", "token.audience", "token.endpoint", "token.scope", "token.clients"),
    *("slack.secret", "slack.channel", "event.bus"),
    *("event.webhook_url", "event.webhook_secret", "event.lineage_url", "event.lineage_secret"),
)


@dataclass(frozen=True, kw_only=True)
class Preflight(Examination):
    """An examination by the settings to be, `choices`, and the deployed ones, `record`. `addresses` is how many Elastic
    IPs a new network takes, and `deployed_zones` are those in which it is already.
    """

    choices: Mapping[str, Any]
    record: Mapping[str, Any]
    account: Account
    site: Site
    addresses: int
    deployed_zones: tuple[str, ...] | None

    @classmethod
    def by(
        cls,
        choices: Mapping[str, Any],
        record: Mapping[str, Any],
        *,
        addresses: int,
        deployed_zones: tuple[str, ...] | None,
    ) -> "Preflight":
        settings = _settings(choices)
        return cls(
            stack=settings.name,
            settings=settings,
            stacks=Stacks(),
            surroundings=Surroundings(settings, bootstrap.nessie_door(replace(settings, token_endpoint=""))),
            bot=SlackNotifier(settings),
            is_unknown=lambda error: is_transient(error) or is_denied(error),
            choices=choices,
            record=record,
            account=Account(),
            site=Site(),
            addresses=addresses,
            deployed_zones=deployed_zones,
        )

    @property
    def _choices(self) -> Mapping[str, Any]:
        return self.choices

    @cached_property
    def _is_bootstrapped(self) -> bool:
        return self.account.has_parameter(preflight.BOOTSTRAP)

    def _subnets(self) -> list[Subnet]:
        return self.surroundings.subnets_by_id(self.choices["network.subnets"])

    def findings(self) -> list[Finding]:
        return [finding for check in self._checks() for finding in check()]

    def _checks(self) -> Iterator[Check]:
        yield from (self.rights, self.bootstrap)
        yield from self._of_the_network()
        yield from self._of_identities()
        yield from self._of_channels()
        if self.choices["landing.folders"]:
            yield self.landing_bucket
        yield from (self.calls, self.quota)

    def _of_the_network(self) -> Iterator[Check]:
        if (vpc := self.choices["network.vpc"]) and not vpc.startswith("vpc-"):
            if self.deployed_zones is None:
                yield from (self.networks, self.elastic_addresses)
            if self.deployed_zones != ():  # those of an earlier release are not said by ids
                yield self.zones
        elif self.choices["network.subnets"]:
            yield self.subnets

    def _of_identities(self) -> Iterator[Check]:
        if self.choices["token.endpoint"]:
            yield self.clients
        elif self.choices["token.audience"]:
            yield self.sts
        if self.choices["catalog.certificate"]:
            yield self.name
        for setting, platform in {"catalog.image": "linux/arm64", "spark.image": "linux/amd64"}.items():
            if self.choices[setting] not in ("", self.record.get(setting)):
                yield partial(self.image, setting, platform)

    def _of_channels(self) -> Iterator[Check]:
        if self.choices["slack.secret"]:
            slack = self.slack()
            yield lambda: slack
            if is_well(slack):
                yield lambda: self.channel(message=False)
        yield from (self.event_bus, lambda: self.webhook(message=False), self.lineage)
        if self.choices["alarm.topic"]:
            yield self.topic

    def rights(self) -> list[Finding]:
        def read() -> list[Finding]:
            account, caller = self.account, self.site.caller
            actions = preflight.actions_of_caller(
                self.stack,
                caller.split(":")[1],
                account.id,
                account.region,
                is_bootstrapped=self._is_bootstrapped,
                makes_ecs_role=bool(self.choices["catalog.image"]) and not account.has_ecs,
                makes_authority=bool(self.choices["catalog.image"] and not self.choices["catalog.certificate"]),
            )
            return preflight.rights(caller, self.site.denials(actions))

        return self._judge("your rights", read, "get iam:SimulatePrincipalPolicy, or learn it from the deployment")

    def bootstrap(self) -> list[Finding]:
        def read() -> list[Finding]:
            return preflight.bootstrap(is_there=self._is_bootstrapped)

        return self._judge("CDK's bucket and roles", read, CORRECT)

    def zones(self) -> list[Finding]:
        def read() -> list[Finding]:
            ids = self.site.zones()
            zones = [ids.get(zone, zone) for zone in self.choices["network.zones"]]
            return preflight.zones(zones, region(), [*ids.values()], self.deployed_zones or ())

        return self._judge("zones", read, CORRECT)

    def networks(self) -> list[Finding]:
        def read() -> list[Finding]:
            limit = self.site.quota("vpc", preflight.NETWORKS)
            return preflight.room(preflight.NETWORKS, "vpc", limit=limit, count=self.site.networks(), new=1)

        return self._judge(preflight.NETWORKS, read, CORRECT)

    def elastic_addresses(self) -> list[Finding]:
        def read() -> list[Finding]:
            limit, count = self.site.quota("ec2", preflight.ADDRESSES), self.site.addresses()
            return preflight.room(preflight.ADDRESSES, "ec2", limit=limit, count=count, new=self.addresses)

        return self._judge(preflight.ADDRESSES, read, CORRECT)

    def clients(self) -> list[Finding]:
        """Ask the OIDC issuer for a token of each client of the service."""
        roles = [client.role for client in parse_list(self.choices["token.clients"]) if client.secret]
        examinations = [replace(self, settings=replace(self.settings, role=role)) for role in roles]
        return [finding for examination in examinations for finding in examination.token()]

    def sts(self) -> list[Finding]:
        """Look at the account's issuer and at a token of the caller's, by what Nessie is to be told of them."""
        setting, audience = self.choices["token.issuer"], self.choices["token.audience"]
        issuer = ""

        def read() -> list[Finding]:
            nonlocal issuer
            issuer = self.account.issuer()
            return preflight.federation(issuer, setting, is_for_ours=bool(self.choices["catalog.image"]))

        def ask() -> list[Finding]:
            return preflight.token(self.site.token(audience), setting or issuer, audience)

        findings = self._judge("issuer of tokens", read, CORRECT)
        return [*findings, *self._judge("a token of STS", ask, CORRECT)] if issuer and is_well(findings) else findings

    def name(self) -> list[Finding]:
        host, certificate = self.settings.nessie_uri.removeprefix("https://"), self.choices["catalog.certificate"]

        def read() -> list[Finding]:
            if certificate.startswith("arn:"):
                return preflight.certificate(host, self.site.certificate(certificate))
            return preflight.hosted_zone(host, certificate, self.site.hosted_zone(certificate))

        return self._judge("Nessie's name", read, CORRECT)

    def image(self, setting: str, platform: str) -> list[Finding]:
        name = self.choices[setting]

        def read() -> list[Finding]:
            return preflight.image(setting, name, self.site.platforms(name), platform)

        return self._judge(setting, read, CORRECT)

    def topic(self) -> list[Finding]:
        arn = self.choices["alarm.topic"]

        def read() -> list[Finding]:
            self.site.find_topic(arn)
            return [ok("alarm topic", arn)]

        return self._judge("alarm topic", read, "make it: aws sns create-topic --name …, or correct alarm.topic")

    def calls(self) -> list[Finding]:
        return self._judge("Lambda's calls at once", lambda: preflight.calls(self.site.calls()), CORRECT)


def _settings(choices: Mapping[str, Any]) -> Settings:
    """Return the settings that a stack of these choices will have, without the names of what it makes."""
    values = {name.removeprefix("event.") if "_" in name else name: choices[name] for name in OF_SETTINGS}
    folders = choices["landing.folders"]
    return Settings.from_mapping(
        {field.name: "none" for field in fields(Settings) if field.default is MISSING}
        | {
            name.replace(".", "_"): ",".join(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        | {"landing_bucket": folders[0].split("/")[2] if folders else "none"}
    )
