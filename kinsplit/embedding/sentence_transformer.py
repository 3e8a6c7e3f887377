"""Any sentence-transformers model, on the CPU."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import Progress
from kinsplit.embedding.texts import check_texts
from kinsplit.embedding.windows import mean_of_windows, split_texts
from kinsplit.errors import EmbeddingError, InvalidParameterError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer


class SentenceTransformerEmbedder:
    """A dense embedder around `sentence_transformers.SentenceTransformer`.

    The model loads at first use, without output, and is used by one thread at a time (its tokenizer is not made for
    more); PyTorch spreads each batch over the cores.

    Args:
        model: Name on the Hugging Face Hub, or a folder.
        batch_size: Model inputs per batch.
    """

    def __init__(self, model: str, batch_size: int = 32) -> None:
        if batch_size < 1:
            raise InvalidParameterError("batch_size", "must be at least 1", batch_size, "Leave it out for 32.")
        self.model = model
        self.batch_size = batch_size
        self._lock = threading.RLock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return f"st:{self.model}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._load().dimension

    @property
    def window(self) -> int:
        """Most tokens that the model reads at once, special tokens included."""
        return self._load().window

    @property
    def fingerprint(self) -> str:
        """Hash of the weights for a folder; a name on the Hub is trusted to keep its weights."""
        loaded, folder = self._load(), Path(self.model).expanduser()
        weights = _digest(folder)[:16] if folder.is_dir() else self.model
        prompts = ":".join(filter(None, (loaded.query_prompt, loaded.document_prompt)))
        return f"st:{weights}:{loaded.dimension}:{loaded.window}:{prompts}".rstrip(":")

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        loaded = self._load()
        slices = split_texts(check_texts(texts), loaded.tokenizer, loaded.budget(loaded.document_prompt))
        return [len(parts) for parts in slices]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts that will be searched; see `Embedder.embed`."""
        loaded = self._load()
        texts = check_texts(texts)
        slices = split_texts(texts, loaded.tokenizer, loaded.budget(loaded.document_prompt))
        flat = list(chain.from_iterable(slices))
        # Like lengths together, so that little is padded; the longest first, so that memory is short at once or never.
        order = sorted(range(len(flat)), key=lambda index: -len(flat[index]))
        vectors = np.empty((len(flat), loaded.dimension), dtype=np.float32)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            vectors[batch] = self._encode(loaded.model.encode_document, batch, flat, loaded.document_prompt)
            if progress:
                progress(start + len(batch), len(order))
        return mean_of_windows(vectors, [len(parts) for parts in slices])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question, with the model's own prompt for questions."""
        loaded = self._load()
        (slices,) = split_texts(check_texts([text]), loaded.tokenizer, loaded.budget(loaded.query_prompt))
        vectors = self._encode(loaded.model.encode_query, range(len(slices)), slices, loaded.query_prompt)
        vector: NDArray[np.float32] = mean_of_windows(vectors, [len(slices)])[0]
        return vector

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts; see `TokenEmbedder.embed_tokens`. A long text's windows follow one another."""
        loaded = self._load()
        slices = split_texts(check_texts(texts), loaded.tokenizer, loaded.budget(""))
        flat = list(chain.from_iterable(slices))
        with self._lock:
            found = loaded.model.encode(
                flat, batch_size=self.batch_size, show_progress_bar=False, output_value="token_embeddings"
            )
        vectors = iter(loaded.without_special(text, tokens.numpy()) for text, tokens in zip(flat, found, strict=True))
        empty = np.zeros((0, loaded.dimension), dtype=np.float32)
        return [np.concatenate([empty, *(next(vectors) for _ in parts)]) for parts in slices]

    def _encode(
        self, encode: Callable[..., object], batch: Sequence[int], texts: list[str], prompt: str
    ) -> NDArray[np.float32]:
        with self._lock:
            return np.asarray(
                encode(
                    [texts[index] for index in batch],
                    prompt=prompt,
                    batch_size=self.batch_size,
                    show_progress_bar=False,
                    normalize_embeddings=True,
                ),
                dtype=np.float32,
            )

    def _folder_or_name(self) -> str:
        """Return what to load; a subclass checks it here."""
        path = Path(self.model).expanduser()
        if path.exists():
            return str(path)
        if self.model.startswith((".", "/", "~")):
            raise EmbeddingError(f"There is no embedding model at {path}. Check the path in {self.name!r}.")
        return self.model

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder_or_name())
            return self._loaded


@dataclass(frozen=True, slots=True, eq=False)
class _Loaded:
    model: SentenceTransformer
    tokenizer: Tokenizer
    dimension: int
    window: int
    query_prompt: str
    document_prompt: str

    def budget(self, prompt: str) -> int:
        """Tokens left for the text itself."""
        taken = self.tokenizer.num_special_tokens_to_add(False)
        taken += len(self.tokenizer.encode(prompt, add_special_tokens=False).ids) if prompt else 0
        if self.window <= taken:
            raise EmbeddingError(
                f"The model's window of {self.window} tokens leaves none beside its prompt {prompt!r}."
            )
        return self.window - taken

    def without_special(self, text: str, tokens: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the vectors of the text's own tokens, each of length 1."""
        special = np.array(self.tokenizer.encode(text).special_tokens_mask, dtype=bool)
        own = tokens[: len(special)][~special]
        norms = np.linalg.norm(own, axis=1, keepdims=True)
        return np.asarray(own / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)


def _load(folder_or_name: str) -> _Loaded:
    from tokenizers import Tokenizer

    try:
        from sentence_transformers import SentenceTransformer

        with _quiet():
            model = SentenceTransformer(folder_or_name, device="cpu", local_files_only=Path(folder_or_name).is_dir())
            dimension = len(model.encode("dimension", show_progress_bar=False))
    except Exception as error:  # The libraries below raise whatever they like.
        raise EmbeddingError(
            f"The embedding model {folder_or_name!r} can't be loaded: {error}. Give the name of a "
            "sentence-transformers model that this machine can reach, or a folder that holds one."
        ) from error
    backend = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
    if not isinstance(backend, Tokenizer):
        raise EmbeddingError(f"The embedding model {folder_or_name!r} has no fast tokenizer (tokenizer.json).")
    # A copy: the model sets truncation and padding on its own at every call.
    tokenizer = Tokenizer.from_str(backend.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    prompts = model.prompts
    documents = (prompts.get(key) or "" for key in ("document", "passage", "corpus"))
    window = model.max_seq_length or sys.maxsize
    return _Loaded(model, tokenizer, dimension, window, prompts.get("query") or "", next(filter(None, documents), ""))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the loader's bars and hints off the terminal."""
    logging: Any = import_module("transformers.utils.logging")  # It has no annotations.
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _digest(folder: Path) -> str:
    """Hash every file of weights below a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in {".safetensors", ".bin"}):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
