"""Gaps of a catalog stack's settings, which a deployment fills with what the account has, or makes there.

An image's tag gets its digest, tokens their issuer, and Nessie's name a certificate of a private authority.
"""

from collections.abc import Callable
from datetime import datetime

from infra.authority import Authority, Certificate, must_renew
from infra.config import Config
from lakegate.adapters.account import Account
from lakegate.adapters.aws import Clients, ambient
from lakegate.adapters.certificates import Certificates
from lakegate.adapters.images import Images
from lakegate.deployment.choices import Choices
from lakegate.errors import Misconfigured

Notify = Callable[[str], None]


class Gaps:
    """The gaps of one installation. `config` is its settings with all that is known and changes nothing."""

    def __init__(self, config: Config, record: Choices | None, clients: Clients = ambient) -> None:
        self._account, self._certificates = Account(clients), Certificates(clients)
        self._authority: Authority | None = None
        self._end: datetime | None = None  # of the certificate that it signed last, unless that is gone
        self.config = self._complete(config, record) if config.catalog_image else config

    @property
    def need_federation(self) -> bool:
        return bool(self.config.catalog_image and not self.config.token_issuer)

    def fill(self, now: datetime, notify: Notify) -> Config:
        """Return the whole settings, once what they lack is made and a certificate that soon ends is renewed."""
        config = self.config
        if not config.catalog_image:
            return config
        self._account.enable_ecs()
        issuer = config.token_issuer or self._account.enable_issuer()
        config = config.model_copy(update={"token_issuer": issuer})
        return config if config.catalog_certificate and not self._authority else self._certify(config, now, notify)

    def _complete(self, config: Config, record: Choices | None) -> Config:
        issuer = config.token_issuer or self._account.issuer()
        config = config.model_copy(update={"catalog_image": self._pin(config, record), "token_issuer": issuer})
        if config.catalog_certificate or not (texts := self._certificates.authority(config.name)):
            return config
        try:
            authority = Authority.of_pem(Certificate(pem=texts["certificate"], key=texts["key"]))
        except (KeyError, TypeError, ValueError) as error:
            raise Misconfigured(f"the secret {config.name}/authority has no authority: {error!r}") from error
        if not authority.signs_for(config.catalog_host):
            return config
        arn = texts.get("arn", "")
        self._authority, self._end = authority, self._certificates.end(arn) if arn else None
        return _with_authority(config, authority, arn if self._end else "")

    def _pin(self, config: Config, record: Choices | None) -> str:
        """Return the image with its digest: that of the same tag in the record, or what the tag is now."""
        image, before = config.catalog_image, str(record.values.get("catalog.image", "")) if record else ""
        if "@" in image:
            return image
        return before if before.partition("@")[0] == image else Images().pin(image, "arm64")

    def _certify(self, config: Config, now: datetime, notify: Notify) -> Config:
        authority = self._authority or Authority.create(config.catalog_host, now)
        if self._end and not must_renew(self._end, now):
            return config
        certificate, texts = authority.issue(config.catalog_host, now), authority.pem
        arn = self._certificates.load(certificate.pem, certificate.key, texts.pem, config.catalog_certificate)
        self._certificates.keep(config.name, {"certificate": texts.pem, "key": texts.key, "arn": arn})
        notify(f"{config.catalog_host} has a new certificate of the installation's own authority")
        return _with_authority(config, authority, arn)


def _with_authority(config: Config, authority: Authority, arn: str) -> Config:
    pem, further = authority.pem.pem, config.nessie_ca
    authorities = further if pem.strip() in further else f"{further}\n{pem}".lstrip()
    return config.model_copy(update={"catalog_certificate": arn, "nessie_ca": authorities})
