"""`make demo`: the whole loop on a year of real flights, by the commands that a person would type. It can be run again
from any state: what is published already is said to be, and nothing is there twice.
"""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lakegate_local.settings import LocalSettings
from lakegate_local.slack_messages import rendered
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from examples.nyc import Example, write

ROOT = Path(__file__).resolve().parents[1]
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
    chapter("Dropped: airlines, airports, planes, twelve months and the doctored one")
    drop(example)
    run("wait", "--timeout", "600", fine=(DONE, REJECTED))
    chapter("What became of it")
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


def drop(example: Example) -> None:
    """All at once. A doctored month that is rejected already is left out: it would be rejected again."""
    if answer("status")["in_flight"]:
        say("Something is still in flight from before; first its end.")
        run("wait", "--timeout", "600", fine=(DONE, REJECTED))
    flights = [*example.months, example.doctored.path]
    if rejected(example):
        say(f"{example.doctored.path.name} was dropped and rejected before: not dropped again.")
        flights.remove(example.doctored.path)
    for table in ("airlines", "airports", "planes"):
        run("drop", getattr(example, table), "--table", f"nyc.{table}")
    run("drop", *flights, "--table", "nyc.flights")


def rejected(example: Example) -> dict[str, Any] | None:
    """The doctored month's entry in `lakegate status`, if it is rejected now."""
    entries = answer("status")["rejected"]
    name = f"nyc/flights/{example.doctored.path.name}"
    return next((entry for entry in entries if name in entry["files"]), None)


def summary(example: Example) -> bool:
    """What a person can check; whether all of it is as it must be."""
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
    """The checks that failed, beside what was done to the file."""
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
    """The message about a branch, as Slack was sent it: at most a moment after the decision."""
    deadline = time.monotonic() + SLACK_SECONDS
    while time.monotonic() < deadline:
        messages = [message for message in answer("local", "slack") if branch in json.dumps(message)]
        if messages:
            screen.print(rendered(messages[0]))
            return verdict(f"Slack heard of it {'once' if len(messages) == 1 else 'more than once'}", is_right=True)
        time.sleep(1)
    return verdict(f"Slack has not heard of {branch}", is_right=False)


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
        screen.print(f"  {shown(LAKEGATE)} {command}", soft_wrap=True)


def say(text: str) -> None:
    screen.print(text, soft_wrap=True)


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def run(*args: str | Path, fine: Sequence[int] = (DONE,)) -> None:
    """Run a command as a person would, and stop here if it does not end well."""
    words = [shown(arg) if isinstance(arg, Path) else arg for arg in args]
    screen.print(Text(f"\n$ lakegate {typed(words)}", style="bold cyan"), soft_wrap=True)
    code = subprocess.run([LAKEGATE, *words], cwd=ROOT, env=environment(), check=False).returncode
    if code not in fine:
        raise SystemExit(code)


def environment() -> dict[str, str]:
    """The commands mean the local cloud, whatever installation they would mean elsewhere in this shell."""
    return os.environ | {"LAKEGATE_ENV_FILE": str(LocalSettings.from_env().profile)}


def typed(words: Sequence[str]) -> str:
    """The command as a person would type it: several files of a folder by a pattern."""
    made = []
    for word in words:
        path = Path(word)
        siblings = [other for other in words if path.suffix in SUFFIXES and Path(other).parent == path.parent]
        made.append(f"{path.parent}/*{path.suffix}" if len(siblings) > 1 else shlex.quote(word))
    return " ".join(dict.fromkeys(made))


def answer(*args: str) -> Any:
    """What a command says with --json."""
    command = [str(LAKEGATE), *args, "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode != DONE:
        raise SystemExit(done.returncode)
    return json.loads(done.stdout)


if __name__ == "__main__":
    raise SystemExit(main())
