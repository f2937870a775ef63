"""A passkey authenticator in software, which can be told to do wrong. ``make`` and ``use`` are the two ceremonies.

What it gives is what ``PublicKeyCredential.toJSON()`` gives in a browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """``client`` is laid over what the browser says of the page, ``flags`` are what it says of the person."""

    origin: str = "http://localhost:8484"
    name: str = "localhost"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    handle: bytes = b""
    count: int = 0
    flags: int = PRESENT | VERIFIED
    client: dict[str, Any] = field(default_factory=dict)

    def make(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer creation options."""
        self.handle = decode(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        attested = bytes(16) + len(self.id).to_bytes(2) + self.id + cbor2.dumps(cose)
        data = self._data(self.flags | ATTESTED) + attested
        told = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        response = {
            "clientDataJSON": encode(self._client("webauthn.create", options["challenge"])),
            "attestationObject": encode(told),
            "transports": ["internal"],
        }
        return self._credential(response)

    def use(self, options: dict[str, Any]) -> dict[str, Any]:
        """Answer request options."""
        client, data = self._client("webauthn.get", options["challenge"]), self._data(self.flags)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": encode(client),
            "authenticatorData": encode(data),
            "signature": encode(signature),
            "userHandle": encode(self.handle),
        }
        return self._credential(response)

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        id = encode(self.id)
        return {"id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {}}

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.name.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def _client(self, type: str, challenge: str) -> bytes:
        told = {"type": type, "challenge": challenge, "origin": self.origin, "crossOrigin": False, **self.client}
        return json.dumps(told).encode()
