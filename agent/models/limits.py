"""How long, how much and how often a model is asked in one turn.

Owns the bounds and the account of what was used. Pure. Must never be lenient: what goes over ends the model's part of
the turn, and the clerk takes it from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.models.errors import Failed


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds; tokens as the service counts them, or estimated where it does not say."""

    connect: float = 5.0
    first_token: float = 90.0
    between_tokens: float = 30.0
    turn: float = 300.0
    retries: int = 2
    """How often a request is repeated that failed before its first word."""
    longest_wait: float = 20.0
    """A service that asks to wait longer than this is not waited for."""
    context_tokens: int = 32_000
    """What may be sent in one request."""
    answer_tokens: int = 4_000
    """What may come back in one request, thinking included."""
    input_tokens: int = 200_000
    """What may be sent in all requests of a turn."""
    output_tokens: int = 16_000
    """What may come back in all requests of a turn."""
    requests: int = 8

    def within(self, window: int | None) -> Limits:
        """The same for a model that holds so many tokens in all: an answer's room, and as much again to spare."""
        if window is None:
            return self
        answer = min(self.answer_tokens, window // 4)
        return replace(self, answer_tokens=answer, context_tokens=min(self.context_tokens, window - 2 * answer))


class Account:
    """What one turn has used."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.requests = 0
        self.sent = 0
        self.received = 0

    def open(self, estimate: int) -> int:
        """Enter a request of about so many tokens; how many may come back. Raises Failed if it is over a bound."""
        limits = self._limits
        if self.requests >= limits.requests:
            raise Failed(f"The model was asked {limits.requests} times in this turn, which is all it may be.")
        if self.sent + estimate > limits.input_tokens:
            raise Failed(f"The turn may send {limits.input_tokens} tokens to the model, and would have sent more.")
        if self.received >= limits.output_tokens:
            raise Failed(f"The model's answers in this turn ran over {limits.output_tokens} tokens.")
        self.requests += 1
        return min(limits.answer_tokens, limits.output_tokens - self.received)

    def close(self, sent: int, received: int) -> None:
        """Enter what the request took."""
        self.sent += sent
        self.received += received
