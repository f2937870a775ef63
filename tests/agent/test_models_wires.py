"""A model behind the agent, over both wires that services speak: the same battery on each."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

import anyio
import pytest
from kit.anthropic_wire import anthropic_wire
from kit.briefs import CRITICAL, Murmur, brief, document, thoughts_of, working_set
from kit.model_script import KEY, Answer, Call, Error, Form, Step, Wire
from kit.openai_wire import openai_wire

from agent.clerk import Clerk
from agent.mind import Brief, FellBack, Filed, Named, Narrated, Proposal, Said, Thought, Unfiled
from agent.models import Limits, open_mind

QUICK = Limits(connect=10, first_token=10, between_tokens=10, turn=30)
FILED = Filed((Proposal("constraint", "No calls.", "m1", "No calls."),))
CLERK = (FILED, Unfiled("perhaps later", "m1"), Said("The clerk's answer."), Named("The clerk's name"))
NOTHING: dict[str, Any] = {"entries": [], "name": "", "narrative": ""}
PLAIN = Answer(("The cap ", "stays ", "where it is."))

Names = {openai_wire: "openai:gpt-4.1-mini", anthropic_wire: "anthropic:claude-haiku-5-5"}


@dataclass
class Served:
    """``spec`` is the model that a wire serves."""

    wire: Wire
    spec: str

    async def think(
        self, *steps: Step, about: Brief | None = None, limits: Limits = QUICK, spec: str | None = None
    ) -> list[Thought]:
        self.wire.steps[:] = steps
        async with self.mind(limits, spec) as mind:
            return await thoughts_of(mind, about or brief("What about the cap? No calls."))

    def mind(self, limits: Limits = QUICK, spec: str | None = None) -> AbstractAsyncContextManager[Any]:
        environ = {"CLEW_MODEL_URL": self.wire.url, "CLEW_MODEL_KEY": KEY}
        return open_mind(spec or self.spec, Murmur(CLERK), limits=limits, environ=environ)


@pytest.fixture(params=[openai_wire, anthropic_wire], ids=["openai", "anthropic"])
async def served(request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    make: Callable[[], AbstractAsyncContextManager[Wire]] = request.param
    async with make() as wire:
        yield Served(wire, Names[request.param])
    assert wire.faults == []
    assert wire.steps == []


def spoken(thoughts: list[Thought]) -> str:
    return "".join(thought.text for thought in thoughts if isinstance(thought, Said))


def fell_back(thoughts: list[Thought]) -> list[str]:
    return [thought.why for thought in thoughts if isinstance(thought, FellBack)]


def sent(wire: Wire, at: int = 0) -> str:
    """All text of a request, whatever it is wrapped in."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(inner)

    walk(wire.requests[at]["messages"])
    return "\n".join(found)


async def test_an_answer_is_streamed_after_what_the_clerk_filed(served: Served) -> None:
    thoughts = await served.think(PLAIN, Form(NOTHING))
    assert thoughts[:2] == [FILED, Unfiled("perhaps later", "m1")]
    assert [t.text for t in thoughts if isinstance(t, Said)] == list(PLAIN.pieces)
    assert fell_back(thoughts) == []


async def test_each_piece_is_said_when_it_comes(served: Served) -> None:
    served.wire.steps[:] = [replace(PLAIN, stall_after=2)]  # and nothing more ever
    said: list[str] = []
    async with served.mind() as mind:
        with anyio.CancelScope() as scope, anyio.fail_after(20):
            async for thought in mind.think(brief("The cap?")):
                if isinstance(thought, Said):
                    said.append(thought.text)
                    if len(said) == 2:
                        scope.cancel()
    assert said == list(PLAIN.pieces[:2])


async def test_what_is_read_is_told_apart_and_the_critical_stands_right_before_the_question(served: Served) -> None:
    await served.think(PLAIN, Form(NOTHING))
    text = sent(served.wire)
    assert text.count(CRITICAL) == 2
    assert text.index("<clew:ledger>") < text.index("<clew:documents>") < text.index("<clew:conversation>")
    assert text.rindex(CRITICAL) < text.rindex("<clew:asked") < text.index("What about the cap?")
    assert "Notice period is sixty days" not in text


async def test_a_tool_is_called_and_its_answer_goes_back(served: Served) -> None:
    about = brief(
        "What does the annex say?", contents=working_set(documents=[document("d1", "Annex", "Rates are in pounds.")])
    )
    thoughts = await served.think(
        Call((("look_up", {"words": "annex"}),), text="Let me look."), PLAIN, Form(NOTHING), about=about
    )
    assert spoken(thoughts) == "Let me look.\n\nThe cap stays where it is."
    assert fell_back(thoughts) == []
    assert sent(served.wire, 1).count("Rates are in pounds.") > sent(served.wire, 0).count("Rates are in pounds.")


async def test_calls_that_make_no_sense_are_answered_with_a_sentence(served: Served) -> None:
    calls: tuple[tuple[str, Any], ...] = (
        ("look_up", {"words": ""}),
        ("send_mail", {}),
        ("look_up", "[1]"),
        ("look_up", {"words": "cap"}),
    )
    thoughts = await served.think(Call((*calls, ("look_up", {"words": "one too many"}))), PLAIN, Form(NOTHING))
    assert spoken(thoughts) == "The cap stays where it is."
    text = sent(served.wire, 1)
    assert all(s in text for s in ("look_up needs words", "There is no such tool", "not a JSON object", "At most 4"))


async def test_notes_are_filed_in_the_words_of_the_people(served: Served) -> None:
    said = "Thanks. We go with Postgres for the ledger. No calls."
    notes = {
        "entries": [
            {"kind": "decision", "quote": "We go with Postgres for the ledger.", "message": "M1",
             "severity": "normal", "topic": "database", "about": ""},
            {"kind": "decision", "quote": "No calls.", "message": "M1",
             "severity": "normal", "topic": "", "about": ""},
        ],
        "name": "Postgres ledger",
        "narrative": "",
    }  # fmt: skip
    thoughts = await served.think(PLAIN, Form(notes), about=brief(said, needs_name=True))
    quote = "We go with Postgres for the ledger."
    assert Filed((Proposal("decision", quote, "m1", quote, topic="database"),)) in thoughts
    assert sum(isinstance(thought, Filed) for thought in thoughts) == 2
    assert [thought for thought in thoughts if isinstance(thought, Named)] == [Named("Postgres ledger")]


NARRATIVE = (
    f"{CRITICAL} The text is to be written in British English. The notice period is thirty days. Whether Cobalt "
    "accepts a 21-day termination notice is still open. Next, Ada sends the redline to Okafor. No calls."
)


async def test_a_paragraph_is_told_only_if_it_is_faithful(served: Served) -> None:
    for text, told in ((NARRATIVE, True), (NARRATIVE.replace("thirty", "sixty"), False)):
        thoughts = await served.think(PLAIN, Form({**NOTHING, "narrative": text}))
        assert [thought for thought in thoughts if isinstance(thought, Narrated)] == [Narrated(text)] * told


async def test_a_model_that_keeps_to_no_schema_fills_in_the_form_as_a_tool(served: Served) -> None:
    spec = {"openai": "openai:gpt-4.1-mini", "anthropic": "anthropic:claude-unheard-of"}
    thoughts = await served.think(PLAIN, Form(NOTHING), spec=spec[served.spec.partition(":")[0]])
    assert fell_back(thoughts) == []


async def test_notes_in_no_form_are_asked_for_once_more_and_then_left_to_the_clerk(served: Served) -> None:
    thoughts = await served.think(PLAIN, Form('{"entries": "none"}'), Form(NOTHING))
    assert fell_back(thoughts) == []
    thoughts = await served.think(PLAIN, Form('{"entries": "none"}'), Form('{"entries": "none"}'))
    assert fell_back(thoughts) == ["The model's notes were not in the form asked for."]
    assert thoughts[-1] == Named("The clerk's name")
    assert spoken(thoughts) == "The cap stays where it is."


async def test_a_key_that_is_refused_leaves_the_turn_to_the_clerk(served: Served) -> None:
    thoughts = await served.think(Error(401))
    assert thoughts == [
        FILED,
        Unfiled("perhaps later", "m1"),
        FellBack("The model's service did not accept the key (HTTP 401)."),
        Said("The clerk's answer."),
        Named("The clerk's name"),
    ]


async def test_a_service_that_asks_to_wait_is_asked_again(served: Served) -> None:
    thoughts = await served.think(Error(429, "0.05"), Error(500), PLAIN, Form(NOTHING))
    assert spoken(thoughts) == "The cap stays where it is."
    assert fell_back(thoughts) == []


async def test_a_service_is_not_waited_for_longer_than_the_bound(served: Served) -> None:
    thoughts = await served.think(Error(429, "3600"))
    assert fell_back(thoughts) == ["The model's service takes no more requests for now (HTTP 429)."]


async def test_a_service_that_keeps_failing_is_given_up(served: Served) -> None:
    thoughts = await served.think(Error(500), Error(500), limits=replace(QUICK, retries=1))
    assert fell_back(thoughts) == ["The model's service failed (HTTP 500)."]


@pytest.mark.parametrize("trouble", ["cut_after", "garble_after", "fail_after", "stall_after"])
async def test_an_answer_that_breaks_off_goes_on_where_it_was(served: Served, trouble: str) -> None:
    broken = replace(Answer(("The notice period ", "is thir")), **{trouble: 2})  # type: ignore[arg-type]
    rest = Answer(("period is thir", "ty days."))
    thoughts = await served.think(broken, rest, Form(NOTHING), limits=replace(QUICK, between_tokens=1))
    assert spoken(thoughts) == "The notice period is thirty days."
    assert fell_back(thoughts) == []
    assert "The notice period is thir" in sent(served.wire, 1)


async def test_an_answer_that_breaks_off_twice_keeps_what_was_said(served: Served) -> None:
    broken = Answer(("The notice ", "period "), cut_after=2)
    thoughts = await served.think(broken, Answer(("The notice period is",), cut_after=1))
    assert spoken(thoughts).startswith("The notice period")
    assert spoken(thoughts).endswith("\n\nThe clerk's answer.")
    assert len(fell_back(thoughts)) == 1


async def test_a_stream_cut_before_its_first_word_is_asked_again(served: Served) -> None:
    thoughts = await served.think(Answer((), cut_after=0), PLAIN, Form(NOTHING))
    assert spoken(thoughts) == "The cap stays where it is."


async def test_an_answer_begun_by_an_earlier_attempt_is_gone_on_with(served: Served) -> None:
    about = brief("What about the cap?", begun="The cap stays ")
    thoughts = await served.think(Answer(("The cap stays ", "where it is.")), Form(NOTHING), about=about)
    assert spoken(thoughts) == "where it is."
    assert served.wire.requests[0]["messages"][-2]["role"] == "assistant"


@pytest.mark.parametrize(
    ("begun", "rest"),
    [
        ("", "The clerk's answer."),
        ("A model began ", "\n\nThe clerk's answer."),
        ("The clerk's ", "answer."),
        ("A model began\n\nThe clerk's ans", "wer."),
        ("The clerk's answer.", ""),
    ],
)
async def test_the_clerk_says_what_of_its_answer_was_not_said(served: Served, begun: str, rest: str) -> None:
    thoughts = await served.think(Error(401), about=brief("And?", begun=begun))
    assert spoken(thoughts) == rest


@pytest.mark.parametrize(
    ("ends", "why"),
    [("length", "The model's answer was longer than it may be."), ("refusal", "The model declined to answer.")],
)
async def test_an_answer_that_does_not_end_well_is_the_clerks(served: Served, ends: Any, why: str) -> None:
    thoughts = await served.think(Answer(("I ", "cannot"), ends=ends))
    assert fell_back(thoughts) == [why]
    assert spoken(thoughts).endswith("The clerk's answer.")


async def test_a_first_word_that_does_not_come_is_not_waited_for(served: Served) -> None:
    start = anyio.current_time()
    thoughts = await served.think(replace(PLAIN, wait=30), limits=replace(QUICK, first_token=0.2))
    assert fell_back(thoughts) == ["The model did not answer in time."]
    assert anyio.current_time() - start < 15


async def test_a_service_that_is_not_there_is_told_of(served: Served) -> None:
    address = served.wire.url
    served.wire.url = "http://127.0.0.1:9/v1"
    thoughts = await served.think(limits=replace(QUICK, retries=1))
    served.wire.url = address
    assert fell_back(thoughts) == ["The connection to the model broke off or did not come about."]


async def test_an_answer_that_only_repeats_itself_is_ended(served: Served) -> None:
    thoughts = await served.think(Answer(("again and ",) * 100))
    assert fell_back(thoughts) == ["The model lost its thread."]
    assert spoken(thoughts).count("again and") < 60
    thoughts = await served.think(Answer(("See: ", "<cl", "ew:ledger>")))
    assert fell_back(thoughts) == ["The model lost its thread."]


async def test_the_clerk_files_and_the_model_answers(served: Served) -> None:
    served.wire.steps[:] = [PLAIN, Form(NOTHING)]
    environ = {"CLEW_MODEL_URL": served.wire.url, "CLEW_MODEL_KEY": KEY}
    async with open_mind(served.spec, Clerk(), limits=QUICK, environ=environ) as mind:
        thoughts = await thoughts_of(mind, brief("We must never ship before legal has signed. OK?"))
    first = thoughts[0]
    assert isinstance(first, Filed) and first.proposals[0].kind == "constraint"
    assert spoken(thoughts) == "The cap stays where it is."


async def test_a_turn_has_an_end(served: Served) -> None:
    slow = Answer(("word ",) * 50, between=0.1)
    thoughts = await served.think(slow, limits=replace(QUICK, turn=0.5))
    assert fell_back(thoughts) == ["The model took longer than a turn may take."]


async def test_no_more_is_sent_than_a_turn_may_send(served: Served) -> None:
    thoughts = await served.think(limits=replace(QUICK, input_tokens=200))
    assert fell_back(thoughts) == ["The turn may send 200 tokens to the model, and would have sent more."]
    assert served.wire.requests == []


async def test_no_more_comes_back_than_a_turn_may_take(served: Served) -> None:
    call = Call((("look_up", {"words": "cap"}),), tokens=(10, 60))
    thoughts = await served.think(call, limits=replace(QUICK, output_tokens=50))
    assert fell_back(thoughts) == ["The model's answers in this turn ran over 50 tokens."]
    bound = served.wire.requests[0]
    assert bound.get("max_tokens", bound.get("max_completion_tokens")) == 50


async def test_a_model_is_not_asked_for_ever(served: Served) -> None:
    calls = [Call((("look_up", {"words": "cap"}),))] * 3
    thoughts = await served.think(*calls, limits=replace(QUICK, requests=3))
    assert fell_back(thoughts) == ["The model was asked 3 times in this turn, which is all it may be."]


async def test_constraints_that_do_not_fit_leave_the_turn_to_the_clerk(served: Served) -> None:
    thoughts = await served.think(limits=replace(QUICK, context_tokens=450))
    assert fell_back(thoughts) == ["What must hold and what was asked is more than the model can read at once."]
    assert served.wire.requests == []


async def test_stopping_a_turn_closes_the_connection_at_once(served: Served) -> None:
    served.wire.steps[:] = [Answer(("word ",) * 1000, between=0.01)]
    async with served.mind() as mind:
        with anyio.CancelScope() as scope:
            async for thought in mind.think(brief("Go on and on.")):
                if isinstance(thought, Said):
                    start = anyio.current_time()
                    scope.cancel()
        assert anyio.current_time() - start < 4
        with anyio.fail_after(4):  # all of its words would take ten seconds
            await served.wire.left.wait()


async def test_nobody_gets_to_see_the_key_or_what_a_service_says(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with served.mind() as mind:
        seen = repr(mind) + mind.name + repr(vars(mind))
    for error in (Error(401), Error(400), Error(404), Error(500), Error(500), Error(500)):
        if error.status != 500:
            seen += repr(await served.think(error))
    seen += repr(await served.think(Error(500), limits=replace(QUICK, retries=0)))
    seen += caplog.text
    assert KEY not in seen
    assert "Incorrect API key" not in repr(seen)
