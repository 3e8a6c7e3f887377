"""Registry of language models."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from itertools import accumulate

from kinsplit.errors import LanguageModelError
from kinsplit.language_models.protocol import LanguageModel, Pieces, Schema
from kinsplit.models import ModelSpec, make, maker
from kinsplit.registry import Registry, function

#: Default maximum of seconds to wait for an answer: a large model on a CPU takes minutes.
TIMEOUT = 300.0
#: Value of options that name a language model, for none.
NO_MODEL = "none"
#: The language models by provider, see `kinsplit.models.make`; one with a parameter `timeout` gets it. Those of other
#: packages are entry points of the group `kinsplit.language_models`.
LANGUAGE_MODELS: Registry[Callable[..., LanguageModel]] = Registry(
    "language_models",
    "model",
    {
        "ollama": "kinsplit.language_models.servers:OllamaModel",
        "openai": "kinsplit.language_models.servers:OpenAIModel",
        "hash": "kinsplit.language_models.registry:HashModel",
    },
    function,
    {"ollama": ("ollama:MODEL",), "openai": ("openai:MODEL",), "hash": ("hash",)},
)


def names() -> list[str]:
    """Return the forms of a spec that `create` takes."""
    return LANGUAGE_MODELS.forms()


def check(spec: str | ModelSpec) -> None:
    """Check that a spec names a language model, without loading or calling it.

    Raises:
        InvalidParameterError: No language model has that name, or an option is unknown or wrong.
    """
    maker(LANGUAGE_MODELS, spec)


def create(spec: str | ModelSpec, timeout: float = TIMEOUT) -> LanguageModel:
    """Create a language model; no server is contacted before its first use.

    Args:
        spec: "ollama:MODEL" for a model of the Ollama server at OLLAMA_HOST; "openai:MODEL" for a model of any server
            with OpenAI's API, at OPENAI_BASE_URL and with OPENAI_API_KEY; "hash" for tests. Options may follow, which
            are the parameters of the model's class: "ollama:llama3?window=32768".
        timeout: Maximum seconds to wait for an answer, unless the spec has that option.

    Raises:
        InvalidParameterError: No language model has that name, or an option is unknown or wrong.
    """
    return make(LANGUAGE_MODELS, spec, timeout=timeout)


def resolve(model: object, timeout: float = TIMEOUT) -> LanguageModel:
    """Return the language model of a parameter value; equal specs share one object.

    Args:
        model: A spec as `create` takes it, a language model of kinsplit, a LlamaIndex `LLM`, a LangChain chat model, or
            a function from prompt to answer.
        timeout: Maximum seconds to wait for an answer of a model given by a spec; objects have limits of their own.

    Raises:
        InvalidParameterError: The value is none of these.
        LanguageModelError: The name describes an object, which can't be resolved.
    """
    if isinstance(model, str | ModelSpec):
        return _shared(str(model), timeout)
    if isinstance(model, LanguageModel):
        return model
    from kinsplit.language_models.frameworks import adapt

    return adapt(model)


@functools.lru_cache(maxsize=8)
def _shared(spec: str, timeout: float) -> LanguageModel:
    scheme, _, name = spec.partition(":")
    if scheme == "object":
        remedy = "Pass the object again: Index(..., strategy=create_strategy(name, model=...))."
        raise LanguageModelError(f"model: {name} is a Python object, which can't be found by its description. {remedy}")
    return create(spec, timeout)


_LONGEST_STEP = 8
_PIECE = 5


class HashModel:
    """Answers any schema with ascending numbers from 0 in steps that the prompt's hash determines.

    It needs no server, and a prompt always gets the same answer.
    """

    name = "hash"
    identity = None
    window = 1 << 20

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`; the answer is a JSON object with a list as the schema's first property."""
        del max_tokens
        digest = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass")).digest()
        numbers = list(accumulate((1 + byte % _LONGEST_STEP for byte in digest), initial=0))
        (key, *_) = (schema or {}).get("properties", {"numbers": None})
        return json.dumps({key: numbers})

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; the same answer, a few characters at a time."""
        answer = self.complete(prompt, max_tokens=max_tokens)
        for start in range(0, len(answer), _PIECE):
            yield answer[start : start + _PIECE]
        return False
