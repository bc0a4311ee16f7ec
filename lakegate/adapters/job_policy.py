"""A job run's own policy, beside its role's: a job may do what both allow, so none can touch another's files or table.

It narrows storage alone. All else that the role may do, the job may.
"""

import json
from collections.abc import Iterable, Mapping

import structlog

from lakegate.landing.attempts import PREFIX, Attempt
from lakegate.ports import Reach
from lakegate.settings import WAREHOUSE, Settings

log = structlog.get_logger()
LONGEST = 2048  # characters that EMR Serverless takes
ID = "-".join("?" * length for length in (8, 4, 4, 4, 12))  # Nessie names a new table's folder for its id, too


def job_policy(settings: Settings, attempt: Attempt, reach: Reach) -> str:
    """Return the narrowest policy that the service takes. If names are too long or foreign keys too many, the job may
    read the whole warehouse, or in the worst case write to it, as its role may, and the log says so.
    """
    warehouse = f"s3://{settings.lake_bucket}/{WAREHOUSE}/"
    own_folders, referenced_folders = (_folders(warehouse, tables) for tables in (reach.tables, reach.references))
    policy = ""
    for reads, writes in ((referenced_folders, own_folders), ([warehouse], own_folders), ([warehouse], [warehouse])):
        policy = _policy(settings, attempt, [*reach.reads, *reads], [*reach.writes, *writes])
        if len(policy) <= LONGEST:
            break
        log.warning("job_not_narrowed", branch=attempt.branch, characters=len(policy), most=LONGEST)
    return policy


def _folders(warehouse: str, tables: Mapping[str, str]) -> list[str]:
    """Return the tables' folders. Of a table that is not there yet, return where Nessie will put it."""
    return [f"{folder or warehouse + name.replace('.', '/') + '_' + ID}/" for name, folder in tables.items()]


def _policy(settings: Settings, attempt: Attempt, reads: Iterable[str], writes: Iterable[str]) -> str:
    def arns(uris: Iterable[str]) -> list[str]:
        partition = settings.job_role_arn.split(":")[1]
        # A batch's id is made of its table's name, too, so the branch is known without it, and names may be long.
        short = [uri.replace(f"{PREFIX}{attempt.table}-", f"{PREFIX}*-") for uri in uris]
        return [f"arn:{partition}:s3:::{uri.partition('://')[2]}{'*' if uri.endswith('/') else ''}" for uri in short]

    logs = f"s3://{settings.service_bucket}/logs/applications/{settings.application_id}/"
    statements = [
        {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"},
        # Without it S3 answers "forbidden" for a missing object. The role has it on two buckets.
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"},
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": arns([*_artifacts(settings), *reads])},
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"],
            "Resource": arns([logs, *writes]),
        },
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _artifacts(settings: Settings) -> list[str]:
    """Return the folders of the job's code. They hold what was uploaded for this installation alone."""
    uris = [settings.job_entry_point, *settings.job_py_files.split(","), *settings.job_jars.split(",")]
    return sorted({f"{uri.rpartition('/')[0]}/" for uri in uris})
