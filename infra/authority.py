"""An authority of an installation's own, for a catalog's name that no public authority would sign.

It signs for that one name and no other, so that whoever trusts it trusts no more. It stores nothing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFE = timedelta(days=20 * 365)
LIFE = timedelta(days=825)  # of a certificate, the longest that every client takes
RENEWAL = timedelta(days=365)  # before its end, from which on a deployment renews it
EARLIER = timedelta(hours=1)  # that a certificate is valid before it is signed, for clocks that are slow
LONGEST_NAME = 64  # characters of a common name
PEM = serialization.Encoding.PEM


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """A certificate with its private key, as PEM text. The key is never shown."""

    pem: str
    key: str

    def __repr__(self) -> str:
        return "Certificate()"


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A certificate that signs others, with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, host: str, now: datetime) -> Self:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name(f"lakegate: {host}")
        builder = _builder(name, name, key, key, now, AUTHORITY_LIFE)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        names = x509.NameConstraints(permitted_subtrees=[x509.DNSName(host)], excluded_subtrees=None)
        builder = builder.add_extension(names, critical=True)
        return cls(certificate=builder.sign(key, hashes.SHA256()), key=key)

    @classmethod
    def of_pem(cls, texts: Certificate) -> Self:
        """Return the authority that `pem` gave. Raise ValueError or TypeError for other texts."""
        key = serialization.load_pem_private_key(texts.key.encode(), password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the authority's key is of another kind")
        return cls(certificate=x509.load_pem_x509_certificate(texts.pem.encode()), key=key)

    @property
    def pem(self) -> Certificate:
        return _pem(self.certificate, self.key)

    def signs_for(self, host: str) -> bool:
        names = self.certificate.extensions.get_extension_for_class(x509.NameConstraints).value
        return names.permitted_subtrees == [x509.DNSName(host)]

    def issue(self, host: str, now: datetime) -> Certificate:
        """Return a new certificate of a server with this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(host), self.certificate.subject, key, self.key, now, LIFE)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        return _pem(builder.sign(self.key, hashes.SHA256()), key)


def must_renew(end: datetime, now: datetime) -> bool:
    return end - now < RENEWAL


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Certificate:
    key_text = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Certificate(pem=certificate.public_bytes(PEM).decode(), key=key_text.decode())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:LONGEST_NAME])])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    """Return a certificate's builder, with the identifiers of both keys, which strict clients ask for."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - EARLIER)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
