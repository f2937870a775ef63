"""The errors of this package.

    ModelsError
    ├── UnknownModel      a spec or setting that names no model
    ├── MissingExtra      a package that the spec needs is not installed
    ├── TooLittleRoom     what must not be cut does not fit into the model's context
    └── Failed            a request to a model came to nothing; carries a sentence for people

Every message is a sentence for people. None carries a key, an address with credentials, or a service's own words.
"""

from __future__ import annotations

from typing import Literal

Remedy = Literal["again", "go on", "none"]


class ModelsError(Exception):
    """The root of this package's errors."""


class UnknownModel(ModelsError):
    """The spec, or a setting that belongs to it, names no model; says what to write or set."""


class MissingExtra(ModelsError):
    """The spec needs an extra that is not installed; says which."""


class TooLittleRoom(ModelsError):
    """Critical constraints and the question do not fit into the model's context."""


class Failed(ModelsError):
    """A request came to nothing.

    ``remedy``: ask ``again`` if nothing was said yet; ``go on`` from what was said, for the stream was cut; ``none``.
    ``after`` is how many seconds the service asks to wait first.
    """

    def __init__(self, why: str, remedy: Remedy = "none", after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.remedy: Remedy = remedy
        self.after = after
