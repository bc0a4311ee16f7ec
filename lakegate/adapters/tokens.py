"""`Tokens` by AWS STS: any IAM role gets a signed token for an audience, which whoever knows the account's issuer can
verify. No secret is stored anywhere.
"""

from datetime import timedelta

import boto3

from lakegate.adapters.aws import CONFIG, aws_errors
from lakegate.adapters.client_tokens import ClientTokens
from lakegate.adapters.clock import SystemClock
from lakegate.adapters.renewal import IssuedToken, RenewedToken
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.ports import Clock, Tokens

LIFE = timedelta(minutes=15)


class StsTokens(RenewedToken):
    """Tokens of this process's own IAM role."""

    def __init__(self, audience: str, clock: Clock) -> None:
        super().__init__(clock)
        self._audience = audience

    def issue(self) -> IssuedToken:
        with aws_errors(f"STS: asking for a token for {self._audience}"):
            answer = boto3.client("sts", config=CONFIG).get_web_identity_token(
                Audience=[self._audience], SigningAlgorithm="RS256", DurationSeconds=int(LIFE.total_seconds())
            )
        return IssuedToken(token=answer["WebIdentityToken"], expires_at=answer["Expiration"])


def tokens_of(catalog: CatalogAddress) -> Tokens | None:
    """Return the tokens that the catalog is sent, or None if it is sent none."""
    if catalog.client:
        return ClientTokens(catalog.client, SystemClock(), catalog.authorities)
    return StsTokens(catalog.audience, SystemClock()) if catalog.audience else None
