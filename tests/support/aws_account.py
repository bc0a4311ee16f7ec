"""An account that is new, for whoever is about to deploy to it: the emulator's, and a stand-in for what that lacks."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import botocore.loaders
import botocore.session
import pytest
from botocore import xform_name
from lakegate_localstack import issuer as local
from moto import mock_aws
from moto.route53 import models

from lakegate.adapters.account import ECS_ROLE
from lakegate.doctor.preflight import ADDRESSES, BOOTSTRAP, NETWORKS
from tests.support.federation import ISSUER, Federation

LOADER = botocore.loaders.create_loader()  # of AWS's models, of which each is read once
CALLER = "arn:aws:iam::123456789012:role/deployer"
TRUST = '{"Version": "2012-10-17", "Statement": []}'


@dataclass(kw_only=True)
class AwsAccount:
    """A new account. It answers every client that a session makes from now on."""

    issuer: local.Issuer = field(default_factory=lambda: local.Issuer(ISSUER))
    federation: Federation = field(default_factory=lambda: Federation(is_on=True))
    quotas: dict[str, dict[str, float]] = field(
        default_factory=lambda: {
            "emr-serverless": {"Max concurrent vCPUs per account": 16.0},
            "vpc": {NETWORKS: 5.0},
            "ec2": {ADDRESSES: 5.0},
        }
    )
    calls: int = 1000
    denied: set[str] = field(default_factory=set)  # actions, by IAM's simulation
    unasked: set[str] = field(default_factory=set)  # operations that the caller may not even ask for
    asked: list[str] = field(default_factory=list)

    def register(self, events: Any) -> None:
        events.register("before-call", self._answer)

    def _answer(self, model: Any, params: Any, **_: Any) -> tuple[Any, Any] | None:
        service, name = model.service_model.service_name, model.name
        self.asked.append(f"{service}:{name}")
        if f"{service}:{name}" in self.unasked:
            return _error(403, "AccessDenied")
        answer = getattr(self, f"_{xform_name(name)}", None)
        return answer(params["body"]) if answer else None

    def _get_outbound_web_identity_federation_info(self, _: Any) -> tuple[Any, Any]:
        return self.federation.get()

    def _enable_outbound_web_identity_federation(self, _: Any) -> tuple[Any, Any]:
        return self.federation.enable()

    def _get_web_identity_token(self, body: Any) -> tuple[Any, Any]:
        life = timedelta(seconds=int(body["DurationSeconds"]))
        token = self.issuer.token(CALLER, {}, [body["Audience.member.1"]], life)
        return _success(WebIdentityToken=token, Expiration=datetime.now(UTC) + life)

    def _simulate_principal_policy(self, body: Any) -> tuple[Any, Any]:
        actions = [value for name, value in body.items() if name.startswith("ActionNames.member")]
        results = [
            {"EvalActionName": it, "EvalDecision": "implicitDeny" if it in self.denied else "allowed"} for it in actions
        ]
        return _success(EvaluationResults=results, IsTruncated=False)

    def _get_account_settings(self, _: Any) -> tuple[Any, Any]:
        return _success(AccountLimit={"ConcurrentExecutions": self.calls})

    def _list_service_quotas(self, body: Any) -> tuple[Any, Any]:
        quotas = self.quotas[json.loads(body)["ServiceCode"]]
        return _success(Quotas=[{"QuotaName": name, "Value": value} for name, value in quotas.items()])


def _success(**body: Any) -> tuple[Any, Any]:
    return SimpleNamespace(status_code=200), {**body, "ResponseMetadata": {"HTTPStatusCode": 200}}


def _error(status: int, code: str) -> tuple[Any, Any]:
    error = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return SimpleNamespace(status_code=status), error


@contextmanager
def account(monkeypatch: pytest.MonkeyPatch, region: str = "us-east-1") -> Iterator[AwsAccount]:
    """An account in which CDK and ECS were used before."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setattr(models, "create_route53_zone_id", lambda **_: f"Z{secrets.token_hex(10).upper()}")  # as on AWS
    with mock_aws():
        session = botocore.session.get_session()
        session.register_component("data_loader", LOADER)
        boto3.setup_default_session(botocore_session=session)
        made = AwsAccount()
        made.register(session)
        boto3.client("ssm").put_parameter(Name=BOOTSTRAP, Value="30", Type="String")
        boto3.client("iam").create_role(RoleName=ECS_ROLE, AssumeRolePolicyDocument=TRUST)
        made.asked.clear()
        yield made
