"""What went wrong between us and a model, in a sentence for people.

Owns the sentences and whether asking again may help. Must never pass on what a service or a library said: it may hold
a key, an address or somebody's words.
"""

from __future__ import annotations

from typing import Final

import httpx2
from pydantic_ai import exceptions as ai

from agent.models.errors import Failed, Remedy

_SENTENCES: Final[tuple[tuple[type[Exception], str, Remedy], ...]] = (
    (ai.ModelAuthenticationError, "The model's service did not accept the key{status}.", "none"),
    (ai.ModelQuotaExceededError, "The account at the model's service is used up{status}.", "none"),
    (ai.ModelRateLimitError, "The model's service takes no more requests for now{status}.", "again"),
    (ai.ModelNotFoundError, "The model's service does not know this model or address{status}.", "none"),
    (ai.ModelContextWindowExceededError, "The model cannot read this much at once{status}.", "none"),
    (ai.ModelRequestRejectedError, "The model's service rejected the request{status}.", "none"),
    (ai.ModelUnavailableError, "The model's service is not available{status}.", "again"),
    (ai.ModelServerError, "The model's service failed{status}.", "again"),
    (ai.ModelTimeoutError, "The model's service did not answer in time.", "again"),
    (ai.ModelConnectionError, "The connection to the model broke off or did not come about.", "again"),
    (httpx2.HTTPError, "The connection to the model broke off or did not come about.", "again"),
)
_UNREADABLE: Final = "The model's service sent something that cannot be read."


def failure(error: Exception) -> Failed:
    """What to tell people of an error out of a request."""
    if isinstance(error, Failed):
        return error
    status = f" (HTTP {error.status_code})" if isinstance(error, ai.ModelHTTPError) else ""
    after = error.retry_after if isinstance(error, ai.ModelAPIError) else None
    for kind, sentence, remedy in _SENTENCES:
        if isinstance(error, kind):
            return Failed(sentence.format(status=status), remedy, after)
    return Failed(_UNREADABLE, "again", after)
