"""Tokens of the local cloud's roles, and Nessie asked with them."""

from __future__ import annotations

from typing import Any

import boto3
import requests
from dotenv import dotenv_values
from lakegate_local.services import REGION
from lakegate_local.settings import LocalSettings

from tests.local.kinds import Aws

RIGHT = {"SigningAlgorithm": "RS256", "DurationSeconds": 900}


def sts_of(settings: LocalSettings, key: str, secret: str, session: str) -> Any:
    """STS for whoever has these credentials."""
    own = boto3.Session(key, secret, session, REGION)
    return own.client("sts", endpoint_url=settings.endpoint)


def sts_as(aws: Aws, settings: LocalSettings, role_arn: str) -> Any:
    found = aws("sts").assume_role(RoleArn=role_arn, RoleSessionName="a-test")["Credentials"]
    return sts_of(settings, found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])


def sts_of_person(settings: LocalSettings) -> Any:
    profile = {name: value or "" for name, value in dotenv_values(settings.profile).items()}
    return sts_of(
        settings, *(profile[f"AWS_{name}"] for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"))
    )


def beginning(own: str) -> str:
    """Every token of an issuer begins like this one."""
    return own.partition(".")[0]


def token(settings: LocalSettings, sts: Any) -> str:
    return str(sts.get_web_identity_token(Audience=[settings.audience], **RIGHT)["WebIdentityToken"])


def asked(settings: LocalSettings, own: str, path: str, method: str = "GET", **more: Any) -> requests.Response:
    headers = {"Authorization": f"Bearer {own}"} if own else {}
    return requests.request(method, f"{settings.nessie}{path}", headers=headers, timeout=300, **more)


def history(settings: LocalSettings, own: str, ref: str) -> list[Any]:
    found: list[Any] = asked(settings, own, f"/api/v2/trees/{ref}/history").json()["logEntries"]
    return [entry["commitMeta"] for entry in found]
