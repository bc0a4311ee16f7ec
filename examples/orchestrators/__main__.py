"""`python -m examples.orchestrators NAME`: one example on the local cloud that is up, with a good file and a bad one,
and what became of each. It runs in the orchestrator's own environment, as a role of its own that may publish.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from lakegate_local.person import credentials
from lakegate_local.services import REGION, client
from lakegate_local.settings import LocalSettings

from examples.orchestrators.orders import catalog
from lakegate.access import Role
from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.home import home
from lakegate.ports import MAIN, Ref
from lakegate.settings import Settings
from lakegate.wap.nessie import NessieBranches

ROOT = home().root
NAMESPACE = "shop"
NAMES = ("airflow", "dagster", "dbos", "prefect")


def main(name: str) -> None:
    """Run the example with both files, and show main and the branches after each."""
    os.environ.update(environment(LocalSettings.from_env()))
    for path in files(ROOT / ".local/data/orchestrators"):
        words = options(name, path)
        print(f"\n$ python -m examples.orchestrators.{name} {' '.join(words)}", flush=True)
        python = ROOT / f".local/envs/{name}/bin/python"
        done = subprocess.run([str(python), "-m", f"examples.orchestrators.{name}", *words], check=False, cwd=ROOT)
        print(f"exit code {done.returncode}; {outcome(table_of(name))}", flush=True)


def table_of(name: str) -> str:
    """Return the table of an example, which shares it with none: each would find the others' file published."""
    return f"{NAMESPACE}.{name}_orders"


def options(name: str, path: Path) -> list[str]:
    """Return the command's options for a file."""
    if name != "prefect":
        return [str(path), "--table", table_of(name)]
    namespace, _, table = table_of(name).partition(".")
    branch = f"wap-{path.stem}-{time.time_ns()}"
    return ["--table_name", table, "--namespace", namespace, "--branch_name", branch, "--s3_path", str(path)]


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


def outcome(table: str) -> str:
    """Return what main has of the table, and its branches, now."""
    place = catalog()
    on_main = RefCatalog(place.uri, place.warehouse, Ref(MAIN), storage(), http=place.http).find_table(table)
    rows = on_main.scan().to_arrow().num_rows if on_main else 0
    branches = NessieBranches(uri=place.uri, warehouse=place.warehouse, table=table, http=place.http).names()
    return f"{table} on main has {rows} rows; branches: {', '.join(branches) or 'none'}"


if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in NAMES]:
        sys.exit(f"name one example: {', '.join(NAMES)}")
    main(sys.argv[1])
