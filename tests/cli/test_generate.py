"""`generate`: a file for a contract, with or without a fault."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from lakegate.contracts.checks.custom import COLUMN
from tests.cli.desk import Desk
from tests.hostile import bombs
from tests.support.catalogue import KINDS
from tests.synthetic.test_rows import HEAD


def test_a_good_file_is_written(desk: Desk, tmp_path: Path) -> None:
    told = desk.run("generate", desk.contract(), tmp_path / "good.parquet", "--rows", "20")
    assert told.exit_code == 0
    assert "20 rows for nyc.planes, which passes" in told.stdout
    assert parquet.read_table(tmp_path / "good.parquet").num_rows == 20


def test_a_fault_that_no_check_has_is_refused_with_the_names_of_all(desk: Desk, tmp_path: Path) -> None:
    told = desk.run("generate", desk.contract(), tmp_path / "bad.parquet", "--fault", "nothing")
    assert told.exit_code == 2
    assert "nyc.planes has no check 'nothing'; it has:" in told.stderr
    assert not (tmp_path / "bad.parquet").exists()


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    """A contract with a check."""
    contract = tmp_path / "kinds.yaml"
    contract.write_text(next(kind for kind in KINDS if kind.word == "required").contract, encoding="utf-8")
    return contract


def test_a_file_without_rows_is_no_good_one_and_fails_no_check(desk: Desk, checked: Path, tmp_path: Path) -> None:
    told = desk.run("generate", checked, tmp_path / "none.parquet", "--rows", "0")
    assert (told.exit_code, parquet.read_table(tmp_path / "none.parquet").num_rows) == (0, 0)
    assert "0 rows for shop.things, which is rejected for that" in told.stdout
    refused = desk.run("generate", checked, tmp_path / "x.parquet", "--rows", "0", "--fault", "a required")
    assert "a file without rows is rejected before its checks" in refused.stderr


@pytest.mark.parametrize(("kind", "begins"), [("avro", b"Obj\x01"), ("orc", b"ORC"), ("json", b'{"a"')])
def test_a_fault_is_written_in_the_contracts_format(
    desk: Desk, checked: Path, tmp_path: Path, kind: str, begins: bytes
) -> None:
    checked.write_text(checked.read_text().replace("format: parquet", f"format: {kind}"))
    told = desk.run("generate", checked, tmp_path / "bad", "--rows", "20", "--fault", "a required")
    assert "20 rows for shop.things, which fails 'a required' and nothing else" in told.stdout
    assert (tmp_path / "bad").read_bytes().startswith(begins)


def test_what_the_files_before_measured_is_said_in_numbers(desk: Desk, checked: Path, tmp_path: Path) -> None:
    told = desk.run("generate", checked, tmp_path / "x.parquet", "--past", "a required=1,many")
    assert told.exit_code == 2
    assert "--past 'a required=1,many' is not CHECK=NUMBER,NUMBER" in told.stderr


def test_a_folder_that_is_not_there_is_named(desk: Desk, tmp_path: Path) -> None:
    out = tmp_path / "no such folder" / "good.parquet"
    told = desk.run("generate", desk.contract(), out)
    assert told.exit_code == 2
    said = told.stderr.replace("\n", "")
    assert f"there is no folder {out.parent}" in said


@pytest.mark.parametrize("of", ["contract", "reference"])
def test_what_the_rows_are_made_by_is_not_overwritten(desk: Desk, tmp_path: Path, of: str) -> None:
    contract, parents = Path(desk.contract()), tmp_path / "parents.parquet"
    assert desk.run("generate", contract, parents).exit_code == 0
    before = {file: file.read_bytes() for file in (contract, parents)}
    out = contract if of == "contract" else parents
    told = desk.run("generate", contract, out, "--reference", f"made.parents={parents}")
    assert (told.exit_code, "would overwrite" in told.stderr.replace("\n", " ")) == (2, True)
    assert {file: file.read_bytes() for file in (contract, parents)} == before


def test_the_same_seed_makes_the_same_file_and_another_one_another(desk: Desk, tmp_path: Path) -> None:
    for name, seed in (("first", "1"), ("second", "2"), ("again", "2")):
        told = desk.run("generate", desk.contract(), tmp_path / name, "--rows", "20", "--seed", seed)
        assert told.exit_code == 0
    first, second, again = (parquet.read_table(tmp_path / name) for name in ("first", "second", "again"))
    assert second == again
    assert first != second


def kind_of(word: str, place: str, folder: Path) -> Path:
    """The contract of that kind of check alone."""
    [kind] = [kind for kind in KINDS if (kind.word, kind.place) == (word, place)]
    contract = folder / f"{word}.yaml"
    contract.write_text(kind.contract, encoding="utf-8")
    return contract


def test_rows_refer_to_those_of_the_file_that_is_given(desk: Desk, tmp_path: Path) -> None:
    contract, customers = kind_of("relationships", COLUMN, tmp_path), tmp_path / "customers.parquet"
    parquet.write_table(pa.table({"id": pa.array([501, 777, 1003], pa.int32())}), customers)
    given = ("--rows", "20", "--reference", f"shop.customers={customers}")
    good = desk.run("generate", contract, tmp_path / "good.parquet", *given)
    bad = desk.run("generate", contract, tmp_path / "bad.parquet", *given, "--fault", "a refers to shop.customers.id")
    assert (good.exit_code, bad.exit_code) == (0, 0)
    tables = [parquet.read_table(tmp_path / name) for name in ("good.parquet", "bad.parquet")]
    of_good, of_bad = (set(table["a"].to_pylist()) for table in tables)
    assert of_good - {None}
    assert of_good <= {501, 777, 1003, None}
    assert of_bad - {501, 777, 1003, None}


def test_numbers_drift_from_those_that_are_given(desk: Desk, tmp_path: Path) -> None:
    contract = kind_of("drift", COLUMN, tmp_path)
    check = "mean of a against the last 30 files must be between -20 and 20 percent"
    given = ("--rows", "20", "--past", f"{check}={','.join(['100'] * 10)}")
    good = desk.run("generate", contract, tmp_path / "good.parquet", *given)
    bad = desk.run("generate", contract, tmp_path / "bad.parquet", *given, "--fault", check)
    assert (good.exit_code, bad.exit_code) == (0, 0)
    means = [pc.mean(parquet.read_table(tmp_path / f"{name}.parquet")["a"]).as_py() for name in ("good", "bad")]
    assert [80 <= mean <= 120 for mean in means] == [True, False]


def test_a_column_of_which_every_row_is_null_is_told(desk: Desk, tmp_path: Path) -> None:
    contract, out = tmp_path / "null.yaml", tmp_path / "made.parquet"
    column = "{name: b, logicalType: integer, enum: [{value: 7}], logicalTypeOptions: {maximum: 6}}"
    contract.write_text(f"{HEAD}      - {{name: a, logicalType: integer}}\n      - {column}\n", encoding="utf-8")
    told = desk.run("generate", contract, out, "--rows", "20")
    assert "no value of 'b' was found that passes its checks, so it is null in every row" in told.stdout
    told = desk.run("generate", contract, out, "--rows", "20", "--json")
    assert json.loads(told.stdout)["only_null"] == ["b"]


def test_a_reference_of_gigabytes_in_kilobytes_is_refused_with_what_to_give(desk: Desk, tmp_path: Path) -> None:
    contract, customers = kind_of("relationships", COLUMN, tmp_path), tmp_path / "customers.parquet"
    customers.write_bytes(bombs.parquet({"id": pa.array(range(6_000), pa.int32()), "name": bombs.named(6_000)}))
    told = desk.run("generate", contract, tmp_path / "good.parquet", "--reference", f"shop.customers={customers}")
    said = " ".join(told.stderr.split())
    assert (told.exit_code, "more than 268,435,456 bytes of memory; give a file of its key's columns" in said) == (
        2,
        True,
    )
