"""`generate`: a file for a contract, with or without a fault."""

import json
from pathlib import Path

import pytest
from pyarrow import parquet

from lakegate.contracts.checks.custom import COLUMN
from tests.cli.desk import Desk
from tests.support.catalogue import KINDS
from tests.synthetic.test_rows import HEAD


def test_a_good_file_is_written(desk: Desk, tmp_path: Path) -> None:
    told = desk.run("generate", desk.contract(), tmp_path / "good.parquet", "--rows", "20")
    assert told.exit_code == 0
    assert "20 rows for nyc.planes, which passes" in told.stdout
    assert parquet.read_table(tmp_path / "good.parquet").num_rows == 20


def test_a_fault_that_no_check_has_is_refused_with_the_names_of_all(desk: Desk, checked: Path, tmp_path: Path) -> None:
    told = desk.run("generate", checked, tmp_path / "bad.parquet", "--fault", "a require")
    assert told.exit_code == 2
    said = " ".join(told.stderr.split())
    assert "shop.things has no check 'a require' that 1,000 rows with a fault fail" in said
    assert "faults are of: a required" in said
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


@pytest.mark.parametrize(("kind", "begins"), [("parquet", b"PAR1"), ("csv", b"a,b,c\n"), ("json", b'{"a"')])
def test_a_fault_is_written_in_the_contracts_format(
    desk: Desk, checked: Path, tmp_path: Path, kind: str, begins: bytes
) -> None:
    checked.write_text(checked.read_text().replace("format: parquet", f"format: {kind}"))
    told = desk.run("generate", checked, tmp_path / "bad", "--rows", "20", "--fault", "a required")
    assert "20 rows for shop.things, which fails 'a required'\n" in told.stdout
    assert (tmp_path / "bad").read_bytes().startswith(begins)


@pytest.mark.parametrize("kind", ["avro", "orc"])
def test_a_format_that_is_not_written_is_told_with_what_to_say(
    desk: Desk, checked: Path, tmp_path: Path, kind: str
) -> None:
    checked.write_text(checked.read_text().replace("format: parquet", f"format: {kind}"))
    told = desk.run("generate", checked, tmp_path / "made", "--rows", "20")
    assert told.exit_code == 2
    assert f"generate writes no {kind}: say format: parquet in a copy of it" in " ".join(told.stderr.split())
    assert not (tmp_path / "made").exists()


def test_a_folder_that_is_not_there_is_named(desk: Desk, tmp_path: Path) -> None:
    out = tmp_path / "no such folder" / "good.parquet"
    told = desk.run("generate", desk.contract(), out)
    assert told.exit_code == 2
    said = told.stderr.replace("\n", "")
    assert f"there is no folder {out.parent}" in said


def test_the_contract_that_the_rows_are_made_by_is_not_overwritten(desk: Desk) -> None:
    contract = Path(desk.contract())
    before = contract.read_bytes()
    told = desk.run("generate", contract, contract)
    assert (told.exit_code, "would overwrite" in told.stderr.replace("\n", " ")) == (2, True)
    assert contract.read_bytes() == before


def test_where_no_file_can_be_made_none_is_left_and_an_older_one_stays(desk: Desk, tmp_path: Path) -> None:
    contract, out = tmp_path / "few.yaml", tmp_path / "made.parquet"
    column = "{name: a, logicalType: integer, unique: true, required: true, enum: [{value: 1}, {value: 2}]}"
    contract.write_text(f"{HEAD}      - {column}\n", encoding="utf-8")
    out.write_bytes(b"older")
    told = desk.run("generate", contract, out, "--rows", "3")
    assert told.exit_code == 2
    said = " ".join(told.stderr.split())
    assert "made.things: only 2 rows were found that pass 'a unique'; ask for fewer with --rows" in said
    assert out.read_bytes() == b"older"


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


@pytest.mark.parametrize(
    ("word", "place", "name"),
    [
        ("relationships", COLUMN, "a refers to shop.customers.id"),
        ("drift", COLUMN, "mean of a against the last 30 files must be between -20 and 20 percent"),
    ],
)
def test_checks_that_look_at_other_files_are_told_as_not_asked(
    desk: Desk, tmp_path: Path, word: str, place: str, name: str
) -> None:
    contract, out = kind_of(word, place, tmp_path), tmp_path / "made.parquet"
    told = desk.run("generate", contract, out, "--rows", "20", "--json")
    assert (json.loads(told.stdout)["unasked"], json.loads(told.stdout)["fails"]) == ([name], [])
    told = desk.run("generate", contract, out, "--rows", "20")
    assert f"which passes; not asked, for want of other files: '{name}'" in " ".join(told.stdout.split())
    told = desk.run("generate", contract, out, "--rows", "20", "--fault", name)
    assert (told.exit_code, "faults are of: none at all" in " ".join(told.stderr.split())) == (2, True)


def test_a_check_of_a_number_about_all_rows_is_told_as_failed(desk: Desk, tmp_path: Path) -> None:
    contract, out = tmp_path / "mean.yaml", tmp_path / "made.parquet"
    quality = "[{metric: rowCount, mustBeGreaterThan: 50}]"
    contract.write_text(f"{HEAD}      - {{name: a, logicalType: integer}}\n    quality: {quality}\n", encoding="utf-8")
    told = desk.run("generate", contract, out, "--rows", "20")
    assert "20 rows for made.things, which fails 'rowCount must be greater than 50 rows'" in " ".join(
        told.stdout.split()
    )
    told = desk.run("generate", contract, out, "--rows", "51", "--json")
    assert json.loads(told.stdout) == {
        "file": str(out), "table": "made.things", "rows": 51, "fails": [], "unasked": [], "only_null": [],
    }  # fmt: skip


def test_a_column_of_which_every_row_is_null_is_told(desk: Desk, tmp_path: Path) -> None:
    contract, out = tmp_path / "null.yaml", tmp_path / "made.parquet"
    column = "{name: b, logicalType: integer, enum: [{value: 7}], logicalTypeOptions: {maximum: 6}}"
    contract.write_text(f"{HEAD}      - {{name: a, logicalType: integer}}\n      - {column}\n", encoding="utf-8")
    told = desk.run("generate", contract, out, "--rows", "20")
    assert "no value was found that passes, so it is null in every row: 'b'" in " ".join(told.stdout.split())
    told = desk.run("generate", contract, out, "--rows", "20", "--json")
    assert json.loads(told.stdout)["only_null"] == ["b"]
