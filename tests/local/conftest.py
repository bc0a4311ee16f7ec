"""One local cloud for all tests of this layer, on free ports and in a folder of its own: another may run beside it."""

import io
import json
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from lakegate_local.cloud import Cloud
from lakegate_local.deploy import give_tokens
from lakegate_local.services import ACCOUNT, client
from lakegate_local.settings import LocalSettings

from examples.bad_files import parquet
from infra.config import MACHINE
from tests.local.installation import Installation
from tests.local.kinds import Aws
from tests.local.ports import PORTS, free_ports
from tests.local.things import CONTRACT, Things, on_spark, rows

ROLE = f"arn:aws:iam::{ACCOUNT}:role/any"
# A minute of a job's time-out, and of the sweep's schedule, lasts this long, so that a test need not wait for one.
MINUTE_SECONDS = 10.0


# Rights are proved by what all other tests have the cloud do, and secrets are looked for in what it has left.
LAST = [Path(__file__).with_name(f"test_{name}.py") for name in ("rights", "secrets")]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LAST.index(item.path) + 1 if item.path in LAST else 0)


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return apart(tmp_path_factory.mktemp("local-cloud"))


def apart(folder: Path) -> LocalSettings:
    """The settings of a cloud in this folder, on free ports."""
    ports: dict[str, Any] = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    return LocalSettings(
        run=folder / "run",
        profile=folder / ".lakegate.env",
        minute_seconds=MINUTE_SECONDS,
        nessie_store="ROCKSDB",
        **ports,
    )


@pytest.fixture(scope="session")
def cloud(settings: LocalSettings) -> Iterator[Any]:
    """The servers of a local cloud, with nothing deployed to it."""
    with started(settings):
        yield settings


@contextmanager
def started(settings: LocalSettings) -> Iterator[None]:
    running = Cloud(settings=settings)
    try:
        running.start(lambda *_: None)
        give_tokens(settings)
        yield
    finally:
        running.down(lambda *_: None)


@pytest.fixture(scope="session")
def aws(cloud: LocalSettings) -> Any:
    """`aws("s3")`: one client of the local cloud for each service."""
    return cache(partial(client, cloud))


@pytest.fixture
def bucket(aws: Aws) -> Any:
    name = f"test-{uuid.uuid4().hex}"
    aws("s3").create_bucket(Bucket=name)
    return name


@pytest.fixture
def function(aws: Aws) -> Iterator[Any]:
    """`function(source)` makes a Lambda function of one module, ready to be invoked, and returns its name."""
    made = []

    def make(source: str, **options: Any) -> Any:
        name = f"test-{uuid.uuid4().hex[:8]}"
        defaults = {
            "Runtime": "python3.13",
            "Architectures": [MACHINE],
            "Handler": "app.handler",
            "Timeout": 300,
            "MemorySize": 128,
        }
        aws("lambda").create_function(
            FunctionName=name, Role=ROLE, Code={"ZipFile": zipped(source)}, **{**defaults, **options}
        )
        aws("lambda").get_waiter("function_active_v2").wait(
            FunctionName=name, WaiterConfig={"Delay": 0.1, "MaxAttempts": 3000}
        )
        made.append(name)
        return name

    yield make
    for name in made:
        aws("lambda").delete_function(FunctionName=name)


def zipped(source: str) -> Any:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("app.py", source)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def until() -> Any:
    """`until(ask)` asks again and again until the answer is true, and returns it; it fails after a deadline.

    The deadline only ends a test that would never end: no test proves how long something takes.
    """

    def wait(ask: Callable[[], Any], seconds: float = 300) -> Any:
        deadline = time.monotonic() + seconds
        while (asked := time.monotonic()) < deadline:
            if answer := ask():
                return answer
            # A question may keep half of the cloud busy, which has other work to do.
            time.sleep(max(0.1, 3 * (time.monotonic() - asked)))
        raise TimeoutError(f"not within {seconds} s")

    return wait


@pytest.fixture
def queue(aws: Aws) -> Iterator[Any]:
    url = aws("sqs").create_queue(QueueName=f"test-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    yield url
    aws("sqs").delete_queue(QueueUrl=url)


@pytest.fixture
def arn_of(aws: Aws) -> Any:
    return lambda url: aws("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]


@pytest.fixture
def received(aws: Aws) -> Any:
    """`received(url)` takes what is in a queue now."""

    def take(url: str) -> Any:
        answer = aws("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in answer.get("Messages", ())]

    return take


@pytest.fixture(scope="session")
def installation(cloud: LocalSettings, aws: Callable[[str], Any]) -> Installation:
    outputs = Cloud(settings=cloud).up(lambda *_: None)
    boto3.DEFAULT_SESSION = None  # it would keep the keys that another test's process had, and a command is a person's
    return Installation(settings=cloud, outputs=dict(outputs), aws=aws)


@pytest.fixture
def things(installation: Installation, tmp_path: Path) -> Things:
    return pushed(installation, tmp_path)


@pytest.fixture
def spark_things(installation: Installation, tmp_path: Path) -> Things:
    """The same of a table whose jobs are Spark's."""
    return pushed(installation, tmp_path, on_spark)


@dataclass(frozen=True, kw_only=True)
class Landed:
    """A file that is on main, and the version of it."""

    things: Things
    key: str
    version: str


@pytest.fixture(scope="session")
def by_spark(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Landed:
    """One file that Spark has brought to main, for all tests that only look at what its job has left."""
    things = pushed(installation, tmp_path_factory.mktemp("by-spark"), on_spark)
    key = f"{things.prefix}/1.parquet"
    version = installation.put(key, parquet(rows(0, 10)))
    installation.wait(key)
    return Landed(things=things, key=key, version=version)


def pushed(installation: Installation, folder: Path, changed: Callable[[str], str] = str) -> Things:
    name = f"t{uuid.uuid4().hex[:8]}"
    made = Things(table=f"shop.{name}", prefix=f"shop/{name}", contract=folder / f"{name}.yaml")
    made.contract.write_text(changed(CONTRACT.format(table=made.table, prefix=made.prefix)))
    installation.run("contract", "push", made.contract)
    return made
