"""Answers of models that ignore the format, echo the prompt or go round in circles."""

from __future__ import annotations

import pytest

from kinsplit import Index
from kinsplit.answering import NOT_FOUND, Answer, TextPiece, Withheld, answer, ask, collect
from kinsplit.answering.attempt import Attempt, MarkerReader
from tests.answering.helpers import Scripted, source

QUESTION = "How is a file opened?"
GOOD = "A file is opened with the function open [1]."
# Answers of real models of 135 and 270 million parameters.
TOKENS = "<|im_start|>user\n<|im_end|>\n"
EPISODE = "The 1000th episode of the "


def said(found: Answer) -> str:
    (notice,) = found.notices
    assert notice.kind == "model_failed"
    return notice.message


def by_attempt(*answers: str) -> Scripted:
    """Return a model that gives one answer after the other."""
    left = list(answers)
    return Scripted(lambda prompt: [left.pop(0)])


def watched(text: str, pieces: int = 1) -> tuple[str, Attempt]:
    attempt, reader = Attempt([source(1, "Owls hunt at night.")]), MarkerReader()
    shown = []
    for start in range(0, len(text), pieces):
        shown += attempt.feed(reader.feed(text[start : start + pieces]))
    shown += [*attempt.feed(reader.finish()), *attempt.finish()]
    return "".join(part if isinstance(part, str) else part.text for part in shown), attempt


def test_an_answer_that_cites_nothing_is_asked_for_once_more(index: Index) -> None:
    model = by_attempt("By open, I guess.", GOOD)
    found = ask(index, QUESTION, model)
    assert (found.text, found.verdict, found.notices) == (GOOD, "supported", ())
    first, second = model.prompts
    assert second.startswith(first)
    assert "could not be used" in second.removeprefix(first)


def test_if_it_cites_nothing_again_sentences_are_quoted_and_it_says_so(index: Index) -> None:
    model = by_attempt("By open, I guess.", "By open, as I said.")
    found = ask(index, QUESTION, model)
    assert (found.verdict, len(model.prompts)) == ("quoted", 2)
    assert "scripted cited no passage, even when it was asked again. These are the best" in said(found)
    assert "guess" not in found.text
    assert "with the function open" in found.text


def test_nothing_is_shown_before_the_first_citation(index: Index) -> None:
    events = list(answer(index, QUESTION, Scripted(["A file is opened ", "with the function open [", "1]. ", "Yes."])))
    kinds = [type(event) for event in events[1:]]
    assert kinds[:4] == [Withheld, Withheld, Withheld, TextPiece]
    assert Withheld not in kinds[3:]
    assert collect(iter(events)).text == f"{GOOD} Yes."


@pytest.mark.parametrize(
    "reply", ["A heap is a tree [2].", "Statement: a heap is a tree [2].", "Put code between backticks [1]."]
)
def test_an_example_of_the_prompt_is_no_answer(reply: str) -> None:
    text, attempt = watched(reply)
    if reply.startswith("Statement"):
        assert (text, attempt.fault) == (reply, "")
    else:
        assert (text, attempt.fault, attempt.is_stopped) == ("", "echo", True)


def test_a_passage_may_say_what_the_example_says(index: Index) -> None:
    found = ask(index, "What is a heap?", Scripted(["A heap is a tree [1]."]))
    assert (found.text, found.notices) == ("A heap is a tree [1].", ())


def test_an_echo_is_asked_for_once_more_and_never_returned(index: Index) -> None:
    echo = "Answer the question below from it, each sentence with its number in square brackets [1]."
    model = by_attempt(echo, echo)
    found = ask(index, QUESTION, model)
    assert (found.verdict, len(model.prompts)) == ("quoted", 2)
    assert "repeated its instructions" in said(found)


@pytest.mark.parametrize("pieces", [1, 7, 4000])
@pytest.mark.parametrize(
    "text",
    [EPISODE * 60, "I am here to help you.\n" * 9, "One more thing is here, and " * 20, "No. It is so, I say. " * 20],
)
def test_a_loop_is_stopped(text: str, pieces: int) -> None:
    shown, attempt = watched(text, pieces)
    assert (shown, attempt.fault, attempt.is_stopped) == ("", "loop", True)


@pytest.mark.parametrize(
    "text",
    [
        "Rows [1]:\n" + "| - | - |\n" * 40,
        "So [1]:\n```\n" + "for row in all the rows:\n    pass\n" * 3 + "```",
        "It has [1]:\n" + "".join(f"- item number {n} of the list\n" for n in range(40)),
        "It is " + "=" * 300 + " [1].",
        "Owls. Owls. Owls. Owls [1].",
    ],
)
def test_what_only_looks_like_a_loop_is_shown(text: str) -> None:
    assert (watched(text, 5)[0], watched(text)[1].fault) == (text, "")


def test_a_refrain_of_a_passage_may_be_quoted() -> None:
    song = "Will you join the dance? " * 3
    attempt = Attempt([source(1, song)])
    parts = [*attempt.feed(MarkerReader().feed(f"It goes [1]: {song}")), *attempt.finish()]
    assert (str(parts[-1]), attempt.fault) == (f": {song}", "")


def test_a_loop_leaves_quotations_without_another_call(index: Index) -> None:
    model = Scripted([EPISODE] * 1000)
    found = ask(index, QUESTION, model)
    assert (found.verdict, len(model.prompts), model.is_closed) == ("quoted", 1, True)
    assert "scripted repeated itself and was stopped" in said(found)


def test_a_loop_after_a_good_sentence_breaks_the_answer_off(index: Index) -> None:
    found = ask(index, QUESTION, Scripted([GOOD, " ", *[EPISODE] * 1000]))
    assert (found.verdict, found.checks[0].status) == ("broken_off", "found")
    assert said(found) == "The answer broke off: scripted repeated itself and was stopped."
    assert len(found.text) < 400


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_tags_of_the_prompt_end_an_answer(pieces: int) -> None:
    for tag in (TOKENS, "<end_of_turn>\n", "</passage-0a1b2c>", "[INST]"):
        shown, attempt = watched(f"Owls hunt at night [1]. {tag * 50}", pieces)
        assert (shown.rstrip(), attempt.is_stopped) == ("Owls hunt at night [1].", True)
        assert watched(tag * 50, pieces)[1].fault == "tags"
        assert watched(f"{NOT_FOUND}{tag}", pieces)[0] == NOT_FOUND
    assert watched("If x < y and z <b>, 1 <2 [1].", pieces)[0] == "If x < y and z <b>, 1 <2 [1]."


def test_an_answer_of_tags_leaves_quotations(index: Index) -> None:
    found = ask(index, QUESTION, Scripted([TOKENS] * 100))
    assert found.verdict == "quoted"
    assert "repeated the tags of its prompt" in said(found)
    uncited = by_attempt(f"By open.{TOKENS}", f"By open.{TOKENS}")
    assert "cited no passage" in said(ask(index, QUESTION, uncited))


def test_a_tag_that_a_passage_holds_is_text() -> None:
    attempt = Attempt([source(1, "A turn begins with <|im_start|>.")])
    shown = [*attempt.feed(MarkerReader().feed("It begins with <|im_start|> [1]. ")), *attempt.finish()]
    assert "<|im_start|>" in str(shown[0])
    assert not attempt.fault


def test_a_model_that_fails_before_it_cites_leaves_quotations(index: Index) -> None:
    model = Scripted(["It is ", "done by open."])
    model.fails_at = 1
    found = ask(index, QUESTION, model)
    assert (found.verdict, said(found)) == (
        "quoted",
        "No model answered: scripted: the connection broke. These are the best sentences that were found.",
    )
