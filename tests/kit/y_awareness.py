"""y-protocols' ``Awareness``, as a model: the receiving rule of ``awareness.js`` line by line, without its timers."""

from collections.abc import Iterable
from typing import Any

from crdt_docs.messages.vocabulary import State
from crdt_docs.presence import read_state, write_state


class YAwareness:
    """One client's view of who is here. What it would send is returned, never sent."""

    def __init__(self, client: int) -> None:
        self.client = client
        self.states: dict[int, dict[str, Any]] = {}
        self.clocks: dict[int, int] = {}
        self.set({})

    def set(self, state: dict[str, Any] | None) -> tuple[State, ...]:
        """``setLocalState``."""
        self.clocks[self.client] = self.clocks[self.client] + 1 if self.client in self.clocks else 0
        if state is None:
            self.states.pop(self.client, None)
        else:
            self.states[self.client] = state
        return self.encode((self.client,))

    def encode(self, clients: Iterable[int]) -> tuple[State, ...]:
        """``encodeAwarenessUpdate``."""
        return tuple(
            State(client, self.clocks[client], write_state(self.states[client]) if client in self.states else None)
            for client in clients
        )

    def goodbye(self) -> tuple[State, ...]:
        """What ``provider.disconnect()`` sends: null at the *same* clock."""
        return (State(self.client, self.clocks[self.client], None),)

    def close(self) -> None:
        """A closed socket: everybody else goes, their clocks stay (``removeAwarenessStates``)."""
        self.states = {client: state for client, state in self.states.items() if client == self.client}

    def apply(self, states: Iterable[State]) -> tuple[State, ...]:
        """``applyAwarenessUpdate``; what y-websocket then sends on, to its socket and to the tabs beside it."""
        changed = []
        for client, clock, text in states:
            known = self.clocks.get(client, 0)
            if known < clock or (known == clock and text is None and client in self.states):
                had = client in self.clocks
                if text is not None:
                    self.states[client] = read_state(text)
                elif client == self.client and client in self.states:
                    clock += 1
                else:
                    self.states.pop(client, None)
                self.clocks[client] = clock
                if had or text is not None:
                    changed.append(client)
        return self.encode(changed)
