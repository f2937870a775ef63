from __future__ import annotations

import random

from agent.mind import FellBack, Filed, Named, Narrated, Proposal, Said, Unfiled
from agent.turn import (
    ROUNDS,
    AskQueue,
    Broke,
    Consult,
    Dismissed,
    Entered,
    Event,
    File,
    Heard,
    Keep,
    Kept,
    Narrate,
    Propose,
    Quote,
    Read,
    Report,
    Silent,
    Stopped,
    Thinks,
    Turn,
    Waiting,
    Wish,
    Write,
    advance,
    showing,
)

PROPOSAL = Proposal("decision", "We ship on Friday", "m1", "we ship on Friday")


def play(*events: Event, asked: tuple[str, ...] = ("m1",)) -> tuple[Turn, list[Wish]]:
    turn = Turn("t", "a", asked)
    all_wishes: list[Wish] = []
    for event in events:
        turn, wishes = advance(turn, event)
        all_wishes += wishes
    return turn, all_wishes


def test_a_turn_reads_thinks_writes_files_keeps_and_reports() -> None:
    turn, wishes = play(Read(), Thinks(Said("Noted. ")), Thinks(Filed((PROPOSAL,))), Silent(), Heard(()), Kept())
    assert wishes == [
        Consult(("m1",), follows=False),
        Write("Noted. "),
        File((PROPOSAL,)),
        AskQueue(),
        Keep(),
        Report("done", ("m1",)),
    ]
    assert turn.outcome == "done"


def test_a_message_that_came_meanwhile_is_asked_about_and_covered_in_the_same_turn() -> None:
    _, wishes = play(Read(), Silent(), Heard(("m2",)), Silent(), Heard(("m2", "m1")), Kept())
    assert Consult(("m2",), follows=True) in wishes
    assert wishes[-1] == Report("done", ("m1", "m2"))


def test_people_who_never_stop_talking_are_left_to_the_next_turn_after_some_rounds() -> None:
    events: list[Event] = [Read()]
    for number in range(100):
        events += [Silent(), Heard((f"more {number}",))]
    turn, wishes = play(*events)
    assert turn.round == ROUNDS
    assert sum(isinstance(wish, Consult) for wish in wishes) == ROUNDS
    assert isinstance(wishes[-1], Keep)


def test_after_a_stop_nothing_is_wished_for_whatever_happens() -> None:
    before: list[Event] = [Read(), Thinks(Said("x")), Thinks(Filed((PROPOSAL,))), Silent(), Heard(("m2",)), Heard(())]
    after: list[Event] = [*before, Kept(), Stopped(), Broke("x"), Thinks(Named("n")), Thinks(Narrated("n"))]
    dice = random.Random(5)
    for _ in range(300):
        turn, _ = play(*dice.sample(before, dice.randrange(len(before))))
        turn, wishes = advance(turn, Stopped("a person said so"))
        if wishes:
            assert wishes == (Report("stopped", turn.covered, "a person said so"),)
        for event in dice.sample(after, 8):
            turn, wishes = advance(turn, event)
            assert wishes == ()


def test_done_is_reported_only_after_all_is_durable() -> None:
    dice = random.Random(9)
    events: list[Event] = [Read(), Thinks(Said("x")), Silent(), Heard(()), Heard(("m2",)), Entered(()), Waiting(3)]
    for _ in range(300):
        _, wishes = play(*dice.choices(events, k=12))
        assert not any(isinstance(wish, Report) for wish in wishes)


def test_a_mistake_fails_the_turn_and_what_may_pass_gives_it_back() -> None:
    assert play(Read(), Broke("a mistake"))[1][-1] == Report("failed", (), "a mistake")
    assert play(Read(), Silent(), Broke("too slow", "retry"))[1][-1] == Report("released", ("m1",), "too slow")


def test_an_answer_that_somebody_takes_away_is_not_written_again() -> None:
    report = play(Read(), Thinks(Said("x")), Dismissed())[1][-1]
    assert isinstance(report, Report)
    assert (report.outcome, report.covered) == ("done", ("m1",))


def test_the_answer_says_of_itself_each_thing_once() -> None:
    ref = {"filed": "decision", "id": "d", "source": "m1"}
    turn, _ = play(
        Read(),
        Thinks(FellBack("no key")),
        Entered((ref,)),
        Entered((ref,)),
        Thinks(FellBack("no key")),
    )
    assert turn.refs == ({"fell_back": "no key"}, ref)


def test_what_could_not_be_filed_is_looked_up_before_it_is_quoted() -> None:
    _, wishes = play(Read(), Thinks(Unfiled("maybe in May", "m1")))
    assert wishes[-1] == Quote(Unfiled("maybe in May", "m1"))


def test_names_and_narratives_are_passed_on_and_empty_words_are_not() -> None:
    _, wishes = play(Read(), Thinks(Named("Acme")), Thinks(Narrated("So far.")), Thinks(Said("")), Thinks(Filed(())))
    assert wishes[1:] == [Propose("Acme"), Narrate("So far.")]


def test_others_see_what_it_is_at_and_how_many_messages_wait() -> None:
    turn, _ = play()
    assert showing(turn) == {"state": "reading", "turn": "t", "queued": 0}
    turn, _ = play(Read(), Waiting(2))
    assert showing(turn) == {"state": "thinking", "turn": "t", "queued": 2}
    turn, _ = play(Read(), Thinks(Said("x")), Thinks(Filed((PROPOSAL,))))
    assert showing(turn)["state"] == "writing"
    turn, _ = play(Read(), Stopped())
    assert showing(turn) == {}
