"""A stack that composes the constructs of ingestion and grants each the rights that its work needs."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from aws_cdk import CfnOutput, Duration, Size, Stack, aws_events
from aws_cdk.aws_lambda import Code
from constructs import Construct

from infra.assets import ask_bucket, synthesizer
from infra.catalog.settings import WAREHOUSE
from infra.choices import choices
from infra.config import SWEEP_MINUTES, Config, label_of
from infra.data.stack import DataStack
from infra.ingest.dashboard import Dashboard
from infra.ingest.dead_letters import DeadLetters
from infra.ingest.deliveries import Deliveries
from infra.ingest.event_bus import allow_bus_events
from infra.ingest.express import MEMORY, Express
from infra.ingest.function import Function
from infra.ingest.identity import identify, read_secret
from infra.ingest.inbox import Inbox
from infra.ingest.people import People
from infra.ingest.signals import Signals
from infra.ingest.spark import Artifacts, Spark
from infra.network import Network
from lakegate.access import Role
from lakegate.clients import parse_list
from lakegate.settings import DESCRIPTION, Settings, output_name

SHORT, LONG = Duration.minutes(5), Duration.minutes(10)
QUERY_SCRATCH = Size.mebibytes(4096)  # the unpacked packages, the tables that a query reads, and what DuckDB spills


class IngestStack(Stack):
    """One installation's service."""

    def __init__(
        self,
        scope: Construct,
        *,
        config: Config,
        data: DataStack,
        network: Network,
        functions: Path,
        express: Path,
        artifacts: Artifacts,
    ) -> None:
        """`functions` and `express` are zips; the latter has DuckDB and Arrow, too."""
        super().__init__(
            scope,
            config.name,
            description=DESCRIPTION,
            synthesizer=synthesizer(scope, config.name),
        )
        ask_bucket(self)
        self.storage, self.data = data.storage, data
        self.spark = Spark(self, "Spark", config=config, network=network, artifacts=artifacts)
        keys = self.storage.keys
        self.inbox = Inbox(self, "Inbox", config=config, keys=keys, bucket=self.storage.landing, timeout=SHORT)
        self.settle_dead_letters = DeadLetters(self, "SettleDeadLetters", of="settle", config=config, keys=keys)
        self.settle_dead_letters.alarm()
        self.settings = self._settings(config)
        function = partial(
            Function,
            self,
            config=config,
            keys=keys,
            network=network,
            code=Code.from_asset(str(functions)),
        )
        # Reconcile settles what settle was not called for, and act publishes what a person approves.
        ingest, publish, observer = (self._as(part) for part in (Role.INGEST, Role.PUBLISH, Role.OBSERVER))
        ingest = replace(ingest, reminder_queue_url=self.inbox.queue.queue_url)
        # A job's end calls settle, which starts the job of the files that wait: a cycle until none does.
        self.ingest = function("Ingest", settings=ingest, timeout=SHORT, loops=True)
        self.settle = function("Settle", settings=publish, timeout=SHORT, loops=True)
        self.reconcile = function("Reconcile", settings=publish, timeout=LONG)
        with_duckdb = Code.from_asset(str(express))
        self.read = function(
            "Read",
            settings=observer,
            timeout=LONG,
            handler="operate.read",
            code=with_duckdb,
            memory=MEMORY,
            scratch=QUERY_SCRATCH,
        )
        self.act = function("Act", settings=publish, timeout=LONG, handler="operate.act")
        self.express: Express | None = None
        if config.batch_express_megabytes:
            spark = self._as(Role.SPARK)
            self.express = Express(
                self, "Express", config=config, keys=keys, network=network, settings=spark, code=with_duckdb
            )
            self.express.notify(self.settle)
        self.people = People(self, "People", read=self.read, act=self.act)

        interval = Duration.minutes(SWEEP_MINUTES[config.ephemeral])
        sweep = aws_events.Rule(self, "Sweep", schedule=aws_events.Schedule.rate(interval))
        self.inbox.feed(self.ingest)
        self.inbox.remind(self.ingest)
        self.settle.call_on(self.spark.job_ended(), self.settle_dead_letters)
        self.reconcile_dead_letters = self.reconcile.call_every(interval, sweep)

        self._grant(config)
        if config.token_audience or config.token_endpoint:
            self._identify(config)
        functions_to_watch: list[Function] = [self.ingest, self.settle, self.reconcile]
        if config.alarm_canary_hours:
            functions_to_watch.append(self._canary(config, partial(function, code=with_duckdb)))
        self.ingest.watch_calls()
        if self.express:
            functions_to_watch.append(self.express)
            self.express.watch_errors()
        Signals(self, "Signals", config=config, sweep=self.reconcile)
        cycle = [self.ingest, self.settle, *([self.express] if self.express else [])]
        Deliveries(self, "Deliveries", config=config, functions=cycle)
        Dashboard(
            self,
            "Dashboard",
            config=config,
            functions=functions_to_watch,
            inbox=self.inbox,
        )
        self._outputs()
        self.template_options.metadata = choices(config).to_metadata()

    def _canary(self, config: Config, function: Callable[..., Function]) -> Function:
        """Return the function that lands a canary on a schedule. The canary's own alarm reports one that fails."""
        settings = replace(self.settings, token_endpoint="", token_clients="")  # it does not call Nessie
        canary = function("Canary", settings=settings, timeout=SHORT)
        schedule = aws_events.Schedule.rate(Duration.hours(config.alarm_canary_hours))
        due = aws_events.Rule(self, "CanaryDue", schedule=schedule)
        canary.call_on(due, DeadLetters(self, "CanaryDeadLetters", of="canary", config=config, keys=self.storage.keys))
        self.storage.drop_canary(canary.role)
        return canary

    def _grant(self, config: Config) -> None:
        # Each of the four may start an attempt: settle if a rebase is forbidden, reconcile if an event was lost, and
        # act because a person retries.
        for function in (self.ingest, self.settle, self.reconcile, self.act):
            self.storage.read_landing(function.role)
            self.storage.use_service(function.role)
            self.spark.run_jobs(function.role)
            if self.express:
                self.express.run_jobs(function.role)
            for name, secret in (
                ("SlackSecret", config.slack_secret),
                ("WebhookSecret", config.event_webhook_secret),
                ("LineageSecret", config.event_lineage_secret),
            ):
                if secret:
                    read_secret(function, name, role=function.role, name=secret, keys=self.storage.keys)
            if config.event_bus:
                allow_bus_events(function, role=function.role, bus=config.event_bus)
        # Opening an attempt takes replaced data files off its branch by metadata, and settling adds files that way.
        for role in (self.ingest.role, self.settle.role, self.reconcile.role, self.act.role, self.spark.role):
            self.storage.write_warehouse(role)
        self.storage.run_job(self.spark.role)
        if self.express:
            self.storage.run_express_job(self.express.role)
            self.storage.write_warehouse(self.express.role, in_parts=False)
        self.storage.change_contracts(self.act.role)
        self.storage.read_landing(self.read.role)
        self.storage.read_warehouse(self.read.role)
        self.storage.observe_service(self.read.role)
        self.spark.observe_jobs(self.read.role)
        for dead_letters in (self.inbox.dead_letters, self.settle_dead_letters):
            dead_letters.let_drain(self.reconcile.role)
            dead_letters.let_drain(self.act.role)  # a person has the sweep run now

    def _identify(self, config: Config) -> None:
        """Give each role its part in the catalog, by an OIDC issuer's clients if there is one, or else by AWS STS."""
        publishers = ((function, Role.PUBLISH) for function in (self.settle, self.reconcile, self.act))
        parts: list[tuple[Function | Spark, Role]] = [
            *publishers,
            (self.ingest, Role.INGEST),
            (self.read, Role.OBSERVER),
            (self.spark, Role.SPARK),
            *([(self.express, Role.SPARK)] if self.express else []),
        ]
        secrets = {client.role: client.secret for client in parse_list(config.token_clients) if client.secret}
        for holder, part in parts:
            if config.token_endpoint:
                read_secret(holder, "ClientSecret", role=holder.role, name=secrets[part], keys=self.storage.keys)
            else:
                identify(holder.role, part, config.token_audience)

    def _as(self, part: Role) -> Settings:
        """Return the settings of a function with this part. Of an issuer's clients it knows its own and the job's."""
        clients = parse_list(self.settings.token_clients.split(","))
        known_clients = [str(client) for client in clients if client.secret and client.role in (part, Role.SPARK)]
        return (
            replace(self.settings, role=part, token_clients=",".join(known_clients)) if known_clients else self.settings
        )

    def _settings(self, config: Config) -> Settings:
        """Return the settings that the functions' environment and the command line's outputs are both made of."""
        return Settings(
            landing_bucket=self.storage.landing.bucket_name,
            landing_prefixes=",".join(config.landing_prefixes),
            service_bucket=self.storage.service.bucket_name,
            lake_bucket=self.storage.lake.bucket_name,
            nessie_uri=config.nessie_uri,
            nessie_ca=config.nessie_ca,
            warehouse=WAREHOUSE,
            name=config.name,
            token_audience=config.token_audience,
            token_endpoint=config.token_endpoint,
            token_scope=config.token_scope,
            token_clients=",".join(config.token_clients),
            application_id=self.spark.application_id,
            job_role_arn=self.spark.role.role_arn,
            job_entry_point=self.spark.entry_point.s3_object_url,
            job_py_files=self.spark.py_files.s3_object_url,
            job_jars=self.spark.jar_uris,
            release=label_of(config.spark_release),
            executors=config.executors,
            express_function=f"{config.name}-express" if config.batch_express_megabytes else "",
            express_megabytes=config.batch_express_megabytes,
            spark_conf=json.dumps(config.spark_properties) if config.spark_conf else "",
            slack_secret=config.slack_secret,
            slack_channel=config.slack_channel,
            event_bus=config.event_bus,
            webhook_url=config.event_webhook_url,
            webhook_secret=config.event_webhook_secret,
            lineage_url=config.event_lineage_url,
            lineage_secret=config.event_lineage_secret,
            ingest_dead_letter_queue_url=self.inbox.dead_letters.queue.queue_url,
            settle_dead_letter_queue_url=self.settle_dead_letters.queue.queue_url,
            job_timeout_minutes=config.spark_timeout_minutes,
            grace_seconds=config.grace_seconds,
            audit_tables=int(config.batch_audit_tables),
            jobs_at_once=config.spark_jobs_at_once,
            batch_window=config.batch_window_seconds,
        )

    def _outputs(self) -> None:
        """Export the settings under their CamelCase names, and names for people and tests. Leave out empty ones."""
        further_outputs = {
            "ReadLakePolicy": self.data.readers.read_lake.managed_policy_arn,
            "ReadQuarantinePolicy": self.data.readers.read_quarantine.managed_policy_arn,
            "ReadAuditsPolicy": self.data.readers.read_audits.managed_policy_arn,
            "CleanLakePolicy": self.data.cleaner.clean_lake.managed_policy_arn,
            "VerifyPolicy": self.data.verifier.verify.managed_policy_arn,
            "ReadUrl": self.people.read_url,
            "ReadPolicy": self.people.read.managed_policy_arn,
            "ActUrl": self.people.act_url,
            "ActPolicy": self.people.act.managed_policy_arn,
            "IngestFunction": self.ingest.function.function_name,
            "SettleFunction": self.settle.function.function_name,
            "ReconcileFunction": self.reconcile.function.function_name,
            "IngestQueueUrl": self.inbox.queue.queue_url,
            "ReconcileDeadLetterQueueUrl": self.reconcile_dead_letters.queue.queue_url,
        }
        settings = {output_name(field): str(value) for field, value in asdict(self.settings).items()}
        for name, value in {**settings, **further_outputs}.items():
            if value:
                CfnOutput(self, name, value=value)
