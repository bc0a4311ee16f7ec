"""Wiring of one installation: from settings to adapters to the workflow's service. It contacts nothing."""

import logging
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog
from structlog.typing import EventDict

from lakegate.access import Role
from lakegate.adapters.channels import channels_of
from lakegate.adapters.clock import SystemClock
from lakegate.adapters.emf import EmfTelemetry
from lakegate.adapters.emr import EmrJobRunner
from lakegate.adapters.express import ExpressJobRunner
from lakegate.adapters.http import TimeoutAdapter, door
from lakegate.adapters.immutable_cache import ImmutableCache
from lakegate.adapters.lanes import LaneRunner
from lakegate.adapters.s3 import S3Landing, S3Store
from lakegate.adapters.slack import SlackNotifier
from lakegate.adapters.sqs import SqsDeadLetters, SqsReminders
from lakegate.adapters.tokens import PersonToken, tokens_of
from lakegate.counts import count
from lakegate.express.limits import Limits
from lakegate.express.plan import spark_only
from lakegate.landing.lane import Express
from lakegate.ports import Tokens
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from lakegate.settings import Settings
from lakegate.visibility import in_json
from lakegate.workflow.service import Service

if TYPE_CHECKING:
    from lakegate.adapters.sql import SqlReading

LONGEST = 10_000  # characters of one field
MB = 1024**2


def service(settings: Settings) -> Service:
    """Return the installation that these settings describe, with adapters to the real services."""
    http = nessie_door(settings)
    catalog, clock = NessieCatalog(settings.nessie_uri, http), SystemClock()
    prefixes = tuple(settings.landing_prefixes.split(","))
    queues = (settings.ingest_dead_letter_queue_url, settings.settle_dead_letter_queue_url)
    store, spark = ImmutableCache(S3Store(settings.service_bucket)), EmrJobRunner(settings)
    express = ExpressJobRunner(settings.express_function, store, clock) if settings.express_function else None
    return Service(
        branches=catalog,
        ledger=catalog,
        publisher=catalog,
        tables=NessieTables(settings.nessie_uri, settings.warehouse, http),
        runner=LaneRunner(spark, express) if express else spark,
        landing=S3Landing(settings.landing_bucket, settings.service_bucket, prefixes),
        store=store,
        notifier=SlackNotifier(settings),
        telemetry=EmfTelemetry(settings.name, clock),
        dead_letters=SqsDeadLetters([url for url in queues if url]),
        clock=clock,
        catalog=settings.catalog(Role.SPARK),
        grace=timedelta(seconds=settings.grace_seconds),
        compact_after=timedelta(days=settings.compact_after_days),
        attempts=settings.attempts,
        jobs_at_once=settings.jobs_at_once,
        batch_window=timedelta(seconds=settings.batch_window),
        reminders=SqsReminders(settings.reminder_queue_url) if settings.reminder_queue_url else None,
        landing_prefixes=prefixes,
        express=_express_lane(settings) if express else None,
        channels=channels_of(settings),
        notes_audits=bool(settings.audit_tables),
    )


def _express_lane(settings: Settings) -> Express:
    return Express(most_bytes=settings.express_megabytes * MB, most_files=Limits().files, spark_only=spark_only)


def reading(settings: Settings, token: str = "") -> "SqlReading":
    """Return what a person's token lets see, or without one what this process may."""
    from lakegate.adapters.lake import IcebergLake  # noqa: PLC0415 (Arrow and DuckDB, which few functions have)
    from lakegate.adapters.sql import ANSWER_SECONDS, ANSWER_SIZE, Bounds, SqlReading  # noqa: PLC0415

    http = door(settings.nessie_uri, PersonToken(token) if token else tokens(settings), settings.nessie_ca)
    return SqlReading(
        branches=NessieCatalog(settings.nessie_uri, http),
        lake=IcebergLake(settings.nessie_uri, settings.warehouse, http, ANSWER_SECONDS),
        bounds=Bounds(size=ANSWER_SIZE, seconds=ANSWER_SECONDS),
    )


def nessie_door(settings: Settings) -> TimeoutAdapter:
    """Return the adapter of every call to Nessie, with this process's identity if the settings give it one."""
    return door(settings.nessie_uri, tokens(settings), settings.nessie_ca)


def tokens(settings: Settings) -> Tokens | None:
    """Return the tokens of this process: of its role's client where an OIDC issuer has clients, of its own IAM role
    where Nessie trusts STS, or none.
    """
    return tokens_of(settings.catalog(settings.role))


def _clip(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Shorten long fields, because the log's reader would cut a longer line in its middle."""
    return {name: _short(value) if isinstance(value, str) else value for name, value in event.items()}


def _short(text: str) -> str:
    rest = len(text) - LONGEST
    return text if rest <= 0 else f"{text[:LONGEST]}… and {count(rest, 'more character')}"


def _harmless(_logger: object, _method: str, line: Any) -> str:
    """Return the line with hidden characters escaped, because a log is read in terminals, too."""
    return in_json(line)


def configure_logging() -> None:
    """Configure the log: one JSON object per line on standard error, with an event and its fields."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            _clip,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
            _harmless,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
