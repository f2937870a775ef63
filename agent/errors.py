"""The errors of the agent.

    AgentError
    ├── Unreachable        the server did not answer, after all tries that were worth it
    ├── Declined           it answered no: ``status`` and the problem's ``code``
    │   └── Unwelcome      to who we are (401, 403): trying again changes nothing
    ├── WorkerLost         a worker process ended, or went silent, before it had said how its turn went
    └── Usage              the command line or the environment says something that can't be

None of them carries a credential.
"""

from __future__ import annotations


class AgentError(Exception):
    """The root of this package's errors; its text is a sentence for whoever runs the agent."""


class Unreachable(AgentError):
    """The server did not answer."""


class Declined(AgentError):
    """The server answered no. ``code`` is one of the seven of the HTTP contract, empty where there was none."""

    def __init__(self, status: int, code: str, why: str) -> None:
        super().__init__(f"the server answers {status}: {why or code or 'no reason given'}")
        self.status = status
        self.code = code


class Unwelcome(Declined):
    """The server does not know our bearer, or does not let it do this."""


class WorkerLost(AgentError):
    """A worker process ended, went silent or can't be had."""


class Usage(AgentError):
    """What was asked for can't be."""


def first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a task group that is one of ours, else the first of all."""
    ours = several.subgroup(AgentError)
    error: BaseException = several if ours is None else ours
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
