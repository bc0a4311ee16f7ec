"""A stand-in for IAM's switch of outbound web identity federation, which the emulator lacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import boto3

ISSUER = "https://0123-4567.tokens.sts.global.api.aws"
GET, ENABLE = (f"before-call.iam.{verb}OutboundWebIdentityFederation" for verb in ("Get", "Enable"))


@dataclass(kw_only=True)
class Federation:
    """The switch of an account. It answers every client of IAM that boto3's default session makes from now on."""

    is_on: bool = False
    asked: list[str] = field(default_factory=list)

    def register_by_default(self) -> None:
        boto3.setup_default_session()
        events: Any = boto3.DEFAULT_SESSION.events if boto3.DEFAULT_SESSION else None
        events.register(f"{GET}Info", self.get)
        events.register(ENABLE, self.enable)

    def get(self, **_: Any) -> tuple[Any, Any]:
        if not self.is_on:
            return _answer(404, Error={"Code": "FeatureDisabled", "Message": "it is off"})
        return _answer(200, IssuerIdentifier=ISSUER, JwtVendingEnabled=True)

    def enable(self, **_: Any) -> tuple[Any, Any]:
        self.asked.append("enable")
        if self.is_on:
            return _answer(409, Error={"Code": "FeatureEnabled", "Message": "it is on"})
        self.is_on = True
        return _answer(200, IssuerIdentifier=ISSUER)


def _answer(status: int, **body: Any) -> tuple[Any, Any]:
    return SimpleNamespace(status_code=status), {**body, "ResponseMetadata": {"HTTPStatusCode": status}}
