"""The express lane on the local cloud: a small batch reaches main without Spark, and what only Spark can say, and what
a killed function leaves, Spark takes over.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from lakegate_local.cloud import Cloud

from examples.bad_files import parquet
from lakegate.adapters.express import UNDER_WAY
from lakegate.landing.attempts import PREFIX
from tests.chaos.faults import Faults
from tests.local.installation import REJECTED, Installation
from tests.local.kinds import Make
from tests.local.things import CONTRACT, Things, rows

pytestmark = pytest.mark.local
EXPRESS, SPARK = "express", "spark"
# Spark reads a year of five digits, and DuckDB does not.
DAYS = """    quality:
      - type: custom
        engine: lakegate
        implementation: {row: "CAST(name AS date) > DATE '2000-01-01'"}
"""


def entry_of(installation: Installation, key: str, state: str = "published") -> Any:
    (entry,) = [it for it in installation.json("status")[state] if key in it["files"]]
    return entry


def test_small_files_reach_main_or_are_rejected_without_spark_and_the_event_bus_is_told(
    installation: Installation, things: Things, until: Make, queue: str, arn_of: Make, received: Make
) -> None:
    listen(installation, things, arn_of(queue))
    first, good, bad = (f"{things.prefix}/{name}.parquet" for name in ("first", "good", "bad"))
    for number, key in enumerate((first, good)):
        installation.put(key, parquet(rows(number * 5, 5)))
        installation.wait(key)
    installation.put(bad, parquet(rows(20, 5).drop(["name"])))
    installation.wait(bad, code=REJECTED)
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 10}]
    assert '"name" is missing' in installation.rejected(things.prefix)[bad]
    assert installation.messages(bad)
    for key, state in ((good, "published"), (bad, "rejected")):
        entry = entry_of(installation, key, state)
        [attempt] = installation.json("show", entry["batch"])["attempts"]
        assert attempt["report"]["lane"] == EXPRESS
        assert "the express lane takes" in attempt["report"]["lane_why"]
    usage = until(lambda: installation.json("show", entry_of(installation, good)["batch"])["attempts"][0]["usage"])
    assert usage["memory_gb_hours"] > usage["vcpu_hours"] == 0
    told = dict[str, Any]()

    def heard() -> bool:
        told.update({it["detail"]["id"]: it for it in received(queue)})
        return len(told) == 3

    until(heard)
    assert {it["detail-type"]: it["detail"]["files"][0]["key"] for it in told.values()} == {
        "Files Published": good,
        "Files Rejected": bad,
    }
    log = [entry_of(installation, key, state) for key, state in ((good, "published"), (bad, "rejected"))]
    assert {entry["batch"] for entry in log} <= {it["detail"]["batch"] for it in told.values()}


def listen(installation: Installation, things: Things, queue: str) -> None:
    """A queue gets what the event bus is told of the table."""
    events, name = installation.aws("events"), things.table.replace(".", "-")
    pattern = {"source": ["lakegate"], "detail": {"table": [things.table]}}
    events.put_rule(Name=name, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": queue}])


def test_a_value_of_which_only_spark_can_speak_is_handed_over_and_published(
    installation: Installation, things: Things
) -> None:
    text = CONTRACT.format(table=things.table, prefix=things.prefix) + DAYS
    things.contract.write_text(text)
    installation.run("contract", "push", things.contract)
    key = f"{things.prefix}/days.parquet"
    days = rows(0, 2).set_column(
        1, "name", pa.array(["2013-01-31", "20130-01-31"])
    )  # of five digits, as Spark reads it
    installation.put(key, parquet(days))
    installation.wait(key)
    entry = entry_of(installation, key)
    [*_, last] = installation.json("show", entry["batch"])["attempts"]
    assert (last["attempt"], last["report"]["lane"]) == (2, SPARK)
    assert "only Spark" in last["report"]["lane_why"]
    assert installation.query(f"SELECT count(*) AS n FROM {things.table}") == [{"n": 2}]
    assert installation.messages(key) == []


def test_what_a_killed_function_leaves_is_taken_over_by_spark_at_once_and_published_once(
    installation: Installation, things: Things, until: Make
) -> None:
    warm, key = (f"{things.prefix}/{name}.parquet" for name in ("warm", "1"))
    installation.put(warm, parquet(rows(0, 10)))
    installation.wait(warm)
    faults = Faults(cloud=Cloud(settings=installation.settings))
    with faults.function_stands_still("handlers.express") as function:
        installation.put(key, parquet(rows(10, 10)))
        until(lambda: called(installation, things))
        function.kill()
    installation.wait(key)
    assert installation.query(f"SELECT count(*) AS n, count(DISTINCT id) AS ids FROM {things.table}") == [
        {"n": 20, "ids": 20}
    ]
    entry = entry_of(installation, key)
    [*_, last] = installation.json("show", entry["batch"])["attempts"]
    assert (last["attempt"], last["report"]["lane"]) == (2, SPARK)
    assert installation.messages(key) == []


def called(installation: Installation, things: Things) -> bool:
    """The function was called for one of the table's attempts, which has not ended."""
    notes = keys(installation, f"{UNDER_WAY}{PREFIX}{things.table}-")
    return any(not keys(installation, f"attempts/{it.removeprefix(UNDER_WAY)}/express.json") for it in notes)


def keys(installation: Installation, prefix: str) -> list[str]:
    found = installation.aws("s3").list_objects_v2(Bucket=installation.outputs["ServiceBucket"], Prefix=prefix)
    return [it["Key"] for it in found.get("Contents", ())]
