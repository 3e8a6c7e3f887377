"""Language models by name."""

from __future__ import annotations

import functools
from collections.abc import Callable

from kinsplit.errors import InvalidParameterError, LanguageModelError
from kinsplit.language_models.protocol import LanguageModel

#: Seconds after which an answer is no longer waited for: a large model on a processor takes minutes.
TIMEOUT = 300.0


def names() -> list[str]:
    """Return the forms of spec that `create` takes."""
    return ["ollama:MODEL", "openai:MODEL", "hash"]


def check(spec: str) -> None:
    """Make sure that a spec names a language model; nothing is loaded or asked.

    Raises:
        InvalidParameterError: It doesn't.
    """
    scheme, colon, rest = spec.partition(":")
    maker = _MAKERS.get(scheme)
    takes_model = scheme in ("ollama", "openai")
    if maker is None or takes_model != bool(rest.strip()) or bool(colon) != takes_model:
        remedy = "Write for example 'ollama:llama3'."
        raise InvalidParameterError("model", f"must be one of {', '.join(names())}", spec, remedy)


def create(spec: str, timeout: float = TIMEOUT) -> LanguageModel:
    """Make a language model; nothing is asked before its first use.

    Args:
        spec: "ollama:MODEL" for a model of the Ollama server at OLLAMA_HOST; "openai:MODEL" for a model of any server
            with OpenAI's interface, at OPENAI_BASE_URL and with OPENAI_API_KEY; "hash" for tests.
        timeout: Seconds to wait for an answer.

    Raises:
        InvalidParameterError: No language model has that name.
    """
    check(spec)
    scheme, _, model = spec.partition(":")
    return _MAKERS[scheme](model, timeout)


def resolve(model: object, timeout: float = TIMEOUT) -> LanguageModel:
    """Return the language model that a parameter names; one name always gives the same object.

    Args:
        model: A spec as `create` takes it, a language model of kinsplit, a LlamaIndex `LLM`, a LangChain chat model, or
            a function from prompt to answer.
        timeout: Seconds to wait for an answer of a model given by its spec; others have limits of their own.

    Raises:
        InvalidParameterError: It is none of these.
        LanguageModelError: It describes an object, which can't be found again.
    """
    if isinstance(model, str):
        return _shared(model, timeout)
    if isinstance(model, LanguageModel):
        return model
    from kinsplit.language_models.frameworks import adapt

    return adapt(model)


@functools.lru_cache(maxsize=8)
def _shared(spec: str, timeout: float) -> LanguageModel:
    scheme, _, name = spec.partition(":")
    if scheme == "object":
        raise LanguageModelError(
            f"model: {name} is a Python object, which can't be found by its description. "
            "Give the strategy with the object itself again: Index(..., strategy=create(name, model=...))."
        )
    return create(spec, timeout)


def _ollama(model: str, timeout: float) -> LanguageModel:
    from kinsplit.language_models.ollama import OllamaModel

    return OllamaModel(model, timeout=timeout)


def _openai(model: str, timeout: float) -> LanguageModel:
    from kinsplit.language_models.openai import OpenAIModel

    return OpenAIModel(model, timeout=timeout)


def _hash(model: str, timeout: float) -> LanguageModel:
    from kinsplit.language_models.fake import HashModel

    del model, timeout
    return HashModel()


_MAKERS: dict[str, Callable[[str, float], LanguageModel]] = {"ollama": _ollama, "openai": _openai, "hash": _hash}
