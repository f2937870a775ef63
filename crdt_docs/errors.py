"""The errors of the shared language.

    CrdtDocsError
    ├── Malformed            bytes that are not what they claim to be        close 4400
    │   └── TooLarge         more than a bound allows                        close 4413
    ├── SchemaMismatch       a document of another schema version
    └── ConnectionRefused    the server closed for good; carries the code and the reason

Close codes follow the y-websocket convention: 4400-4499 end the client's retries, all others invite one.
"""

from __future__ import annotations


class CrdtDocsError(Exception):
    """The root of this package's errors."""


class Malformed(CrdtDocsError):
    """Bytes from outside that cannot be read, or that no honest client writes."""


class TooLarge(Malformed):
    """A size, count or depth over its bound."""


class SchemaMismatch(CrdtDocsError):
    """The document was written under a schema version that this code does not know."""


class ConnectionRefused(CrdtDocsError):
    """The server ended the connection with a permanent close code (4400-4499)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"closed {code}: {reason}")
        self.code = code
        self.reason = reason
