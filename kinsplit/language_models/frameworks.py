"""Language models of LlamaIndex and LangChain, and functions, as language models of kinsplit.

They are recognised by their methods, so neither framework is imported. Their answers aren't cached: an object's name
doesn't distinguish it from one with other settings, and both frameworks have caches of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing, nullcontext
from itertools import chain
from typing import Any

from kinsplit.errors import InvalidParameterError
from kinsplit.language_models.parsing import text_of
from kinsplit.language_models.protocol import USUAL_WINDOW, LanguageModel, Pieces, Schema, wrap_errors
from kinsplit.tokenizers import describe

# Keys of the reason for the end in a message of LangChain, which depend on the model's vendor.
_REASONS = ("finish_reason", "done_reason", "stop_reason")


def adapt(model: object) -> LanguageModel:
    """Adapt an object as a language model.

    Raises:
        InvalidParameterError: The object is none of these.
    """
    if callable(getattr(model, "complete", None)) and hasattr(model, "metadata"):
        return LlamaIndexModel(model)
    if callable(getattr(model, "invoke", None)):
        return LangChainModel(model)
    if callable(model):
        return FunctionModel(model)
    rule = "must be a name, a language model of kinsplit, LlamaIndex or LangChain, or a function"
    raise InvalidParameterError("model", rule, model, "Give for example 'ollama:llama3'.")


class _ObjectModel(ABC):
    """Adapter of an object with its own settings: neither schema nor maximum length is passed on."""

    identity = None
    window = USUAL_WINDOW

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = describe(model).removeprefix("object:")

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        del schema, max_tokens
        with wrap_errors(self.name):
            return self._ask(prompt)

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; an object that can't stream yields its whole answer at once."""
        del max_tokens
        with wrap_errors(self.name):
            return (yield from self._pieces(prompt))

    @abstractmethod
    def _ask(self, prompt: str) -> str: ...

    def _pieces(self, prompt: str) -> Pieces:
        if answer := self._ask(prompt):
            yield answer
        return False


class LlamaIndexModel(_ObjectModel):
    """A LlamaIndex `LLM`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.window = int(getattr(model.metadata, "context_window", None) or USUAL_WINDOW)

    def _ask(self, prompt: str) -> str:
        return str(self.model.complete(prompt).text)

    def _pieces(self, prompt: str) -> Pieces:
        try:
            parts = self.model.stream_complete(prompt)
            first = next(parts, None)
        except NotImplementedError:  # Many models implement this abstract method so.
            return (yield from super()._pieces(prompt))
        with _closed(parts):
            for part in chain([] if first is None else [first], parts):
                if part.delta:
                    yield str(part.delta)
        return False


class LangChainModel(_ObjectModel):
    """A LangChain chat model or LLM."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        profile = getattr(model, "profile", None)
        known = profile.get("max_input_tokens") if isinstance(profile, dict) else None
        self.window = int(known or USUAL_WINDOW)

    def _ask(self, prompt: str) -> str:
        return _text(self.model.invoke(prompt))

    def _pieces(self, prompt: str) -> Pieces:
        if not callable(getattr(self.model, "stream", None)):
            return (yield from super()._pieces(prompt))
        reason = None
        with _closed(self.model.stream(prompt)) as parts:
            for part in parts:
                metadata = getattr(part, "response_metadata", None) or {}
                reason = next((metadata[key] for key in _REASONS if metadata.get(key)), reason)
                if text := _text(part):
                    yield text
        return str(reason).lower() in ("length", "max_tokens")


class FunctionModel(_ObjectModel):
    """A function from prompt to answer."""

    def _ask(self, prompt: str) -> str:
        return str(self.model(prompt))


def _text(answer: Any) -> str:
    return answer if isinstance(answer, str) else text_of(answer.content)


def _closed(parts: Any) -> Any:
    return closing(parts) if hasattr(parts, "close") else nullcontext(parts)
