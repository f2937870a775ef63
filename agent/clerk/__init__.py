"""The clerk: the agent's mind without a model, by rules and by what was learned of how far they are to be trusted.

Rules are compiled and weights read when the package is imported (about a second), so that processes forked afterwards
share them.
"""

from agent.clerk.clerk import Clerk
from agent.clerk.rules import read_patterns, read_table
from agent.clerk.weights import read_weights

read_table("english")
read_table("chinese")
read_patterns("queries")
read_patterns("topics")
read_weights("looks")
read_weights("verdicts")

__all__ = ["Clerk"]
