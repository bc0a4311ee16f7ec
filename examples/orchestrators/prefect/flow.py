"""Write, audit, publish as a Prefect flow: one transaction, which publishes when it commits and discards the branch
when it is rolled back.

A commit hook's error ends no flow: Prefect writes it to the log, commits the other tasks and goes on. So the flow asks
main's history in the end whether the run is there.
"""

import argparse

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.transactions import Transaction, get_transaction, transaction

from examples.orchestrators.orders import catalog, contract, key_of, rows_of, told
from lakegate.errors import Refused
from lakegate.wap import AuditFailed, Branch, resume, start


def run_of(txn: Transaction) -> Branch:
    """Return the run that the flow has noted in its transaction."""
    return resumed(txn.get("table"), txn.get("branch"), txn.get("key"))


def resumed(table: str, branch: str, key: str) -> Branch:
    """Return the run as it is now."""
    return resume(catalog(), contract(), branch, table=table, key=key)


@task(cache_policy=NO_CACHE)
def create_branch(table: str, key: str) -> str:
    """Begin a run on a branch of its own, unless main has the run already. Return the branch's name."""
    return start(catalog(), contract(), table=table, key=key).name


@create_branch.on_rollback
def discard_branch(txn: Transaction) -> None:
    """Discard the branch that this flow has made, and no other's."""
    run_of(txn).discard()


@task(cache_policy=NO_CACHE)
def write(table: str, branch: str, key: str, path: str) -> None:
    """Append the file's rows to the branch."""
    resumed(table, branch, key).append(rows_of(path, key), name=path)


@task(cache_policy=NO_CACHE)
def audit(table: str, branch: str, key: str) -> None:
    """Audit what the branch holds. Raise AuditFailed if it must not be published: that rolls the transaction back."""
    report = resumed(table, branch, key).audit()
    if not report.passed:
        raise AuditFailed(report)
    if txn := get_transaction():
        txn.set("report", report)


@audit.on_commit
def publish(txn: Transaction) -> None:
    """Publish what was audited. A branch that has changed since is audited again, and published only if it passes."""
    run_of(txn).publish(txn.get("report"))


@flow(name="write-audit-publish", log_prints=True)
def write_audit_publish(table: str, path: str) -> int:
    """Publish a file's rows once, and return their number. Raise if main does not have them in the end."""
    key = key_of(path)
    try:
        with transaction() as txn:
            branch = create_branch(table, key)
            for name, value in {"table": table, "branch": branch, "key": key}.items():
                txn.set(name, value)
            write(table, branch, key, path)
            audit(table, branch, key)
    except AuditFailed as failed:
        print("\n".join(told(failed.report)))
        raise
    return committed(table, branch, key, path)


def committed(table: str, branch: str, key: str, path: str) -> int:
    """Return how many rows main has of the run. Raise Refused, with the branch discarded, if it has none of them."""
    run = resumed(table, branch, key)
    if not run.published:
        run.discard()
        raise Refused(f"{path} is not on main, and {branch} is discarded: the log says why the publish failed")
    print(f"{path} is published: {run.published.rows} rows in {table}")
    return run.published.rows


def main() -> int:
    """Read the command's options, run the flow, and return the exit code for a shell."""
    parser = argparse.ArgumentParser(prog="examples.orchestrators.prefect", description=__doc__)
    parser.add_argument("--table_name", default="orders")
    parser.add_argument("--namespace", default="shop")
    parser.add_argument("--s3_path", required=True, help="of a parquet or CSV file, in S3 or in a folder")
    asked = parser.parse_args()
    table = f"{asked.namespace}.{asked.table_name}"
    state = write_audit_publish(table, asked.s3_path, return_state=True)
    return 0 if state.is_completed() else 1
