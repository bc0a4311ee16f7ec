"""Certificates: those of ACM, and the secret with an installation's own authority. A private key is in no file."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from lakegate.adapters.aws import Clients, ambient, aws_errors, code
from lakegate.errors import Misconfigured

NOT_FOUND = "ResourceNotFoundException"


class Certificates:
    """The certificates of the account and region that AWS's configuration leads to."""

    def __init__(self, clients: Clients = ambient) -> None:
        self._acm, self._secrets = clients("acm"), clients("secretsmanager")

    def authority(self, name: str) -> Mapping[str, str]:
        """Return the texts that are kept of an installation's authority, or none if it has no authority."""
        secret = _secret(name)
        with aws_errors(f"reading the secret {secret}"):
            try:
                text = self._secrets.get_secret_value(SecretId=secret)["SecretString"]
            except ClientError as error:
                if code(error) != NOT_FOUND:
                    raise
                return {}
        try:
            return {str(key): str(value) for key, value in json.loads(text).items()}
        except (AttributeError, ValueError) as error:
            raise Misconfigured(f"the secret {secret} is not what lakegate deploy has put there") from error

    def keep(self, name: str, texts: Mapping[str, str]) -> None:
        """Keep an authority in the account, in the place of the one that is there."""
        secret, body = _secret(name), json.dumps(dict(texts))
        with aws_errors(f"keeping the authority in the secret {secret}"):
            try:
                self._secrets.put_secret_value(SecretId=secret, SecretString=body)
            except ClientError as error:
                if code(error) != NOT_FOUND:
                    raise
                words = f"lakegate: the private authority of {name}'s catalog, which signs its certificate"
                self._secrets.create_secret(Name=secret, Description=words, SecretString=body)

    def end(self, arn: str) -> datetime | None:
        """Return when a certificate ends; None if it is gone, or is not issued yet."""
        with aws_errors(f"looking at the certificate {arn}"):
            try:
                certificate: Mapping[str, Any] = self._acm.describe_certificate(CertificateArn=arn)["Certificate"]
            except ClientError as error:
                if code(error) != NOT_FOUND:
                    raise
                return None
        end: datetime | None = certificate.get("NotAfter")
        return end

    def load(self, pem: str, key: str, authority: str, arn: str = "") -> str:
        """Put a certificate into ACM, in the place of that with the ARN if one is given. Return its ARN."""
        place = {"CertificateArn": arn} if arn else {}
        with aws_errors("importing the catalog's certificate into ACM"):
            answer = self._acm.import_certificate(
                Certificate=pem.encode(), PrivateKey=key.encode(), CertificateChain=authority.encode(), **place
            )
        return str(answer["CertificateArn"])


def _secret(name: str) -> str:
    return f"{name}/authority"
