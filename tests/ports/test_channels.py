"""`Channel` in memory, on EventBridge, on a signed webhook and on OpenLineage: the same tests on each, and what is
particular to one.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import attr
import boto3
import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker
from moto import mock_aws
from openlineage.client import event_v2, facet_v2
from openlineage.client.serde import Serde
from standardwebhooks.webhooks import Webhook as Receiver
from standardwebhooks.webhooks import WebhookVerificationError
from werkzeug.wrappers import Request, Response

from lakegate.adapters.channels import EventBus, Lineage, Webhook, channels_of
from lakegate.adapters.channels import lineage as lineage_events
from lakegate.adapters.channels.bus import DETAIL_TYPES
from lakegate.adapters.channels.document import LARGEST, document
from lakegate.adapters.channels.lineage import run_events, run_id
from lakegate.adapters.channels.webhook import keys
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.ports import Channel, Event, EventCheck, EventColumn, EventFile, EventKind
from lakegate.testing import MemoryChannel
from tests.ports.test_runner import SETTINGS
from tests.support.wsgi import serving

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs/reference/event.schema.json").read_text()),
    format_checker=FormatChecker(),
)
KEY, OTHER = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_bGFrZWdhdGUgaXMgYSBnYXRlIGJ5IGEgbGFrZQ=="
AT = datetime(2013, 1, 31, 4, 7, tzinfo=UTC)
CHECK = EventCheck(
    name="dep_time required",
    columns=("dep_time",),
    severity="error",
    verdict="pass",
    expected="none",
    found="0 of 27,004 rows",
)
PUBLISHED = Event(
    id="20130131T0405-1a2b3c4d-a1-published-0123456789abcdef",
    kind=EventKind.PUBLISHED,
    table="nyc.flights",
    batch="20130131T0405-1a2b3c4d",
    attempt=1,
    commit="0123456789abcdef" * 4,
    at=AT,
    files=(
        EventFile(key="nyc/flights/2013-01.parquet", version_id="v1", rows=27_004, verdict="pass", checks=(CHECK,)),
    ),
    rows=27_004,
    contract_id="nyc-flights",
    contract_version="1.0.0",
    contract_hash="ab" * 32,
    columns=(EventColumn(name="dep_time", type="timestamp", doc="when it left"), EventColumn(name="zip")),
    began=datetime(2013, 1, 31, 4, 6, tzinfo=UTC),
    lane="express",
)
REJECTED = replace(
    PUBLISHED,
    id=PUBLISHED.id.replace("published", "rejected"),
    kind=EventKind.REJECTED,
    rows=0,
    branch="wap-nyc.flights-20130131T0405-1a2b3c4d-a1",
    files=(
        replace(
            PUBLISHED.files[0],
            rows=0,
            verdict="fail",
            reasons=("dep_time required: 12 of 27,004 rows, expected none",),
            checks=(replace(CHECK, verdict="fail", found="12 of 27,004 rows", failing_rows=12),),
        ),
    ),
)


@dataclass(kw_only=True)
class Elsewhere:
    """Another system: it keeps what it is sent, and answers as it is told to. It takes no other bearer than `key`."""

    status: int = 204
    location: str = ""
    key: str = ""
    largest: int = 2**30  # bytes that it takes
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.got.append((request.path, headers, request.get_data()))
        wrong = self.key and headers.get("authorization") != f"Bearer {self.key}"
        headers = {"Location": self.location} if self.location else {}
        if len(request.get_data()) > self.largest:
            return Response(status=413)(environ, start_response)
        return Response(status=401 if wrong else self.status, headers=headers)(environ, start_response)

    def bodies(self) -> Any:
        return [json.loads(body) for _, _, body in self.got]


@pytest.fixture
def elsewhere() -> Elsewhere:
    return Elsewhere()


@pytest.fixture
def uri(elsewhere: Elsewhere) -> Iterator[str]:
    with serving(elsewhere) as address:
        yield address


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        secrets = boto3.client("secretsmanager")
        for name, text in (("hook", KEY), ("lineage", "key-1\n")):
            secrets.create_secret(Name=name, SecretString=text)
        yield secrets


@pytest.fixture
def hook(uri: str, aws: Any) -> Webhook:  # noqa: ARG001 (the secret is there)
    return Webhook(replace(SETTINGS, webhook_url=f"{uri}/hook", webhook_secret="hook"))


@pytest.fixture
def lineage(uri: str, aws: Any, elsewhere: Elsewhere) -> Lineage:  # noqa: ARG001 (as above)
    elsewhere.key = "key-1"
    return Lineage(replace(SETTINGS, lineage_url=f"{uri}/", lineage_secret="lineage"))


@dataclass(kw_only=True)
class Bus:
    """A bus whose events a queue gets."""

    channel: EventBus
    queue: str

    def got(self) -> list[Any]:
        messages = boto3.client("sqs").receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages", [])
        return [json.loads(message["Body"]) for message in messages]


@pytest.fixture
def bus(aws: Any) -> Bus:  # noqa: ARG001 (moto)
    events, sqs = boto3.client("events"), boto3.client("sqs")
    events.create_event_bus(Name="lake")
    url = sqs.create_queue(QueueName="told")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="all", EventBusName="lake", EventPattern=json.dumps({"source": ["lakegate"]}))
    events.put_targets(Rule="all", EventBusName="lake", Targets=[{"Id": "queue", "Arn": arn}])
    return Bus(channel=EventBus(replace(SETTINGS, event_bus="lake")), queue=url)


# Every channel.


@dataclass(kw_only=True)
class Told:
    """A channel, and the ids or runs that arrived there, one for each time."""

    channel: Channel
    arrived: Callable[[], list[Any]]


@pytest.fixture(params=["memory", "bus", "webhook", "lineage"])
def told(request: pytest.FixtureRequest, elsewhere: Elsewhere) -> Told:
    if request.param == "memory":
        memory = MemoryChannel()
        return Told(channel=memory, arrived=lambda: [event.id for event in memory.events])
    if request.param == "bus":
        its = request.getfixturevalue("bus")
        return Told(channel=its.channel, arrived=lambda: [event["detail"]["id"] for event in its.got()])
    if request.param == "webhook":
        return Told(
            channel=request.getfixturevalue("hook"), arrived=lambda: [it["data"]["id"] for it in elsewhere.bodies()]
        )
    ended = ("COMPLETE", "FAIL")
    return Told(
        channel=request.getfixturevalue("lineage"),
        arrived=lambda: [it["run"]["runId"] for it in elsewhere.bodies() if it["eventType"] in ended],
    )


@pytest.mark.parametrize("event", [PUBLISHED, REJECTED], ids=lambda event: event.kind)
def test_an_event_arrives_once_and_told_again_it_is_known_by_its_id(told: Told, event: Event) -> None:
    told.channel.send(event)
    first = told.arrived()
    assert len(first) == 1
    told.channel.send(event)
    assert set(told.arrived()) == set(first)


def test_an_installation_has_the_channels_that_its_settings_name() -> None:
    assert channels_of(SETTINGS) == {}
    chosen = replace(SETTINGS, event_bus="b", webhook_url="https://h", webhook_secret="s", lineage_url="https://l")
    assert [*channels_of(chosen)] == ["bus", "webhook", "lineage"]


# The document.


@pytest.mark.parametrize("event", [PUBLISHED, REJECTED], ids=lambda event: event.kind)
def test_the_document_is_what_its_schema_says(event: Event) -> None:
    assert [fault.message for fault in SCHEMA.iter_errors(document(event, SETTINGS))] == []


TEXT = st.text(max_size=200)
FILES = st.builds(
    EventFile,
    key=TEXT,
    version_id=TEXT,
    rows=st.integers(0, 10**12),
    reasons=st.lists(TEXT, max_size=12).map(tuple),
    checks=st.lists(st.builds(lambda text: replace(CHECK, name=text, found=text), TEXT), max_size=3).map(tuple),
)
EVENTS = st.builds(
    lambda kind, files, by: replace(PUBLISHED, kind=kind, files=tuple(files * 40), by=by, why=by),
    st.sampled_from(EventKind),
    st.lists(FILES, max_size=2),
    TEXT,
)


@settings(max_examples=10)
@given(event=EVENTS)
def test_whatever_strangers_write_the_document_is_as_its_schema_says_and_fits(event: Event) -> None:
    found = document(event, SETTINGS)
    assert [fault.message for fault in SCHEMA.iter_errors(found)] == []
    assert len(json.dumps(found)) <= LARGEST
    assert len(found["files"]) + found["more_files"] == len(event.files)


def test_files_that_do_not_fit_are_counted() -> None:
    found = document(
        replace(PUBLISHED, files=tuple(replace(PUBLISHED.files[0], key="ü" * 1000) for _ in range(100))), SETTINGS
    )
    assert (len(found["files"]), found["more_files"]) == (25, 75)


# EventBridge.


def test_the_bus_gets_the_document_with_a_type_for_each_kind(bus: Bus) -> None:
    for event in (PUBLISHED, REJECTED):
        bus.channel.send(event)
    got = bus.got()
    assert [(it["source"], it["detail-type"]) for it in got] == [
        ("lakegate", "Files Published"),
        ("lakegate", "Files Rejected"),
    ]
    assert [it["detail"] for it in got] == [document(event, SETTINGS) for event in (PUBLISHED, REJECTED)]
    assert {*DETAIL_TYPES} == {*EventKind}


def test_a_bus_is_looked_at(bus: Bus) -> None:
    assert bus.channel.probe() == "lake"
    with pytest.raises(Misconfigured, match="elsewhere"):
        EventBus(replace(SETTINGS, event_bus="elsewhere")).probe()


@pytest.mark.parametrize(
    ("code", "error"),
    [("ThrottlingException", Retryable), ("InternalFailure", Retryable), ("MalformedDetail", Misconfigured)],
)
def test_an_event_that_the_bus_does_not_take_is_not_told(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, code: str, error: type[LakegateError]
) -> None:
    answer = {"FailedEntryCount": 1, "Entries": [{"ErrorCode": code, "ErrorMessage": "no"}]}
    monkeypatch.setattr(bus.channel._events, "put_events", lambda **_: answer)
    with pytest.raises(error, match=code):
        bus.channel.send(PUBLISHED)


def test_a_bus_that_may_not_be_told_is_a_mistake_to_name(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutEvents")

    monkeypatch.setattr(bus.channel._events, "put_events", refuse)
    with pytest.raises(Misconfigured, match="the event bus lake"):
        bus.channel.send(PUBLISHED)


# The webhook.


def test_the_webhook_gets_a_signature_that_another_library_verifies(hook: Webhook, elsewhere: Elsewhere) -> None:
    hook.send(PUBLISHED)
    [(path, headers, body)] = elsewhere.got
    assert (path, headers["content-type"], headers["webhook-id"]) == ("/hook", "application/json", PUBLISHED.id)
    got = Receiver(KEY).verify(body, headers)
    assert got == {"type": "lakegate.published", "timestamp": AT.isoformat(), "data": document(PUBLISHED, SETTINGS)}
    for changed in (body + b" ", body.replace(b"27004", b"27005")):
        with pytest.raises(WebhookVerificationError):
            Receiver(KEY).verify(changed, headers)
    with pytest.raises(WebhookVerificationError):
        Receiver(OTHER).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Receiver(KEY).verify(body, headers | {"webhook-id": "another"})


def test_while_keys_are_changed_both_sign(hook: Webhook, elsewhere: Elsewhere, aws: Any) -> None:
    aws.put_secret_value(SecretId="hook", SecretString=f"{OTHER}\n{KEY}\n")
    hook.send(REJECTED)
    [(_, headers, body)] = elsewhere.got
    for key in (KEY, OTHER):
        assert Receiver(key).verify(body, headers)["type"] == "lakegate.rejected"


def test_a_signature_that_is_refused_is_made_anew_with_the_secret_of_now(
    hook: Webhook, elsewhere: Elsewhere, aws: Any
) -> None:
    hook.send(PUBLISHED)
    aws.put_secret_value(SecretId="hook", SecretString=OTHER)
    elsewhere.status = 401
    with pytest.raises(Misconfigured, match="401"):
        hook.send(PUBLISHED)
    _, (_, old, body), (_, new, again) = elsewhere.got
    assert Receiver(KEY).verify(body, old) == Receiver(OTHER).verify(again, new)


def test_a_trial_is_an_event_of_a_type_of_its_own(hook: Webhook, elsewhere: Elsewhere) -> None:
    assert (hook.probe(), elsewhere.got) == (1, [])
    hook.try_it()
    [(_, headers, body)] = elsewhere.got
    assert Receiver(KEY).verify(body, headers)["type"] == "lakegate.trial"


@pytest.mark.parametrize("text", ["", "  ", "whsec_", "whsec_c2hvcnQ=", "xoxb-token", f"{KEY} short"])
def test_what_is_no_key_is_named_with_how_to_make_one(text: str) -> None:
    with pytest.raises(Misconfigured, match=r"--secret-id hook --secret-string .whsec_\$\(openssl rand"):
        keys(text, "hook")


# Answers of either.


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, Misconfigured),
        (403, Misconfigured),
        (404, Misconfigured),
        (410, Misconfigured),
        (413, Refused),
        (429, Retryable),
        (503, Retryable),
        (500, OutcomeUnknown),
        (504, OutcomeUnknown),
    ],
)
def test_an_answer_says_what_to_do_now(hook: Webhook, elsewhere: Elsewhere, status: int, error: type) -> None:
    elsewhere.status = status
    with pytest.raises(LakegateError, match=f"127.0.0.1:.*: {status}") as caught:
        hook.send(PUBLISHED)
    assert isinstance(caught.value, error)


def test_no_redirect_is_followed(hook: Webhook, elsewhere: Elsewhere, uri: str) -> None:
    elsewhere.status, elsewhere.location = 307, f"{uri}/elsewhere"
    with pytest.raises(Misconfigured, match="redirects"):
        hook.send(PUBLISHED)
    assert [path for path, *_ in elsewhere.got] == ["/hook"]


def test_a_receiver_that_nobody_is_at_was_not_told(aws: Any) -> None:  # noqa: ARG001 (the secret is there)
    import socket

    with socket.socket() as taken:  # and does not listen: nobody else can
        taken.bind(("127.0.0.1", 0))
        where = f"http://127.0.0.1:{taken.getsockname()[1]}/hook"
        with pytest.raises(Retryable):
            Webhook(replace(SETTINGS, webhook_url=where, webhook_secret="hook")).send(PUBLISHED)


# OpenLineage.


def test_a_run_begins_and_ends_at_the_address_that_the_specification_has(
    lineage: Lineage, elsewhere: Elsewhere
) -> None:
    lineage.send(PUBLISHED)
    assert {path for path, *_ in elsewhere.got} == {"/api/v1/lineage"}
    start, end = elsewhere.bodies()
    assert (start["eventType"], start["eventTime"]) == ("START", "2013-01-31T04:06:00+00:00")
    assert (end["eventType"], end["eventTime"]) == ("COMPLETE", "2013-01-31T04:07:00+00:00")
    assert start["run"]["runId"] == end["run"]["runId"] == run_id(PUBLISHED)
    assert end["job"]["namespace"], end["job"]["name"] == (SETTINGS.name, "nyc.flights")


def test_the_files_are_inputs_with_assertions_and_the_table_is_what_came_of_their_columns() -> None:
    _, end = run_events(PUBLISHED, SETTINGS)
    [file], [table] = end["inputs"], end["outputs"]
    assert (file["namespace"], file["name"]) == (f"s3://{SETTINGS.landing_bucket}", "nyc/flights/2013-01.parquet")
    [assertion] = file["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert assertion == {
        "assertion": "dep_time required",
        "success": True,
        "column": "dep_time",
        "severity": "error",
        "expected": "none",
        "actual": "0 of 27,004 rows",
    }
    assert (table["namespace"], table["name"]) == (SETTINGS.nessie_uri, "nyc.flights")
    facets = table["facets"]
    assert facets["version"]["datasetVersion"] == PUBLISHED.commit
    assert [(it["name"], it.get("type")) for it in facets["schema"]["fields"]] == [
        ("dep_time", "timestamp"),
        ("zip", None),
    ]
    [source] = facets["columnLineage"]["fields"]["dep_time"]["inputFields"]
    assert (source["name"], source["field"]) == ("nyc/flights/2013-01.parquet", "dep_time")
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 27_004


WIDE = st.builds(
    lambda columns, files, checks, text, kind: replace(
        PUBLISHED,
        kind=kind,
        columns=tuple(EventColumn(name=f"{text}{at}", type="string", doc=text) for at in range(columns)),
        files=tuple(
            EventFile(key=f"{text}{at}", version_id="v", rows=1, checks=(replace(CHECK, name=text),) * checks)
            for at in range(files)
        ),
    ),
    st.sampled_from([0, 1, 40, 1_000, 5_000]),
    st.sampled_from([0, 1, 7, 100]),
    st.sampled_from([0, 1, 20]),
    st.sampled_from(["a", "é" * 100, "x" * 500, '"' * 200, "\U0001f600" * 100]),
    st.sampled_from(EventKind),
)


@settings(max_examples=40, deadline=None)
@given(event=WIDE)
def test_lineage_of_any_width_is_bounded_before_it_is_made(event: Event) -> None:
    made = Counter[str]()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_name_of", "_assertion"):
            patch.setattr(lineage_events, name, counting(made, name, getattr(lineage_events, name)))
        _, end = run_events(event, SETTINGS)
    assert len(json.dumps(end)) <= lineage_events.LARGEST + 4_000
    assert sum(made.values()) <= lineage_events.LARGEST / lineage_events.ABOUT
    if event.kind is EventKind.PUBLISHED:
        assert end["outputs"][0]["outputFacets"]["outputStatistics"]["fileCount"] == len(event.files)


def counting(made: Counter[str], name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        made[name] += 1
        return real(*given)

    return call


def test_what_does_not_fit_is_left_out_by_facet() -> None:
    """5,000 columns of a hundred files were 1.3 GB."""
    columns = tuple(EventColumn(name=f"c{at}", type="string") for at in range(1_500))
    checks = (CHECK, replace(CHECK, verdict="fail"))
    wide = replace(
        PUBLISHED, columns=columns, files=tuple(replace(PUBLISHED.files[0], checks=checks) for _ in range(100))
    )
    _, end = run_events(wide, SETTINGS)
    [table] = end["outputs"]
    assert sorted(table["facets"]) == ["schema", "storage", "version"]
    assert len(end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]) == 2
    _, end = run_events(wide, SETTINGS, 150_000)
    assert sorted(end["outputs"][0]["facets"]) == ["storage", "version"]
    assert end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"] == []
    assert len(end["inputs"]) == 100


def test_a_receiver_that_takes_no_large_event_gets_a_smaller_one(lineage: Lineage, elsewhere: Elsewhere) -> None:
    elsewhere.largest = lineage_events.SMALLER
    files = tuple(replace(PUBLISHED.files[0], checks=(CHECK,) * 20) for _ in range(100))
    lineage.send(replace(PUBLISHED, files=files))
    assert max(len(body) for _, _, body in elsewhere.got[-2:]) <= lineage_events.SMALLER
    elsewhere.largest = 10
    with pytest.raises(Refused, match="413"):
        lineage.send(PUBLISHED)


def test_what_is_rejected_is_a_run_that_failed_with_its_reasons() -> None:
    _, end = run_events(REJECTED, SETTINGS)
    assert (end["eventType"], end["outputs"]) == ("FAIL", [])
    assert end["run"]["facets"]["errorMessage"]["message"].endswith("12 of 27,004 rows, expected none")
    [assertion] = end["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert assertion["success"] is False


def test_a_key_that_was_replaced_is_read_anew(lineage: Lineage, elsewhere: Elsewhere, aws: Any) -> None:
    lineage.send(PUBLISHED)
    aws.put_secret_value(SecretId="lineage", SecretString="key-2")
    elsewhere.key = "key-2"
    lineage.send(PUBLISHED)
    assert len(elsewhere.got) == 2 + 1 + 2


def test_a_receiver_without_a_key_is_sent_none(uri: str, elsewhere: Elsewhere) -> None:
    Lineage(replace(SETTINGS, lineage_url=uri)).send(PUBLISHED)
    assert ["authorization" in headers for _, headers, _ in elsewhere.got] == [False, False]


HOSTILE = "a\n\u202e<script>'\"\ud800"


@pytest.mark.parametrize(
    "event",
    [
        PUBLISHED,
        REJECTED,
        replace(PUBLISHED, files=()),
        replace(REJECTED, files=(replace(REJECTED.files[0], key=HOSTILE, reasons=(HOSTILE,)),)),
    ],
)
def test_the_clients_own_classes_write_the_same_events(event: Event) -> None:
    for told in run_events(event, SETTINGS):
        assert rebuilt_and_written(told) == full(told)


FACETS = {
    "columnLineage": facet_v2.column_lineage_dataset.ColumnLineageDatasetFacet,
    "dataQualityAssertions": facet_v2.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
    "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
    "jobType": facet_v2.job_type_job.JobTypeJobFacet,
    "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "processing_engine": facet_v2.processing_engine_run.ProcessingEngineRunFacet,
    "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
    "storage": facet_v2.storage_dataset.StorageDatasetFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
}


def rebuilt_and_written(told: dict[str, Any]) -> Any:
    """The event made of the client's classes, which refuse what they do not know or miss, and written by the client.

    The classes say which version of the specification each facet is of.
    """
    return full(json.loads(Serde.to_json(made(event_v2.RunEvent, told))))


def full(value: Any) -> Any:
    """The same without empty lists and objects, which the client leaves out here and writes there."""
    if isinstance(value, dict):
        return {name: its for name, each in value.items() if (its := full(each)) not in ({}, [])}
    return [full(each) for each in value] if isinstance(value, list) else value


def made(kind: Any, value: Any) -> Any:
    """A value of the client's classes, from JSON."""
    if value is None or kind in (Any, str, int, float, bool):
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    origin = typing.get_origin(kind)
    if origin is list:
        return [made(typing.get_args(kind)[0], each) for each in value]
    if origin is dict:
        of = typing.get_args(kind)[1]
        facets = isinstance(of, type) and of.__name__.endswith("Facet")
        return {name: made(FACETS[name] if facets else of, each) for name, each in value.items()}
    if origin is not None:  # X | None
        [only] = [each for each in typing.get_args(kind) if each is not type(None)]
        return made(only, value)
    hints = typing.get_type_hints(kind, vars(inspect.getmodule(kind)), vars(typing))
    its = {it.name: it for it in attr.fields(kind)}
    given = {name: made(hints[name], each) for name, each in value.items() if its[name].init}
    return kind(**{its[name].alias: each for name, each in given.items()})
