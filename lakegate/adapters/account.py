"""The account and region that AWS's configuration leads to. What changes them is named `enable_…`, and nothing else."""

from functools import cached_property
from urllib.parse import urlparse

import boto3
from botocore.exceptions import ClientError

from lakegate.adapters.aws import CONFIG, Clients, ambient, aws_errors, code


def region() -> str:
    """Return the region, or "" if none is set."""
    return boto3.Session().region_name or ""


def foreign_storage() -> str:
    """Return the address of a storage that is not AWS's own S3, such as the local cloud's, or "" if it is."""
    address = boto3.client("s3", config=CONFIG).meta.endpoint_url
    host = urlparse(address).hostname or ""
    return "" if host.endswith((".amazonaws.com", ".amazonaws.com.cn")) else address


ECS, ECS_ROLE = "ecs.amazonaws.com", "AWSServiceRoleForECS"


class Account:
    """An account in one region."""

    def __init__(self, clients: Clients = ambient) -> None:
        self._sts, self._ssm, self._iam = clients("sts"), clients("ssm"), clients("iam")
        self._s3 = clients("s3")

    @cached_property
    def id(self) -> str:
        with aws_errors("asking which account this is"):
            return str(self._sts.get_caller_identity()["Account"])

    @property
    def region(self) -> str:
        return str(self._ssm.meta.region_name)

    def issuer(self) -> str:
        """Return the issuer of the account's own tokens, or "" if outbound web identity federation is off."""
        with aws_errors("asking for the account's issuer of tokens"):
            try:
                information = self._iam.get_outbound_web_identity_federation_info()
            except ClientError as error:
                if code(error) != "FeatureDisabled":
                    raise
                return ""
        return str(information["IssuerIdentifier"]) if information["JwtVendingEnabled"] else ""

    def enable_issuer(self) -> str:
        """Turn outbound web identity federation on for the whole account. Return its issuer."""
        with aws_errors("turning on outbound web identity federation"):
            return str(self._iam.enable_outbound_web_identity_federation()["IssuerIdentifier"])

    @cached_property
    def has_ecs(self) -> bool:
        """True if the account has the role by which ECS runs tasks."""
        with aws_errors("looking for ECS's role"):
            try:
                self._iam.get_role(RoleName=ECS_ROLE)
            except ClientError as error:
                if code(error) != "NoSuchEntity":
                    raise
                return False
        return True

    def enable_ecs(self) -> None:
        """Make the role by which ECS runs tasks, unless it is there. ECS makes one at its first use, which fails."""
        if self.has_ecs:
            return
        with aws_errors("making ECS's role"):
            try:
                self._iam.create_service_linked_role(AWSServiceName=ECS)
            except ClientError as error:
                if code(error) not in ("InvalidInput", "EntityAlreadyExists"):  # somebody has made it since
                    raise

    def buckets(self) -> set[str]:
        with aws_errors("listing the account's buckets"):
            return {bucket["Name"] for bucket in self._s3.list_buckets()["Buckets"]}

    def has_parameter(self, name: str) -> bool:
        with aws_errors(f"reading the parameter {name}"):
            try:
                self._ssm.get_parameter(Name=name)
            except ClientError as error:
                if code(error) != "ParameterNotFound":
                    raise
                return False
        return True
