"""`python -m bench.express`: rounds of files one by one on each way, a cold start, and many files at once."""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from bench.express import usage
from bench.express.files import AT_THE_LIMIT, LARGE, Body, bodies
from bench.express.place import ON_THE_WAY, ROOT, Place, Shape, place
from examples import nyc

FIGURES = ROOT / "bench/figures/express.json"
EXPRESS, SPARK = "express", "spark"
TABLES = {EXPRESS: "bench.express", SPARK: "bench.spark"}
WARM, COLD = 3, 3
GROWING = 20  # files of the table that grows: each makes the article's shape slower
BURST_SIZE = "0.1 MB"
MIB = 1024**2


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """Median, 99th percentile, least and greatest of several rounds, and each of them."""

    median: float
    p99: float
    low: float
    high: float
    each: tuple[float, ...]

    @classmethod
    def of(cls, found: Sequence[float]) -> Self:
        ordered = sorted(found)
        late = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
        told = (round(it, 3) for it in (statistics.median(ordered), late, ordered[0], ordered[-1]))
        numbers = dict(zip(("median", "p99", "low", "high"), told, strict=True))
        return cls(**numbers, each=tuple(round(it, 3) for it in found))


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Seconds of the express lane's rounds, of its functions' own work in them, and of the article's shape with the
    same files, in a new table each and in one that grows; and the most memory that the express function had in a round,
    in bytes.
    """

    upload_to_main: list[float] = field(default_factory=list)
    work: list[dict[str, float]] = field(default_factory=list)
    article: list[float] = field(default_factory=list)
    growing: list[float] = field(default_factory=list)
    peaks: list[int] = field(default_factory=list)


def express_rounds(here: Place, article: Shape, size: str, body: Body, count: int) -> Rounds:
    """Take turns between the express lane and the article's shape, with one file a round. The first few warm up."""
    found, work = Rounds(), here.work()
    for number in range(-WARM, count):
        name = f"{size[:-3]}-{number + WARM}"
        function = usage.of_function(here.cloud, "handlers.express")
        usage.forget_peaks(function)
        landed, own = here.round(TABLES[EXPRESS], name, body), work.of_one_file()
        table, at = f"article.t{size[:-3].replace('.', '_')}", number + WARM
        other = article.seconds(f"{table}_{at}", landed, is_new=True)
        if at < GROWING:
            found.growing.append(article.seconds(table, landed, is_new=not at))
        if number < 0:
            continue
        found.upload_to_main.append(landed.seconds)
        found.work.append(own)
        found.article.append(other)
        found.peaks.append(max(map(usage.peak_bytes, function)))
        of_it = ", ".join(f"{name} {its:.2f}" for name, its in own.items())
        told(f"{size}, round {number + 1}: {landed.seconds:.2f} s ({of_it}); the article {other:.2f}")
    return found


def spark_rounds(here: Place, size: str, body: Body, count: int) -> list[float]:
    found = [here.round(TABLES[SPARK], f"{size[:-3]}-{number}", body).seconds for number in range(count)]
    told(f"{size} by Spark: " + ", ".join(f"{it:.1f}" for it in found))
    return found


def cold_rounds(here: Place, body: Body) -> list[float]:
    """Return what a file takes whose every function starts cold."""
    found = []
    for number in range(COLD):
        for name in ON_THE_WAY:
            for process in usage.of_function(here.cloud, f"handlers.{name}"):
                process.kill()
        found.append(here.round(TABLES[EXPRESS], f"cold-{number}", body).seconds)
        told(f"cold: {found[-1]:.2f} s")
    return found


def large(here: Place, files: Mapping[str, Body]) -> dict[str, Any]:
    """Return what a file as large as the express lane takes needs at its peak, and what becomes of a larger one."""
    found = {}
    for size, body in files.items():
        here.push(table := f"large.t{size[:-3]}", EXPRESS)
        function = usage.of_function(here.cloud, "handlers.express")
        usage.forget_peaks(function)
        landed = here.round(table, size[:-3], body)
        [lane] = here.lanes([table])
        peak = {"peak of the express function, MiB": round(max(map(usage.peak_bytes, function)) / MIB)}
        found[size] = {
            "rows": body.rows,
            "bytes": len(body.content),
            "in memory": body.in_memory,
            "lane": lane,
            "seconds": round(landed.seconds, 1),
            **(peak if size == AT_THE_LIMIT else {}),
        }
        told(f"{size}: {found[size]}")
    return found


def burst(here: Place, lane: str, tables: int, files: int, body: Body) -> Mapping[str, Any]:
    """Return what many files at once take: seconds until all are on main, and of processors."""
    names = [f"burst.{lane}{number}" for number in range(tables)]
    for name in names:
        here.push(name, lane)
    used, seconds = usage.processor_seconds(here.cloud), here.seconds_of_all(names, files // tables, body)
    used = usage.processor_seconds(here.cloud) - used
    told(f"{files} files over {tables} tables by {lane}: {seconds:.1f} s, processors {used:.1f} s")
    return {
        "files": files,
        "tables": tables,
        "seconds": round(seconds, 1),
        "processor_seconds": round(used, 1),
        "processor_seconds_a_file": round(used / files, 2),
        "lanes": sorted(here.lanes(names)),
    }


def figures_of(body: Body, rounds: Rounds, spark: Sequence[float]) -> dict[str, Any]:
    of_express, of_spark = map(Seconds.of, (rounds.upload_to_main, spark))
    work = Seconds.of([sum(own.values()) for own in rounds.work])
    article, growing = Seconds.of(rounds.article), Seconds.of(rounds.growing)
    return {
        "rows": body.rows,
        "bytes": len(body.content),
        "uncompressed": body.uncompressed,
        "in memory": body.in_memory,
        "seconds": {
            "express": asdict(of_express),
            "express, its functions' own": asdict(work),
            "article, in a new table": asdict(article),
            "article, in a table that grows to 20 files": asdict(growing),
            "spark": asdict(of_spark),
        },
        "its functions' own, medians": {
            name: round(statistics.median(own[name] for own in rounds.work), 3) for name in ON_THE_WAY
        },
        "its functions' own / article": {
            "in a new table": round(work.median / article.median, 2),
            "in a table that grows to 20 files": round(work.median / growing.median, 2),
        },
        "spark / express": round(of_spark.median / of_express.median, 1),
        "peak of the express function, MiB": round(statistics.median(rounds.peaks) / MIB),
    }


def more_memory(files: Mapping[str, Body], rounds: Mapping[str, Rounds]) -> float:
    """Return by how many bytes the function's peak is higher for each byte that the largest file's rows have in memory
    beyond the smallest's.
    """
    sizes = sorted(files, key=lambda size: files[size].in_memory)
    peaks = {size: statistics.median(rounds[size].peaks) for size in sizes}
    small, large = sizes[0], sizes[-1]
    return round((peaks[large] - peaks[small]) / (files[large].in_memory - files[small].in_memory), 1)


def told(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def measured(here: Place, months: Sequence[Path], chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield each part of the figures as soon as it is there: the whole takes a while."""
    files = bodies(months)
    for lane, table in TABLES.items():
        here.push(table, lane)
        here.round(table, "first", files["1 MB"])  # makes the table, and starts what is cold
    with here.article() as article:
        rounds = {size: express_rounds(here, article, size, body, chosen.rounds) for size, body in files.items()}
    yield {"rounds of the express lane": {size: asdict(its) for size, its in rounds.items()}}
    yield {"bytes of peak for a byte of rows": more_memory(files, rounds)}
    spark = {size: spark_rounds(here, size, body, chosen.spark_rounds) for size, body in files.items()}
    yield {"sizes": {size: figures_of(body, rounds[size], spark[size]) for size, body in files.items()}}
    yield {"cold, 1 MB": asdict(Seconds.of(cold_rounds(here, files["1 MB"])))}
    yield {"large files": large(here, bodies(months, LARGE))}
    yield {"lanes": {lane: sorted(here.lanes([table])) for lane, table in TABLES.items()}}
    by_express = burst(here, EXPRESS, chosen.tables, chosen.files, files[BURST_SIZE])
    yield {"at once": {EXPRESS: by_express}}
    by_spark = burst(here, SPARK, chosen.spark_tables, chosen.spark_files, files[BURST_SIZE])
    yield {"at once": {EXPRESS: by_express, SPARK: by_spark}}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.express", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="of the express lane and of the article's shape")
    parser.add_argument("--spark-rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=200, help="at once, by the express lane")
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--spark-files", type=int, default=20, help="at once, by Spark")
    parser.add_argument("--spark-tables", type=int, default=4)
    parser.add_argument("--out", type=Path, default=FIGURES)
    chosen = parser.parse_args(arguments)
    os.environ.pop("LAKEGATE_ENV_FILE", None)
    found: dict[str, Any] = {"at": f"{datetime.now(UTC):%Y-%m-%d}", "cores": os.cpu_count(), "rounds": chosen.rounds}
    with tempfile.TemporaryDirectory(prefix="bench-express-") as folder:
        months = nyc.write(Path(folder)).months
        with place(Path(folder)) as here:
            for part in measured(here, months, chosen):
                found |= part
                chosen.out.write_text(json.dumps(found, indent=1) + "\n")
    lanes = {lane: {*its, *found["at once"][lane]["lanes"]} for lane, its in found["lanes"].items()}
    return 0 if lanes == {lane: {lane} for lane in TABLES} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
