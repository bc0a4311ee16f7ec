"""Write, audit, publish as a durable workflow of DBOS: each step is noted in a database when it is done, and a process
that was killed goes on at the step that was not.

DBOS promises that a step is done at least once: it may have been done, and not noted. That a step which is done again
does nothing twice is lakegate.wap's promise.
"""

import argparse
import os
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSConfig, SetWorkflowID

from examples.orchestrators.orders import TABLE, catalog, contract, key_of, rows_of, told
from lakegate.errors import TRANSIENT
from lakegate.wap import AuditFailed, Branch, Report, resume, start

FILES = (".csv", ".parquet")


def may_pass(error: BaseException) -> bool:
    """Return True for an error that may be gone at the next try. A failed audit is none."""
    return isinstance(error, TRANSIENT)


AGAIN: dict[str, Any] = {"retries_allowed": True, "max_attempts": 10, "should_retry": may_pass}


def resumed(table: str, branch: str, key: str) -> Branch:
    """Return the run as it is now."""
    return resume(catalog(), contract(), branch, table=table, key=key)


@DBOS.step(**AGAIN)
def create(table: str, key: str) -> str:
    """Begin the run on a branch of its own, and return the branch's name."""
    return start(catalog(), contract(), table=table, key=key).name


@DBOS.step(**AGAIN)
def write(table: str, branch: str, key: str, path: str) -> None:
    """Append the file's rows to the branch."""
    resumed(table, branch, key).append(rows_of(path, key), name=path)


@DBOS.step(**AGAIN)
def audit(table: str, branch: str, key: str) -> Report:
    """Audit what the branch holds."""
    return resumed(table, branch, key).audit()


@DBOS.step(**AGAIN)
def publish(table: str, branch: str, key: str, report: Report) -> int:
    """Publish what was audited, and return how many rows it has. Raise AuditFailed if it did not pass."""
    return resumed(table, branch, key).publish(report).rows


@DBOS.step(**AGAIN)
def discard(table: str, branch: str, key: str) -> None:
    """Delete the branch with what it holds."""
    resumed(table, branch, key).discard()


@DBOS.workflow()
def write_audit_publish(table: str, path: str, key: str) -> int:
    """Publish a file's rows once, and return their number. Raise AuditFailed, the branch discarded, if they fail."""
    branch = create(table, key)
    write(table, branch, key, path)
    report = audit(table, branch, key)
    try:
        rows: int = publish(table, branch, key, report)
    except AuditFailed:
        discard(table, branch, key)
        raise
    return rows


@DBOS.step(**AGAIN)
def found(folder: str) -> list[tuple[str, str]]:
    """Return the files of a folder, each with the key of its run."""
    paths = sorted(str(path) for path in Path(folder).iterdir() if path.suffix in FILES)
    return [(path, key_of(path)) for path in paths]


@DBOS.workflow()
def every_minute(_: datetime, asked: dict[str, str]) -> None:
    """Publish each file of a folder that was not there a minute ago. A file is a workflow, whose id is its key: DBOS
    begins none a second time.
    """
    for path, key in found(asked["folder"]):
        with SetWorkflowID(f"{asked['table']} {key}"):
            DBOS.start_workflow(write_audit_publish, asked["table"], path, key)


def run(table: str, path: str) -> int:
    """Publish one file, and return the exit code for a shell."""
    key = key_of(path)
    with SetWorkflowID(f"{table} {key}"):
        handle = DBOS.start_workflow(write_audit_publish, table, path, key)
    try:
        print(f"{path} is published: {handle.get_result()} rows in {table}")
    except AuditFailed as failed:
        print("\n".join([str(failed), *told(failed.report)]))
        return 1
    return 0


def serve(table: str, folder: str) -> None:
    """Look into the folder every minute, until the process ends."""
    asked = {"table": table, "folder": folder}
    DBOS.apply_schedules(
        [{"schedule_name": f"files of {table}", "workflow_fn": every_minute, "schedule": "* * * * *", "context": asked}]
    )
    threading.Event().wait()


def main() -> int:
    """Read the command's options, go on with what a killed process has left, and do what is asked."""
    parser = argparse.ArgumentParser(prog="examples.orchestrators.dbos", description=__doc__)
    parser.add_argument("path", help="of a parquet or CSV file, or of a folder to look into every minute")
    parser.add_argument("--table", default=TABLE)
    asked = parser.parse_args()
    database = os.environ.get("DBOS_SYSTEM_DATABASE_URL", "sqlite:///.local/dbos.sqlite")
    config: DBOSConfig = {"name": "write-audit-publish", "system_database_url": database}
    DBOS(config=config)
    DBOS.launch()
    try:
        if Path(asked.path).is_dir():
            serve(asked.table, asked.path)
        return run(asked.table, asked.path)
    finally:
        DBOS.destroy()
