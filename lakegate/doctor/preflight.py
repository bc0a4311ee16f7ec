"""Checks of an account before a deployment makes anything in it. They judge facts, and read nothing."""

from collections.abc import Collection, Sequence

from lakegate.doctor.checks import claims
from lakegate.doctor.facts import Certificate, HostedZone
from lakegate.doctor.finding import Finding, ok, unknown, wrong
from lakegate.doctor.zones import SUBNETS, alternatives

NEW_ACCOUNT = 10  # calls of Lambda at once
RAISE = "aws service-quotas request-service-quota-increase --service-code"
BOOTSTRAP = "/cdk-bootstrap/hnb659fds/version"  # the parameter in SSM of an account that CDK may deploy to
NETWORKS, ADDRESSES = "VPCs per Region", "EC2-VPC Elastic IPs"  # the names of quotas
OF_STACKS = (
    *("DescribeStacks", "GetTemplate", "ListStackResources", "UpdateTerminationProtection", "DeleteStack"),
    *("RollbackStack", "ContinueUpdateRollback"),
)
IMPORT = ("acm:ImportCertificate",)
OF_BOOTSTRAP = (
    *("cloudformation:CreateChangeSet", "iam:CreateRole", "iam:AttachRolePolicy", "s3:CreateBucket"),
    *("ecr:CreateRepository", "ssm:PutParameter"),
)


def zones(
    zone_ids: Sequence[str], region: str, account_ids: Collection[str], deployed_ids: Sequence[str] = ()
) -> list[Finding]:
    """Judge the zones of a network that is made, by those that the account has, and by those in which it is already."""
    subject, names = "zones", ", ".join(zone_ids)
    if deployed_ids and set(zone_ids) != set(deployed_ids):
        message = f"the network is in {', '.join(deployed_ids)}, and subnets in which functions and jobs run never move"
        return [wrong(subject, message, f"set network.zones to {list(deployed_ids)}, or leave it out")]
    for zone in zone_ids:
        alternative_ids = alternatives(zone, region)
        if zone not in alternative_ids:
            message = f"EMR Serverless is not in {zone}"
            return [wrong(subject, message, f"set network.zones to two of {', '.join(alternative_ids)}")]
        if zone not in account_ids:
            todo = f"set network.zones to two of {', '.join(sorted({*account_ids} & {*alternative_ids}))}"
            return [wrong(subject, f"the account has no zone {zone}", todo)]
    if len(zone_ids) < SUBNETS:
        message = f"of the account's zones in {region} EMR Serverless is in {names or 'none'}, and two are needed"
        return [wrong(subject, message, "choose another region")]
    return [ok(subject, names)]


def federation(issuer: str, setting: str, *, is_for_ours: bool) -> list[Finding]:
    """Judge the account's issuer of tokens, "" if outbound web identity federation is off. Without a setting the
    deployment of a Nessie of ours takes it, or turns it on.
    """
    subject = "issuer of tokens"
    if not issuer and is_for_ours and not setting:
        todo = "lakegate deploy SETTINGS --accept federation"
        return [unknown(subject, "none yet: the deployment turns it on, once that is accepted", todo)]
    if not issuer:
        return [wrong(subject, "the account has none", "aws iam enable-outbound-web-identity-federation")]
    if setting and setting.rstrip("/") != issuer.rstrip("/"):
        return [wrong(subject, f"it is {issuer}, and token.issuer is {setting}", f'set token.issuer to "{issuer}"')]
    return [ok(subject, issuer)]


def token(text: str, issuer: str, audience: str) -> list[Finding]:
    """Judge a token of AWS STS by what Nessie is to be told of tokens."""
    subject, content = "a token of STS", claims(text) or {}
    for claim, value in {"iss": issuer.rstrip("/"), "aud": audience}.items():
        if str(content.get(claim, "none")).rstrip("/") != value:
            message = f"its {claim} is {content.get(claim, 'none')}, and Nessie would want {value}"
            return [wrong(subject, message, f"correct token.{'issuer' if claim == 'iss' else 'audience'}")]
    return [ok(subject, f"is of {issuer}, for {audience}")]


def hosted_zone(host: str, zone_id: str, zone: HostedZone) -> list[Finding]:
    """Judge the zone in which the certificate of Nessie's name is to be proved."""
    subject, todo = "Nessie's name", "aws route53 list-hosted-zones, and correct catalog.certificate or nessie.uri"
    if zone.is_private:
        return [wrong(subject, f"{zone_id} is a private zone, and ACM proves a certificate in a public one", todo)]
    if not f".{host}".endswith(f".{zone.name}"):
        return [wrong(subject, f"{host} is not in {zone.name}, the zone {zone_id}", todo)]
    return [ok(subject, f"{host}, in the public zone {zone.name}")]


def certificate(host: str, description: Certificate) -> list[Finding]:
    """Judge a certificate of ACM for Nessie's name."""
    subject, parent = "Nessie's certificate", f"*.{host.partition('.')[2]}"
    if not {host, parent} & {*description.names}:
        message = f"it is of {', '.join(description.names)}, and not of {host}"
        return [wrong(subject, message, "correct catalog.certificate or nessie.uri (docs/how-to/catalog.md)")]
    if description.status != "ISSUED":
        todo = "add the record that ACM asks for: aws acm describe-certificate --certificate-arn …"
        return [wrong(subject, f"ACM says that it is {description.status}", todo)]
    return [ok(subject, f"of {host}, issued")]


def image(subject: str, name: str, platforms: Collection[str], platform: str) -> list[Finding]:
    """Judge the platforms of an image by the one on which it is to run, such as `linux/arm64`."""
    if platform in platforms:
        return [ok(subject, f"{name}, for {platform}")]
    if not platforms:
        return [unknown(subject, f"{name} does not say its platform", f"see that it is {platform}: docker inspect …")]
    message = f"{name} is for {', '.join(platforms)}, and not for {platform}"
    return [wrong(subject, message, f"give {subject} a digest whose list of platforms has {platform}")]


def room(subject: str, service: str, *, limit: float, count: int, new: int) -> list[Finding]:
    """Judge the room that a quota leaves for what is to be made."""
    if count + new <= limit:
        return [ok(subject, f"{count} and {new} of ours, of {limit:g}")]
    message = f"the account has {count} of {limit:g} in this region, and {new} more are made"
    return [wrong(subject, message, f'{RAISE} {service} …, or free one (the quota is "{subject}")')]


def calls(limit: int) -> list[Finding]:
    """Judge how many calls of functions the account may make at once."""
    subject = "Lambda's calls at once"
    if limit > NEW_ACCOUNT:
        return [ok(subject, str(limit))]
    todo = f"{RAISE} lambda --quota-code L-B99A9384 --desired-value 1000, which is free"
    return [unknown(subject, f"{limit} in the whole account: bursts of files wait, and alarms may go off", todo)]


def bootstrap(*, is_there: bool) -> list[Finding]:
    """Judge CDK's bootstrap of the account and region."""
    subject = "CDK's bucket and roles"
    if is_there:
        return [ok(subject, "there")]
    return [
        unknown(subject, "none yet: a deployment makes them, if told to", "lakegate deploy SETTINGS --accept bootstrap")
    ]


def actions_of_caller(
    name: str,
    partition: str,
    account: str,
    region: str,
    *,
    is_bootstrapped: bool,
    makes_ecs_role: bool,
    makes_authority: bool,
) -> dict[str, Sequence[str]]:
    """Return the actions that a deployment takes as its caller, by the ARN that they are about. All else is done by the
    roles of CDK's bootstrap, which the caller assumes, or makes.
    """
    iam, place = f"arn:{partition}:iam::{account}", f"{region}:{account}"
    actions: dict[str, Sequence[str]] = {
        f"arn:{partition}:cloudformation:{place}:stack/{name}/*": [f"cloudformation:{verb}" for verb in OF_STACKS]
    }
    if is_bootstrapped:
        for part in ("deploy", "file-publishing"):
            actions[f"{iam}:role/cdk-hnb659fds-{part}-role-{account}-{region}"] = ["sts:AssumeRole"]
    else:
        actions["*"] = OF_BOOTSTRAP
    if makes_ecs_role:
        actions[f"{iam}:role/aws-service-role/*"] = ["iam:CreateServiceLinkedRole"]
    if makes_authority:
        actions[f"arn:{partition}:secretsmanager:{place}:secret:{name}/authority-AbCdEf"] = [
            "secretsmanager:CreateSecret"
        ]
        actions[f"arn:{partition}:acm:{place}:certificate/*"] = IMPORT
    return actions


def rights(caller: str, denials: Sequence[str]) -> list[Finding]:
    """Judge the actions that IAM says it denies to the caller."""
    if not denials:
        return [ok("your rights", f"{caller} may do what a deployment does itself")]
    return [
        wrong("your rights", f"{caller} may not {', '.join(denials)}", "get them (docs/how-to/upgrading.md#rights)")
    ]
