"""The clerk: the agent's mind without a model, by rules alone."""

from agent.clerk.clerk import Clerk

__all__ = ["Clerk"]
