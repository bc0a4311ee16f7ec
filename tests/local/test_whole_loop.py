"""The whole loop on the local cloud, by the commands a person would type: the unmodified stack, real events, real
Spark.

Tests share one deployed stack; each brings a table of its own, but for the year of flights.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from examples import nyc
from examples.bad_files import awkward_keys, bad_files, parquet
from tests.local.installation import REJECTED, Installation
from tests.local.things import CONTRACT, Things, rows
from tests.support.aws_events import object_created

pytestmark = pytest.mark.local

ROOT = Path(__file__).parents[2]
FLIGHTS = 336_776
MASKED = "masked-canary"  # in a column that is classified as confidential


def test_a_year_of_flights_and_a_doctored_month(installation: Installation, tmp_path: Path) -> None:
    example = nyc.write(tmp_path)
    installation.run_as_process("contract", "push", *sorted((ROOT / "contracts").glob("*.yaml")))
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
    main = installation.run_as_process("query", "SELECT count(*) AS n FROM nyc.flights WHERE year = 2014", "--json")
    assert json.loads(main) == [{"n": 0}]
    report = installation.json("show", entry["batch"])
    assert entry["batch"] in json.dumps(report)
    (message,) = installation.messages(key)
    assert entry["branch"] in message

    # The same bytes again, and the same rows in other bytes: these take the place of those.
    first, second, *_ = example.months
    other = tmp_path / "other" / second.name
    other.parent.mkdir()
    pq.write_table(pq.read_table(second), other, compression="gzip")
    sights = installation.drop("nyc.flights", first, other)
    assert {name: sight["state"] for name, sight in sights.items()} == {
        first.name: "already published",
        second.name: "published",
    }
    assert installation.query("SELECT count(*) AS n FROM nyc.flights") == [{"n": FLIGHTS}]


def test_bad_input_is_rejected_by_name_until_it_is_discarded_and_good_files_under_awkward_keys_are_published(
    installation: Installation, things: Things
) -> None:
    good = rows(100_000, 50)
    bad = {f"{things.prefix}/{file.name}": file for file in bad_files(good, missing="name", wrong="weight")}
    keys = awkward_keys(f"{things.prefix}/")
    for key, file in bad.items():
        installation.put(key, file.body)
    for number, key in enumerate(keys):
        installation.put(key, parquet(rows(number * 10, 10)))
    installation.wait(*bad, *keys, code=REJECTED)  # by name, because some may be rejected by now

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

    (entry, *_) = [it for it in installation.json("status")["rejected"] if found.keys() & set(it["files"])]
    installation.run("discard", entry["batch"], "--why", "it was a test")
    assert set(installation.rejected(things.prefix)) == set(bad) - set(entry["files"])


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
    return object_created(installation.outputs["LandingBucket"], key, version)


def test_a_key_that_no_contract_routes_is_unrouted_told_once_and_picked_up(
    installation: Installation, things: Things
) -> None:
    late = things.table.replace("shop.t", "shop.late_t")
    prefix = things.prefix.replace("shop/", "late/")
    key = f"{prefix}/1.parquet"
    installation.put(key, parquet(rows(0, 10)))
    installation.wait()
    (unrouted,) = [entry for entry in installation.json("status")["unrouted"] if key in entry["files"]]
    assert "no contract" in unrouted["reasons"][0]
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


@pytest.mark.extended
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
    installation.put(bad, gzip.compress(b"id;thing;mail\n1;3;a@b.example\n7;99;" + MASKED.encode() + b"\nx;4;\n"))
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
    assert MASKED not in shown
