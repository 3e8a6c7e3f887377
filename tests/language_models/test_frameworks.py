"""Models of the frameworks, functions and names are all language models."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.llms.mock import MockLLM

from kinsplit.errors import InvalidParameterError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models import LanguageModel, check, create, names, resolve
from kinsplit.language_models.parsing import numbers_schema


class Llama(CustomLLM):
    """A LlamaIndex model that says what it was asked."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=4000, model_name="llama-of-tests")

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=f"you said {prompt}")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


class Own:
    name = "own"
    identity = None
    window = 2048

    def complete(self, prompt: str, schema: Any = None, max_tokens: int | None = None) -> str:
        return prompt[::-1]


@pytest.mark.parametrize(
    ("given", "answer", "window"),
    [
        (Llama(), "you said abc", 4000),
        (MockLLM(max_tokens=2), "text text", 3900),
        (FakeListChatModel(responses=["chat"]), "chat", 8192),
        (FakeListLLM(responses=["llm"]), "llm", 8192),
        (str.upper, "ABC", 8192),
        (Own(), "cba", 2048),
    ],
    ids=["llama-index", "llama-index mock", "langchain chat", "langchain llm", "function", "own"],
)
def test_a_model_of_any_kind_answers(given: object, answer: str, window: int) -> None:
    model = resolve(given)
    assert isinstance(model, LanguageModel)
    assert model.complete("abc", numbers_schema("x"), 10) == answer
    assert model.window == window
    assert model.identity is None
    assert model.name


def test_our_own_models_are_taken_as_they_are() -> None:
    model = Own()
    assert resolve(model) is model


def test_a_langchain_message_may_come_in_parts() -> None:
    parts: list[str | dict[Any, Any]] = [{"type": "reasoning", "summary": []}, {"type": "text", "text": "[0, "}, "3]"]
    model = GenericFakeChatModel(messages=iter([AIMessage(content=parts)]))
    assert resolve(model).complete("?") == "[0, 3]"


def _failing(error: Exception) -> Any:
    def model(prompt: str) -> str:
        raise RuntimeError("in the framework") from error

    return model


def test_what_a_framework_raises_becomes_one_of_our_errors() -> None:
    with pytest.raises(LanguageModelError, match="failed: RuntimeError: in the framework") as caught:
        resolve(_failing(ValueError("x"))).complete("?")
    assert not isinstance(caught.value, ModelUnavailableError)
    for away in (httpx.ConnectError("refused"), ConnectionRefusedError()):
        with pytest.raises(ModelUnavailableError):
            resolve(_failing(away)).complete("?")


@pytest.mark.parametrize("given", [None, 3, object(), ["ollama:llama3"]])
def test_what_is_no_model_is_refused(given: object) -> None:
    with pytest.raises(InvalidParameterError, match="model: must be a name, a language model of"):
        resolve(given)


@pytest.mark.parametrize("spec", ["", "llama3", "ollama", "ollama:", "ollama: ", "openai", "hash:3", "st:x", "hash:"])
def test_a_spec_that_names_no_model_is_refused_with_the_known_forms(spec: str) -> None:
    for attempt in (check, create, resolve):
        with pytest.raises(InvalidParameterError) as caught:
            attempt(spec)
        assert all(name in str(caught.value) for name in names())


def test_a_spec_is_one_object_for_each_timeout() -> None:
    assert resolve("ollama:llama3") is resolve("ollama:llama3")
    assert resolve("ollama:llama3", 5) is not resolve("ollama:llama3")


def test_the_description_of_an_object_is_refused_with_what_to_do() -> None:
    with pytest.raises(LanguageModelError, match=r"Own is a Python object.*Pass the object again"):
        resolve("object:tests.Own")


def test_the_hash_model_always_gives_one_answer_to_one_prompt() -> None:
    model = create("hash")
    answers = {prompt: model.complete(prompt, numbers_schema("starts")) for prompt in ("a", "b")}
    assert answers["a"] != answers["b"]
    assert answers == {prompt: create("hash").complete(prompt, numbers_schema("starts")) for prompt in "ab"}
    assert answers["a"].startswith('{"starts": [0, ')
