"""Language models of LlamaIndex and LangChain, and functions, as language models of kinsplit.

They are told by what they can do, so neither framework is imported. Their answers aren't kept: an object's name doesn't
tell it from another one with other settings, and both frameworks have caches of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import httpx

from kinsplit.errors import InvalidParameterError, KinsplitError, LanguageModelError, ModelUnavailableError
from kinsplit.language_models.protocol import USUAL_WINDOW, LanguageModel, Schema
from kinsplit.tokenizers import describe


def adapt(model: object) -> LanguageModel:
    """Return an object as a language model.

    Args:
        model: A LlamaIndex `LLM`, a LangChain chat model or LLM, or a function from prompt to answer.

    Raises:
        InvalidParameterError: It is none of these.
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
    """Asks an object, which has its own settings: neither schema nor longest answer is passed on."""

    identity = None
    window = USUAL_WINDOW

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = describe(model).removeprefix("object:")

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`."""
        del schema, max_tokens
        try:
            return self._ask(prompt)
        except KinsplitError:
            raise
        except Exception as error:  # Whatever a framework's model may raise.
            kind = ModelUnavailableError if _is_unreachable(error) else LanguageModelError
            raise kind(f"{self.name} failed: {type(error).__name__}: {error}") from error

    @abstractmethod
    def _ask(self, prompt: str) -> str: ...


class LlamaIndexModel(_ObjectModel):
    """A LlamaIndex `LLM`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.window = int(getattr(model.metadata, "context_window", None) or USUAL_WINDOW)

    def _ask(self, prompt: str) -> str:
        return str(self.model.complete(prompt).text)


class LangChainModel(_ObjectModel):
    """A LangChain chat model or LLM."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        profile = getattr(model, "profile", None)
        known = profile.get("max_input_tokens") if isinstance(profile, dict) else None
        self.window = int(known or USUAL_WINDOW)

    def _ask(self, prompt: str) -> str:
        answer = self.model.invoke(prompt)
        if isinstance(answer, str):
            return answer
        content = answer.content
        if isinstance(content, str):
            return content
        # A message may come in parts, of which some are thoughts or calls of tools.
        return "".join(part if isinstance(part, str) else str(part.get("text", "")) for part in content)


class FunctionModel(_ObjectModel):
    """A function from prompt to answer."""

    def _ask(self, prompt: str) -> str:
        return str(self.model(prompt))


def _is_unreachable(error: BaseException | None) -> bool:
    """Return whether an error, or one that led to it, says that no connection could be made."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, ConnectionRefusedError | httpx.ConnectError):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
