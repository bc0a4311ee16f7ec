"""`make demo` and `lakegate demo`: the whole loop on a year of real flights, with the commands that a person would
type. It can run again from any state, and then reports what is published already.
"""

import json
import os
import posixpath
import shlex
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from lakegate_local.settings import LocalSettings
from lakegate_local.slack_messages import rendered
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from examples.nyc import Example, write
from lakegate.home import home

HOME = home()
ROOT = HOME.root
LAKEGATE = Path(sys.executable).with_name("lakegate")
DATA = ROOT / ".local/data"
COUNTS = (
    "SELECT (SELECT count(*) FROM nyc.flights) AS flights, (SELECT count(dep_time) FROM nyc.flights) AS departed, "
    "(SELECT count(*) FROM nyc.airlines) AS airlines, (SELECT count(*) FROM nyc.airports) AS airports, "
    "(SELECT count(*) FROM nyc.planes) AS planes"
)
LATE = (
    "SELECT name, round(avg(dep_delay), 1) AS minutes FROM nyc.flights "
    "JOIN nyc.airlines USING (carrier) GROUP BY 1 ORDER BY 2 DESC"
)
BY_SPARK = "    customProperties:\n      - {property: engine, vendor: lakegate, value: spark}\n"
OTHERS = ("airlines", "airports", "planes")
DONE, REJECTED = 0, 1
SUFFIXES = {".parquet", ".yaml"}
SLACK_SECONDS = 60

screen = Console(highlight=False, markup=False, emoji=False)


def main() -> int:
    started = time.monotonic()
    chapter("The data: every flight that left New York City in 2013")
    example = write(DATA)
    describe(example)
    chapter("The local cloud, and the contracts")
    run("local", "up")
    run("contract", "push", *sorted((ROOT / "contracts").glob("*.yaml")))
    chapter("Dropped: all but December. These files are small and need no Spark")
    dropped = drop(example)
    run("wait", "--timeout", "600", fine=(DONE, REJECTED))
    chapter("December, by Spark, because the contract asks for it now")
    dropped |= drop_by_spark(example.months[-1])
    chapter("Which engine judged, why, and how long its job took")
    show_engines(dropped)
    chapter("The outcome")
    well = summary(example)
    chapter(f"Done in {time.monotonic() - started:.0f} s. The local cloud is still running. What to try next")
    suggest(example)
    return 0 if well else 1


def chapter(title: str) -> None:
    screen.print()
    screen.print(Rule(Text(title, style="bold"), align="left"))


def describe(example: Example) -> None:
    say(f"{example.rows:,} flights in twelve files, one a month, and one doctored file: February, a year on,")
    say(f"of {example.doctored.rows:,} rows, {shown(example.doctored.path)}, in which there are")
    for story, _ in example.doctored.faults.values():
        say(f"  - {story}")


def drop(example: Example) -> set[str]:
    """Drop all files but the last month, and return their names. A doctored month that is rejected now is left out,
    because it would be rejected again.
    """
    if answer("status")["in_flight"]:
        say("An earlier run is still in flight, so wait for its end first.")
        run("wait", "--timeout", "600", fine=(DONE, REJECTED))
    flights = [*example.months[:-1], example.doctored.path]
    if rejected(example):
        say(f"{example.doctored.path.name} was dropped and rejected before: not dropped again.")
        flights.remove(example.doctored.path)
    groups = {**{table: [getattr(example, table)] for table in OTHERS}, "flights": flights}
    for table, files in groups.items():
        run("drop", *files, "--table", f"nyc.{table}")
    return {file.name for files in groups.values() for file in files}


def drop_by_spark(month: Path) -> set[str]:
    """Drop a month and wait for it, while the flights' contract asks for Spark. Return its name."""
    contract = ROOT / "contracts/flights.yaml"
    other = DATA / "flights-by-spark.yaml"
    name = "    physicalName: nyc.flights\n"
    other.write_text(contract.read_text().replace(name, f"{name}{BY_SPARK}"))
    run("contract", "push", other)
    run("drop", month, "--table", "nyc.flights", "--wait")
    run("contract", "push", contract)
    return {month.name}


def show_engines(dropped: Collection[str]) -> None:
    """Show each batch of files that were dropped now: its files, who judged them and why, and its last job's time."""
    made = Table("files", "judged by", "because", "seconds of its job", title_justify="left")
    status = answer("status")
    entries = [entry for state in ("published", "rejected") for entry in status[state]]
    for entry in sorted(entries, key=lambda entry: str(entry["since"])):
        names = [name for name in map(posixpath.basename, entry["files"]) if name in dropped]
        tries = [it for it in answer("show", entry["batch"])["attempts"] if it["report"]] if names else []
        if tries:
            what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
            made.add_row(what, tries[-1]["report"]["lane"], tries[-1]["report"]["lane_why"], seconds(tries[-1]))
    screen.print(made)


def seconds(attempt: Mapping[str, Any]) -> str:
    """Return what an attempt's run took, or until that is known its job, which is a part of it."""
    report, usage = attempt["report"], attempt["usage"]
    job = datetime.fromisoformat(report["finished_at"]) - datetime.fromisoformat(report["started_at"])
    return str(max(1, usage["seconds"])) if usage else f"over {job.total_seconds():.0f}"


def rejected(example: Example) -> dict[str, Any] | None:
    """Return the doctored month's entry in `lakegate status`, or None if it is not rejected now."""
    entries = answer("status")["rejected"]
    name = f"nyc/flights/{example.doctored.path.name}"
    return next((entry for entry in entries if name in entry["files"]), None)


def summary(example: Example) -> bool:
    """Show the outcome. Return True if all of it is right."""
    return all([rows_are_right(example), doctored_is_stopped(example)])


def rows_are_right(example: Example) -> bool:
    run("query", COUNTS)
    [[on_main]] = [row.values() for row in answer("query", "SELECT count(*) FROM nyc.flights")]
    published = sum(entry["rows"] for entry in answer("status")["published"] if entry["table"] == "nyc.flights")
    more = on_main - example.rows
    others = f", and {more:,} of files that were dropped besides" if more > 0 else ""
    is_right = on_main == published and more >= 0
    return verdict(f"{on_main:,} flights on main: {example.rows:,} of twelve months{others}", is_right=is_right)


def doctored_is_stopped(example: Example) -> bool:
    entry = rejected(example)
    if entry is None:
        return verdict(f"{example.doctored.path.name} is not among the rejected: lakegate status", is_right=False)
    run("query", "SELECT count(*) AS rows_on_the_branch FROM nyc.flights", "--ref", entry["branch"])
    found = failed_checks(example, entry["batch"])
    is_told = tell_slack(entry["branch"])
    verdict(f"{example.doctored.path.name} is on the branch {entry['branch']}, not on main", is_right=True)
    return found and is_told


def failed_checks(example: Example, batch: str) -> bool:
    """Show the failed checks beside the planted faults. Return True if they agree."""
    reports = [attempt["report"] for attempt in answer("show", batch)["attempts"] if attempt["report"]]
    files = [file for report in reports for file in report["files"] if file["key"].endswith(example.doctored.path.name)]
    checks = {check["name"]: check for file in files[-1:] for check in file["checks"] if check["verdict"] == "fail"}
    made = Table("what was done to the file", "the check that failed", "failing rows", title_justify="left")
    for name, (story, rows) in example.doctored.faults.items():
        check = checks.get(name)
        made.add_row(story, name, f"{check['failing_rows']} of {check['rows']:,}" if check else f"NOT FOUND, of {rows}")
    screen.print(made)
    counted = {name: check["failing_rows"] for name, check in checks.items()}
    planted = {name: rows for name, (_, rows) in example.doctored.faults.items()}
    return verdict("every planted fault was found, and no other", is_right=counted == planted)


def tell_slack(branch: str) -> bool:
    """Show the Slack message about a branch, which is sent shortly after the decision. Return False if none comes."""
    deadline = time.monotonic() + SLACK_SECONDS
    while time.monotonic() < deadline:
        messages = [message for message in answer("local", "slack") if branch in json.dumps(message)]
        if messages:
            screen.print(rendered(messages[0]))
            return verdict(f"Slack was told {'once' if len(messages) == 1 else 'more than once'}", is_right=True)
        time.sleep(1)
    return verdict(f"Slack was not told of {branch}", is_right=False)


def verdict(text: str, *, is_right: bool) -> bool:
    screen.print(Text("✓ " if is_right else "✗ ", style="bold green" if is_right else "bold red") + Text(text))
    return is_right


def suggest(example: Example) -> None:
    commands = {"everything so far": "status"}
    if entry := rejected(example):
        sql = "SELECT * FROM nyc.flights WHERE carrier IS NULL"
        commands |= {
            "the doctored month's report": f"show {entry['batch']}",
            "its flights without a carrier, on its branch": f'query "{sql}" --ref {entry["branch"]}',
            "give the doctored month up": f'discard {entry["batch"]} --why "it was doctored"',
        }
    commands |= {
        "who flies late": f'query "{LATE}"',
        "the same bytes again: they are published once": f"drop {shown(example.months[0])} --table nyc.flights --wait",
        "stop the local cloud (it forgets everything)": "local down",
    }
    for what, command in commands.items():
        screen.print(Text(f"  {what}", style="dim"))
        screen.print(f"  {shown(LAKEGATE) if HOME.is_checkout else 'lakegate'} {command}", soft_wrap=True)


def say(text: str) -> None:
    screen.print(text, soft_wrap=True)


def shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def run(*args: str | Path, fine: Sequence[int] = (DONE,)) -> None:
    """Print and run a command. Exit with its code if that is not in `fine`."""
    words = [shown(arg) if isinstance(arg, Path) else arg for arg in args]
    screen.print(Text(f"\n$ lakegate {typed(words)}", style="bold cyan"), soft_wrap=True)
    code = subprocess.run([LAKEGATE, *words], env=environment(), check=False).returncode
    if code not in fine:
        raise SystemExit(code)


def environment() -> dict[str, str]:
    """Return an environment in which commands use the local cloud, even if the shell chooses another installation."""
    return os.environ | {"LAKEGATE_ENV_FILE": str(LocalSettings.from_env().profile)}


def typed(words: Sequence[str]) -> str:
    """Return the command as a person would type it, with several files of a folder as a pattern."""
    made = []
    for word in words:
        path = Path(word)
        siblings = [other for other in words if path.suffix in SUFFIXES and Path(other).parent == path.parent]
        made.append(f"{path.parent}/*{path.suffix}" if len(siblings) > 1 else shlex.quote(word))
    return " ".join(dict.fromkeys(made))


def answer(*args: str) -> Any:
    """Return a command's output of --json. Exit with its code if it fails."""
    command = [str(LAKEGATE), *args, "--json"]
    done = subprocess.run(command, env=environment(), check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != DONE:
        raise SystemExit(done.returncode)
    return json.loads(done.stdout)


if __name__ == "__main__":
    raise SystemExit(main())
