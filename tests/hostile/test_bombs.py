"""Whoever looks at a rejected file does not die of it: each door in a process that has as much memory as a function."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tests.hostile import bombs
from tests.support.runs import CONTRACT

extended = partial(pytest.param, marks=pytest.mark.extended)
ROOT = Path(__file__).parents[2]
MEGABYTES = 2_500  # of data in a process; what it has reserved for threads counts, too
PEAK = 1_770  # megabytes that it has used: a function of the express lane has no more
SMALL = 2**20  # bytes of a file
INIT = """\
import sys
from pathlib import Path
from lakegate.express.process import bound_memory
from lakegate.inference.contract import infer
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
from lakegate.adapters.sql import Statement, run
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


RUN = """\
import resource, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from lakegate.contracts import load
from lakegate.errors import Refused
from lakegate.trial.trial import try_files
from lakegate.wap import wap
from tests.support.runs import catalog
def run(file):
    with wap(catalog(folder), contract) as branch:
        branch.append(str(file))
        return branch.audit()
door = {"wap": run, "try": lambda file: try_files(contract.plan, [file]).report}[sys.argv[1]]
contract, megabytes = load(sys.argv[3], "orders.yaml"), int(sys.argv[2])
with TemporaryDirectory() as place:
    folder = Path(place)
    catalog(folder).close()
    [there] = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")]
    resource.setrlimit(resource.RLIMIT_DATA, (there * 1024 + megabytes * 2**20,) * 2)
    try:
        for check in door(Path(sys.argv[4])).files[0].checks:
            print(check.failing_rows)
    except Refused as error:
        print(str(error))
"""
MORE = 700  # megabytes of data, beside what a process has once it has imported everything
KEYS = """\
    quality:
      - {metric: duplicateValues, arguments: {properties: [a]}, mustBe: 0, customProperties: \
[{property: scope, vendor: lakegate, value: table}]}
      - {metric: duplicateValues, arguments: {properties: [a]}, mustBe: 0}
"""
SHORT = (
    CONTRACT[: CONTRACT.index("      - {name: id")]
    + "      - {name: a, logicalType: string, \
logicalTypeOptions: {maxLength: 10}}\n"
)


def verdicts(door: str, contract: str, body: bytes, folder: Path, more: int = MORE) -> list[str]:
    """Return how many rows fail each check of a file, or why it was not audited."""
    file = folder / "bomb.parquet"
    file.write_bytes(body)
    command = [sys.executable, "-c", RUN, door, str(more), contract, str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def with_a_null(rows: int) -> bytes:
    """Rows that name one text, but the first."""
    places = pa.array([None, *[0] * (rows - 1)], pa.int32())
    return bombs.parquet({"a": pa.DictionaryArray.from_arrays(places, pa.array(["x" * bombs.LETTERS]))})


@pytest.mark.parametrize(("door", "keys"), [("wap", ""), extended("wap", KEYS), extended("try", KEYS)])
def test_a_file_of_gigabytes_in_kilobytes_is_audited_in_bounded_memory(door: str, keys: str, tmp_path: Path) -> None:
    """Its texts are keys that repeat, one is none, and each row of the others fails: some are in the report."""
    rows = 12_000
    failing = verdicts(door, SHORT + keys, with_a_null(rows), tmp_path)
    assert sorted(map(int, failing)) == ([rows - 2, rows - 2, rows - 1] if keys else [rows - 1])


@pytest.mark.extended
@pytest.mark.parametrize("name", ["texts", "few longer texts", "late texts"])
def test_other_files_of_gigabytes_are_audited_or_say_what_to_do(name: str, tmp_path: Path) -> None:
    [line] = verdicts("wap", SHORT, bombs.PARQUET[name](), tmp_path, more=1_000)
    assert line == str(bombs.ROWS) or "give the run a spark session" in line.lower()


def outcomes(script: str, *files: Path) -> list[str]:
    """Return a line of each file's, in one process with a bound."""
    command = [sys.executable, "-c", script, str(MEGABYTES), *map(str, files)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *said, peak = done.stdout.splitlines()
    assert int(peak) < PEAK
    return said


SAMPLES = {
    f"{name}.{ending}": body
    for ending, kind in (("parquet", bombs.PARQUET), ("orc", bombs.ORC), ("avro", bombs.AVRO))
    for name, body in kind.items()
}
OF_EACH_FORMAT = [next(name for name in SAMPLES if name.endswith(ending)) for ending in ("parquet", "orc", "avro")]


@pytest.mark.parametrize(
    "names", [OF_EACH_FORMAT, extended(sorted(SAMPLES.keys() - set(OF_EACH_FORMAT)))], ids=["one of each", "others"]
)
def test_a_sample_of_gigabytes_in_kilobytes_is_refused_in_bounded_memory(names: Sequence[str], tmp_path: Path) -> None:
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_bytes(SAMPLES[file.name]())
        assert file.stat().st_size < SMALL
    said = outcomes(INIT, *files)
    assert [line for line in said if "more than 268,435,456 bytes" not in line] == []
    assert len(said) == len(files)
