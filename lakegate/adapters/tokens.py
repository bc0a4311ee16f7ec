"""`Tokens` by AWS STS: any IAM role gets a signed token for an audience, which whoever knows the account's issuer can
verify. No secret is stored anywhere.
"""

from datetime import UTC, datetime, timedelta
from threading import Lock

import boto3

from lakegate.adapters.aws import CONFIG, aws_errors
from lakegate.ports import Clock

LIFE = timedelta(minutes=15)
MARGIN = timedelta(minutes=5)  # before its end a token is renewed: more than any one call takes, and clocks differ


class StsTokens:
    """Tokens of this process's own IAM role, each used until shortly before it expires."""

    def __init__(self, audience: str, clock: Clock) -> None:
        self._audience, self._clock, self._lock = audience, clock, Lock()
        self._token, self._until = "", datetime.min.replace(tzinfo=UTC)

    def token(self) -> str:
        with self._lock:
            if not self._token or self._clock.now() >= self._until - MARGIN:
                self._renew()
            return self._token

    def _renew(self) -> None:
        with aws_errors(f"STS: asking for a token for {self._audience}"):
            answer = boto3.client("sts", config=CONFIG).get_web_identity_token(
                Audience=[self._audience], SigningAlgorithm="RS256", DurationSeconds=int(LIFE.total_seconds())
            )
        self._token, self._until = answer["WebIdentityToken"], answer["Expiration"]
