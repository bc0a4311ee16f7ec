"""The outputs of a complete installation's stack, as CloudFormation has them."""

OUTPUTS = {
    "LandingBucket": "landing",
    "ServiceBucket": "service",
    "LakeBucket": "lake",
    "NessieUri": "https://nessie.example.com",
    "Warehouse": "lake",
    "ApplicationId": "00app",
    "JobRoleArn": "arn:aws:iam::123456789012:role/job",
    "JobEntryPoint": "s3://a/b.py",
    "JobPyFiles": "s3://a/c.zip",
    "JobJars": "s3://a/d.jar",
    "IngestFunction": "lakegate-ingest",
    "SettleFunction": "lakegate-settle",
    "ReconcileFunction": "lakegate-reconcile",
}
