"""An authority of our own, and a server whose certificate is of it: answers of a Nessie that has nothing, over TLS."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infra import authority

HEAD = "0123456789abcdef" * 4
ANSWERS: dict[str, Any] = {
    "/api/v2/trees/main": {"reference": {"type": "BRANCH", "name": "main", "hash": HEAD}},
    "/iceberg/main/v1/config": {"defaults": {}, "overrides": {}},
    "/iceberg/main/v1/namespaces": {"namespaces": [["shop"]]},
}


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A self-signed certificate of an authority with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def made(cls, name: str) -> Authority:
        key, named = ec.generate_private_key(ec.SECP256R1()), _name(name)
        basic = x509.BasicConstraints(ca=True, path_length=None)
        builder = _builder(named, named, key).add_extension(basic, critical=True)
        return cls(certificate=builder.sign(key, hashes.SHA256()), key=key)

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, file: Path) -> Path:
        """Write a certificate for this machine with its key into the file."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
        builder = _builder(_name("server"), self.certificate.subject, key).add_extension(names, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form))
        return file


class DeployedAuthority:
    """The authority that a deployment makes for a name. It signs for this machine's."""

    def __init__(self, name: str = "localhost") -> None:
        self.made = authority.Authority.create(name, datetime.now(UTC))
        self.pem = self.made.pem.pem

    def issue(self, file: Path) -> Path:
        certificate = self.made.issue("localhost", datetime.now(UTC))
        file.write_text(certificate.pem + certificate.key)
        return file


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        found = ANSWERS.get(self.path.partition("?")[0])
        body = json.dumps(found or {"error": {"message": "", "type": "NotFound", "code": 404}}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is worth a line."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A client that does not trust the certificate hangs up, as it should."""


@contextmanager
def served(
    authority: Authority | DeployedAuthority, folder: Path, handler: type[BaseHTTPRequestHandler] = _Handler
) -> Iterator[str]:
    """The address of the server, for as long as the context lasts."""
    server = _Server(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue(folder / "server.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
