"""The backend that runs models in sentence-transformers itself: the reference, and the only one for GPUs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.base import Batch
from kinsplit.embedding.backends.model_files import ModelFacts, facts_of, repositories, unusable
from kinsplit.support.extras import check_repository, needs

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_BATCH_TOKENS = {"cpu": 4096}
#: Larger batches for a GPU.
_ON_A_GPU = 65_536


class TorchBackend:
    """A model that sentence-transformers runs in float32, used by one thread at a time.

    Its tokenizer is not thread-safe; PyTorch distributes each batch over the cores.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        EmbeddingError: The model can't be loaded.
    """

    def __init__(self, model: str, device: str, pooling: str | None = None) -> None:
        self.model = load_model(model, device)
        if pooling:
            self.model[1].pooling_mode = pooling
        self.label = f"torch float32 on {device}"
        self.facts: ModelFacts = facts_of(self.model, model)
        self.batch_tokens = _BATCH_TOKENS.get(device, _ON_A_GPU)
        self._lock = threading.Lock()

    def vectors(self, batches: Sequence[Batch], prompt: str, is_query: bool) -> Iterator[NDArray[np.float32]]:
        """See `Backend.vectors`."""
        encode = self.model.encode_query if is_query else self.model.encode_document
        for batch in batches:
            texts = [window.text for window in batch]
            with self._lock:
                found = encode(
                    texts, prompt=prompt, batch_size=len(texts), show_progress_bar=False, normalize_embeddings=True
                )
            yield np.asarray(found, dtype=np.float32)

    def token_vectors(self, batches: Sequence[Batch]) -> Iterator[list[NDArray[np.float32]]]:
        """See `Backend.token_vectors`."""
        options: Any = {"prompt": "", "show_progress_bar": False, "output_value": "token_embeddings"}
        for batch in batches:
            with self._lock:
                found: Any = self.model.encode([window.text for window in batch], batch_size=len(batch), **options)
            pairs = zip(batch, found, strict=True)
            yield [tokens.cpu().numpy()[: len(window.encoding.ids)] for window, tokens in pairs]


def load_model(name: str, device: str = "cpu") -> SentenceTransformer:
    """Load a model without output.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        EmbeddingError: The model can't be loaded.
    """
    with needs("torch"):
        from sentence_transformers import SentenceTransformer
    try:
        if not Path(name).exists():
            check_repository(*repositories(name))
        with quiet():
            return SentenceTransformer(name, device=device, local_files_only=Path(name).is_dir())
    except Exception as error:  # The libraries raise exceptions of any kind.
        raise unusable(name, error) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loader's progress bars and hints off the terminal."""
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
