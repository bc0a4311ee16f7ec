"""An EMR Serverless application with its jobs' role and artifacts. Functions start the jobs, by the stack's grant."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Aws, Stack, aws_emrserverless, aws_events, aws_iam
from aws_cdk.aws_s3_assets import Asset
from constructs import Construct

from infra.config import ARM64, Config, label_of
from infra.network import Network
from infra.waivers import waive, waive_below
from lakegate.settings import LONGEST_QUEUE

IDLE_MINUTES = 15
SERVICE = "emr-serverless.amazonaws.com"


@dataclass(frozen=True, kw_only=True)
class Artifacts:
    """A job's files to upload."""

    entry_point: Path
    py_files: Path
    jars: tuple[Path, ...]


class Spark(Construct):
    """An application that runs append_and_audit. Its role may only read the artifacts until the stack grants more."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, network: Network, artifacts: Artifacts
    ) -> None:
        super().__init__(scope, construct_id)
        self.application = self._application(config, network)
        self.application_id = self.application.attr_application_id
        self.role = aws_iam.Role(self, "Role", assumed_by=self._emr())
        self.entry_point = Asset(self, "EntryPoint", path=str(artifacts.entry_point))
        self.py_files = Asset(self, "PyFiles", path=str(artifacts.py_files))
        self.jars = [Asset(self, f"Jar{number}", path=str(jar)) for number, jar in enumerate(artifacts.jars)]
        self._read_artifacts(config.name)

    @property
    def jar_uris(self) -> str:
        return ",".join(jar.s3_object_url for jar in self.jars)

    def _emr(self) -> aws_iam.ServicePrincipal:
        """Return EMR Serverless as it acts for this application. iam:PassRole, in run_jobs, decides who may hand it the
        job's role.
        """
        arn = self.application.attr_arn
        conditions = {
            "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
            "ArnLike": {"aws:SourceArn": [arn, f"{arn}/*"]},  # a job run's ARN is below its application's
        }
        return aws_iam.ServicePrincipal(SERVICE, conditions=conditions)

    def _application(self, config: Config, network: Network) -> aws_emrserverless.CfnApplication:
        kind = aws_emrserverless.CfnApplication
        place = kind.NetworkConfigurationProperty(
            subnet_ids=list(network.subnets), security_group_ids=list(network.security_groups)
        )
        stop = kind.AutoStopConfigurationProperty(enabled=True, idle_timeout_minutes=IDLE_MINUTES)
        return kind(
            self,
            "Application",
            name=config.name,
            release_label=label_of(config.spark_release),
            image_configuration=kind.ImageConfigurationInputProperty(image_uri=config.spark_image)
            if config.spark_image
            else None,
            type="SPARK",
            architecture="ARM64" if config.spark_release.endswith(ARM64) else "X86_64",
            auto_start_configuration=kind.AutoStartConfigurationProperty(enabled=True),
            auto_stop_configuration=stop,
            # Without a queue, runs that exceed the account's capacity fail, and are retried when it may be free. The
            # queue counts runs, not their workers, so each run limits its own workers.
            scheduler_configuration=kind.SchedulerConfigurationProperty(
                max_concurrent_runs=config.spark_jobs_at_once, queue_timeout_minutes=LONGEST_QUEUE
            ),
            network_configuration=place if network.subnets else None,
        )

    def _read_artifacts(self, name: str) -> None:
        """Allow reading every artifact ever uploaded for this stack, so that a deployment breaks no running job."""
        bucket, own_prefix = self.entry_point.bucket, f"{name}/*"
        self.role.add_to_policy(_allow("s3:GetObject", on=bucket.arn_for_objects(own_prefix)))
        # The bootstrap names the bucket, and the account and region are filled in at deployment.
        bucket_pattern = re.sub(r"\$\{(.+?)\}", r"<\1>", Stack.of(self).resolve(bucket.bucket_name)["Fn::Sub"])
        waive(
            self.role,
            rule=f"IAM5[Resource::arn:<AWS::Partition>:s3:::{bucket_pattern}/{own_prefix}]",
            reason="An artifact's name is its hash, and jobs of the previous version still read theirs.",
        )

    def job_ended(self) -> aws_events.Rule:
        """Return a rule that matches the end of a job run of this application, good or bad."""
        detail = {"applicationId": [self.application_id], "state": ["SUCCESS", "FAILED", "CANCELLED"]}
        pattern = aws_events.EventPattern(
            source=["aws.emr-serverless"], detail_type=["EMR Serverless Job Run State Change"], detail=detail
        )
        return aws_events.Rule(self, "JobEnded", description="An ingestion job has ended", event_pattern=pattern)

    def observe_jobs(self, role: aws_iam.Role) -> None:
        """Allow a role to look at jobs of this application."""
        arn = self.application.attr_arn
        role.add_to_policy(_allow("emr-serverless:ListJobRuns", on=arn))
        role.add_to_policy(_allow("emr-serverless:GetJobRun", on=f"{arn}/jobruns/*"))
        reason = "A job run's id is given when it starts."
        waive_below(role, resource=self.application, suffix="/jobruns/*", reason=reason)

    def run_jobs(self, role: aws_iam.Role) -> None:
        """Allow a role to start jobs of this application under the job role, and to look at them."""
        arn = self.application.attr_arn
        to_emr = {"StringEquals": {"iam:PassedToService": SERVICE}}
        self.observe_jobs(role)
        for statement in (
            _allow("emr-serverless:StartJobRun", on=arn),
            _allow("emr-serverless:TagResource", on=f"{arn}/jobruns/*"),
            _allow("iam:PassRole", on=self.role.role_arn, conditions=to_emr),
        ):
            role.add_to_policy(statement)


def _allow(*actions: str, on: str, conditions: Mapping[str, object] | None = None) -> aws_iam.PolicyStatement:
    return aws_iam.PolicyStatement(actions=list(actions), resources=[on], conditions=conditions)
