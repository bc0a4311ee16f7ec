"""Write, audit, publish as two assets of Dagster: the orders on a branch, with the audit as their blocking check, and
the orders on main, which are made only if it passes.

A file for a table is a partition. So what one asset hands to the next is kept for each of them, and runs of two files
at once do not take each other's branch.
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from examples.orchestrators.orders import TABLE, catalog, contract, key_of, rows_of, told
from lakegate.wap import Branch, Report, discard_abandoned, resume, start

FILES = dg.DynamicPartitionsDefinition(name="order_files")


class File(dg.Config):
    """A parquet or CSV file, and the table that gets its rows."""

    path: str
    table: str = TABLE

    def partition(self, key: str) -> str:
        return f"{self.table}.{key}"


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A run that was audited, as the next asset goes on with it."""

    table: str
    branch: str
    key: str
    report: Report

    @property
    def run(self) -> Branch:
        return resume(catalog(), contract(), self.branch, table=self.table, key=self.key)


@dg.asset(
    partitions_def=FILES,
    dagster_type=Audited,
    check_specs=[dg.AssetCheckSpec(name="audit", asset="orders_on_branch", blocking=True)],
)
def orders_on_branch(context: dg.AssetExecutionContext, config: File) -> dg.MaterializeResult:
    """Put the file's rows on a branch of their own, and audit them there. The branch of rows that fail is kept."""
    key = context.partition_key.removeprefix(config.partition(""))
    branch = start(catalog(), contract(), table=config.table, key=key)
    branch.append(rows_of(config.path, key), name=config.path)
    report = branch.audit()
    check = dg.AssetCheckResult(passed=report.passed, metadata={"branch": branch.name, "failed": list(told(report))})
    audited = Audited(table=config.table, branch=branch.name, key=key, report=report)
    return dg.MaterializeResult(value=audited, check_results=[check], metadata={"branch": branch.name})


@dg.asset(partitions_def=FILES)
def orders(orders_on_branch: Audited) -> dg.MaterializeResult:
    """Publish what was audited, and discard what earlier runs have left behind."""
    published = orders_on_branch.run.publish(orders_on_branch.report)
    gone = discard_abandoned(catalog(), orders_on_branch.table)
    return dg.MaterializeResult(metadata={"rows": published.rows, "abandoned branches": gone})


defs = dg.Definitions(assets=[orders_on_branch, orders])


def run(table: str, path: str) -> int:
    """Make both assets of one file, and return the exit code for a shell."""
    partition = File(path=path, table=table).partition(key_of(path))
    asked = {"ops": {"orders_on_branch": {"config": {"path": path, "table": table}}}}
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions(FILES.name, [partition])
        done = dg.materialize(
            [orders_on_branch, orders],
            partition_key=partition,
            instance=instance,
            run_config=asked,
            raise_on_error=False,
        )
    for check in done.get_asset_check_evaluations():
        print("\n".join([f"audit of {path}: {'passed' if check.passed else 'failed'}", *_lines(check)]))
    return 0 if done.success else 1


def _lines(check: dg.AssetCheckEvaluation) -> list[str]:
    return [f"  {name}: {value.value}" for name, value in check.metadata.items()]


def main() -> int:
    """Read the command's options, and make the assets of a file."""
    parser = argparse.ArgumentParser(prog="examples.orchestrators.dagster", description=__doc__)
    parser.add_argument("path", help="of a parquet or CSV file")
    parser.add_argument("--table", default=TABLE)
    asked = parser.parse_args()
    home = Path(os.environ.setdefault("DAGSTER_HOME", str(Path(".local/dagster").resolve())))
    home.mkdir(parents=True, exist_ok=True)
    return run(asked.table, asked.path)
