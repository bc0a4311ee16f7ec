"""`lakegate doctor`: each check of an installation, with what to run where something is wrong."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from lakegate import bootstrap, bundles
from lakegate.access import Role
from lakegate.adapters.account import region
from lakegate.adapters.certificates import Certificates
from lakegate.adapters.channels import EventBus, Lineage, Webhook
from lakegate.adapters.emr import EmrJobRunner
from lakegate.adapters.intake import AwsIntake
from lakegate.adapters.s3 import S3Store
from lakegate.adapters.slack import SlackNotifier
from lakegate.adapters.stacks import Stacks
from lakegate.adapters.surroundings import Surroundings
from lakegate.audit.bounded_http import place
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.probe import PROBE, Probe, ProbeReport
from lakegate.cli.exits import Exit
from lakegate.cli.profile import load_profile, name_of, remote
from lakegate.cli.profile import outputs as outputs_of
from lakegate.cli.terminal import busy, print_lines, say_json
from lakegate.counts import count
from lakegate.deployment.choices import Choices
from lakegate.doctor import checks
from lakegate.doctor.facts import Subnet
from lakegate.doctor.finding import Finding, Verdict, findings_or_error, is_transient, ok, unknown
from lakegate.errors import LakegateError
from lakegate.operations.acts import TryRulesOfActs
from lakegate.operations.operation import Operation, Operations
from lakegate.operations.questions import TryRules
from lakegate.ports import JobRun, JobState
from lakegate.settings import CommandLine, Settings, adopt_region

POLL = 3.0  # seconds between two looks at the probe's run
MARKS = {Verdict.OK: "✓", Verdict.WRONG: "✗", Verdict.UNKNOWN: "?"}
RIGHTS = "try again, or get the right to look (docs/how-to/doctor.md)"
NESSIE = (
    "run it from where Nessie can be reached; functions look at it below, and a job with lakegate doctor --probe. Its "
    "release and warehouse were not looked at"
)
Check = Callable[[], list[Finding]]


def doctor(*, probe: bool, message: bool, as_json: bool) -> int:
    """Print every finding. Return 1 if something is wrong."""
    load_profile()
    adopt_region()
    findings = examine(name_of(CommandLine.from_env().installation), probe=probe, message=message)
    if as_json:
        say_json(findings)
    else:
        print_findings(findings)
    return code(findings)


def examine(stack: str, *, probe: bool, message: bool = False) -> list[Finding]:
    """Return every finding of one installation."""
    with busy("looking, which takes minutes with a probe" if probe else "looking"):
        return [finding for check in _checks(stack, probe=probe, message=message) for finding in check()]


def print_findings(findings: Iterable[Finding]) -> None:
    print_lines(*(line for finding in findings for line in _lines(finding)))


def code(findings: Iterable[Finding]) -> Exit:
    return Exit.REJECTED if any(finding.verdict is Verdict.WRONG for finding in findings) else Exit.SUCCESS


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{MARKS[finding.verdict]} {finding.subject}: {finding.said}"
    if finding.todo:
        yield f"    → {finding.todo}"


def _checks(stack: str, *, probe: bool, message: bool) -> Iterator[Check]:
    """Yield the checks in the order in which one needs another. What needs one that is not well is left out."""
    stack_outputs = outputs_of(stack)
    outputs = checks.outputs(stack_outputs)
    yield lambda: outputs
    if not is_well(outputs):
        return
    settings = replace(Settings.from_outputs(stack_outputs), role=CommandLine.from_env().role)
    examination = Examination.of(stack, settings, remote(stack_outputs))
    yield from (examination.intake, examination.landing_bucket, examination.certificate)
    if settings.token_endpoint:
        yield examination.token
    nessie = examination.nessie()
    yield lambda: nessie
    if is_well(nessie):
        yield from (examination.release, examination.warehouse, examination.strangers, examination.own_rights)
    yield from (examination.reading_function, examination.acting_function)
    slack = examination.slack()
    yield lambda: slack
    if is_well(slack):
        yield lambda: examination.channel(message=message)
    yield from (examination.event_bus, lambda: examination.webhook(message=message), examination.lineage)
    yield from (examination.subnets, examination.quota)
    if probe:
        yield examination.probe


def is_well(findings: Iterable[Finding]) -> bool:
    return all(finding.verdict is Verdict.OK for finding in findings)


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Reads what the checks judge. A reading that fails is a finding of its own."""

    stack: str
    settings: Settings
    stacks: Stacks
    surroundings: Surroundings
    bot: SlackNotifier
    functions: Operations | None = None
    is_unknown: Callable[[LakegateError], bool] = is_transient  # what a reading that fails says

    @classmethod
    def of(cls, stack: str, settings: Settings, functions: Operations | None) -> "Examination":
        return cls(
            stack=stack,
            settings=settings,
            stacks=Stacks(),
            surroundings=Surroundings(settings, bootstrap.nessie_door(settings)),
            bot=SlackNotifier(settings),
            functions=functions,
        )

    def _judge(self, subject: str, read: Check, todo: str) -> list[Finding]:
        return findings_or_error(subject, read, todo, self.is_unknown)

    def intake(self) -> list[Finding]:
        def read() -> list[Finding]:
            return checks.intake(is_open=AwsIntake(lambda: self.stacks.resources(self.stack)).is_open())

        return self._judge("intake", read, RIGHTS)

    def landing_bucket(self) -> list[Finding]:
        def read() -> list[Finding]:
            choices = self._choices
            keys = [choices["kms.key"], *choices["kms.upload_keys"]] if choices.get("landing.folders") else None
            bucket = self.surroundings.landing_bucket()
            return checks.landing_bucket(self.settings.landing_bucket, bucket, region(), keys)

        return self._judge("landing bucket", read, RIGHTS)

    def certificate(self) -> list[Finding]:
        """Ask ACM for the end of a catalog stack's certificate, unless ACM renews it itself."""
        arn = str(self._choices.get("catalog.certificate", ""))
        if not arn.startswith("arn:"):
            return []

        def read() -> list[Finding]:
            return checks.certificate(Certificates().end(arn), datetime.now(UTC))

        return findings_or_error("certificate", read, RIGHTS)

    def token(self) -> list[Finding]:
        """Ask the OIDC issuer for a token, as whoever runs a command does."""

        def read() -> list[Finding]:
            client = self.settings.client(self.settings.role)
            own_tokens = bootstrap.tokens(self.settings)
            return (
                checks.token(client.id, own_tokens.token(), self.settings.token_audience)
                if client and own_tokens
                else []
            )

        return self._judge("tokens", read, "get the right to read the client's secret (docs/how-to/identities.md)")

    def nessie(self) -> list[Finding]:
        def read() -> list[Finding]:
            self.surroundings.main()
            return [ok("Nessie", f"answers at {self.settings.nessie_uri}")]

        return self._judge("Nessie", read, NESSIE)

    def release(self) -> list[Finding]:
        return self._judge("Nessie's release", lambda: checks.nessie_release(self.surroundings.release()), NESSIE)

    def warehouse(self) -> list[Finding]:
        def read() -> list[Finding]:
            self.surroundings.open_warehouse()
            return [ok("warehouse", f"{self.settings.warehouse}, at the address that jobs use")]

        return self._judge("warehouse", read, "correct warehouse, or Nessie's own settings (docs/how-to/nessie.md)")

    def strangers(self) -> list[Finding]:
        def read() -> list[Finding]:
            return checks.nessie_strangers(self.surroundings.stranger() if self.settings.has_identity else None)

        return self._judge("strangers", read, NESSIE)

    def own_rights(self) -> list[Finding]:
        """Try what nobody may: a branch that is not lakegate's."""
        if not self.settings.has_identity:
            return []
        name, subject = f"doctor-{uuid.uuid4().hex[:8]}", "your own rights"
        return self._judge(
            subject,
            lambda: checks.forbidden(
                subject, "make a branch that is not lakegate's", was_refused=not self.surroundings.may_make_branch(name)
            ),
            NESSIE,
        )

    def reading_function(self) -> list[Finding]:
        return self._function("read", TryRules(tries=self.settings.has_identity), "make a branch")

    def acting_function(self) -> list[Finding]:
        act = "make a branch that is not lakegate's"
        return self._function("act", TryRulesOfActs(tries=self.settings.has_identity), act)

    def _function(self, name: str, operation: Operation[bool], act: str) -> list[Finding]:
        """Have a function look at Nessie from where it runs, and try what its own role may not."""
        functions, subject = self.functions, f"the function {name}"
        if functions is None:
            return []

        def read() -> list[Finding]:
            was_made = functions.run(operation)
            return checks.function(subject, act, was_refused=not was_made, has_identity=self.settings.has_identity)

        return self._judge(subject, read, f"read its log, /aws/lambda/{self.stack}-{name}")

    def slack(self) -> list[Finding]:
        secret = self.settings.slack_secret
        if not secret:
            todo = "set slack.secret and slack.channel, or read the functions' logs"
            return [unknown("Slack", "none: messages go to the functions' logs alone, and count as sent", todo)]
        todo = (
            f"have a bot's token in it: aws secretsmanager put-secret-value --secret-id {secret} --secret-string xoxb-…"
        )
        return self._judge(
            "Slack", lambda: [ok("Slack", f"the secret {secret} is the token of {self.bot.greet()}")], todo
        )

    def channel(self, *, message: bool) -> list[Finding]:
        subject, channel = "Slack's channel", self.settings.slack_channel

        def read() -> list[Finding]:
            if not message:
                return checks.channel(channel, is_member=self.bot.is_member())
            self.bot.try_channel()
            return [ok(subject, f"{channel} took a message")]

        return self._judge(
            subject, read, f"invite the bot to {channel}, with the scope chat:write, or correct slack.channel"
        )

    def event_bus(self) -> list[Finding]:
        bus, subject = self.settings.event_bus, "event bus"
        if not bus:
            return []

        def read() -> list[Finding]:
            return [ok(subject, f"{EventBus(self.settings).probe()} gets what is published and rejected")]

        return self._judge(
            subject, read, f"make the bus, or correct event.bus; to look takes events:DescribeEventBus on {bus}"
        )

    def webhook(self, *, message: bool) -> list[Finding]:
        url, subject, hook = self.settings.webhook_url, "webhook", Webhook(self.settings)
        if not url:
            return []

        def read() -> list[Finding]:
            description = f"{place(url)}, signed with {count(hook.probe(), 'key')} of {self.settings.webhook_secret}"
            if not message:
                return [
                    ok(subject, description),
                    unknown(f"{subject}'s receiver", "not tried", "run: lakegate doctor --message"),
                ]
            hook.try_it()
            return [ok(subject, description), ok(f"{subject}'s receiver", "took an event of the type lakegate.trial")]

        return self._judge(subject, read, "correct event.webhook_url or its secret (docs/how-to/events.md)")

    def lineage(self) -> list[Finding]:
        url, subject = self.settings.lineage_url, "OpenLineage"
        if not url:
            return []

        def read() -> list[Finding]:
            Lineage(self.settings).probe()
            return [ok(subject, f"{place(url)} gets what is published and rejected")]

        return self._judge(subject, read, "correct event.lineage_url or its secret (docs/how-to/events.md)")

    def subnets(self) -> list[Finding]:
        return self._judge("subnets", lambda: checks.subnets(self._subnets(), region()), RIGHTS)

    def _subnets(self) -> list[Subnet]:
        """Return those of the application."""
        return self.surroundings.subnets()

    def quota(self) -> list[Finding]:
        def read() -> list[Finding]:
            return checks.quota(self.surroundings.vcpus(), int(self._choices.get("spark.vcpus", 0)))

        return self._judge("vCPUs", read, RIGHTS)

    @cached_property
    def _choices(self) -> Mapping[str, Any]:
        """Return the choices that the deployed template records, by their names."""
        deployed_choices = Choices.of_template(self.stacks.template(self.stack) or {})
        return deployed_choices.values if deployed_choices else {}

    def probe(self) -> list[Finding]:
        """Run a job that looks at where it runs, as an attempt's job would be run."""
        settings, nonce = self.settings, uuid.uuid4().hex[:12]
        store, runner = S3Store(settings.service_bucket), EmrJobRunner(settings)
        name, report = f"staging/probe-{nonce}/{PROBE}", "reports/probe.json"
        probe = Probe(
            nonce=nonce,
            catalog=settings.catalog(Role.SPARK),
            report_uri=store.uri(report),
        )

        def run() -> list[Finding]:
            store.write(name, to_json(probe).encode())
            run_at_end = _wait_for_end(runner, runner.probe(nonce, store.uri(name), store.uri(report)))
            report_read = (
                from_json(ProbeReport, store.read(report) or b"{}") if run_at_end.state is JobState.SUCCEEDED else None
            )
            own_report = report_read if report_read and report_read.nonce == nonce else None
            return checks.probe(
                run_at_end, own_report, bundles.of_release(settings.release), has_identity=settings.has_identity
            )

        return self._judge("probe", run, "get the right to run jobs (docs/how-to/doctor.md)")


def _wait_for_end(runner: EmrJobRunner, run: str) -> JobRun:
    """Wait for the end of a probe's run, which EMR Serverless itself limits."""
    while (run_now := runner.get(run, with_texts=True)).state is JobState.RUNNING:
        time.sleep(POLL)
    return run_now
