from __future__ import annotations

import pytest

from agent.context import build_brief
from agent.mind import FellBack, Said
from agent.minds import open_mind
from crdt_docs.contents import Contents


def nothing() -> Contents:
    meta = {"schema": 1, "name": "", "status": "open", "goal": ""}
    return Contents(meta, [], [], [], [], [], [], [], [], [], {"text": ""}, {})


async def test_without_a_model_the_clerk_thinks() -> None:
    async with open_mind(None) as mind:
        assert mind.name == "clerk"


@pytest.mark.parametrize("model", ["nonsense", "openai:", "who:knows", "local:/nowhere.gguf"])
async def test_a_model_that_cant_be_had_is_the_clerk_who_says_why(model: str) -> None:
    async with open_mind(model) as mind:
        assert mind.name == "clerk"
        thoughts = [thought async for thought in mind.think(build_brief(nothing(), (), answer="a", now=0))]
        assert isinstance(thoughts[0], FellBack)
        assert thoughts[0].why
        assert all(isinstance(thought, Said | FellBack) for thought in thoughts)
