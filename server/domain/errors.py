"""What can go wrong, in seven codes.

    ClewError(code, why)
    ├── Unauthenticated   unauthenticated   401   4401   nobody, or nobody any more
    ├── Forbidden         forbidden         403   4403   known, member, but not allowed this
    ├── NotFound          not_found         404   4404   not there, or not theirs: never told apart
    ├── Conflict          conflict          409   4409   collides with what is
    ├── Invalid           invalid           422   4400   not what the contract says
    ├── TooLarge          too_large         413   4413   over a bound
    └── Unavailable       unavailable       503   1013   not now; retrying helps
        ├── TooMany       unavailable       503   4429   one more than there may be at a time
        └── TooOften      unavailable       429   4429   again, but not before ``wait`` seconds

The two tables of numbers stand in ``STATUS`` and ``CLOSE`` and nowhere else.
"""

from __future__ import annotations

from typing import Final, Literal

Code = Literal["unauthenticated", "forbidden", "not_found", "conflict", "invalid", "too_large", "unavailable"]

STATUS: Final[dict[Code, int]] = {
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "invalid": 422,
    "too_large": 413,
    "unavailable": 503,
}

CLOSE: Final[dict[Code, int]] = {
    "unauthenticated": 4401,
    "forbidden": 4403,
    "not_found": 4404,
    "conflict": 4409,
    "invalid": 4400,
    "too_large": 4413,
    "unavailable": 1013,
}

CLOSE_AUTH_TIMEOUT: Final = 4408
CLOSE_TOO_FAST: Final = 4429
CLOSE_GAP: Final = 4500
CLOSE_STALE: Final = 4501
CLOSE_RESTART: Final = 1012


class ClewError(Exception):
    """The root; ``why`` is one sentence that may be shown to whoever asked."""

    code: Code = "unavailable"

    def __init__(self, why: str = "", reason: str | None = None) -> None:
        """``reason`` says for programs which rule it was, where a code does not say enough."""
        super().__init__(why or self.__class__.__doc__)
        self.why = why or (self.__class__.__doc__ or "")
        self.reason = reason

    @property
    def close(self) -> int:
        """The code that closes a socket for it."""
        return CLOSE[self.code]


class Unauthenticated(ClewError):
    """Sign in first."""

    code: Code = "unauthenticated"


class Forbidden(ClewError):
    """Your role does not allow this."""

    code: Code = "forbidden"


class NotFound(ClewError):
    """There is no such thing here."""

    code: Code = "not_found"


class Conflict(ClewError):
    """This collides with what is already there."""

    code: Code = "conflict"


class Invalid(ClewError):
    """This is not what the contract says."""

    code: Code = "invalid"


class TooLarge(ClewError):
    """This is over the limit."""

    code: Code = "too_large"


class Unavailable(ClewError):
    """Not now; please try again."""

    code: Code = "unavailable"


class TooMany(Unavailable):
    """There are too many of these at the moment."""

    @property
    def close(self) -> int:
        """The code that closes a socket for it."""
        return CLOSE_TOO_FAST


class TooOften(TooMany):
    """That was too often; please wait."""

    def __init__(self, wait: float, why: str = "") -> None:
        super().__init__(why)
        self.wait = max(1.0, wait)
