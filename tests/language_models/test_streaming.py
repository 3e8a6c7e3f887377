"""Answers in pieces: what is told as it comes, what is tried again, and how a stream ends."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from llama_index.core.llms.mock import MockLLM

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models import LanguageModel, Pieces, StreamingModel, create, resolve, stream
from kinsplit.language_models.servers import OllamaModel, OpenAIModel
from tests.language_models.fake_server import FakeServer, Reply, serving
from tests.language_models.test_frameworks import Llama, Own


def told(model: object, prompt: str = "Hi") -> tuple[list[str], bool]:
    """Return the pieces of an answer, and whether it was cut."""
    pieces, answer = [], stream(resolve(model), prompt)
    while True:
        try:
            pieces.append(next(answer))
        except StopIteration as end:
            return pieces, end.value


def test_an_answer_comes_in_the_pieces_of_the_server(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("Voi", "là", "", " 👍.")))

    assert isinstance(model, StreamingModel)
    assert told(model) == (["Voi", "là", " 👍."], False)
    assert fake.prompts == ["Hi"]


def test_a_stream_asks_for_what_a_whole_answer_asks_for(model: LanguageModel, fake: FakeServer) -> None:
    model.complete("Hi", None, 99)
    list(stream(model, "Hi", 99))

    whole, streamed = fake.bodies
    assert streamed == {**whole, "stream": True}


def test_a_piece_is_told_before_the_next_one_is_made(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("one", "two"), held=True))

    answer = stream(model, "Hi")
    assert next(answer) == "one"
    fake.goes_on.set()
    assert list(answer) == ["two"]


def test_closing_a_stream_closes_the_connection(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("one", *["x" * 10_000] * 1000), held=True))
    answer = stream(model, "Hi")
    assert next(answer) == "one"

    answer.close()
    fake.goes_on.set()
    assert fake.hung_up.wait(5)


def test_an_answer_that_is_cut_at_its_longest_says_so(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("and so", " on"), reason="length"))
    assert told(model) == (["and so", " on"], True)


@pytest.mark.parametrize(
    "passing",
    [
        Reply("starting", 503),
        Reply("slow down", 429, headers={"retry-after": "0"}),
    ],
    ids=["503", "429"],
)
def test_what_fails_before_the_response_is_tried_again(model: LanguageModel, fake: FakeServer, passing: Reply) -> None:
    fake.replies.extend([passing, passing, Reply(pieces=("fine ", "at last"))])

    assert told(model) == (["fine ", "at last"], False)
    assert len(fake.calls) == 3


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        (Reply(pieces=("one",), ending=""), r"the response ended in the middle\.$"),
        (Reply(pieces=("one",), broken=True, ending=""), "the connection broke"),
        (Reply(pieces=("one",), ending='{"message": {"con'), "the server answered with|ended in the middle"),
        (Reply(pieces=("one",), ending='data: {"choices": [{"del\n\n'), "the server answered with"),
        (Reply(pieces=("one",), ending="data: 3\n\n"), "the server answered with"),
        (Reply(pieces=("one",), ending="[]\n"), "the server answered with|ended in the middle"),
    ],
    ids=["no end", "broken", "cut json", "cut event", "odd event", "odd json"],
)
def test_what_fails_after_the_first_piece_is_an_error_and_told_once(
    model: LanguageModel, fake: FakeServer, reply: Reply, rule: str
) -> None:
    fake.answer = lambda prompt: reply
    answer = stream(model, "Hi")

    assert next(answer) == "one"
    with pytest.raises(LanguageModelError, match=rule):
        next(answer)
    assert len(fake.calls) == 1


def test_an_error_in_the_middle_is_told_in_the_servers_words(fake: FakeServer) -> None:
    ollama = OllamaModel("llama3", host=fake.url)
    fake.replies.append(Reply(pieces=("one",), ending='{"error": "model runner has unexpectedly stopped"}\n'))
    with pytest.raises(LanguageModelError, match=r"the server says: model runner has unexpectedly stopped\.$"):
        list(stream(ollama, "Hi"))

    openai = OpenAIModel("gpt", base_url=fake.url)
    fake.replies.append(Reply(pieces=("one",), ending='data: {"error": {"message": "overloaded"}}\n\n'))
    with pytest.raises(LanguageModelError, match=r"the server says: overloaded\.$"):
        list(stream(openai, "Hi"))


def test_a_server_that_falls_silent_is_given_up(fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("one", "two"), held=True))
    answer = stream(OllamaModel("llama3", host=fake.url, timeout=0.2), "Hi")

    assert next(answer) == "one"
    with pytest.raises(LanguageModelError, match=r"gave no answer within 0.2 s"):
        next(answer)
    assert len(fake.calls) == 1


def test_a_server_that_can_not_stream_answers_at_once(fake: FakeServer) -> None:
    body = '{\n "choices": [{"message": {"content": "all of it"},\n "finish_reason": "stop"}]\n}'
    fake.replies.append(Reply(body=body))
    assert told(OpenAIModel("gpt", base_url=fake.url)) == (["all of it"], False)


def test_a_model_that_is_not_there_is_given_up_at_once_and_left_alone(model: LanguageModel, fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply("model 'llama3' not found", 404)

    for _ in range(3):
        with pytest.raises(ModelUnavailableError, match="model 'llama3' not found"):
            next(stream(model, "Hi"))
    assert len(fake.calls) == 1


def test_a_refused_connection_is_an_unavailable_model(quick: None, socket_enabled: None) -> None:
    with serving() as gone:
        pass
    with pytest.raises(ModelUnavailableError, match="not reachable"):
        next(stream(OllamaModel("llama3", host=gone.url), "Hi"))


def test_options_that_a_server_does_not_know_are_left_out(fake: FakeServer) -> None:
    fake.replies.append(Reply("Unsupported parameter: 'max_tokens' is not supported.", 400))
    fake.replies.append(Reply(pieces=("fine",)))

    assert list(stream(OpenAIModel("o9", base_url=fake.url), "Hi", 50)) == ["fine"]
    assert ["max_tokens" in body for body in fake.bodies] == [True, False]


def test_a_server_can_be_asked_by_several_at_once(model: LanguageModel, fake: FakeServer) -> None:
    fake.answer = lambda prompt: Reply(pieces=(prompt, prompt))
    one, other = stream(model, "a"), stream(model, "b")

    assert [next(one), next(other), next(one), next(other)] == ["a", "b", "a", "b"]
    assert (list(one), list(other)) == ([], [])


def _thinking(model: LanguageModel, fake: FakeServer, *pieces: str) -> str:
    fake.replies.append(Reply(pieces=pieces))
    return "".join(stream(model, "Hi"))


def test_thoughts_before_an_answer_are_left_out_however_they_are_cut(model: LanguageModel, fake: FakeServer) -> None:
    text = "\n<think>is it <b>?</think>\n\nIt is <think>."
    for at, then in pairwise(range(0, len(text), 5)):
        assert _thinking(model, fake, text[:at], text[at:then], text[then:]) == "It is <think>."
    assert _thinking(model, fake, *text) == "It is <think>."
    assert _thinking(model, fake, "<thinking>a</thinking>", " c") == "c"


_TAGS = ["<think>", "</think>", "<thinking>", "</thinking>", " ", "\n", "a", "b", "<th", "\u2028"]


class Says:
    """Says a text in pieces that are cut at some places."""

    name, identity = "says", None
    window = 8192

    def __init__(self, text: str, cuts: Sequence[int] = ()) -> None:
        self.pieces = [text[a:b] for a, b in pairwise([0, *sorted(cuts), len(text)])]

    def complete(self, prompt: str, schema: object = None, max_tokens: int | None = None) -> str:
        return "".join(self.pieces)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        yield from self.pieces
        return False


@given(st.lists(st.sampled_from(_TAGS), max_size=12).map("".join), st.lists(st.integers(0, 60), max_size=20))
def test_what_is_left_out_does_not_depend_on_where_an_answer_is_cut(text: str, cuts: list[int]) -> None:
    pieces, _ = told(Says(text, cuts))
    assert all(pieces)
    assert "".join(pieces) == "".join(told(Says(text))[0]) == "".join(told(Says(text, range(60)))[0])
    assert not "".join(pieces).startswith("<think>")


def test_many_thoughts_are_left_out_in_time_that_grows_with_their_number() -> None:
    seconds = []
    for number in (4_000, 32_000):
        begun = time.process_time()
        assert told(Says("<think></think>" * number + "so"))[0] == ["so"]
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 24 * seconds[0] + 0.1  # 64 times, were it quadratic.


def test_several_thoughts_before_an_answer_are_all_left_out() -> None:
    assert told(Says("<think>a</think>\n<thinking>b</think></thinking> c <think>"))[0] == ["c <think>"]


@given(st.text("a\U0001f44d\ud83d\udc4d", max_size=8), st.lists(st.integers(0, 8), max_size=8))
def test_a_character_that_comes_in_halves_is_put_together(text: str, cuts: list[int]) -> None:
    whole = "".join(told(Says(text, cuts))[0])
    assert whole == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    whole.encode()


def test_halves_of_characters_come_from_servers_too(model: LanguageModel, fake: FakeServer) -> None:
    fake.replies.append(Reply(pieces=("so \ud83d", "\udc4d", "\ud83d")))
    assert told(model) == (["so ", "\U0001f44d", "\ufffd"], False)


@pytest.mark.parametrize("piece", ["and so on ", "<think>on and on "])
def test_a_model_that_goes_on_for_ever_is_cut(piece: str) -> None:
    class Endless(Says):
        window = 100

        def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
            while True:
                yield piece

    pieces, is_cut = told(Endless(""))
    assert is_cut
    assert len("".join(pieces)) < 2000


def test_a_long_answer_in_one_piece_is_not_cut() -> None:
    answer = stream(resolve(lambda prompt: "so " * 9000), "Hi", 10)
    assert len(next(answer)) == 27_000
    with pytest.raises(StopIteration) as end:
        next(answer)
    assert end.value.value is False


def test_what_somebodys_own_model_raises_becomes_one_of_our_errors() -> None:
    class Broken(Says):
        def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
            yield "one"
            raise ValueError("no\nmore.")

    answer = stream(Broken(""), "Hi")
    assert next(answer) == "one"
    with pytest.raises(LanguageModelError, match=r"^says failed: ValueError: no more\.$"):
        next(answer)


def test_thoughts_without_an_end_are_no_answer_and_half_a_tag_is(model: LanguageModel, fake: FakeServer) -> None:
    assert _thinking(model, fake, "<think>", "on and on") == ""
    assert _thinking(model, fake, "<thi") == "<thi"
    assert _thinking(model, fake, "<thimble>") == "<thimble>"


@pytest.mark.parametrize(
    ("given", "pieces"),
    [
        (MockLLM(max_tokens=2), ["text", " text"]),
        (Llama(), ["you said Hi"]),
        (FakeListChatModel(responses=["chat"]), list("chat")),
        (FakeListLLM(responses=["llm"]), ["llm"]),
        (str.upper, ["HI"]),
        (Own(), ["iH"]),
        (lambda prompt: "", []),
    ],
    ids=["llama-index", "llama-index, no stream", "langchain chat", "langchain llm", "function", "own", "nothing"],
)
def test_a_model_of_any_kind_answers_in_pieces(given: object, pieces: list[str]) -> None:
    found, is_cut = told(given)
    assert ("".join(found).split(), is_cut) == ("".join(pieces).split(), False)
    assert len(found) == len(pieces)


class _Cut(GenericFakeChatModel):
    """A LangChain model of which the answer is cut, in parts of which one is a thought."""

    told: dict[str, str]

    def _stream(self, *args: Any, **more: Any) -> Iterator[ChatGenerationChunk]:
        parts: list[str | dict[Any, Any]] = [{"type": "reasoning", "summary": []}, {"type": "text", "text": "so"}]
        yield ChatGenerationChunk(message=AIMessageChunk(content=parts))
        yield ChatGenerationChunk(message=AIMessageChunk(content=" on", response_metadata=self.told))


@pytest.mark.parametrize(
    ("metadata", "is_cut"),
    [
        ({"finish_reason": "length"}, True),
        ({"done_reason": "length"}, True),
        ({"stop_reason": "max_tokens"}, True),
        ({"finish_reason": "MAX_TOKENS"}, True),
        ({"finish_reason": "stop"}, False),
        ({}, False),
    ],
)
def test_a_langchain_model_tells_whether_it_was_cut(metadata: dict[str, str], is_cut: bool) -> None:
    assert told(_Cut(messages=iter([AIMessage("")]), told=metadata)) == (["so", " on"], is_cut)


def test_closing_a_stream_closes_a_frameworks_iterator() -> None:
    closed = []

    class Model(FakeListChatModel):
        def stream(self, *args: Any, **more: Any) -> Iterator[Any]:
            try:
                yield from (AIMessageChunk(content=letter) for letter in "abc")
            finally:
                closed.append(True)

    answer = stream(resolve(Model(responses=[])), "Hi")
    assert next(answer) == "a"
    assert not closed
    answer.close()
    assert closed


def test_what_a_framework_raises_in_the_middle_becomes_one_of_our_errors() -> None:
    class Model(FakeListChatModel):
        def stream(self, *args: Any, **more: Any) -> Iterator[Any]:
            yield AIMessageChunk(content="a")
            raise RuntimeError("in the framework")

    answer = stream(resolve(Model(responses=[])), "Hi")
    assert next(answer) == "a"
    with pytest.raises(LanguageModelError, match="failed: RuntimeError: in the framework"):
        next(answer)


def test_the_hash_model_streams_its_answer() -> None:
    pieces, is_cut = told("hash")
    assert ("".join(pieces), is_cut) == (create("hash").complete("Hi"), False)
    assert len(pieces) > 2


def test_time_asked_for_is_given_before_a_stream(fake: FakeServer) -> None:
    fake.replies.append(Reply("slow down", 429, headers={"retry-after": "1"}))
    begun = time.monotonic()
    assert list(stream(OllamaModel("llama3", host=fake.url), "Hi"))
    assert time.monotonic() - begun > 0.99
