"""Registry of embedders, and verification of their files."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from kinsplit.embedding.backends.model_files import damage, difference
from kinsplit.embedding.cached import with_cache
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.identity import UNSTORED
from kinsplit.model_servers.secrets import redact_url
from kinsplit.model_servers.specs import split_options
from kinsplit.support.environment import Setting, cache_folder, check_address, look_up


def names() -> list[str]:
    """Return the forms of a spec that `create` takes."""
    return [
        *("bundled", "hash", "hash:DIMENSION", "st:NAME_OR_PATH", "static", "static:FOLDER"),
        *("openai:MODEL", "ollama:MODEL", "litellm:PROVIDER/MODEL"),
    ]


def create(spec: str) -> Embedder:
    """Create an embedder; nothing is loaded before its first use.

    Args:
        spec: "bundled" for the all-MiniLM-L6-v2 that comes with kinsplit, "st:NAME_OR_PATH" for any
            sentence-transformers model, "static" for the static model distilled from the bundled one at first use,
            "static:FOLDER" for any model of model2vec, "hash" or "hash:DIMENSION" for tests. A backend and a device may
            follow the first two: "bundled:int8", "st:BAAI/bge-m3:torch", "st:BAAI/bge-m3:cuda"; see
            `kinsplit.embedding.sentence_transformer.SentenceTransformerEmbedder`. Models on servers are
            "openai:MODEL" for OpenAI and every server with its API, "ollama:MODEL" and "litellm:PROVIDER/MODEL";
            options may follow: "openai:text-embedding-3-large:dimensions=1024,window=2000",
            "openai:bge-m3:base_url=http://localhost:8000/v1".

    Raises:
        InvalidParameterError: No embedder has that name.
    """
    scheme, colon, rest = spec.partition(":")
    maker = _MAKERS.get(scheme)
    if maker is None or (bool(colon) != bool(rest)):
        raise InvalidParameterError("embedder", f"must be one of {', '.join(names())}", spec, "Check the spelling.")
    return maker(spec, rest)


def resolve(embedder: object) -> Embedder:
    """Return the embedder of a parameter value; equal specs share one object, whose model loads once.

    Inside `kinsplit.embedding.use_vector_cache` it computes only the vectors that the cache lacks.

    Args:
        embedder: A spec as `create` takes it, an embedder, an embedding object of LlamaIndex or LangChain, or any
            object with `embed(texts)` (see `kinsplit.embedding.foreign.ForeignEmbedder`, which also takes its window).

    Raises:
        InvalidParameterError: No embedder has that name, or the object is not an embedder.
        EmbeddingError: The name describes an object, which can't be resolved.
    """
    if isinstance(embedder, str):
        return with_cache(_shared(embedder))
    if all(hasattr(embedder, method) for method in ("embed", "embed_query", "windows")):
        return with_cache(cast("Embedder", embedder))
    return with_cache(_adapted(_Same(embedder)))


class _Same:
    """An object as a key, equal only to itself, whatever its own `__eq__` says."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


@functools.lru_cache(maxsize=8)
def _adapted(same: _Same) -> Embedder:
    from kinsplit.embedding.foreign import ForeignEmbedder

    return ForeignEmbedder(same.value)


@functools.lru_cache(maxsize=8)
def _shared(spec: str) -> Embedder:
    scheme, _, name = spec.partition(":")
    if scheme == "object":
        raise EmbeddingError(
            f"embedder: {name} is a Python object, which can't be found by its description. "
            "Pass the object again: Index(..., strategy=create_strategy(name, embedder=...))."
        )
    return create(spec)


class Checked(NamedTuple):
    """A file or a folder of a model.

    Attributes:
        path: Path of the file or the folder.
        problem: Damage that was found; None without any.
    """

    path: Path
    problem: str | None


def verify(spec: str) -> list[Checked]:
    """Read every file of a model, and compare it with what was published or signed.

    Args:
        spec: Name of the model; see `create`.

    Returns:
        The model's own files with a known sha256, and the folders that were made from it on this machine.

    Raises:
        InvalidParameterError: No embedder has that name, or it has no files.
        EmbeddingError: The model's files are not on this machine.
    """
    from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder
    from kinsplit.embedding.static import NAME, StaticEmbedder

    embedder = create(spec)
    if isinstance(embedder, StaticEmbedder) and embedder.folder is None:
        return _derived(NAME)
    if isinstance(embedder, SentenceTransformerEmbedder):
        own = [Checked(path, difference(path, digest)) for path, digest in embedder.digests().items()]
        return [*own, *_derived(f"{embedder.key()}-*")]
    raise InvalidParameterError("model", "must be a model whose files are known", spec, "Give 'bundled' or 'st:NAME'.")


def _derived(pattern: str) -> list[Checked]:
    folders = (path for path in sorted((cache_folder() / "models").glob(pattern)) if path.is_dir())
    return [Checked(folder, damage(folder, full=True)) for folder in folders]


# A model's spec, its backend and its device.
_OPTIONS = re.compile(
    r"(.*?)(?::(auto|openvino|openvino-float32|int8|numpy|torch))?(?::(auto|cpu|mps|(?:cuda|xpu)(?::\d+)?))?", re.DOTALL
)


def _options(spec: str) -> tuple[str, str, str | None]:
    """Return a model's spec without its options, the backend and the device."""
    found = _OPTIONS.fullmatch(spec)
    model, backend, device = found.groups() if found else (spec, None, None)
    return model, backend or "auto", device


def _bundled(spec: str, _: str) -> Embedder:
    from kinsplit.embedding.bundled import BundledEmbedder

    model, backend, device = _options(spec)
    if model != "bundled":
        remedy = "Write for example 'bundled' or 'bundled:int8'."
        raise InvalidParameterError("embedder", "'bundled' takes only a backend and a device after it", spec, remedy)
    return BundledEmbedder(backend, device or "cpu")


def _hash(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.hashing import HashEmbedder

    if rest and not rest.isdecimal():
        raise InvalidParameterError("embedder", "'hash:' takes a dimension", spec, "Write for example 'hash:64'.")
    return HashEmbedder(int(rest)) if rest else HashEmbedder()


def _sentence_transformer(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder

    if not rest:
        remedy = "Write for example 'st:BAAI/bge-m3' or 'st:./my-model'."
        raise InvalidParameterError("embedder", "'st:' takes a model's name or folder", spec, remedy)
    if rest.startswith(f"{UNSTORED}/"):
        remedy = "Give the model again with its path, such as --set embedder=st:/PATH."
        raise InvalidParameterError("embedder", "is a model in a folder, whose path is not stored", spec, remedy)
    model, backend, device = _options(spec)
    return SentenceTransformerEmbedder(model.removeprefix("st:"), backend, device or "auto")


def _static(_: str, rest: str) -> Embedder:
    from kinsplit.embedding.static import StaticEmbedder

    return StaticEmbedder(rest or None)


_NUMBERS = ("dimensions", "window")
_URL = "base_url"


def _remote(spec: str, rest: str, *urls: str) -> tuple[str, dict[str, Any]]:
    """Return the model on a server and its options.

    Args:
        spec: The spec, for errors.
        rest: What follows its scheme.
        *urls: Options that are addresses.
    """
    model, options = split_options("embedder", spec, rest, (*_NUMBERS, *urls))
    for name in _NUMBERS:
        if name in options and not options[name].isdecimal():
            remedy = f"Write for example {name}=512."
            raise InvalidParameterError("embedder", f"{name} must be a number", redact_url(spec), remedy)
    if not model:
        remedy = "Write for example 'openai:text-embedding-3-small'."
        raise InvalidParameterError("embedder", "must name a model after its scheme", spec, remedy)
    return model, {name: int(value) if name in _NUMBERS else value for name, value in options.items()}


def check_source(spec: Setting) -> None:
    """Check that no key goes to an address in a spec that comes from a less trusted source.

    Raises:
        InvalidParameterError: The key is trusted more than the source of the spec.
    """
    scheme, _, rest = spec.value.partition(":")
    if scheme == "openai" and _URL in _remote(spec.value, rest, _URL)[1]:
        from kinsplit.model_servers.clients import OPENAI_KEY

        check_address(spec, look_up(OPENAI_KEY))


def _openai(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.remote_models.clients import OpenAIEmbedder
    from kinsplit.model_servers.clients import required_address

    model, options = _remote(spec, rest, _URL)
    if options.get(_URL) == UNSTORED:
        options[_URL] = required_address(model)
    return OpenAIEmbedder(model, **options)


def _ollama(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.remote_models.clients import OllamaEmbedder

    model, options = _remote(spec, rest)
    return OllamaEmbedder(model, **options)


def _litellm(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.remote_models.clients import LiteLLMEmbedder

    model, options = _remote(spec, rest)
    return LiteLLMEmbedder(model, **options)


_MAKERS: dict[str, Callable[[str, str], Embedder]] = {
    "bundled": _bundled,
    "hash": _hash,
    "st": _sentence_transformer,
    "static": _static,
    "openai": _openai,
    "ollama": _ollama,
    "litellm": _litellm,
}
