"""`Tokens` by AWS STS: any IAM role gets a signed token for an audience, which whoever knows the account's issuer can
verify. No secret is stored anywhere.
"""

from dataclasses import dataclass
from datetime import timedelta

import boto3
from botocore.exceptions import ClientError

from lakegate.adapters.aws import CONFIG, aws_errors, code
from lakegate.adapters.client_tokens import ClientTokens
from lakegate.adapters.clock import SystemClock
from lakegate.adapters.renewal import IssuedToken, RenewedToken
from lakegate.audit import role_session
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.errors import Misconfigured
from lakegate.ports import Clock, Tokens

LIFE = timedelta(minutes=15)


class StsTokens(RenewedToken):
    """Tokens of this process's own IAM role. Near the end of its session they live for less and less."""

    def __init__(self, audience: str, clock: Clock) -> None:
        super().__init__(clock)
        self._audience = audience

    def issue(self) -> IssuedToken:
        action = f"STS: asking for a token for {self._audience}"
        with aws_errors(action):
            sts = boto3.client("sts", config=CONFIG)
            for life in role_session.lives(int(LIFE.total_seconds())):
                try:
                    answer = sts.get_web_identity_token(
                        Audience=[self._audience], SigningAlgorithm="RS256", DurationSeconds=life
                    )
                except ClientError as exc:
                    if code(exc) != role_session.TOO_LONG:
                        raise
                else:
                    return IssuedToken(token=answer["WebIdentityToken"], expires_at=answer["Expiration"])
            raise Misconfigured(f"{action}: {role_session.end_message(sts.get_caller_identity()['Arn'])}")


@dataclass(frozen=True)
class PersonToken:
    """`Tokens` of one token, which a person has sent."""

    text: str

    def token(self) -> str:
        return self.text


def tokens_of(catalog: CatalogAddress) -> Tokens | None:
    """Return the tokens that the catalog is sent, or None if it is sent none."""
    if catalog.client:
        return ClientTokens(catalog.client, SystemClock(), catalog.authorities)
    return StsTokens(catalog.audience, SystemClock()) if catalog.audience else None
