"""Write, audit, publish as a DAG of Airflow: create a branch, write to it, audit it, publish it, clean up.

Each task may run again, so all of them have retries. An audit that fails is no error that a retry would mend: it halts
the run at once and says which rows, and the branch stays for a look until it is a week old.
"""

from datetime import timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException

from examples.orchestrators.orders import TABLE, catalog, contract, key_of, rows_of, told
from lakegate.audit.model.codec import from_json, to_json
from lakegate.wap import Branch, Report, discard_abandoned, resume, start

AGAIN = {"retries": 3, "retry_delay": timedelta(seconds=1)}


def resumed(run: dict[str, str]) -> Branch:
    """Return the run as it is now."""
    return resume(catalog(), contract(), run["branch"], table=run["table"], key=run["key"])


@dag(schedule=None, catchup=False, default_args=AGAIN, params={"table": TABLE, "path": ""})
def write_audit_publish() -> None:
    """Publish the rows of one file: `path`, to `table`."""

    @task(multiple_outputs=False)
    def create(params: dict[str, str]) -> dict[str, str]:
        """Begin the run on a branch of its own."""
        table, path = params["table"], params["path"]
        key = key_of(path)
        branch = start(catalog(), contract(), table=table, key=key)
        return {"table": table, "path": path, "key": key, "branch": branch.name}

    @task(multiple_outputs=False)
    def write(run: dict[str, str]) -> dict[str, str]:
        """Append the file's rows to the branch."""
        resumed(run).append(rows_of(run["path"], run["key"]), name=run["path"])
        return run

    @task
    def audit(run: dict[str, str]) -> str:
        """Audit what the branch holds, and return the report as JSON."""
        report = resumed(run).audit()
        if not report.passed:
            raise AirflowFailException("\n".join([f"nothing is published, and {run['branch']} stays", *told(report)]))
        return to_json(report)

    @task(multiple_outputs=False)
    def publish(run: dict[str, str], report: str) -> dict[str, str]:
        """Publish what was audited."""
        published = resumed(run).publish(from_json(Report, report.encode()))
        print(f"{run['path']} is published: {published.rows} rows in {run['table']}")
        return run

    @task
    def clean_up(run: dict[str, str]) -> list[str]:
        """Discard the branches that runs have left a week ago, and return their names."""
        return discard_abandoned(catalog(), run["table"])

    written = write(create())
    clean_up(publish(written, audit(written)))


write_audit_publish()
