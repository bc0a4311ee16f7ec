"""STS's GetWebIdentityToken, which LocalStack lacks, the account's issuer, and IAM's switch of both: a role gets tokens
that hold its tags, once outbound web identity federation is on.

Who calls is told by the access key, as everywhere in LocalStack. The issuer's key is forgotten when LocalStack stops,
as roles and their sessions are.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from localstack.aws.api import CommonServiceException, RequestContext
from localstack.aws.api.iam import IamApi
from localstack.aws.api.sts import StsApi
from localstack.aws.connect import connect_to
from localstack.services.edge import ROUTER
from localstack.utils.aws.request_context import extract_access_key_id_from_auth_header
from localstack.utils.patch import patch

from lakegate_localstack.issuer import ALGORITHM, Issuer
from lakegate_localstack.settings import PackSettings

USUAL = 300  # seconds that a token lives


class Refused(CommonServiceException):
    def __init__(self, message: str) -> None:
        super().__init__("AccessDenied", message, 403, sender_fault=True)


class Invalid(CommonServiceException):
    def __init__(self, message: str) -> None:
        super().__init__("ValidationError", message, 400, sender_fault=True)


class TooLong(CommonServiceException):
    def __init__(self, message: str) -> None:
        super().__init__("SessionDurationEscalationException", message, 403, sender_fault=True)


class Switch:
    """The account's switch, which is off at first."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer, self.is_on = issuer, False

    def read(self, *_: Any, **__: Any) -> dict[str, Any]:
        self._require("FeatureDisabled", 404, is_on=True)
        return {"IssuerIdentifier": self._issuer.uri, "JwtVendingEnabled": True}

    def enable(self, *_: Any, **__: Any) -> dict[str, Any]:
        self._require("FeatureEnabled", 409, is_on=False)
        self.is_on = True
        return {"IssuerIdentifier": self._issuer.uri}

    def disable(self, *_: Any, **__: Any) -> None:
        self._require("FeatureDisabled", 404, is_on=True)
        self.is_on = False

    def _require(self, code: str, status: int, *, is_on: bool) -> None:
        if self.is_on is not is_on:
            message = f"Outbound web identity federation is {'on' if self.is_on else 'off'}"
            raise CommonServiceException(code, message, status, sender_fault=True)

    def require_on(self) -> None:
        self._require("OutboundWebIdentityFederationDisabledException", 403, is_on=True)


def apply() -> None:
    issuer = Issuer(PackSettings.from_env().issuer)
    switch = Switch(issuer)
    patch(IamApi.get_outbound_web_identity_federation_info)(partial(switch.read))
    patch(IamApi.enable_outbound_web_identity_federation)(partial(switch.enable))
    patch(IamApi.disable_outbound_web_identity_federation)(partial(switch.disable))
    for path, document in issuer.documents.items():
        ROUTER.add(urlsplit(issuer.uri).path + path, partial(_document, document))
    patch(StsApi.get_web_identity_token)(partial(_token, issuer, switch))


def _document(document: Any, _request: Any, **_: Any) -> Any:
    return document


def _token(
    issuer: Issuer,
    switch: Switch,
    _original: Any,
    _provider: Any,
    context: RequestContext,
    audience: Sequence[str],
    signing_algorithm: str,
    duration_seconds: int | None = None,
    **_: Any,
) -> dict[str, Any]:
    switch.require_on()
    if signing_algorithm != ALGORITHM:
        raise Invalid(f"the local cloud signs with {ALGORITHM} alone, not with {signing_algorithm}")
    seconds = duration_seconds or USUAL
    role, life = _caller(context), timedelta(seconds=seconds)
    if issuer.now() + life > _session_end(context):
        raise TooLong("The requested token duration would extend the session beyond its original expiration time")
    tags = {tag["Key"]: tag["Value"] for tag in role.get("Tags", ())}
    return {
        "WebIdentityToken": issuer.token(role["Arn"], tags, audience, life),
        "Expiration": issuer.now() + life,
    }


def _session_end(context: RequestContext) -> datetime:
    """Return when the session of the caller, who has one of a role, ends."""
    from moto.sts.models import sts_backends  # noqa: PLC0415 - it is slow to import

    key = extract_access_key_id_from_auth_header(context.request.headers)
    sessions = sts_backends[context.account_id][context.partition].assumed_roles
    return next(it.expiration for it in sessions if it.access_key_id == key).replace(tzinfo=UTC)


def _caller(context: RequestContext) -> Any:
    """Return the role of which the caller has a session. Raise Refused for anybody else."""
    key = extract_access_key_id_from_auth_header(context.request.headers)
    arn = connect_to(aws_access_key_id=key, region_name=context.region).sts.get_caller_identity()["Arn"]
    kind, _, named = arn.rpartition(":")[2].partition("/")
    iam = connect_to(aws_access_key_id=context.account_id, region_name=context.region).iam
    if kind != "assumed-role":
        raise Refused(f"{arn} is no session of a role, and the local cloud gives tokens to roles alone")
    try:
        return iam.get_role(RoleName=named.partition("/")[0])["Role"]
    except iam.exceptions.NoSuchEntityException as exc:
        raise Refused(f"{arn} is a session of a role that does not exist") from exc
