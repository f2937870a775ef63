"""A certificate of one's own for a server on this machine. Owns its making; browsers are told to take its key."""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    """``pin`` is the SHA-256 of its public key in base64, as Chromium wants it."""

    chain: Path
    key: Path
    pin: str

    @property
    def options(self) -> list[str]:
        """How `clew serve` is told of it."""
        return ["--tls-cert", str(self.chain), "--tls-key", str(self.key)]


def make_certificate(folder: Path, *names: str) -> Certificate:
    """A self-signed one for these names and the loopback's, good for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    *(x509.DNSName(name) for name in ("localhost", *names)),
                    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
                ]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    certificate = Certificate(folder / "cert.pem", folder / "key.pem", _pin(key.public_key()))
    certificate.chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    no_password = serialization.NoEncryption()
    certificate.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password)
    )
    certificate.key.chmod(0o600)
    return certificate


def _pin(key: ec.EllipticCurvePublicKey) -> str:
    info = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(info).digest()).decode()
