"""Whoever looks at a rejected file does not die of it: each door in a process that has as much memory as a function."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.hostile import bombs

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
