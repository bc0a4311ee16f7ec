"""`generate`: a file for a contract, with or without a fault."""

from pathlib import Path

from pyarrow import parquet

from tests.cli.desk import Desk


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
