"""A language model is asked for objects: what is no such object is asked for again, what is one is kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.structured import AnswerCache, Form, StructuredClient


class Pet(Form):
    name: str
    legs: int


class Script:
    """Says what it was given to say, and keeps what it was asked."""

    name = "script"
    window = 8192

    def __init__(self, answers: Sequence[str | Exception], identity: str | None = None) -> None:
        self.answers, self.identity = list(answers), identity
        self.prompts: list[str] = []
        self.schemas: list[Any] = []

    def complete(self, prompt: str, schema: Any = None, max_tokens: int | None = None) -> str:
        self.prompts.append(prompt)
        self.schemas.append(schema)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


CAT = '{"name": "cat", "legs": 4}'


@pytest.mark.parametrize(
    "answer",
    [
        CAT,
        f"```json\n{CAT}\n```",
        f'<think>{{"name": "dog", "legs": 3}}</think>Here it is: {CAT}. Done.',
        f'{{"name": "no legs"}} {CAT}',
        '{"name": "cat", "legs": "4", "more": true}',
    ],
)
def test_the_object_is_found_however_it_is_dressed_up(answer: str) -> None:
    model = Script([answer])
    assert StructuredClient(model).ask("Which?", Pet, 10) == Pet(name="cat", legs=4)
    (schema,) = model.schemas
    assert schema["required"] == ["name", "legs"]
    assert schema["additionalProperties"] is False


def test_what_can_not_be_used_is_asked_for_again_with_what_was_wrong() -> None:
    model = Script(["A cat.", '{"name": "cat", "legs": "four"}', CAT])
    assert StructuredClient(model).ask("Which?", Pet, 10).legs == 4
    first, second, third = model.prompts
    assert first == "Which?"
    assert "no JSON object was found" in second
    assert "legs: " in third
    with pytest.raises(LanguageModelError, match="script gave 3 answers that can't be used; of the last one, no JSON"):
        StructuredClient(Script(["x"] * 3)).ask("Which?", Pet, 10)


def test_one_question_is_asked_once() -> None:
    model = Script([CAT, '{"name": "bird", "legs": 2}'])
    client = StructuredClient(model)
    assert client.ask("a", Pet, 10) == client.ask("a", Pet, 10)
    assert client.ask("b", Pet, 10).name == "bird"
    assert len(model.prompts) == 2


def test_answers_of_a_model_with_an_identity_are_kept_between_runs(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    StructuredClient(Script([CAT], identity="m"), cache).ask("a", Pet, 10)
    assert StructuredClient(Script([], identity="m"), cache).ask("a", Pet, 10).name == "cat"
    StructuredClient(Script([CAT]), cache).ask("b", Pet, 10)
    other = Script([CAT])
    StructuredClient(other, cache).ask("b", Pet, 10)
    assert len(other.prompts) == 1


def test_a_model_that_is_away_or_keeps_failing_is_not_asked_any_more() -> None:
    away = Script([ModelUnavailableError("away")])
    client = StructuredClient(away)
    for _ in range(3):
        with pytest.raises(ModelUnavailableError):
            client.ask("a", Pet, 10)
    assert len(away.prompts) == 1
    with pytest.raises(ModelUnavailableError) as caught:
        client.ask("a", Pet, 10)
    assert len(caught.traceback) <= 2
    failing = Script([LanguageModelError("late"), CAT, *[LanguageModelError("late")] * 3])
    client = StructuredClient(failing)
    for prompt, fails in zip("abcdef", (True, False, True, True, True, True), strict=True):
        if fails:
            with pytest.raises(LanguageModelError, match="late"):
                client.ask(prompt, Pet, 10)
        else:
            client.ask(prompt, Pet, 10)
    assert len(failing.prompts) == 5


class Slow(Script):
    """Answers the prompt "3" with 3 legs, and lower numbers later; fails where the number is odd."""

    def complete(self, prompt: str, schema: Any = None, max_tokens: int | None = None) -> str:
        self.prompts.append(prompt)
        time.sleep((9 - int(prompt)) / 500)
        if int(prompt) % 2:
            raise LanguageModelError(f"{prompt} is odd")
        return f'{{"name": "pet", "legs": {prompt}}}'


@pytest.mark.parametrize("concurrency", [1, 3, 20])
def test_several_are_asked_at_once_and_told_in_order(concurrency: int, tmp_path: Path) -> None:
    client = StructuredClient(model := Slow([], identity="m"), AnswerCache(tmp_path))
    prompts = ["0", "1", "2", "0", "4", "3", "2", "6"]
    found = list(client.ask_all(prompts, Pet, 10, concurrency))

    assert [one.legs if isinstance(one, Pet) else str(one) for one in found] == [
        0, "1 is odd", 2, 0, 4, "3 is odd", 2, 6,
    ]  # fmt: skip
    assert sorted(model.prompts) == sorted(set(prompts))
    # What was answered is known, also to a later run; what failed is asked again.
    again = StructuredClient(late := Slow([], identity="m"), AnswerCache(tmp_path))
    assert [str(one) for one in again.ask_all(prompts, Pet, 10, concurrency)] == [str(one) for one in found]
    assert sorted(late.prompts) == ["1", "3"]


def test_failures_in_a_row_are_counted_in_the_order_of_the_prompts() -> None:
    client = StructuredClient(Slow([]))
    list(client.ask_all(["1", "3", "0", "5", "7", "2"], Pet, 10, 6))
    assert not client.has_given_up
    *_, last = client.ask_all(["1", "3", "5", "8"], Pet, 10, 1)
    assert client.has_given_up
    assert str(last) == "5 is odd"


def test_who_stops_listening_asks_for_no_more() -> None:
    client = StructuredClient(model := Slow([]))
    answers = client.ask_all([str(n) for n in (0, 2, 4, 6, 8, 0)], Pet, 10, 1)
    next(answers)
    answers.close()
    assert model.prompts == ["0"]


def test_what_somebodys_own_model_raises_is_one_of_our_errors() -> None:
    with pytest.raises(LanguageModelError, match="script failed: ValueError: odd"):
        StructuredClient(Script([ValueError("odd")])).ask("a", Pet, 10)
