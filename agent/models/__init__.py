"""Models behind the agent: ``open_mind`` gives a mind for a spec such as ``openai:gpt-5`` or ``local:/model.gguf``.

Owns what is sent to a model and what may be believed of its answer. Must never read or write a document, file what a
person did not say in this turn, or let a failure be silent: what the model cannot do, the clerk does, and says so.
"""

from agent.models.errors import MissingExtra, ModelsError, UnknownModel
from agent.models.limits import Limits
from agent.models.opening import open_mind
from agent.models.tools import AgentTool

__all__ = ["AgentTool", "Limits", "MissingExtra", "ModelsError", "UnknownModel", "open_mind"]
