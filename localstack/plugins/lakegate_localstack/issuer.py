"""An issuer of tokens in the shape of those of AWS STS: it signs them, and publishes what verifies them.

It needs no LocalStack, so that tests have tokens of the same issuer.
"""

import base64
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

ALGORITHM = "RS256"
DISCOVERY, KEYS = "/.well-known/openid-configuration", "/.well-known/jwks.json"


class Issuer:
    """An issuer at `uri`. Its key lives as long as it does; `now` is the time that it puts in tokens."""

    def __init__(self, uri: str = "", now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.uri, self.now = uri, now
        self._key_id = uuid.uuid4().hex
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(
        self, role_arn: str, tags: Mapping[str, str], audience: Sequence[str], life: timedelta, **claims: Any
    ) -> str:
        """Return a token for the role; `claims` override its own."""
        now, account = int(self.now().timestamp()), role_arn.split(":")[4]
        own = {
            "iss": self.uri,
            "aud": audience[0] if len(audience) == 1 else list(audience),
            "sub": role_arn,
            "iat": now,
            "exp": now + int(life.total_seconds()),
            "jti": str(uuid.uuid4()),
            "https://sts.amazonaws.com/": {"aws_account": account, "principal_tags": dict(tags)},
        }
        return self.signed({**own, **claims})

    def signed(self, claims: Mapping[str, Any]) -> str:
        text = f"{coded({'alg': ALGORITHM, 'kid': self._key_id, 'typ': 'JWT'})}.{coded(claims)}"
        return f"{text}.{_base64(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    @property
    def documents(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the issuer publishes, by the path below its address."""
        public = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": self._key_id, "use": "sig", "alg": ALGORITHM}
        discovery = {
            "issuer": self.uri,
            "jwks_uri": self.uri + KEYS,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }
        return {DISCOVERY: discovery, KEYS: {"keys": [{**key, "n": _number(public.n), "e": _number(public.e)}]}}


def coded(part: Mapping[str, Any]) -> str:
    """Return a part of a token as it is written."""
    return _base64(json.dumps(part).encode())


def _number(number: int) -> str:
    return _base64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def _base64(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()
