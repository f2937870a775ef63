"""The clerk: the agent's mind without a model, by rules alone.

The rules are compiled when the package is imported (about a second), so that processes forked afterwards share them.
"""

from agent.clerk.clerk import Clerk
from agent.clerk.rules import read_patterns, read_table

read_table("english")
read_table("chinese")
read_patterns("queries")
read_patterns("topics")

__all__ = ["Clerk"]
