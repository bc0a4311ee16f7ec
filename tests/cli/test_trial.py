"""`try`: what it prints and how it ends, for files that are there and for words that are none."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from tests.cli.desk import Desk

DAY = date(2026, 1, 1)
CONTRACT = """
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
servers:
  - {server: landing, type: s3, location: "s3://landing/shop/orders-*.parquet", format: parquet}
schema:
  - name: orders
    physicalName: shop.orders
    customProperties:
      - {property: quarantineBudget, vendor: lakegate, value: {percent: 50}}
    properties:
      - name: id
        logicalType: integer
        physicalType: bigint
        unique: true
        customProperties:
          - {property: scope, vendor: lakegate, value: table}
          - {property: severity, vendor: lakegate, value: quarantine}
      - {name: customer, logicalType: string, physicalType: string, classification: restricted}
      - name: amount
        logicalType: number
        physicalType: double
        logicalTypeOptions: {minimum: 0}
      - {name: placed, logicalType: date, physicalType: date, required: true}
"""


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.yaml"
    path.write_text(CONTRACT, encoding="utf-8")
    return path


def file(folder: Path, name: str, *ids: int, amount: float = 1, placed: date | None = DAY) -> Path:
    columns = {
        "id": pa.array(ids, pa.int64()),
        "customer": [f"Mr {number}" for number in ids],
        "amount": pa.array([amount] * len(ids), pa.float64()),
        "placed": pa.array([placed] * len(ids), pa.date32()),
    }
    pq.write_table(pa.table(columns), folder / name)
    return folder / name


def tried(desk: Desk, *words: Any) -> dict[str, Any]:
    told = desk.run("try", *words, "--json")
    return {"code": told.exit_code, **json.loads(told.stdout)}


def verdicts(told: dict[str, Any]) -> dict[str, str]:
    return {Path(each["key"]).name: each["verdict"] for each in told["report"]["files"]}


def test_good_files_end_with_0_and_a_bad_one_with_1(desk: Desk, orders: Path, tmp_path: Path) -> None:
    good, bad = file(tmp_path, "orders-1.parquet", 1, 2), file(tmp_path, "orders-2.parquet", 3, amount=-1)
    assert desk.run("try", good, orders).exit_code == 0
    told = desk.run("try", good, bad, orders)
    assert told.exit_code == 1
    assert "1 of 1 row" in told.stdout
    assert "The service would reject 1 file of 2" in told.stdout


def test_a_masked_value_is_nowhere_in_what_is_printed(desk: Desk, orders: Path, tmp_path: Path) -> None:
    bad = file(tmp_path, "orders-1.parquet", 17, 18, placed=None)
    for told in (desk.run("try", bad, orders), desk.run("try", bad, orders, "--json")):
        assert told.exit_code == 1
        assert "17" in told.stdout
        assert "Mr" not in told.stdout


def test_rows_that_would_leave_are_counted_and_their_file_ends_with_0(desk: Desk, orders: Path, tmp_path: Path) -> None:
    told = tried(desk, file(tmp_path, "orders-1.parquet", 1, 2, 2), orders)
    assert (told["code"], verdicts(told)) == (0, {"orders-1.parquet": "quarantine"})
    assert told["report"]["files"][0]["would_quarantine"] == 1


@pytest.mark.parametrize(("budget", "verdict"), [(60, "quarantine"), (40, "fail")])
def test_a_key_of_an_earlier_file_repeats_in_a_later_one(
    desk: Desk, orders: Path, tmp_path: Path, budget: int, verdict: str
) -> None:
    orders.write_text(CONTRACT.replace("percent: 50", f"percent: {budget}"), encoding="utf-8")
    one, other = file(tmp_path, "orders-1.parquet", 1, 2), file(tmp_path, "orders-2.parquet", 2, 3)
    told = tried(desk, one, other, orders)
    assert verdicts(told) == {"orders-1.parquet": "pass", "orders-2.parquet": verdict}
    assert told["unasked"] == [
        {"check": "id unique in the table", "why": "it was asked of these files together, and not of the rows on main"}
    ]


def test_a_contract_that_observes_says_what_enforcing_would_do_and_ends_with_0(
    desk: Desk, orders: Path, tmp_path: Path
) -> None:
    observing = CONTRACT.replace(
        "    customProperties:\n      - {property: quar",
        "    customProperties:\n      - {property: mode, vendor: lakegate, value: observe}\n      - {property: quar",
    )
    orders.write_text(observing, encoding="utf-8")
    bad, repeated = file(tmp_path, "orders-1.parquet", 1, amount=-1), file(tmp_path, "orders-2.parquet", 2, 2, 3)
    told = tried(desk, bad, repeated, orders)
    wanted = {"orders-1.parquet": "would fail", "orders-2.parquet": "would quarantine"}
    assert (told["code"], verdicts(told)) == (0, wanted)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", "it is empty: 0 bytes"),
        (b"id,customer\n1,a\n", "it is not a parquet file: it looks like CSV"),
        (b"PAR1" + b"\0" * 20, "it is truncated: it begins as a parquet file and does not end as one"),
        (b"PAR1" + b"\0" * 20 + b"PARE", "it is encrypted"),
        (b"PAR1" + b"\xff" * 8 + b"PAR1", "its footer says that it has 4,294,967,295 bytes, and there are 4"),
    ],
)
def test_a_file_that_is_no_parquet_is_rejected_as_the_job_rejects_it(
    desk: Desk, orders: Path, tmp_path: Path, body: bytes, fault: str
) -> None:
    broken = tmp_path / "orders-1.parquet"
    broken.write_bytes(body)
    told = tried(desk, broken, file(tmp_path, "orders-2.parquet", 1), orders)
    assert told["code"] == 1
    assert [each["faults"] for each in told["report"]["files"]] == [[fault], []]


@pytest.mark.parametrize("limit", ["maxRows: 1", "maxColumns: 3", "maxBytes: 100", "maxRowGroups: 1"])
def test_a_file_beyond_a_limit_is_rejected(desk: Desk, orders: Path, tmp_path: Path, limit: str) -> None:
    name, value = limit.split(": ")
    setting = f"customProperties: [{{property: {name}, vendor: lakegate, value: {value}}}]"
    orders.write_text(CONTRACT.replace("format: parquet}", f"format: parquet, {setting}}}"), encoding="utf-8")
    path = file(tmp_path, "orders-1.parquet", 1, 2)
    pq.write_table(pq.read_table(path), path, row_group_size=1)
    told = tried(desk, path, orders)
    assert told["code"] == 1
    assert f"and the limit is {int(value):,}" in told["report"]["files"][0]["faults"][0]


def test_a_file_whose_name_the_route_does_not_take_is_named(desk: Desk, orders: Path, tmp_path: Path) -> None:
    told = desk.run("try", file(tmp_path, "Orders.parquet", 1), file(tmp_path, "orders-1.parquet", 2), orders)
    assert told.exit_code == 0
    assert "The table's route shop/orders-*.parquet takes no file called Orders.parquet\n" in told.stdout


def complaint(told: Result) -> str:
    assert told.exit_code == 2, told.output
    return " ".join(told.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["orders.yaml", "a.parquet"], "the contract comes last"),
        (["a.parquet"], "stands alone"),
        (["nothing.parquet", "orders.yaml"], "there is no file nothing.parquet"),
        (["*.csv", "orders.yaml"], "no file matches *.csv"),
        ([".", "orders.yaml"], "is a folder: name the files in it"),
        (["s3://landing/a.parquet", "orders.yaml"], "fetch it first"),
        (["https://example.com/a.parquet", "orders.yaml"], "is no file of this machine"),
        (["a.parquet", "a.parquet", "orders.yaml"], "named twice"),
        (["orders.yaml", "orders.yaml"], "two contracts"),
    ],
)
def test_words_that_name_no_files_and_a_contract_are_told_so(
    desk: Desk, orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    file(tmp_path, "a.parquet", 1)
    monkeypatch.chdir(orders.parent)
    assert said in complaint(desk.run("try", *words))


def test_a_contract_with_faults_ends_with_2_and_names_them(desk: Desk, orders: Path, tmp_path: Path) -> None:
    orders.write_text(CONTRACT.replace("logicalType: date", "logicalType: data"), encoding="utf-8")
    told = complaint(desk.run("try", file(tmp_path, "orders-1.parquet", 1), orders))
    assert "orders.yaml:27: 'logicalType' is \"data\"" in told
    assert "lakegate contract check" in told


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_a_format_that_only_spark_reads_is_refused_with_that_reason(
    desk: Desk, orders: Path, tmp_path: Path, kind: str
) -> None:
    orders.write_text(CONTRACT.replace("parquet", kind), encoding="utf-8")
    told = complaint(desk.run("try", file(tmp_path, "orders-1", 1), orders))
    assert f"nothing was tried, because DuckDB alone cannot: Only Spark reads files of format {kind}." in told


def test_a_trial_imports_neither_spark_nor_aws_nor_a_browser_s_pages(orders: Path, tmp_path: Path) -> None:
    path = file(tmp_path, "orders-1.parquet", 1)
    program = (
        "import sys; from lakegate.cli.app import main\n"
        f"sys.argv = ['lakegate', 'try', {str(path)!r}, {str(orders)!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print([name for name in ('boto3', 'botocore', 'pyspark', 'streamlit', 'pynessie') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert told.stdout.splitlines()[-1] == "[]"


TEXT = (
    CONTRACT.replace("shop/orders-*.parquet", "shop/orders-*")
    .replace("unique: true\n", "required: true\n")
    .replace("          - {property: scope, vendor: lakegate, value: table}\n", "")
)
LINES = ("id,customer,amount,placed", "1,Mr A,1.5,2026-01-01", "2,Mr B,1.5,soon", "3,Mr C,-1,2026-01-01", "4,Mr D,x")
OBJECTS = (
    {"id": 1, "customer": "Mr A", "amount": 1.5, "placed": "2026-01-01"},
    {"id": 2, "customer": "Mr B", "amount": 1.5, "placed": "soon"},
    {"id": 3, "customer": "Mr C", "amount": -1, "placed": "2026-01-01"},
)


@pytest.fixture
def as_text(orders: Path) -> Path:
    orders.write_text(TEXT.replace("format: parquet", "format: csv"), encoding="utf-8")
    return orders


def body(kind: str) -> str:
    return "\n".join(LINES if kind == "csv" else map(json.dumps, OBJECTS)) + "\n"


@pytest.mark.parametrize(("kind", "unparsed"), [("csv", [3, 5]), ("json", [2])])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_rows_of_text_that_do_not_parse_are_told_by_line_and_the_others_are_asked(
    desk: Desk, orders: Path, tmp_path: Path, kind: str, unparsed: list[int], ending: str
) -> None:
    orders.write_text(TEXT.replace("format: parquet", f"format: {kind}"), encoding="utf-8")
    path, written = tmp_path / f"orders-1.{kind}{ending}", body(kind).encode()
    path.write_bytes(gzip.compress(written) if ending else written)
    told = tried(desk, path, orders)
    [entry] = told["report"]["files"]
    found = {check["name"]: check for check in entry["checks"] if check["verdict"] == "fail"}
    assert (told["code"], [*found]) == (1, ["rows that do not parse", "amount ≥ 0"])
    assert [row["line"] for row in found["rows that do not parse"]["sample"]] == unparsed
    assert "Mr" not in json.dumps(told)


def test_rows_that_do_not_parse_may_be_for_quarantine(desk: Desk, as_text: Path, tmp_path: Path) -> None:
    lenient = "customProperties: [{property: severity, vendor: lakegate, value: quarantine}]"
    text = as_text.read_text().replace("format: csv}", f"format: csv, {lenient}}}")
    as_text.write_text(text.replace("percent: 50", "percent: 90"), encoding="utf-8")
    path = tmp_path / "orders-1.csv"
    path.write_text("\n".join(line for line in LINES if "-1" not in line) + "\n")
    told = tried(desk, path, as_text)
    assert (told["code"], verdicts(told)) == (0, {"orders-1.csv": "quarantine"})
    assert told["report"]["files"][0]["would_quarantine"] == len(["2,", "4,"])


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        (b"", "it is empty"),
        (b"id,customer,amount,placed\n", "no rows"),
        (b"id;customer;amount;placed\n1;a;2;2026-01-01\n", ""),
        (b"PAR1\0\0\0\0\xff\xfe", ""),
    ],
)
def test_a_text_file_that_is_none_of_the_contract_s_is_rejected(
    desk: Desk, as_text: Path, tmp_path: Path, written: bytes, fault: str
) -> None:
    path = tmp_path / "orders-1.csv"
    path.write_bytes(written)
    told = tried(desk, path, as_text)
    [entry] = told["report"]["files"]
    assert told["code"] == 1
    assert any(fault in each for each in entry["faults"])


def test_numbers_of_a_file_are_those_of_the_rows_that_would_stay(desk: Desk, orders: Path, tmp_path: Path) -> None:
    orders.write_text(CONTRACT + "    quality: [{metric: rowCount, mustBeGreaterThan: 2}]\n", encoding="utf-8")
    one, other = file(tmp_path, "orders-1.parquet", 1, 2, 2), file(tmp_path, "orders-2.parquet", 3, 4, 5, 5)
    told = tried(desk, one, other, orders)
    assert (told["code"], verdicts(told)) == (1, {"orders-1.parquet": "fail", "orders-2.parquet": "quarantine"})
