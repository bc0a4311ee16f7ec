"""Surroundings of an installation, for `lakegate doctor`: Nessie as a stranger sees it, subnets, and a quota."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import requests

from lakegate.adapters.aws import Clients, ambient, aws_errors
from lakegate.adapters.http import TimeoutAdapter, mount, network_error, status_error
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.doctor.facts import LandingBucket, Subnet
from lakegate.errors import Misconfigured
from lakegate.ports import MAIN, Ref
from lakegate.settings import Settings

Json = Mapping[str, Any]
VCPUS = "Max concurrent vCPUs per account"  # the quota's name
EVERYWHERE = "0.0.0.0/0"
REFUSAL_STATUSES = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


class Surroundings:
    """The surroundings of one installation; `http` has this process's identity for Nessie."""

    def __init__(self, settings: Settings, http: TimeoutAdapter, clients: Clients = ambient) -> None:
        self._settings, self._http = settings, http
        self._ec2 = clients("ec2")
        self._emr = clients("emr-serverless")
        self._quotas = clients("service-quotas")
        self._s3 = clients("s3")

    def main(self) -> str:
        """Return the commit of main, as this identity sees it."""
        return str(self._main()["hash"])

    def release(self) -> str:
        """Return Nessie's release, which the description of its API names."""
        text = self._ask("GET", "nessie-openapi/openapi.yaml", self._http).text
        match = re.search(r"^  version: (\S+)$", text, re.MULTILINE)
        if match is None:
            raise Misconfigured(f"Nessie at {self._settings.nessie_uri} does not say which release it is")
        return match[1]

    def stranger(self) -> int:
        """Return the status with which Nessie answers who sends no token."""
        anonymous = TimeoutAdapter(authorities=self._settings.nessie_ca)
        return self._ask("GET", f"api/v2/trees/{MAIN}", anonymous, refusable=True).status_code

    def may_make_branch(self, name: str) -> bool:
        """Return True if this identity can make a branch of this name, which is deleted at once."""
        main = self._main()
        request: dict[str, Any] = {"params": {"name": name, "type": "BRANCH"}, "json": main}
        answer = self._ask("POST", "api/v2/trees", self._http, refusable=True, **request)
        if answer.status_code in REFUSAL_STATUSES:
            return False
        self._ask("DELETE", f"api/v2/trees/{name}@{main['hash']}", self._http)
        return True

    def open_warehouse(self) -> None:
        """Open the warehouse on main. Raise Misconfigured if Nessie has none, or names another address than its own."""
        with iceberg_errors(f"opening the warehouse {self._settings.warehouse}"):
            RefCatalog(self._settings.nessie_uri, self._settings.warehouse, Ref(MAIN), http=self._http)

    def landing_bucket(self) -> LandingBucket:
        """Return what the landing bucket's owner has set. The owner of a stack's own is the stack."""
        of = {"Bucket": self._settings.landing_bucket}
        with aws_errors(f"looking at {self._settings.landing_bucket}"):
            (rule,) = self._s3.get_bucket_encryption(**of)["ServerSideEncryptionConfiguration"]["Rules"]
            return LandingBucket(
                region=self._s3.get_bucket_location(**of).get("LocationConstraint") or "us-east-1",
                is_versioned=self._s3.get_bucket_versioning(**of).get("Status") == "Enabled",
                sends_events="EventBridgeConfiguration" in self._s3.get_bucket_notification_configuration(**of),
                key=rule["ApplyServerSideEncryptionByDefault"].get("KMSMasterKeyID", ""),
            )

    def vcpus(self) -> float:
        """Return the account's quota of vCPUs."""
        return quota(self._quotas, "emr-serverless", VCPUS)

    def subnets(self) -> list[Subnet]:
        """Return the subnets of the application."""
        with aws_errors("looking at the subnets"):
            application = self._emr.get_application(applicationId=self._settings.application_id)["application"]
            return self.subnets_by_id(application.get("networkConfiguration", {}).get("subnetIds", []))

    def subnets_by_id(self, ids: Sequence[str]) -> list[Subnet]:
        if not ids:
            return []
        with aws_errors("looking at the subnets"):
            return [
                self._subnet(subnet["SubnetId"], subnet["AvailabilityZoneId"], subnet["VpcId"])
                for subnet in self._ec2.describe_subnets(SubnetIds=[*ids])["Subnets"]
            ]

    def _main(self) -> dict[str, Any]:
        reference: dict[str, Any] = self._ask("GET", f"api/v2/trees/{MAIN}", self._http).json()["reference"]
        return reference

    def _subnet(self, subnet: str, zone: str, vpc: str) -> Subnet:
        table = self._route_table(subnet, vpc)
        ways = [_target(route) for route in table["Routes"] if route.get("DestinationCidrBlock") == EVERYWHERE]
        return Subnet(id=subnet, zone=zone, way_out=ways[0] if ways else "", reaches_s3=self._reaches_s3(table, vpc))

    def _route_table(self, subnet: str, vpc: str) -> Json:
        """Return the subnet's own route table, or its VPC's main one."""
        for name, value in (("subnet-id", subnet), ("main", "true")):
            filters = [
                {"Name": f"association.{name}", "Values": [value]},
                {"Name": "vpc-id", "Values": [vpc]},
            ]
            tables: list[Json] = self._ec2.describe_route_tables(Filters=filters)["RouteTables"]
            if tables:
                return tables[0]
        raise Misconfigured(f"{subnet} has no route table")

    def _reaches_s3(self, table: Json, vpc: str) -> bool:
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
        endpoints = self._ec2.describe_vpc_endpoints(Filters=filters)["VpcEndpoints"]
        return any(
            endpoint["ServiceName"].endswith(".s3") and table["RouteTableId"] in endpoint["RouteTableIds"]
            for endpoint in endpoints
        )

    def _ask(
        self, method: str, path: str, http: TimeoutAdapter, *, refusable: bool = False, **options: Any
    ) -> requests.Response:
        """Return Nessie's answer. Raise what an error status means, but for a refusal that is what is asked for."""
        url, action = f"{self._settings.nessie_uri}/{path}", f"Nessie: {method} {path}"
        try:
            answer = mount(requests.Session(), http).request(method, url, **options)
        except requests.RequestException as error:
            raise network_error(action, error, changes=False) from error
        if not answer.ok and not (refusable and answer.status_code in REFUSAL_STATUSES):
            raise status_error(action, answer.status_code, answer.reason, is_catalog=False, changes=False)
        return answer


def quota(quotas: Any, service: str, name: str) -> float:
    """Return a quota of a service, by its name: the account's own, or else AWS's default."""
    with aws_errors(f"reading the quotas of {service}"):
        for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
            for page in quotas.get_paginator(operation).paginate(ServiceCode=service):
                for entry in page["Quotas"]:
                    if entry["QuotaName"] == name:
                        return float(entry["Value"])
    raise Misconfigured(f"the account has no quota {name!r} of {service}")


def _target(route: Json) -> str:
    """Return what a route leads to, such as `nat-0a` or `igw-0b`."""
    names = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId", "GatewayId")
    return next((str(route[name]) for name in names if route.get(name)), "")
