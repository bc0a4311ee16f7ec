"""Whoever looks at a rejected file does not die of it: each door in a process that has as much memory as a function."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.hostile import bombs

extended = partial(pytest.param, marks=pytest.mark.extended)
ROOT = Path(__file__).parents[2]
MEGABYTES = 2_500  # of data in a process; what it has reserved for threads counts, too
PEAK = 1_770  # megabytes that it has used: a function of the express lane has no more
SMALL = 2**20  # bytes of a file
INIT = """\
import sys
from pathlib import Path
from lakegate.express.process import bound_memory
from lakegate.inference.inferred import infer
from lakegate.inference.sample import NoContract
bound_memory(int(sys.argv[1]))
for each in sys.argv[2:]:
    try:
        infer([Path(each)])
        print("a contract")
    except NoContract as error:
        print(str(error))
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


QUERY = """\
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from lakegate.cli.sql import Statement, run
from lakegate.errors import Misconfigured
from lakegate.express.process import bound_memory
from lakegate.ports import Ref
from tests.support.folder_tables import NAME, LakeOfOne, table_of
bound_memory(int(sys.argv[1]))
for each in sys.argv[3:]:
    with TemporaryDirectory() as folder:
        lake = LakeOfOne(table_of([Path(each)], Path(folder)))
        try:
            print(len(run(lake, Statement.parse(sys.argv[2].format(NAME)), Ref("main")).rows), "rows")
        except Misconfigured as error:
            print(str(error))
"""
SMALLEST = "texts that repeat the one before"
FEW = ("texts", "lists of structs", "maps", "few longer texts")
HUGE = {"few longer texts", "a list in one row"}  # of which fifty rows are more than a person's answer


def answers(sql: str, *files: Path) -> list[str]:
    """Return a line of each file's, in one process with a bound. Rows are on disk, whose pages are nobody's memory."""
    command = [sys.executable, "-c", QUERY, str(MEGABYTES), sql, *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def written(folder: Path, names: Iterable[str]) -> list[Path]:
    paths = [folder / f"{name}.parquet" for name in names]
    for path in paths:
        path.write_bytes(bombs.PARQUET[path.stem]())
    return paths


@pytest.mark.parametrize("names", [FEW, extended(sorted(bombs.PARQUET.keys() - set(FEW)))], ids=["few", "others"])
def test_rows_of_gigabytes_in_kilobytes_are_shown_in_bounded_memory(names: Sequence[str], tmp_path: Path) -> None:
    said = answers("SELECT * FROM {} LIMIT 50", *written(tmp_path, names))
    kinds = ["less" if "more than 268,435,456 bytes" in line and "LIMIT" in line else line for line in said]
    assert kinds == ["less" if name in HUGE else "50 rows" for name in names]


@pytest.mark.parametrize(
    "name", [SMALLEST, *(extended(name) for name in sorted(bombs.PARQUET.keys() - {SMALLEST, "wide nulls"}))]
)
def test_a_query_of_gigabytes_in_kilobytes_ends_with_what_to_ask(name: str, tmp_path: Path) -> None:
    [said] = answers("SELECT * FROM {}", *written(tmp_path, [name]))
    assert "more than 268,435,456 bytes" in said
    assert "LIMIT" in said


def outcomes(script: str, *files: Path) -> list[str]:
    """Return a line of each file's, in one process with a bound."""
    command = [sys.executable, "-c", script, str(MEGABYTES), *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *said, peak = done.stdout.splitlines()
    assert int(peak) < PEAK
    return said


def test_a_sample_of_gigabytes_in_kilobytes_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    files = []
    for ending, made in (("parquet", bombs.PARQUET), ("orc", bombs.ORC), ("avro", bombs.AVRO)):
        for name, body in made.items():
            files.append(tmp_path / f"{name}.{ending}")
            files[-1].write_bytes(body())
            assert files[-1].stat().st_size < SMALL
    said = outcomes(INIT, *files)
    assert [line for line in said if "more than 268,435,456 bytes" not in line] == []
    assert len(said) == len(files)
