"""Resources of the catalog stack that LocalStack lacks: each is a record of its properties, and of little else."""

import uuid
from typing import Any

from localstack.services.cloudformation.resource_provider import (
    OperationStatus,
    ProgressEvent,
    ResourceProvider,
    ResourceRequest,
)

DATABASE, BALANCER, TARGETS = (
    "AWS::RDS::DBInstance",
    "AWS::ElasticLoadBalancingV2::LoadBalancer",
    "AWS::ElasticLoadBalancingV2::TargetGroup",
)
ARN, PLACE = "arn:aws", "us-east-1:000000000000"
RECORDS: dict[str, dict[str, Any]] = {  # the attributes that a template may ask of each
    "AWS::EC2::EIP": {"AllocationId": "eipalloc-0a"},
    "AWS::EC2::FlowLog": {},
    "AWS::EC2::NatGateway": {},
    "AWS::EC2::Route": {},
    "AWS::EC2::SecurityGroupEgress": {},
    "AWS::EC2::SecurityGroupIngress": {},
    "AWS::ECS::Cluster": {},
    "AWS::ECS::Service": {"ServiceArn": f"{ARN}:ecs:{PLACE}:service/a/b", "Name": "b"},
    "AWS::ECS::TaskDefinition": {},
    BALANCER: {"LoadBalancerFullName": "app/a/0a", "DNSName": "a.elb.local", "CanonicalHostedZoneID": "Z0"},
    "AWS::ElasticLoadBalancingV2::Listener": {"RecordId": f"{ARN}:elasticloadbalancing:{PLACE}:listener/app/a/0a/0b"},
    TARGETS: {"TargetGroupFullName": "targetgroup/a/0a"},
    DATABASE: {"Endpoint": {"Address": "database.local", "Port": "5432"}},
    "AWS::RDS::DBSubnetGroup": {},
    "AWS::Route53::HostedZone": {},
    "AWS::Route53::RecordSet": {},
    "AWS::SecretsManager::SecretTargetAttachment": {},
}


class Record(ResourceProvider[dict[str, Any]]):
    """A resource that is a record, with an id of its own."""

    SCHEMA = {"primaryIdentifier": ["/properties/RecordId"]}  # noqa: RUF012 - LocalStack's own

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def create(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        name = f"{self.kind.rpartition(':')[2].lower()}-{uuid.uuid4().hex[:12]}"
        return _done({"RecordId": name, **RECORDS[self.kind], **request.desired_state})

    def update(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        return _done({**request.previous_state, **request.desired_state})

    def delete(self, request: ResourceRequest[dict[str, Any]]) -> ProgressEvent[dict[str, Any]]:
        if self.kind == DATABASE and str(request.desired_state.get("DeletionProtection")).lower() == "true":
            message = "Cannot delete protected DB Instance, please disable deletion protection and try again."
            return ProgressEvent(OperationStatus.FAILED, resource_model={}, message=message)
        return _done({})


def _done(model: dict[str, Any]) -> ProgressEvent[dict[str, Any]]:
    return ProgressEvent(OperationStatus.SUCCESS, resource_model=model)
