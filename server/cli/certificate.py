"""What ``clew doctor`` says of a certificate: whether it is the key's, whose names it has, and how long it lasts.

Reads and judges; must never show anything of the key.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

SOON: Final = timedelta(days=14)

Mark = Literal["ok", "note", "WRONG"]


class Said(NamedTuple):
    """One thing that was found."""

    mark: Mark
    said: str


def examine(cert: Path, key: Path, names: Sequence[str], now: datetime) -> Iterator[Said]:
    """All that there is to say; ``names`` are those that people call this server by."""
    missing = [path for path in (cert, key) if not os.access(path, os.R_OK)]
    if missing:
        yield Said("WRONG", f"{missing[0]} cannot be read")
        return
    try:
        chain = x509.load_pem_x509_certificates(cert.read_bytes())
        own = load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError):
        yield Said("WRONG", f"{cert} is no PEM certificate chain, or {key} is no PEM key without a password")
        return
    first = chain[0]
    kind = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if first.public_key().public_bytes(*kind) != own.public_key().public_bytes(*kind):
        yield Said("WRONG", f"{key} is not the key of the first certificate in {cert}")
    else:
        yield Said("ok", "its own certificate, and the key is its key")
    yield _lasting(first, now)
    yield _naming(first, names)
    mode = key.stat().st_mode
    if mode & 0o077:
        yield Said("WRONG", f"{stat.filemode(mode)}: others may read {key}; chmod 600 {key}")


def _lasting(certificate: x509.Certificate, now: datetime) -> Said:
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now < begins:
        return Said("WRONG", f"the certificate is not valid before {begins:%Y-%m-%d %H:%M} UTC")
    if now >= ends:
        return Said("WRONG", f"the certificate ended {ends:%Y-%m-%d %H:%M} UTC")
    left = f"the certificate lasts until {ends:%Y-%m-%d}"
    return Said("note", f"{left}: renew it soon") if ends - now < SOON else Said("ok", left)


def _naming(certificate: x509.Certificate, names: Sequence[str]) -> Said:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Said("WRONG", "the certificate names no host (subjectAltName), so no browser takes it")
    hosts = [name.lower() for name in found.get_values_for_type(x509.DNSName)]
    addresses = [str(address) for address in found.get_values_for_type(x509.IPAddress)]
    said = ", ".join([*hosts, *addresses]) or "nothing"
    if not names:
        return Said("note", f"the certificate is for {said}; name one of them by --allow-host to reach it by that")
    lost = [name for name in names if not _covers(hosts, addresses, name)]
    if lost:
        return Said("WRONG", f"the certificate is for {said}, not for {', '.join(lost)}")
    return Said("ok", f"the certificate is for {said}")


def _covers(hosts: Sequence[str], addresses: Sequence[str], name: str) -> bool:
    bare = name.lower().strip("[]")
    return bare in addresses or any(
        host == bare or (host.startswith("*.") and bare.partition(".")[2] == host[2:]) for host in hosts
    )
