"""A language model is asked for objects: what is no such object is asked for again, what is one is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.asker import Asker, Form
from kinsplit.language_models.cache import AnswerCache


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
    assert Asker(model).ask("Which?", Pet, 10) == Pet(name="cat", legs=4)
    (schema,) = model.schemas
    assert schema["required"] == ["name", "legs"]
    assert schema["additionalProperties"] is False


def test_what_can_not_be_used_is_asked_for_again_with_what_was_wrong() -> None:
    model = Script(["A cat.", '{"name": "cat", "legs": "four"}', CAT])
    assert Asker(model).ask("Which?", Pet, 10).legs == 4
    first, second, third = model.prompts
    assert first == "Which?"
    assert "no JSON object was found" in second
    assert "legs: " in third
    with pytest.raises(LanguageModelError, match="script gave 3 answers that can't be used; of the last one, no JSON"):
        Asker(Script(["x"] * 3)).ask("Which?", Pet, 10)


def test_one_question_is_asked_once() -> None:
    model = Script([CAT, '{"name": "bird", "legs": 2}'])
    asker = Asker(model)
    assert asker.ask("a", Pet, 10) == asker.ask("a", Pet, 10)
    assert asker.ask("b", Pet, 10).name == "bird"
    assert len(model.prompts) == 2


def test_answers_of_a_model_with_an_identity_are_kept_between_runs(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path)
    Asker(Script([CAT], identity="m"), cache).ask("a", Pet, 10)
    assert Asker(Script([], identity="m"), cache).ask("a", Pet, 10).name == "cat"
    Asker(Script([CAT]), cache).ask("b", Pet, 10)
    other = Script([CAT])
    Asker(other, cache).ask("b", Pet, 10)
    assert len(other.prompts) == 1


def test_a_model_that_is_away_or_keeps_failing_is_not_asked_any_more() -> None:
    away = Script([ModelUnavailableError("away")])
    asker = Asker(away)
    for _ in range(3):
        with pytest.raises(ModelUnavailableError):
            asker.ask("a", Pet, 10)
    assert len(away.prompts) == 1
    failing = Script([LanguageModelError("late"), CAT, *[LanguageModelError("late")] * 3])
    asker = Asker(failing)
    for prompt, fails in zip("abcdef", (True, False, True, True, True, True), strict=True):
        if fails:
            with pytest.raises(LanguageModelError, match="late"):
                asker.ask(prompt, Pet, 10)
        else:
            asker.ask(prompt, Pet, 10)
    assert len(failing.prompts) == 5
