"""`contract init`: a contract from a file at hand, which `contract check` takes; and `drop` offers it."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.contracts import load
from tests.cli.desk import Desk

START = datetime(2013, 1, 1)  # noqa: DTZ001 - a wall clock's, as Polars writes it
ROWS = [f"{at};{at:05};{'open' if at % 2 else 'sent'};{at % 9 or 'NA'}\n" for at in range(60)]
ORDERS = "".join(["id;zip;state;paid\n", *ROWS])


def flights(rows: int = 60) -> bytes:
    """As Polars writes them: nothing says in which zone the clock is."""
    date = pa.array([START + timedelta(hours=at) for at in range(rows)], pa.timestamp("us"))
    out = io.BytesIO()
    pq.write_table(pa.table({"flight_id": range(rows), "date": date, "delay": [at - 20.5 for at in range(rows)]}), out)
    return out.getvalue()


def test_the_contract_of_a_parquet_file_has_its_naive_timestamps_and_is_sound(desk: Desk) -> None:
    made = desk.folder / "flights.yaml"
    told = desk.run("contract", "init", desk.file("flights-2013-01.parquet", flights()), "--output", made)
    assert (told.exit_code, "Next: edit it" in told.stdout) == (0, True)
    assert "raw.flights is sound" in desk.run("contract", "check", made).stdout
    contract = load(made.read_bytes(), "flights.yaml")
    types = {column.name: column.type for column in contract.plan.columns}
    assert types == {"flight_id": "bigint", "date": "timestamp_ntz", "delay": "double"}
    assert contract.route.matches("raw/flights/flights-2013-01.parquet")
    assert contract.plan.key == ("flight_id",)


def test_every_suggestion_says_the_number_that_it_rests_on(desk: Desk) -> None:
    text = desk.run("contract", "init", desk.file("orders.csv", ORDERS.encode()), "--table", "shop.orders").stdout
    assert 'value: ["", NA]}  # 7 fields say NA' in text
    assert "primaryKey: true  # 60 different values in 60 rows" in text
    assert "logicalType: string  # digits with zeros in front, such as 00000" in text
    assert "enum:  # 2 different values in 60" in text
    assert "maximum: 20  # the greatest is 8" in text
    assert "mustBeGreaterOrEqualTo: 6  # the samples have 60 rows or more" in text
    assert load(text, "orders.csv").table == "shop.orders"


def test_a_file_that_is_there_is_not_overwritten(desk: Desk) -> None:
    there = desk.file("orders.yaml", b"mine")
    told = desk.run("contract", "init", desk.file("orders.csv", ORDERS.encode()), "--output", there)
    assert (told.exit_code, Path(there).read_bytes()) == (2, b"mine")
    assert "not overwritten" in told.stderr


def test_a_file_that_no_contract_takes_says_why_and_leaves_nothing(desk: Desk) -> None:
    made = desk.folder / "orders.yaml"
    told = desk.run("contract", "init", desk.file("orders.csv", b"id,Id\n1,2\n"), "--output", made)
    assert (told.exit_code, made.exists()) == (1, False)
    assert 'no contract takes orders.csv: columns "id" and "Id" are the same in any case' in told.stderr


def test_values_of_what_sounds_personal_are_not_in_the_contract(desk: Desk) -> None:
    body = "email,phone\n" + "a@b.c,00491\n" * 30 + "d@e.f,00492\n" * 30
    text = desk.run("contract", "init", desk.file("people.csv", body.encode())).stdout
    assert ("# classification: restricted" in text, "a@b.c" in text, "0049" in text) == (True, False, False)


def test_samples_of_one_table_have_the_wider_type_and_each_passes(desk: Desk) -> None:
    one, other = desk.file("1.csv", b"n,m\n1,\n"), desk.file("2.csv", b"n,m\n3000000000,2.5\n")
    text = desk.run("contract", "init", one, other, "--table", "shop.counts").stdout
    assert [column.type for column in load(text, "1.csv").plan.columns] == ["bigint", "double"]
    told = desk.run("contract", "init", one, desk.file("3.csv", b"n;m\n1;2\n"))
    assert (told.exit_code, "it is written in another way than 1.csv: delimiter ';', not ','" in told.stderr) == (
        1,
        True,
    )


def test_freshness_is_promised_only_if_asked_for_and_if_the_sample_is_fresh(desk: Desk) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    file = desk.file("orders.jsonl", f'{{"id": 1, "placed": "{now}"}}\n'.encode())
    assert "latency" not in desk.run("contract", "init", file).stdout
    assert "element: orders.placed" in desk.run("contract", "init", file, "--freshness", "placed=7").stdout
    old = desk.run("contract", "init", desk.file("flights.parquet", flights()), "--freshness", "date=7")
    assert (old.exit_code, "7 days were asked for" in old.stderr) == (1, True)
    assert desk.run("contract", "init", file, "--freshness", "id=7").exit_code == 2


def test_a_script_reads_the_contract_as_json(desk: Desk) -> None:
    told = desk.json("contract", "init", desk.file("orders.csv", ORDERS.encode()))
    assert told["table"] == load(told["contract"], "orders.csv").table == "raw.orders"


def test_drop_offers_to_make_a_contract_where_none_takes_the_file(desk: Desk) -> None:
    desk.run("contract", "push", desk.contract(table="nyc.flights", route="nyc/flights/*.parquet"))
    told = desk.run("drop", desk.file("my orders.csv", ORDERS.encode()))
    assert told.exit_code == 2
    assert f"lakegate contract init '{desk.folder}/my orders.csv' --output CONTRACT" in told.stderr
    told = desk.run("drop", desk.file("my orders.csv", ORDERS.encode()), "--table", "shop.orders")
    assert "lakegate contract init FILE makes one" in told.stderr
