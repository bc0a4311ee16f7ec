"""The account and region in which an installation is to be, as far as is asked before a deployment.

It changes nothing there.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from lakegate.adapters.aws import Clients, ambient, aws_errors
from lakegate.adapters.images import LISTS, Images, platforms_of
from lakegate.adapters.surroundings import quota
from lakegate.doctor.facts import Certificate, HostedZone
from lakegate.errors import Misconfigured

MANIFESTS = [
    *LISTS,
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
]
_ECR = re.compile(r"(\d{12})\.dkr\.ecr\.[a-z0-9-]+\.[^/]+/([^@:]+)(?::([\w.-]+))?(?:@(sha256:.+))?")
LIFE = 60  # seconds of a token that is looked at, and not used


class Site:
    """An account as its caller sees it: zones, quotas, names, images and rights."""

    def __init__(self, clients: Clients = ambient) -> None:
        self._images, self._ecr = Images(), clients("ecr")
        self._acm, self._ec2, self._iam, self._lambda = (
            clients("acm"),
            clients("ec2"),
            clients("iam"),
            clients("lambda"),
        )
        self._quotas, self._route53, self._sns = clients("service-quotas"), clients("route53"), clients("sns")
        self._sts = clients("sts")

    def zones(self) -> dict[str, str]:
        """Return the ids of the region's availability zones, by the names that the account has for them."""
        filters = [{"Name": "zone-type", "Values": ["availability-zone"]}, {"Name": "state", "Values": ["available"]}]
        with aws_errors("listing availability zones"):
            zones = self._ec2.describe_availability_zones(Filters=filters)["AvailabilityZones"]
        return {zone["ZoneName"]: zone["ZoneId"] for zone in zones}

    def token(self, audience: str) -> str:
        with aws_errors("asking STS for a token"):
            answer = self._sts.get_web_identity_token(
                Audience=[audience], SigningAlgorithm="RS256", DurationSeconds=LIFE
            )
        return str(answer["WebIdentityToken"])

    def hosted_zone(self, zone: str) -> HostedZone:
        with aws_errors(f"looking at the zone {zone} of Route 53"):
            description = self._route53.get_hosted_zone(Id=zone)["HostedZone"]
        return HostedZone(name=description["Name"].rstrip("."), is_private=description["Config"]["PrivateZone"])

    def certificate(self, arn: str) -> Certificate:
        with aws_errors(f"looking at the certificate {arn}"):
            description = self._acm.describe_certificate(CertificateArn=arn)["Certificate"]
        names = (description["DomainName"], *description.get("SubjectAlternativeNames", ()))
        return Certificate(names=tuple(dict.fromkeys(names)), status=description["Status"])

    def platforms(self, image: str) -> list[str]:
        """Return the platforms of an image's variants, such as linux/arm64; none if it has but one variant."""
        match = _ECR.fullmatch(image)
        if not match:
            return self._images.platforms(image)
        account, repository, tag, digest = match.groups()
        place = {"imageDigest": digest} if digest else {"imageTag": tag}
        with aws_errors(f"looking for {image}"):
            images = self._ecr.batch_get_image(
                registryId=account, repositoryName=repository, imageIds=[place], acceptedMediaTypes=MANIFESTS
            )["images"]
        if not images:
            raise Misconfigured(f"there is no image {image}")
        return platforms_of(images[0]["imageManifest"], image)

    def quota(self, service: str, name: str) -> float:
        return quota(self._quotas, service, name)

    def networks(self) -> int:
        """Return how many VPCs the region has."""
        with aws_errors("counting VPCs"):
            pages = self._ec2.get_paginator("describe_vpcs").paginate()
            return sum(len(page["Vpcs"]) for page in pages)

    def addresses(self) -> int:
        """Return how many Elastic IPs the region has."""
        with aws_errors("counting Elastic IPs"):
            return len(self._ec2.describe_addresses()["Addresses"])

    def calls(self) -> int:
        """Return how many calls of functions the account may make at once."""
        with aws_errors("reading the limits of Lambda"):
            return int(self._lambda.get_account_settings()["AccountLimit"]["ConcurrentExecutions"])

    def find_topic(self, arn: str) -> None:
        """Raise Misconfigured if there is no such topic."""
        with aws_errors(f"looking for the topic {arn}"):
            self._sns.get_topic_attributes(TopicArn=arn)

    @cached_property
    def caller(self) -> str:
        """The ARN of the caller's role or user, whose policies decide what a session may."""
        with aws_errors("asking whose credentials these are"):
            arn = str(self._sts.get_caller_identity()["Arn"])
            if ":assumed-role/" not in arn:
                return arn
            return str(self._iam.get_role(RoleName=arn.split("/")[1])["Role"]["Arn"])

    def denials(self, rights: Mapping[str, Sequence[str]]) -> list[str]:
        """Return the actions that IAM denies the caller. `rights` has actions by the ARN that they are about."""
        if self.caller.endswith(":root"):  # it has no policies, and may do everything
            return []
        with aws_errors("simulating the caller's policies"):
            paginator = self._iam.get_paginator("simulate_principal_policy")
            results = [
                result
                for resource, actions in rights.items()
                for page in paginator.paginate(
                    PolicySourceArn=self.caller, ActionNames=[*actions], ResourceArns=[resource]
                )
                for result in page["EvaluationResults"]
            ]
        return [result["EvalActionName"] for result in results if result["EvalDecision"] != "allowed"]
