"""`python -m examples.orchestrators NAME`: one example on the local cloud that is up, with a good file and a bad one,
what became of each, and whether that is what is expected: if not, it exits with 1. It runs in the orchestrator's own
environment, as a role of its own that may publish.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from lakegate_local.person import credentials
from lakegate_local.services import REGION, client
from lakegate_local.settings import LocalSettings

from examples.orchestrators.orders import catalog, tokens
from lakegate.access import Role
from lakegate.adapters.http import door
from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.home import home
from lakegate.ports import MAIN, Ref
from lakegate.settings import Settings
from lakegate.wap.nessie import NessiePlace
from lakegate.wap.publishing import names

ROOT = home().root
NAMESPACE = "shop"
KEPT = {"airflow": 1, "dagster": 1, "dbos": 0, "prefect": 0}  # branches of a run whose audit has failed
GOOD_ROWS = 3


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The end of a file's run: the command's exit code, and then the rows of the table on main, and its branches."""

    code: int
    rows: int
    branches: tuple[str, ...]

    def __str__(self) -> str:
        return f"exit code {self.code}; main has {self.rows} rows; branches: {', '.join(self.branches) or 'none'}"


def main(name: str) -> int:
    """Run the example with both files, show what became of each, and return 0 if it is what is expected."""
    os.environ.update(environment(LocalSettings.from_env()))
    good, bad = [_run(name, path) for path in files(ROOT / ".local/data/orchestrators")]
    wrong = surprises(name, good, bad)
    if wrong:
        print("\nThis is not what is expected:", *wrong, sep="\n  ", flush=True)
        return 1
    kept = "its branch is there for a look" if KEPT[name] else "its branch is gone"
    print(f"\nAs expected: {GOOD_ROWS} rows of the good file are on main, and none of the bad one; {kept}.", flush=True)
    return 0


def _run(name: str, path: Path) -> Outcome:
    words = options(name, path)
    print(f"\n$ python -m examples.orchestrators.{name} {' '.join(words)}", flush=True)
    python = ROOT / f".local/envs/{name}/bin/python"
    done = subprocess.run([str(python), "-m", f"examples.orchestrators.{name}", *words], check=False, cwd=ROOT)
    found = outcome(table_of(name), done.returncode)
    print(found, flush=True)
    return found


def surprises(name: str, good: Outcome, bad: Outcome) -> list[str]:
    """Return what is not as expected: the good file is on main once, and the bad one fails and changes nothing."""
    kept = len(set(bad.branches) - set(good.branches))
    found = {
        f"the good file ended with exit code {good.code}, and not 0": good.code == 0,
        f"main had {good.rows} rows after the good file, and not {GOOD_ROWS}": good.rows == GOOD_ROWS,
        "the bad file ended with exit code 0": bad.code != 0,
        f"main had {bad.rows} rows after the bad file, and not {GOOD_ROWS}": bad.rows == GOOD_ROWS,
        f"the bad file left {kept} branches, and not {KEPT[name]}": kept == KEPT[name],
    }
    return [said for said, holds in found.items() if not holds]


def table_of(name: str) -> str:
    """Return the table of an example, which shares it with none: each would find the others' file published."""
    return f"{NAMESPACE}.{name}_orders"


def options(name: str, path: Path) -> list[str]:
    """Return the command's options for a file."""
    if name != "prefect":
        return [str(path), "--table", table_of(name)]
    namespace, _, table = table_of(name).partition(".")
    return ["--table_name", table, "--namespace", namespace, "--s3_path", str(path)]


def environment(local: LocalSettings) -> dict[str, str]:
    """Return the variables of a process that works on the local cloud as a role that may publish. What an orchestrator
    keeps goes with the cloud: it would take what an earlier cloud had for done.
    """
    found = client(local, "cloudformation").describe_stacks(StackName=local.stack)["Stacks"][0]["Outputs"]
    settings = Settings.from_outputs({it["OutputKey"]: it["OutputValue"] for it in found})
    return {
        **settings.to_env(),
        **credentials(local, "orchestrator", Role.PUBLISH),
        "AWS_ENDPOINT_URL": local.endpoint,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "no_proxy": "127.0.0.1",
        "AIRFLOW_HOME": str(local.data / "airflow"),
        "DAGSTER_HOME": str(local.data / "dagster"),
        "DBOS_SYSTEM_DATABASE_URL": f"sqlite:///{local.data / 'dbos.sqlite'}",
        "PREFECT_HOME": str(local.data / "prefect"),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }


def files(folder: Path) -> tuple[Path, Path]:
    """Return a file of orders that pass their contract, and one with an order that has no id."""
    folder.mkdir(parents=True, exist_ok=True)
    good = {"id": [1, 2, 3], "amount": [9.5, 20.0, 0.0], "note": ["first", None, "a gift"]}
    bad = {"id": [4, None], "amount": [1.0, 1.0], "note": ["good", "without an id"]}
    types = pa.schema([("id", pa.int64()), ("amount", pa.float64()), ("note", pa.string())])
    for name, rows in (("good", good), ("bad", bad)):
        pq.write_table(pa.table(rows, schema=types), folder / f"{name}.parquet")
    return folder / "good.parquet", folder / "bad.parquet"


def outcome(table: str, code: int) -> Outcome:
    """Return what main has of the table, and its branches, now that a command has ended."""
    place = catalog()
    http = door(place.uri, tokens())
    on_main = RefCatalog(place.uri, place.warehouse, Ref(MAIN), storage(), http=http).find_table(table)
    branches = names(NessiePlace(uri=place.uri, warehouse=place.warehouse, table=table, http=http))
    rows = on_main.scan().to_arrow().num_rows if on_main else 0
    return Outcome(code=code, rows=rows, branches=tuple(branches))


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in KEPT]:
        sys.exit(f"name one example: {', '.join(KEPT)}")
    sys.exit(main(sys.argv[1]))
