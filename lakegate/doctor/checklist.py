"""The checklist: what lakegate does on AWS and nobody has tried there, each with what shows it.

docs/reference/checklist.md says the same, and a test holds it.
"""

from collections.abc import Iterator

CHECKLIST = (
    ("the stacks are made in an empty account", "lakegate deploy SETTINGS"),
    ("EMR's image runs the job, with the tested Python, Iceberg and AWS SDK", "lakegate doctor --probe"),
    ("functions import their code on ARM64", "lakegate status, which the function read answers"),
    ("the first file reaches main", "lakegate contract push CONTRACT && lakegate drop FILE --wait"),
    (
        "the express lane's function unpacks its packages, runs a job and Lambda tells settle of its end",
        "lakegate drop FILE --wait; lakegate show BATCH",
    ),
    ("a bad file stays on its branch, and Slack tells", "lakegate drop BAD --wait; lakegate status"),
    ("a job's end settles its batch before the sweep does", "lakegate drop FILE --wait, with reconcile_minutes = 60"),
    ("the sweep finds a file without its event", "disable the rule Landed; lakegate drop FILE --wait; enable it"),
    ("the application changes under load", "change jobs_at_once while files land: lakegate deploy SETTINGS"),
    ("Nessie knows each role by its token", "lakegate doctor --probe, and main's log: lakegate status"),
    (
        "Nessie knows the clients of an OIDC issuer",
        "docs/how-to/oidc-clients.md; token_endpoint: lakegate doctor --probe",
    ),
    ("an uploader with a prefix is refused elsewhere", "aws s3 cp FILE s3://LANDING/OTHER/, as that uploader"),
    (
        "an alarm reaches a person",
        "aws cloudwatch set-alarm-state --alarm-name NAME --state-value ALARM --state-reason trial",
    ),
    ("readers see tables and no quarantine", "lakegate readers --engine spark, under ReadLakePolicy"),
    ("engines that no test runs read a table", "lakegate readers --engine trino, snowflake, athena, redshift, dremio"),
    (
        "everything works under a key of its own",
        "kms_key = 'create': lakegate doctor --probe, lakegate drop FILE --wait",
    ),
    (
        "an upload under a vendor's key is read",
        "upload_keys; aws s3 cp FILE s3://LANDING/KEY --sse aws:kms --sse-kms-key-id",
    ),
    ("files land in a bucket that was there", "landing_bucket; lakegate doctor; lakegate drop FILE --wait"),
    ("a vendor's SFTP user writes below its prefix", "docs/how-to/sftp.md, To try"),
    ("a certificate of a private authority is trusted", "nessie_ca: lakegate doctor --probe"),
    (
        "what was backed up comes back",
        "bring the database to an earlier moment (docs/how-to/restoring.md); lakegate verify",
    ),
    ("who has the two policies operates it, and who has neither is refused", "lakegate status, as each of them"),
    ("EMR Serverless holds a job to its run's own policy", "lakegate drop FILE --wait; aws emr-serverless get-job-run"),
    ("CloudWatch takes the metrics of the logs", "aws cloudwatch list-metrics --namespace lakegate, and the dashboard"),
    ("a canary reaches main by the clock", "canary_hours = 1; lakegate status"),
    ("the bill is what jobs say, and groups by their tags", "lakegate show BATCH; table and batch in Cost Explorer"),
    ("what nothing needs leaves the lake", "lakegate clean --delete, twice in eight days, with CleanLakePolicy"),
    ("functions change their processors while files land", "architecture = 'x86_64'; lakegate deploy SETTINGS"),
    (
        "the catalog goes on without a task and without a zone",
        "aws rds reboot-db-instance --force-failover, as files land",
    ),
    (
        "all is reached without a NAT gateway",
        "endpoints (docs/how-to/network.md); lakegate doctor --probe",
    ),
    ("the application takes the other Spark and goes back", "release = 'emr-7.13.0': lakegate deploy SETTINGS, twice"),
    ("another image and other properties of Spark are taken", "image; spark_conf; lakegate doctor --probe"),
    ("the stacks that may go are removed", "cdk destroy (docs/how-to/remove.md)"),
)


def lines() -> Iterator[str]:
    """Yield the checklist as Markdown's numbered list."""
    for number, (what, how) in enumerate(CHECKLIST, 1):
        yield f"{number}. {what[0].upper()}{what[1:]}: `{how}`"
