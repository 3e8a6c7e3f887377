"""Embedder for sentence-transformers models, on the backend that suits each best."""

from __future__ import annotations

import functools
import re
import threading
import warnings
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends import model_files
from kinsplit.embedding.backends.base import Backend, check_device, choose_device, sorted_batches
from kinsplit.embedding.backends.encoder import SentenceNetwork
from kinsplit.embedding.backends.model_cache import open_converted
from kinsplit.embedding.backends.numpy import NumpyBackend
from kinsplit.embedding.backends.openvino import has_openvino
from kinsplit.embedding.backends.torch import TorchBackend
from kinsplit.embedding.protocol import Progress, check_texts
from kinsplit.embedding.windows import Window, mean_of_windows, read_windows
from kinsplit.errors import EmbeddingError, KinsplitWarning, MissingExtraError, require
from kinsplit.identity import UNSTORED

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Ways to run a model.
BACKENDS = ("auto", "openvino", "openvino-float32", "int8", "numpy", "torch")


class BackendWarning(KinsplitWarning):
    """A model runs on PyTorch because it can't be read for a faster backend."""


class SentenceTransformerEmbedder:
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
        query_prompt: Prompt before a query, instead of the one that the model declares; "" for none.
        batch_tokens: Maximum number of tokens of a batch, including padding; None for the backend's default.

    Raises:
        InvalidParameterError: A value that is not listed here.
    """

    def __init__(
        self,
        model: str,
        backend: str = "auto",
        device: str = "auto",
        query_prompt: str | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        remedy = "Leave it out for the default."
        require(backend in BACKENDS, "backend", f"must be one of {', '.join(BACKENDS)}", backend, remedy)
        ok = backend in {"auto", "torch"} or device in {"auto", "cpu"}
        rule = f"must be 'cpu' for the backend {backend!r}"
        require(ok, "device", rule, device, "Leave the device out, or the backend.")
        require(batch_tokens is None or batch_tokens >= 1, "batch_tokens", "must be at least 1", batch_tokens, remedy)
        self.model, self.backend, self.device = model, backend, check_device(device)
        self.query_prompt, self.batch_tokens = query_prompt, batch_tokens
        self._lock = threading.RLock()
        self._opened: Backend | None = None
        # The texts embedded last with their windows, which indexing asks for next.
        self._last: tuple[list[str], list[int]] = ([], [])

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return self._spec(f"st:{self.model}")

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._open().facts.dimension

    @property
    def window(self) -> int:
        """Maximum number of tokens of one model input, including special tokens."""
        return self._open().facts.window

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own tokenizer, without truncation and padding."""
        return self._open().facts.tokenizer

    @property
    def runs_on(self) -> str:
        """Backend, precision and device, such as "openvino bfloat16"; loads the model."""
        return self._open().label

    @property
    def fingerprint(self) -> str:
        """Hash of the weights of a folder; the weights behind a name on the Hub are assumed fixed."""
        facts = self._open().facts
        weights = self._weights[:16] if Path(self.model).expanduser().is_dir() else self.model
        prompts = ":".join(filter(None, (facts.query_prompt, facts.document_prompt)))
        parts = f"st:{weights}:{facts.dimension}:{facts.window}:{prompts}".rstrip(":")
        return f"{parts}:int8" if self.backend == "int8" else parts

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Count the windows of each text."""
        texts, (last, counts) = check_texts(texts), self._last
        if texts != last:
            counts = [len(parts) for parts in self._read(texts, self._open().facts.document_prompt)]
        return list(counts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts for an index; see `Embedder.embed`."""
        texts = check_texts(texts)
        prompt = self._open().facts.document_prompt
        read = self._read(texts, prompt)
        self._last = (texts, [len(parts) for parts in read])
        return self._embed(read, prompt, progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the prompt for queries."""
        declared = self._open().facts.query_prompt
        prompt = declared if self.query_prompt is None else self.query_prompt
        vector: NDArray[np.float32] = self._embed(self._read(check_texts([text]), prompt), prompt, is_query=True)[0]
        return vector

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """Embed the tokens of texts; see `TokenEmbedder.embed_tokens`. A long text's windows follow one another."""
        opened = self._open()
        read = self._read(check_texts(texts), "")
        flat, batches = self._batches(read)
        found: dict[int, NDArray[np.float32]] = {}
        windows = [[flat[index] for index in batch] for batch in batches]
        for batch, vectors in zip(batches, opened.token_vectors(windows), strict=True):
            found |= {index: _own(flat[index], own) for index, own in zip(batch, vectors, strict=True)}
        ordered = iter(found[index] for index in range(len(flat)))
        return [np.concatenate([next(ordered) for _ in parts]) for parts in read]

    def _embed(
        self, read: list[list[Window]], prompt: str, progress: Progress | None = None, is_query: bool = False
    ) -> NDArray[np.float32]:
        opened = self._open()
        flat, batches = self._batches(read)
        vectors, done = np.empty((len(flat), opened.facts.dimension), dtype=np.float32), 0
        windows = [[flat[index] for index in batch] for batch in batches]
        for batch, found in zip(batches, opened.vectors(windows, prompt, is_query), strict=True):
            vectors[batch] = found
            done += len(batch)
            if progress:
                progress(done, len(flat))
        return mean_of_windows(vectors, [len(parts) for parts in read])

    def _read(self, texts: Sequence[str], prompt: str) -> list[list[Window]]:
        facts = self._open().facts
        return read_windows(texts, facts.tokenizer, facts.window, prompt)

    def _batches(self, read: Iterable[list[Window]]) -> tuple[list[Window], list[list[int]]]:
        flat = list(chain.from_iterable(read))
        most = self.batch_tokens or self._open().batch_tokens
        return flat, sorted_batches([len(window.encoding.ids) for window in flat], most)

    def _spec(self, model: str) -> str:
        backend, device = self.backend.replace("auto", ""), self.device.replace("auto", "")
        return ":".join(filter(None, (model, backend, device)))

    @functools.cached_property
    def _weights(self) -> str:
        return model_files.weights_digest(Path(self.model).expanduser())

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
        reason = model_files.why_not_convertible(folder) if folder else "it has no modules.json"
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
            return model_files.read_network(folder), model_files.declared_facts(folder)

        if self.backend == "numpy" or (self.backend == "auto" and not has_openvino()):
            return NumpyBackend(*read())
        if not has_openvino():
            remedy = "Run: pip install openvino; where it has no wheel, use the backend 'numpy'."
            raise EmbeddingError(f"The backend {self.backend!r} needs OpenVINO, which is not installed. {remedy}")
        return open_converted(self._key(folder), read, self.backend, self._probe_vectors())

    def _torch(self, device: str) -> TorchBackend:
        folder = self._checked_folder()
        return TorchBackend(self.model if folder is None else str(folder), device)


def _own(window: Window, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors of a window's tokens without special ones, each of length 1."""
    own = vectors[~np.array(window.encoding.special_tokens_mask, dtype=bool)]
    norms = np.linalg.norm(own, axis=1, keepdims=True)
    return np.asarray(own / np.maximum(norms, np.finfo(np.float32).tiny), dtype=np.float32)


# A model, its backend and its device.
_SPEC = re.compile(
    r"(.*?)(?::(auto|openvino|openvino-float32|int8|numpy|torch))?(?::(auto|cpu|mps|(?:cuda|xpu)(?::\d+)?))?", re.DOTALL
)


def split_spec(spec: str) -> tuple[str, str, str | None]:
    """Return a model's name without what follows it, the backend and the device, which may be left out."""
    found = _SPEC.fullmatch(spec)
    model, backend, device = found.groups() if found else (spec, None, None)
    return model, backend or "auto", device


def from_spec(rest: str) -> SentenceTransformerEmbedder:
    """Return the embedder of "st:" and a model's name or folder, which a backend and a device may follow.

    Raises:
        InvalidParameterError: The folder is one whose path a collection left out.
    """
    remedy = "Give the model again with its path, such as --set embedder=st:/PATH."
    rule = "is a model in a folder, whose path is not stored"
    require(not rest.startswith(f"{UNSTORED}/"), "embedder", rule, f"st:{rest}", remedy)
    model, backend, device = split_spec(rest)
    return SentenceTransformerEmbedder(model, backend, device or "auto")
