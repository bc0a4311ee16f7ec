"""The whole loop on the local cloud, by the commands a person would type: the unmodified stack, real events, real
Spark.

Tests share one deployed stack; each brings a table of its own, but for the year of flights.
"""

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lakegate_local.cloud import Cloud
from lakegate_local.settings import LocalSettings
from lakegate_local.slack_messages import read

from examples import nyc
from examples.bad_files import awkward_keys, bad_files, parquet

pytestmark = pytest.mark.local

ROOT = Path(__file__).parents[2]
FLIGHTS = 336_776
PATIENCE = 600.0
DONE, REJECTED = 0, 1
CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
servers:
  - server: landing
    type: s3
    location: s3://landing/{prefix}/**
    format: parquet
schema:
  - name: things
    physicalName: {table}
    properties:
      - name: id
        logicalType: integer
        primaryKey: true
        primaryKeyPosition: 1
      - name: name
        logicalType: string
        required: true
      - name: weight
        logicalType: number
        logicalTypeOptions: {{minimum: 0}}
"""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The deployed stack, as its user sees it."""

    settings: LocalSettings
    outputs: dict[str, str]
    aws: Callable[[str], Any]

    def run(self, *arguments: object, code: int = DONE) -> str:
        """A command's standard output; the test fails if it did not end with this code."""
        command = [str(Path(sys.executable).parent / "lakegate"), *map(str, arguments)]
        env = {"PATH": os.defpath, "HOME": str(self.settings.run), "LAKEGATE_ENV_FILE": str(self.settings.profile)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE + 60, check=False)
        said = f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        assert done.returncode == code, f"{said}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        """The last words of each function, for a test that failed."""
        logs, lines = self.aws("logs"), []
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"])["events"]
            lines += [f"--- {group['logGroupName']}", *(event["message"].rstrip() for event in events[-60:])]
        return "\n".join(lines)

    def json(self, *arguments: object, code: int = DONE) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code))

    def query(self, sql: str, ref: str = "main") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.json("query", sql, "--ref", ref)
        return rows

    def wait(self, *targets: str, code: int = DONE) -> None:
        self.run("wait", *targets, "--timeout", PATIENCE, code=code)

    def drop(self, table: str, *files: Path, code: int = DONE) -> dict[str, dict[str, Any]]:
        """Drop files and wait for them; what became of each, by file name."""
        landed = self.json("drop", *files, "--table", table)["files"]
        seen = self.json("wait", *(entry["file"] for entry in landed), "--timeout", PATIENCE, code=code)["files"]
        return {Path(entry["file"]).name: entry for entry in seen}

    def rejected(self, prefix: str) -> dict[str, str]:
        """Reasons by key, of the rejected files whose key starts so."""
        entries = self.json("status")["rejected"]
        return {
            key: "; ".join(entry["reasons"]) for entry in entries for key in entry["files"] if key.startswith(prefix)
        }

    def put(self, key: str, body: bytes) -> str:
        """What a stranger's upload does. Returns the version id."""
        answer = self.aws("s3").put_object(Bucket=self.outputs["LandingBucket"], Key=key, Body=body)
        return str(answer["VersionId"])

    def messages(self, mentions: str) -> list[str]:
        """The Slack messages that mention this, as text."""
        texts = [json.dumps(message, ensure_ascii=False) for message in read(self.settings.messages)]
        return [text for text in texts if mentions in text]


@pytest.fixture(scope="session")
def installation(cloud: LocalSettings, aws: Callable[[str], Any]) -> Installation:
    outputs = Cloud(settings=cloud).up(lambda *_: None)
    return Installation(settings=cloud, outputs=dict(outputs), aws=aws)


@dataclass(frozen=True, kw_only=True)
class Things:
    """A table of one test's own, with its contract pushed."""

    table: str
    prefix: str
    contract: Path


@pytest.fixture
def things(installation: Installation, tmp_path: Path) -> Things:
    name = f"t{uuid.uuid4().hex[:8]}"
    made = Things(table=f"shop.{name}", prefix=f"shop/{name}", contract=tmp_path / f"{name}.yaml")
    made.contract.write_text(CONTRACT.format(table=made.table, prefix=made.prefix))
    installation.run("contract", "push", made.contract)
    return made


def rows(start: int, count: int) -> pa.Table:
    ids = range(start, start + count)
    weights = [None if number % 7 == 0 else number * 0.5 for number in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "name": [f"thing {number}" for number in ids],
            "weight": pa.array(weights, pa.float64()),
        }
    )


def test_a_year_of_flights_and_a_doctored_month(installation: Installation, tmp_path: Path) -> None:
    example = nyc.write(tmp_path)
    installation.run("contract", "push", *sorted((ROOT / "contracts").glob("*.yaml")))
    files = [*example.months, example.doctored.path]
    seen = installation.drop("nyc.flights", *files, code=REJECTED)
    assert sorted(entry["state"] for entry in seen.values()) == ["published"] * 12 + ["rejected"]

    by_month = installation.query(
        "SELECT month, count(*) AS n, count(DISTINCT _lakegate_file) AS files, count(tailnum) AS tails "
        "FROM nyc.flights GROUP BY month"
    )
    expected = {pq.read_table(path)["month"][0].as_py(): pq.read_metadata(path).num_rows for path in example.months}
    assert {row["month"]: row["n"] for row in by_month} == expected
    assert sum(row["n"] for row in by_month) == FLIGHTS
    assert {row["files"] for row in by_month} == {1}
    assert FLIGHTS - sum(row["tails"] for row in by_month) == 2512  # real nulls

    key = f"nyc/flights/{example.doctored.path.name}"
    (entry,) = [entry for entry in installation.json("status")["rejected"] if key in entry["files"]]
    assert entry["files"] == [key]
    assert entry["rows"] == example.doctored.rows
    on_branch = installation.query("SELECT count(*) AS n FROM nyc.flights WHERE year = 2014", entry["branch"])
    assert on_branch == [{"n": example.doctored.rows}]
    assert installation.query("SELECT count(*) AS n FROM nyc.flights WHERE year = 2014") == [{"n": 0}]
    report = installation.json("show", entry["batch"])
    assert entry["batch"] in json.dumps(report)
    (message,) = installation.messages(key)
    assert entry["branch"] in message

    # The same bytes again, and other bytes under a published key.
    again = installation.drop("nyc.flights", example.months[0])
    assert [sight["state"] for sight in again.values()] == ["already published"]
    other = tmp_path / "other" / example.months[1].name
    other.parent.mkdir()
    other.write_bytes(example.months[2].read_bytes())
    (sight,) = installation.drop("nyc.flights", other, code=REJECTED).values()
    assert "already published" in sight["reasons"][0]
    assert installation.query("SELECT count(*) AS n FROM nyc.flights") == [{"n": FLIGHTS}]


def test_bad_input_is_rejected_by_name_and_good_files_under_awkward_keys_are_published(
    installation: Installation, things: Things
) -> None:
    good = rows(100_000, 50)
    bad = {f"{things.prefix}/{file.name}": file for file in bad_files(good, missing="name", wrong="weight")}
    keys = awkward_keys(f"{things.prefix}/")
    for key, file in bad.items():
        installation.put(key, file.body)
    for number, key in enumerate(keys):
        installation.put(key, parquet(rows(number * 10, 10)))
    installation.wait(code=REJECTED)

    found = installation.rejected(things.prefix)
    assert set(found) == set(bad)
    words = {
        "empty object": "empty",
        "truncated parquet": "truncated",
        "text named parquet": "not a parquet file",
        "zero rows": "no rows",
        "missing column": '"name" is missing',
        "extra column": '"surprise"',
        "wrong type": '"weight"',
        "encrypted parquet": "encrypted",
        "encrypted columns": "encrypted",
        "corrupt page": "read",
    }
    for key, file in bad.items():
        assert words[file.wrong] in found[key], (file.wrong, found[key])
        assert installation.messages(Path(key).name), f"Slack did not hear of {key}"
    (counted,) = installation.query(f"SELECT count(*) AS n, count(DISTINCT id) AS ids FROM {things.table}")
    assert counted == {"n": 10 * len(keys), "ids": 10 * len(keys)}
    published = [key for entry in installation.json("status")["published"] for key in entry["files"]]
    assert set(keys) <= set(published)


def test_a_redelivered_and_regrouped_event_publishes_once(installation: Installation, things: Things) -> None:
    keys = [f"{things.prefix}/{number}.parquet" for number in range(3)]
    versions = [installation.put(key, parquet(rows(number * 10, 10))) for number, key in enumerate(keys)]
    url = installation.outputs["IngestQueueUrl"]
    for group in ((0, 1), (0, 2), (0, 1, 2)):
        entries = [
            {"Id": str(number), "MessageBody": json.dumps(created(installation, keys[number], versions[number]))}
            for number in group
        ]
        installation.aws("sqs").send_message_batch(QueueUrl=url, Entries=entries)
    installation.wait()
    assert installation.query(f"SELECT count(*) AS n, count(DISTINCT id) AS ids FROM {things.table}") == [
        {"n": 30, "ids": 30}
    ]


def created(installation: Installation, key: str, version: str) -> dict[str, Any]:
    thing = {"key": key, "version-id": version, "size": 1, "etag": "", "sequencer": "00"}
    bucket = {"name": installation.outputs["LandingBucket"]}
    return {"source": "aws.s3", "detail-type": "Object Created", "detail": {"bucket": bucket, "object": thing}}


def test_a_key_that_no_contract_routes_is_held_told_once_and_picked_up(
    installation: Installation, things: Things
) -> None:
    late = things.table.replace("shop.t", "shop.late_t")
    prefix = things.prefix.replace("shop/", "late/")
    key = f"{prefix}/1.parquet"
    installation.put(key, parquet(rows(0, 10)))
    installation.wait()
    (held,) = [entry for entry in installation.json("status")["held"] if key in entry["files"]]
    assert "no contract" in held["reasons"][0]
    assert len(installation.messages(key)) == 1
    things.contract.write_text(CONTRACT.format(table=late, prefix=prefix))
    installation.run("contract", "push", things.contract)
    installation.wait(key)
    assert installation.query(f"SELECT count(*) AS n FROM {late}") == [{"n": 10}]


@pytest.fixture
def deaf(installation: Installation) -> Iterator[None]:
    """The rule that carries S3's events is off."""
    events = installation.aws("events")
    bucket = installation.outputs["LandingBucket"]
    (rule,) = [rule["Name"] for rule in events.list_rules()["Rules"] if bucket in rule.get("EventPattern", "")]
    events.disable_rule(Name=rule)
    yield
    events.enable_rule(Name=rule)


@pytest.mark.usefixtures("deaf")
def test_a_lost_s3_event_is_found_by_the_scheduled_sweep(installation: Installation, things: Things) -> None:
    key = f"{things.prefix}/lost.parquet"
    installation.put(key, parquet(rows(0, 10)))
    installation.wait(key)
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 10}]


def test_a_killed_spark_job_is_told_main_is_untouched_and_a_retry_publishes(
    installation: Installation, things: Things, until: Callable[..., Any]
) -> None:
    key = f"{things.prefix}/1.parquet"
    installation.put(key, parquet(rows(0, 10)))
    until(lambda: spark_drivers(things.table), seconds=PATIENCE)
    for driver in spark_drivers(things.table):
        driver.send_signal(signal.SIGKILL)
    installation.wait(key, code=REJECTED)

    (entry,) = [entry for entry in installation.json("status")["rejected"] if key in entry["files"]]
    assert "SIGKILL" in entry["reasons"][0]
    assert entry["branch"]
    (message,) = installation.messages(key)
    assert entry["branch"] in message
    installation.run("query", f"SELECT * FROM {things.table}", code=2)  # there is no such table on main
    installation.run("retry", entry["batch"])
    installation.wait(key)
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 10}]
    assert not [entry for entry in installation.json("status")["rejected"] if key in entry["files"]]


def spark_drivers(table: str) -> list[psutil.Process]:
    """The Java processes that run a job of this table and have come as far as its Python."""
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        command = " ".join(process.info["cmdline"] or ())
        if process.info["name"] == "java" and f"wap-{table}-" in command and is_past_start(process):
            found.append(process)
    return found


def is_past_start(driver: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return any("python" in child.name() for child in driver.children())
    return False


def test_a_rejected_batch_is_discarded_for_good(installation: Installation, things: Things) -> None:
    key = f"{things.prefix}/bad.parquet"
    installation.put(key, b"not a parquet file at all")
    installation.wait(key, code=REJECTED)
    (entry,) = [entry for entry in installation.json("status")["rejected"] if key in entry["files"]]
    installation.run("discard", entry["batch"], "--why", "it was a test")
    assert key not in installation.rejected(things.prefix)


ORDERS = """
apiVersion: v3.2.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
servers:
  - {{server: landing, type: s3, location: "s3://landing/{prefix}/*.csv.gz", format: csv, delimiter: ";"}}
schema:
  - name: orders
    physicalName: {table}
    customProperties:
      - {{property: quarantineBudget, vendor: lakegate, value: {{rows: 2}}}}
      - {{property: scope, vendor: lakegate, value: table}}
    properties:
      - {{name: id, logicalType: integer, primaryKey: true}}
      - name: thing
        logicalType: integer
        relationships:
          - {{to: {parent}.id}}
      - {{name: mail, logicalType: string, classification: confidential, logicalTypeOptions: {{format: email}}}}
    quality:
      - type: custom
        engine: lakegate
        severity: quarantine
        implementation: {{row: id < 100}}
"""


def test_text_that_refers_to_what_comes_with_it_is_published_and_failing_rows_are_put_aside(
    installation: Installation, things: Things, tmp_path: Path
) -> None:
    orders, prefix = f"{things.table}_orders", f"{things.prefix}_orders"
    contract = tmp_path / "orders.yaml"
    contract.write_text(ORDERS.format(table=orders, prefix=prefix, parent=things.table))
    installation.run("contract", "push", contract)
    good, bad = f"{prefix}/good.csv.gz", f"{prefix}/bad.csv.gz"
    installation.put(good, gzip.compress(b"id;thing;mail\n1;3;a@b.example\n2;;\n100;4;c@d.example\n"))
    installation.put(f"{things.prefix}/1.parquet", parquet(rows(0, 10)))
    installation.wait()
    installation.put(bad, gzip.compress(b"id;thing;mail\n1;3;a@b.example\n7;99;secret\nx;4;\n"))
    installation.wait(bad, code=REJECTED)

    assert installation.query(f"SELECT id FROM {orders} ORDER BY id") == [{"id": 1}, {"id": 2}]
    (aside,) = installation.query(f'SELECT * FROM "_quarantine"."{orders.replace(".", "_")}"')
    assert '"id":100' in aside["row_json"].replace(" ", "")
    said = installation.rejected(prefix)[bad]
    for reason in ("primary key id unique", "refers to", "of the format email", "rows that do not parse"):
        assert reason in said
    (batch,) = [entry["batch"] for entry in installation.json("status")["rejected"] if bad in entry["files"]]
    shown = (
        installation.run("show", batch)
        + installation.run("show", batch, "--json")
        + "".join(installation.messages(bad))
    )
    assert "secret" not in shown
