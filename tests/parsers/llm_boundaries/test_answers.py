"""Answers of a language model, usable or not, and the fallback to rules."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import Document
from kinsplit.errors import LanguageModelError
from kinsplit.language_models.servers import OllamaModel, OpenAIModel
from kinsplit.model_servers import server
from kinsplit.parsers import create
from kinsplit.parsers.llm_boundaries import FallbackWarning
from tests.generators import strategy_parameters, texts
from tests.language_models.fake_server import FakeServer, Reply, serving
from tests.parsers.contract import check_chunks
from tests.parsers.llm_boundaries.helpers import (
    LONG,
    TEXT,
    animals,
    sentences_of,
    starts_of,
    strategy_with,
    texts_of,
)


def test_chunks_begin_where_the_model_says(model: OllamaModel, fake: FakeServer) -> None:
    fake.answer = lambda prompt: '{"starts": [0, 2, 7]}'
    assert texts_of(strategy_with(model), TEXT) == [
        "Cats purr a lot. They sleep all day.",
        TEXT[TEXT.index("They hunt") : TEXT.index("\n\nFish")],
        "Fish swim in water. They never blink. They breathe by gills.",
    ]
    assert len(fake.calls) == 1


def test_a_model_is_shown_numbered_sentences_and_what_is_wanted(fake: FakeServer) -> None:
    strategy = strategy_with(OllamaModel("llama3", host=fake.url), chunk_size=90, min_sentences=2, max_sentences=9)
    strategy.split(TEXT)
    (prompt,) = fake.prompts
    assert "A chunk holds at most 90 words. It has at least 2 and at most 9 sentences." in prompt
    assert "[3] They love warm places.\n\n[4] Dogs bark at strangers.\n[5] They run" in prompt
    (body,) = fake.bodies
    assert body["format"]["properties"]["starts"]["items"] == {"type": "integer"}
    assert body["options"]["num_predict"] >= 4 * 10


@pytest.mark.parametrize(
    "answer",
    [
        "[0, 4, 7]",
        '```json\n{"starts": [0, 4, 7]}\n```',
        "Of course! Sentence [0] is first. The chunks begin at [0, 4, 7]. Enjoy!",
        '{"starts": [7, 0, 4]}',
        '{"starts": [0, 4, 4, 7, 7, 7]}',
        '{"starts": [-3, 0, 4, 7]}',
        '{"starts": [4, 7, 10, 11, 99999]}',
        '{"starts": [0.0, 4.0, 5.5, 7.0]}',
        '{"starts": ["0", "4", "7"]}',
        '{"starts": [[0, 3], [4, 6], [7, 9]]}',
        '[{"start": 0}, {"start": 4}, {"start": 7}]',
        '<think>[1, 2, 3, 4]</think>{"starts": [0, 4, 7]}',
    ],
)
@pytest.mark.filterwarnings("error")
def test_an_answer_that_is_a_little_wrong_is_repaired(model: OllamaModel, fake: FakeServer, answer: str) -> None:
    fake.answer = lambda prompt: answer
    assert starts_of(strategy_with(model)) == ["Cats", "Dogs", "Fish"]
    assert len(fake.calls) == 1


BAD = [
    Reply(""),
    Reply("I'm sorry, I can't do that."),
    Reply("The chunks begin at 0, 4 and 7"),
    Reply('{"starts": []}'),
    Reply('{"starts": [50, 60]}'),
    Reply('{"starts": [0, 4, 7'),
    Reply('{"starts": null}'),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda reply: reply.content or "empty")
@pytest.mark.filterwarnings("error")
def test_an_answer_that_is_useless_is_asked_for_again_with_the_reason(
    model: OllamaModel, fake: FakeServer, bad: Reply
) -> None:
    fake.replies.extend([bad, Reply('{"starts": [0, 4, 7]}')])
    assert starts_of(strategy_with(model)) == ["Cats", "Dogs", "Fish"]
    first, second = fake.prompts
    assert second.startswith(first)
    assert "An earlier answer could not be used: " in second


@pytest.mark.parametrize(
    "passing",
    [
        Reply(status=502, body="<html>Bad gateway</html>"),
        Reply("out of memory", 500),
        Reply("slow down", 429, headers={"retry-after": "0"}),
        Reply('{"starts": [0]}', broken=True),
        Reply("schemas are not supported", 400),
        Reply(late=True),
    ],
    ids=["html 502", "500", "429", "disconnect", "400 on the schema", "late"],
)
@pytest.mark.filterwarnings("error")
def test_what_goes_wrong_on_the_way_is_tried_again(fake: FakeServer, passing: Reply) -> None:
    for model in (
        OllamaModel("llama3", host=fake.url, timeout=0.5),
        OpenAIModel("gpt", base_url=f"{fake.url}/v1", timeout=0.5),
    ):
        fake.replies.extend([passing, Reply('{"starts": [0, 4, 7]}')])
        assert starts_of(strategy_with(model)) == ["Cats", "Dogs", "Fish"]


RULES = ["Cats", "Dogs", "Fish"]


def by_rules(text: str, **parameters: Any) -> list[str]:
    return texts_of(strategy_with("none", **parameters), text)


@pytest.mark.parametrize("bad", [*BAD[:5], BAD[6]], ids=lambda reply: reply.content or "empty")
def test_useless_answers_end_in_the_rules_with_one_warning(model: OllamaModel, fake: FakeServer, bad: Reply) -> None:
    fake.answer = lambda prompt: bad
    strategy = strategy_with(model, chunk_size=40)
    with pytest.warns(FallbackWarning) as caught:
        found = texts_of(strategy, TEXT)
    assert found == by_rules(TEXT, chunk_size=40)
    assert len(caught) == 1
    assert re.match(
        r"llm: the only segment was divided by paragraphs and headings instead\. "
        rf"{model.name} gave 3 answers that can't be used; in the last one, no (list|number).*\.$",
        str(caught[0].message),
    )
    assert len(fake.calls) == 3


def test_of_an_answer_that_always_breaks_off_the_beginning_is_taken(model: OllamaModel, fake: FakeServer) -> None:
    fake.answer = lambda prompt: '{"starts": [0, 1, 2, 3'
    with pytest.warns(FallbackWarning, match="the list of numbers has no end"):
        found = starts_of(strategy_with(model, chunk_size=20))
    # The model's as far as they go, and the rules' after that.
    assert found == ["Cats", "They", "They", "Dogs", "Fish"]


def test_a_server_that_refuses_is_reported_once_and_not_asked_for_each_segment(
    socket_enabled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as gone:
        pass
    monkeypatch.setenv("OLLAMA_HOST", gone.url)
    tries: list[object] = []
    send = httpx.Client.send
    monkeypatch.setattr(httpx.Client, "send", lambda *args, **more: (tries.append(args), send(*args, **more))[1])
    text = "\n\n".join(f"Part {i} says this. It goes on a little." for i in range(400))
    strategy = create("llm", model="ollama:refusing", segment_size=100)
    with pytest.warns(FallbackWarning) as caught:
        found = texts_of(strategy, text)
    assert found == by_rules(text)
    (warning,) = caught
    assert str(warning.message).startswith(
        f"llm: {strategy.cost([text]).calls} of {strategy.cost([text]).calls} segments were divided by "
        f"paragraphs and headings instead. ollama:refusing is not reachable at {gone.url}: "
    )
    assert "ollama pull refusing" in str(warning.message)
    assert len(tries) <= 4 * (1 + server.RETRIES)


def test_a_model_that_keeps_failing_is_given_up(fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply("broken", 500)
    text = " ".join(f"Thing {i} is this." for i in range(2000))
    model = OllamaModel("llama3", host=fake.url)
    with pytest.warns(FallbackWarning, match="status 500: broken"):
        texts_of(strategy_with(model, concurrency=1, segment_size=100), text)
    assert len(fake.calls) == 3 * (1 + server.RETRIES)


def test_only_the_segments_without_an_answer_go_by_the_rules(fake: FakeServer) -> None:
    text = "\n\n".join(f"Topic {i} begins. It is this. It is that. It ends." for i in range(60))

    def answer(prompt: str) -> str | Reply:
        if "Topic 30 begins." in prompt:
            return Reply("odd prompt", 413)
        return json.dumps({"starts": [i for i, s in enumerate(sentences_of(prompt)) if s == "It is that." or i == 0]})

    fake.answer = answer
    strategy = strategy_with(OllamaModel("llama3", host=fake.url), segment_size=300, chunk_size=12)
    with pytest.warns(FallbackWarning, match=r"[12] of \d+ segments w.*odd prompt") as caught:
        found = texts_of(strategy, text)
    assert len(caught) == 1
    assert found[0].startswith("Topic 0 begins.")
    assert found[1].startswith("It is that. It ends.\n\nTopic 1 begins.")
    assert any(chunk.startswith("Topic 30 begins.") for chunk in found)
    assert found[-1] == "It is that. It ends."


def test_a_model_of_the_users_may_raise_anything() -> None:
    class Odd:
        name, identity, window = "odd", None, 8192

        def complete(self, prompt: str, schema: Any = None, max_tokens: int | None = None) -> str:
            raise KeyError("choices")

    with pytest.warns(FallbackWarning, match="KeyError: 'choices'"):
        assert texts_of(strategy_with(Odd()), TEXT) == by_rules(TEXT)


@given(
    text=texts(),
    parameters=strategy_parameters("llm"),
    answers=st.lists(
        st.text(st.sampled_from('[]{}",: 0123456789.-starts'), max_size=40)
        | st.lists(st.integers(-5, 40)).map(str)
        | st.none(),
        min_size=1,
        max_size=5,
    ),
)
def test_the_invariants_hold_whatever_a_model_says(
    text: str, parameters: dict[str, Any], answers: list[str | None]
) -> None:
    saying = itertools.cycle(answers)

    def model(prompt: str) -> str:
        answer = next(saying)
        if answer is None:
            raise OSError("gone")
        return answer

    strategy, document = create("llm", **{**parameters, "model": model, "concurrency": 1}), Document("d", text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        check_chunks(strategy, document, strategy.chunk(document))


def test_an_error_can_be_wanted_instead(fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply("no such model", 404)
    with pytest.raises(LanguageModelError, match="no such model"):
        strategy_with(OllamaModel("llama3", host=fake.url), fallback="error").split(TEXT)


def test_warnings_of_many_documents_can_be_added_up() -> None:
    found = FallbackWarning.combined(
        [FallbackWarning("a", 1, 2), FallbackWarning("b", 1, 1), FallbackWarning("a", 3, 5)]
    )
    assert [(one.reason, one.segments, one.total) for one in found] == [("a", 4, 7), ("b", 1, 1)]


def test_what_was_asked_once_is_not_asked_again(model: OllamaModel, fake: FakeServer) -> None:
    fake.answer = animals
    first = strategy_with(model).split_many([LONG, TEXT])
    asked = len(fake.calls)
    fake.answer = lambda prompt: Reply("no", 500)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert strategy_with(model).split_many([LONG, TEXT]) == first
    assert len(fake.calls) == asked


def test_an_answer_at_the_second_try_is_kept_as_well(fake: FakeServer) -> None:
    fake.replies.extend([Reply("?"), Reply('{"starts": [0, 4, 7]}')])
    model = OllamaModel("llama3", host=fake.url)
    assert strategy_with(model).split(TEXT) == strategy_with(model).split(TEXT)
    assert len(fake.calls) == 2


def test_what_went_wrong_is_not_kept(fake: FakeServer) -> None:
    model = OllamaModel("llama3", host=fake.url)
    fake.answer = lambda prompt: "?"
    with pytest.warns(FallbackWarning):
        strategy_with(model).split(TEXT)
    fake.answer = lambda prompt: '{"starts": [0, 2]}'
    assert len(strategy_with(model).split(TEXT)) == 2


def test_the_answers_of_an_object_without_an_identity_are_not_kept() -> None:
    assert len(strategy_with(lambda prompt: "[0, 4]").split(TEXT)) == 2
    assert len(strategy_with(lambda prompt: "[0, 4, 7]").split(TEXT)) == 3
