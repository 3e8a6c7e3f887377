"""Embedder for sentence-transformers models, on the backend that suits each best."""

from __future__ import annotations

import functools
import re
import threading
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends import model_files
from kinsplit.embedding.backends.base import Backend, check_device, choose_device, sorted_batches
from kinsplit.embedding.backends.encoder import SentenceNetwork
from kinsplit.embedding.backends.model_cache import open_converted
from kinsplit.embedding.backends.numpy import NumpyBackend
from kinsplit.embedding.backends.openvino import has_openvino
from kinsplit.embedding.backends.torch import TorchBackend
from kinsplit.embedding.protocol import CardedEmbedder, Progress, check_texts
from kinsplit.embedding.windows import Window, mean_of_windows, read_windows
from kinsplit.errors import EmbeddingError, KinsplitWarning, MissingExtraError, require
from kinsplit.identity import UNSTORED
from kinsplit.models import ModelCard, option_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Ways to run a model.
BACKENDS = ("auto", "openvino", "openvino-float32", "int8", "numpy", "torch")


# What the authors of E5 prescribe, and the files of their models don't declare.
_E5 = re.compile(r"(multilingual-)?e5-(small|base|large)(-v2)?")
_E5_PREFIXES = {"query_prefix": "query: ", "passage_prefix": "passage: "}


class BackendWarning(KinsplitWarning):
    """A model runs on PyTorch because it can't be read for a faster backend."""


class SentenceTransformerEmbedder(CardedEmbedder):
    """A dense embedder for a model of sentence-transformers, which loads at first use, without output.

    On a CPU, an encoder of the BERT family is read from its own files and converted once for OpenVINO, which is several
    times faster than PyTorch, and stored in the cache folder; it uses bfloat16 where the CPU supports that. Where
    OpenVINO is not installed, because there are no wheels for the platform, NumPy computes the same in float32. Neither
    needs PyTorch. All other models, and every model on a GPU, run in sentence-transformers itself in float32, which the
    extra "torch" installs. All give nearly the same vectors (cosine 0.9999 and above) and share a fingerprint; "int8"
    gives other vectors and has its own fingerprint.

    Args:
        model: Name on the Hugging Face Hub, or a folder.
        backend: "auto"; "openvino", also with "-float32" for full precision; "numpy"; "int8", which is even faster,
            less exact, and needs the extra of that name; or "torch", the reference.
        device: "cpu", "cuda", "cuda:1", "mps", "xpu", or "auto" for the fastest one available. Backends other than
            "auto" and "torch" run on the CPU.
        query_prefix: Text before each question, instead of the one that the model declares; "" for none.
        passage_prefix: Text before each text for an index, likewise.
        pooling: How the vectors of tokens become one, instead of what the model declares: "mean", "cls", or with the
            backend "torch" another mode of sentence-transformers.
        window: Maximum number of tokens of one input, at most the model's own.
        dimensions: Length to which vectors are cut, for models that allow it (Matryoshka); see `ModelCard.dimensions`.
        batch_tokens: Maximum number of tokens of a batch, including padding; None for the backend's default.

    Raises:
        InvalidParameterError: A value that is not listed here.
    """

    def __init__(
        self,
        model: str,
        backend: str = "auto",
        device: str = "auto",
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        pooling: str | None = None,
        window: int | None = None,
        dimensions: int | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        rule = "is a model in a folder, whose path is not stored"
        given = "Give the model again with its path, such as --set embedder=st:/PATH."
        require(not model.startswith(f"{UNSTORED}/"), "embedder", rule, f"st:{model}", given)
        remedy = "Leave it out for the default."
        require(backend in BACKENDS, "backend", f"must be one of {', '.join(BACKENDS)}", backend, remedy)
        ok = backend in {"auto", "torch"} or device in {"auto", "cpu"}
        rule = f"must be 'cpu' for the backend {backend!r}"
        require(ok, "device", rule, device, "Leave the device out, or the backend.")
        for field, value in (("batch_tokens", batch_tokens), ("window", window), ("dimensions", dimensions)):
            require(value is None or value >= 1, field, "must be at least 1", value, remedy)
        self.model, self.backend, self.device = model, backend, check_device(device)
        self.pooling, self.batch_tokens = pooling, batch_tokens
        asked = {"window": window, "dimension": dimensions, "pooling": pooling, "query_prefix": query_prefix}
        self._asked = {**asked, "passage_prefix": passage_prefix}
        self._lock = threading.RLock()
        self._opened: Backend | None = None
        # The texts embedded last with their windows, which indexing asks for next.
        self._last: tuple[list[str], list[int]] = ([], [])

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        device = None if self.device == "auto" else self.device
        asked = {"dimensions" if key == "dimension" else key: value for key, value in self._asked.items()}
        return f"st:{self.model}{option_text({'backend': self._backend, 'device': device, **asked})}"

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer, without truncation and padding."""
        return self._open().facts.tokenizer

    @property
    def runs_on(self) -> str:
        """Backend, precision and device, such as "openvino bfloat16"; loads the model."""
        return self._open().label

    @functools.cached_property
    def card(self) -> ModelCard:
        """The card: the weights of a folder are known by a hash, those behind a name on the Hub are assumed fixed."""
        declared, folder = self._open().facts.card, Path(self.model).expanduser()
        asked = {name: value for name, value in self._asked.items() if value is not None}
        for name in asked.keys() & {"window", "dimension"}:
            most, field = getattr(declared, name), "dimensions" if name == "dimension" else name
            rule = f"must be at most the model's own, {most}"
            require(asked[name] <= most, field, rule, asked[name], "Leave it out for that.")
        weights = model_files.weights_digest(folder)[:16] if folder.is_dir() else self.model
        declares = declared.query_prefix or declared.passage_prefix
        known = _E5_PREFIXES if _E5.fullmatch(folder.name) and not declares else {}
        return declared.model_copy(update={**known, **asked, "weights": self._precise(f"st:{weights}")})

    def _precise(self, weights: str) -> str:
        """Return the identity of weights with their precision, if that changes the vectors."""
        return f"{weights}:int8" if self.backend == "int8" else weights

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        texts, (last, counts) = check_texts(texts), self._last
        if texts != last:
            counts = [len(parts) for parts in self._read(texts, self.card.passage_prefix)]
        return list(counts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts for an index; see `Embedder.embed`."""
        texts = check_texts(texts)
        prompt = self.card.passage_prefix
        read = self._read(texts, prompt)
        self._last = (texts, [len(parts) for parts in read])
        return self._embed(read, prompt, progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the prompt for queries."""
        vector: NDArray[np.float32] = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries together; see `QuestionEmbedder`."""
        prompt = self.card.query_prefix
        return self._embed(self._read(check_texts(texts), prompt), prompt, is_query=True)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts; see `TokenEmbedder.embed_tokens`. A long text's windows follow one another."""
        opened = self._open()
        read = self._read(check_texts(texts), "")
        flat, batches = self._batches(read)
        found: dict[int, NDArray[np.float32]] = {}
        windows = [[flat[index] for index in batch] for batch in batches]
        for batch, vectors in zip(batches, opened.token_vectors(windows), strict=True):
            found |= {index: self._cut(_own(flat[index], own)) for index, own in zip(batch, vectors, strict=True)}
        ordered = iter(found[index] for index in range(len(flat)))
        return [np.concatenate([next(ordered) for _ in parts]) for parts in read]

    def reference(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts for an index in sentence-transformers itself, to compare; a text beyond the window is cut off.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
        """
        loaded = self._torch("cpu").model
        options: Any = {"normalize_embeddings": True, "show_progress_bar": False}
        return self._cut(loaded.encode(list(texts), prompt=self.card.passage_prefix, **options))

    def _embed(
        self, read: list[list[Window]], prompt: str, progress: Progress | None = None, is_query: bool = False
    ) -> NDArray[np.float32]:
        opened = self._open()
        flat, batches = self._batches(read)
        vectors, done = np.empty((len(flat), self.dimension), dtype=np.float32), 0
        windows = [[flat[index] for index in batch] for batch in batches]
        for batch, found in zip(batches, opened.vectors(windows, prompt, is_query), strict=True):
            vectors[batch] = self._cut(found)
            done += len(batch)
            if progress:
                progress(done, len(flat))
        return mean_of_windows(vectors, [len(parts) for parts in read])

    def _cut(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return vectors in the requested length; the model has scaled them to length 1 already."""
        if self._asked["dimension"] is None:
            return vectors
        cut = vectors[:, : self.dimension]
        return np.asarray(cut / np.maximum(np.linalg.norm(cut, axis=1, keepdims=True), np.finfo(np.float32).tiny))

    def _read(self, texts: Sequence[str], prompt: str) -> list[list[Window]]:
        return read_windows(texts, self._open().facts.tokenizer, self.window, prompt)

    def _batches(self, read: Iterable[list[Window]]) -> tuple[list[Window], list[list[int]]]:
        flat = list(chain.from_iterable(read))
        most = self.batch_tokens or self._open().batch_tokens
        return flat, sorted_batches([len(window.encoding.ids) for window in flat], most)

    @property
    def _backend(self) -> str | None:
        """The backend, if one was chosen."""
        return None if self.backend == "auto" else self.backend

    def _key(self, folder: Path) -> str:
        """Return a key of all that affects the vectors of the model in a folder; in the Hub's cache, its commit."""
        return model_files.model_key(self.model, folder)

    def _folder(self) -> Path | None:
        """Return the folder of the model's files; None if they are not on this machine yet."""
        return model_files.find_folder(self.model)

    def digests(self) -> dict[Path, str]:
        """Return the model's own files with a known sha256, which are the large ones of the Hub's cache.

        Raises:
            EmbeddingError: The files are not on this machine.
        """
        return model_files.known_digests(self._present())

    def key(self) -> str:
        """Return the prefix of the folders that are made from this model; see `digests`."""
        return self._key(self._present())

    def _present(self) -> Path:
        folder = self._folder()
        if folder is None:
            raise EmbeddingError(f"The embedding model {self.model!r} is not on this machine. Use it once.")
        return folder

    _remedy = "Delete the model from the Hugging Face cache, and it is fetched again."

    def _checked_folder(self) -> Path | None:
        """Return the model's folder once its files are checked; None if they are not on this machine yet."""
        folder = self._folder()
        if folder is not None:
            model_files.check_files(self.digests(), self._remedy)
        return folder

    def _probe_vectors(self) -> NDArray[np.float32] | None:
        """Return the vectors of `kinsplit.embedding.backends.model_cache.PROBE`, if they are known."""
        return None

    def _open(self) -> Backend:
        with self._lock:
            if self._opened is None:
                self._opened = self._choose()
            return self._opened

    def _choose(self) -> Backend:
        device = choose_device(self.device) if self.backend in {"auto", "torch"} else "cpu"
        if device != "cpu" or self.backend == "torch":
            return self._torch(device)
        folder = self._folder() or model_files.fetch(self.model)
        reason = model_files.why_not_convertible(folder, self.pooling) if folder else "it has no modules.json"
        if folder and reason is None:
            return self._read_or_convert(folder)
        self._checked_folder()  # The reason may be damage.
        if self.backend != "auto":
            raise EmbeddingError(f"{self.model!r} can't be converted: {reason}. Use the backend 'torch' for it.")
        try:
            loaded = self._torch(device)
        except MissingExtraError:
            warnings.warn(f"The embedding model {self.model!r} needs PyTorch: {reason}.", BackendWarning, stacklevel=2)
            raise
        rule = f"The embedding model {self.model!r} runs on PyTorch and not on the faster OpenVINO: {reason}"
        warnings.warn(f"{rule}. The backend 'torch' says that this is wanted.", BackendWarning, stacklevel=2)
        return loaded

    def _read_or_convert(self, folder: Path) -> Backend:
        def read() -> tuple[SentenceNetwork, model_files.ModelFacts]:
            self._checked_folder()
            return model_files.read_network(folder, self.pooling), model_files.declared_facts(folder)

        if self.backend == "numpy" or (self.backend == "auto" and not has_openvino()):
            return NumpyBackend(*read())
        if not has_openvino():
            remedy = "Run: pip install openvino; where it has no wheel, use the backend 'numpy'."
            raise EmbeddingError(f"The backend {self.backend!r} needs OpenVINO, which is not installed. {remedy}")
        key = "-".join(filter(None, (self._key(folder), self.pooling)))
        return open_converted(key, read, self.backend, self._probe_vectors())

    def _torch(self, device: str) -> TorchBackend:
        folder = self._checked_folder()
        return TorchBackend(self.model if folder is None else str(folder), device, self.pooling)


def _own(window: Window, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors of a window's tokens without special ones, each of length 1."""
    own = vectors[~np.array(window.encoding.special_tokens_mask, dtype=bool)]
    norms = np.linalg.norm(own, axis=1, keepdims=True)
    return np.asarray(own / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)
