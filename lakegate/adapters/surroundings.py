"""Surroundings of an installation, for `lakegate doctor`: Nessie as a stranger sees it, subnets, and a quota."""

import re
from collections.abc import Mapping
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
REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


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
        text = self._asked("GET", "nessie-openapi/openapi.yaml", self._http).text
        found = re.search(r"^  version: (\S+)$", text, re.MULTILINE)
        if found is None:
            raise Misconfigured(f"Nessie at {self._settings.nessie_uri} does not say which release it is")
        return found[1]

    def stranger(self) -> int:
        """Return the status with which Nessie answers who sends no token."""
        nobody = TimeoutAdapter(authorities=self._settings.nessie_ca)
        return self._asked("GET", f"api/v2/trees/{MAIN}", nobody, refusable=True).status_code

    def may_make_branch(self, name: str) -> bool:
        """Return True if this identity can make a branch of this name, which is deleted at once."""
        main = self._main()
        how: dict[str, Any] = {"params": {"name": name, "type": "BRANCH"}, "json": main}
        made = self._asked("POST", "api/v2/trees", self._http, refusable=True, **how)
        if made.status_code in REFUSED:
            return False
        self._asked("DELETE", f"api/v2/trees/{name}@{main['hash']}", self._http)
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
        with aws_errors("reading the quotas of EMR Serverless"):
            pages = self._quotas.get_paginator("list_service_quotas").paginate(ServiceCode="emr-serverless")
            for page in pages:
                for quota in page["Quotas"]:
                    if quota["QuotaName"] == VCPUS:
                        return float(quota["Value"])
        raise Misconfigured(f"the account has no quota {VCPUS!r}")

    def subnets(self) -> list[Subnet]:
        """Return the subnets of the application."""
        with aws_errors("looking at the subnets"):
            application = self._emr.get_application(applicationId=self._settings.application_id)["application"]
            ids = application.get("networkConfiguration", {}).get("subnetIds", [])
            if not ids:
                return []
            return [
                self._subnet(found["SubnetId"], found["AvailabilityZoneId"], found["VpcId"])
                for found in self._ec2.describe_subnets(SubnetIds=ids)["Subnets"]
            ]

    def _main(self) -> dict[str, Any]:
        found: dict[str, Any] = self._asked("GET", f"api/v2/trees/{MAIN}", self._http).json()["reference"]
        return found

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
            found: list[Json] = self._ec2.describe_route_tables(Filters=filters)["RouteTables"]
            if found:
                return found[0]
        raise Misconfigured(f"{subnet} has no route table")

    def _reaches_s3(self, table: Json, vpc: str) -> bool:
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "vpc-endpoint-type", "Values": ["Gateway"]}]
        endpoints = self._ec2.describe_vpc_endpoints(Filters=filters)["VpcEndpoints"]
        return any(
            each["ServiceName"].endswith(".s3") and table["RouteTableId"] in each["RouteTableIds"] for each in endpoints
        )

    def _asked(
        self, method: str, path: str, http: TimeoutAdapter, *, refusable: bool = False, **how: Any
    ) -> requests.Response:
        """Return Nessie's answer. Raise what an error status means, but for a refusal that is what is asked for."""
        url, what = f"{self._settings.nessie_uri}/{path}", f"Nessie: {method} {path}"
        try:
            answer = mount(requests.Session(), http).request(method, url, **how)
        except requests.RequestException as error:
            raise network_error(what, error, changes=False) from error
        if not answer.ok and not (refusable and answer.status_code in REFUSED):
            raise status_error(what, answer.status_code, answer.reason, known=False, changes=False)
        return answer


def _target(route: Json) -> str:
    """Return what a route leads to, such as `nat-0a` or `igw-0b`."""
    names = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId", "GatewayId")
    return next((str(route[name]) for name in names if route.get(name)), "")
