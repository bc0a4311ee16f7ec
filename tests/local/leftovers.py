"""All that a run of the local cloud leaves behind, as text, by the kind of place.

What strangers have uploaded is theirs, and so are its copies in staging: neither is read.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import fastavro
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from lakegate_local.processes import Processes
from lakegate_local.settings import LocalSettings

from lakegate.adapters.stacks import Stacks
from tests.local.installation import Installation
from tests.local.tokens import asked, history, sts_of_person, token

OWN_KEYS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")  # of a process's environment, where AWS puts them, too
SERVERS_OWN = "data"  # of the run folder: what the servers keep there is read by their calls
JARS, PACKED = (".jar",), ".tar.zst"  # third parties' alone, as the lock has them by their hashes
ZIPS, GZIP, PARQUET, AVRO = b"PK\x03\x04", b"\x1f\x8b", b"PAR1", b"Obj\x01"
READERS = 4
Text = tuple[str, str]  # where it is, and what it says


@dataclass(frozen=True, kw_only=True)
class Place:
    """A kind of place; `says` is something that is there after any run."""

    texts: Callable[[Installation], Iterator[Text]]
    says: str


def text(body: bytes) -> str:
    """Return what a file says, in itself and unpacked."""
    said = body.decode("latin-1")
    if body.startswith(GZIP):
        return zlib.decompress(body, wbits=zlib.MAX_WBITS | 16).decode("latin-1")
    if body.startswith(ZIPS):
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            names = [name for name in packed.namelist() if not name.endswith(PACKED)]
            return "\n".join(f"{name}: {packed.read(name).decode('latin-1')}" for name in names)
    if body.startswith(AVRO):
        return said + str(list(fastavro.reader(io.BytesIO(body))))
    if body.startswith(PARQUET):
        return said + "\n".join(_texts_of(pq.read_table(io.BytesIO(body))))
    return said


def _texts_of(table: pa.Table) -> Iterator[str]:
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            yield "\n".join(filter(None, column.unique().to_pylist()))


def processes(settings: LocalSettings) -> Iterator[Text]:
    """The arguments and the environment of each function and each job that there is now."""
    localstack = Processes(folder=settings.run).running("localstack")
    assert localstack, "LocalStack does not run"
    for process in psutil.Process(localstack.pid).children(recursive=True):
        try:
            told = {name: value for name, value in process.environ().items() if name not in OWN_KEYS}
            yield f"process {process.pid}", f"{process.cmdline()} {told}"
        except psutil.Error:  # it has ended
            continue


def _processes(installation: Installation) -> Iterator[Text]:
    yield from installation.seen
    yield from processes(installation.settings)


def _objects(*outputs: str, besides: tuple[str, ...] = ()) -> Callable[[Installation], Iterator[Text]]:
    return lambda installation: _in_buckets([installation.outputs[name] for name in outputs], installation.aws, besides)


def _in_buckets(buckets: list[str], aws: Callable[[str], Any], besides: tuple[str, ...] = ()) -> Iterator[Text]:
    """Every version of every object but of those whose key begins or ends so."""
    s3 = aws("s3")
    found = [
        (bucket, it["Key"], it["VersionId"])
        for bucket in buckets
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
        for it in page.get("Versions", ())
        if not it["Key"].startswith(besides) and not it["Key"].endswith(JARS)
    ]

    def read(one: tuple[str, str, str]) -> Text:
        bucket, key, version = one
        body = s3.get_object(Bucket=bucket, Key=key, VersionId=version)["Body"].read()
        return f"s3://{bucket}/{key}", text(body)

    with ThreadPoolExecutor(READERS) as pool:
        yield from pool.map(read, found)


def _assets(installation: Installation) -> Iterator[Text]:
    """Return what was uploaded for the deployments: templates and code."""
    buckets = [it["Name"] for it in installation.aws("s3").list_buckets()["Buckets"] if "-assets-" in it["Name"]]
    return _in_buckets(buckets, installation.aws)


def _files(installation: Installation) -> Iterator[Text]:
    """Yield what is in the run folder: records and logs of servers, job runs, messages, the assembly."""
    folder = installation.settings.run
    parts = [it for it in folder.iterdir() if it.name != SERVERS_OWN]  # which has tens of thousands of files
    for path in (it for part in parts for it in (part, *part.rglob("*"))):
        if path.is_file() and path.suffix not in {*JARS, ".zip"}:
            yield str(path.relative_to(folder)), text(path.read_bytes())


def _logs(installation: Installation) -> Iterator[Text]:
    logs = installation.aws("logs")
    for group in logs.describe_log_groups()["logGroups"]:
        for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group["logGroupName"]):
            yield from ((group["logGroupName"], event["message"]) for event in page["events"])


def _job_runs(installation: Installation) -> Iterator[Text]:
    emr, application = installation.aws("emr-serverless"), installation.outputs["ApplicationId"]
    for page in emr.get_paginator("list_job_runs").paginate(applicationId=application):
        for run in page["jobRuns"]:
            yield run["id"], str(emr.get_job_run(applicationId=application, jobRunId=run["id"]))


def _functions(installation: Installation) -> Iterator[Text]:
    for page in installation.aws("lambda").get_paginator("list_functions").paginate():
        yield from ((it["FunctionName"], str(it)) for it in page["Functions"])


def _stack(installation: Installation) -> Iterator[Text]:
    stack, cloudformation = installation.settings.stack, installation.aws("cloudformation")
    yield "outputs", str(cloudformation.describe_stacks(StackName=stack))
    yield "template", str(cloudformation.get_template(StackName=stack)["TemplateBody"])
    yield "events", str(cloudformation.describe_stack_events(StackName=stack))


def _queues(installation: Installation) -> Iterator[Text]:
    """Attributes, and messages as far as one look shows them. They stay."""
    sqs = installation.aws("sqs")
    for resource in Stacks(installation.aws).resources(installation.settings.stack):
        if resource.kind == "AWS::SQS::Queue":
            yield resource.id, str(sqs.get_queue_attributes(QueueUrl=resource.id, AttributeNames=["All"]))
            seen = sqs.receive_message(QueueUrl=resource.id, MaxNumberOfMessages=10, VisibilityTimeout=0)
            yield from ((resource.id, str(message)) for message in seen.get("Messages", ()))


def _commits(installation: Installation) -> Iterator[Text]:
    """Yield what is told of the last commits of every branch."""
    settings = installation.settings
    own = token(settings, sts_of_person(settings))
    for it in asked(settings, own, "/api/v2/trees").json()["references"]:
        yield it["name"], str(history(settings, own, quote(it["name"], safe="")))


def _said(installation: Installation) -> Iterator[Text]:
    return (("a command", said) for said in installation.said)


PLACES: Mapping[str, Place] = {
    "jobs, reports, notes, logs of jobs": Place(texts=_objects("ServiceBucket", besides=("staging/",)), says="wap-"),
    "tables": Place(texts=_objects("LakeBucket"), says="_lakegate_file"),
    "assets": Place(texts=_assets, says="AWS::Lambda::Function"),
    "files": Place(texts=_files, says="StartJobRun"),
    "logs of functions": Place(texts=_logs, says="RequestId"),
    "job runs": Place(texts=_job_runs, says="executionIamPolicy"),
    "functions": Place(texts=_functions, says="LAKEGATE_"),
    "stack": Place(texts=_stack, says="LandingBucket"),
    "queues": Place(texts=_queues, says="QueueArn"),
    "commits": Place(texts=_commits, says="published "),
    "processes": Place(texts=_processes, says="awslambdaric"),
    "commands": Place(texts=_said, says="published"),
}
