"""Static models of model2vec: the vector of a text is the mean of its tokens' vectors from a table.

Ten thousand sentences take a tenth of a second, which is why semantic strategies use them. model2vec (Tulkens & van
Dongen 2024) creates them; reading them needs neither model2vec nor torch.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.model_cache import read_cached
from kinsplit.embedding.backends.model_files import check_files, licence_of
from kinsplit.embedding.bundled import REMEDY, SHA256, digests, model_folder
from kinsplit.embedding.protocol import CardedEmbedder, Progress, check_texts, unit_vectors
from kinsplit.errors import EmbeddingError
from kinsplit.models import ModelCard
from kinsplit.support.extras import needs
from kinsplit.tokenizers import JsonTokenizer

# Dimensions that remain of 384, and the reduction of frequent words: model2vec's own defaults, stated here because they
# determine the vectors.
_DIMENSIONS = 256
_SIF = 1e-4
# Raise it when anything here changes.
_RECIPE = 1

#: Name of the distilled model's folder.
NAME = f"static-all-MiniLM-L6-v2-{SHA256[:8]}-{_RECIPE}"

T = TypeVar("T")


def read_distilled(read: Callable[[Path], T]) -> T:
    """Read the folder of the static model; if it is missing, distil it first, which takes 16 seconds on two cores.

    Raises:
        MissingExtraError: The model has to be distilled, and model2vec is not installed.
        EmbeddingError: The bundled model is damaged, or the cache folder can't be used.
    """
    return read_cached(NAME, _distil_bundled, read)


def _distil_bundled(folder: Path) -> None:
    check_files(digests(), REMEDY)
    distil(model_folder(), folder)


def distil(source: Path, folder: Path) -> None:
    """Distil a static model from a transformer: the vector of a token is that of the token as a text of its own.

    Raises:
        MissingExtraError: model2vec is not installed.
    """
    with needs("static"):
        from model2vec.distill import distill
    from kinsplit.embedding.backends.torch import quiet

    # Progress bars and messages are not for the caller.
    with quiet(), contextlib.redirect_stderr(io.StringIO()):
        distill(str(source), pca_dims=_DIMENSIONS, sif_coefficient=_SIF, device="cpu").save_pretrained(folder)


# Characters per batch: enough for tokie to use every core, few enough to limit the memory for token ids.
_CHARACTERS = 1_000_000


class StaticEmbedder(CardedEmbedder):
    """A table of token vectors. It reads texts of any length, so there are no windows.

    A text without any token in the table, such as blank text, gets the vector of the unknown token.

    Args:
        folder: Folder of a model that model2vec saved. None takes the one distilled from the bundled model at first use
            (see `kinsplit.embedding.static`).
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._loaded: _Table | None = None

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return "static" if self.folder is None else f"static:{self.folder}"

    @property
    def card(self) -> ModelCard:
        """The card; its weights are a hash, since models distilled on two machines differ in the last digits."""
        return self._load().card

    def reference(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts in model2vec itself, to compare.

        Raises:
            MissingExtraError: model2vec is not installed.
        """
        with needs("static"):
            from model2vec import StaticModel
        read = StaticModel.from_pretrained
        model = read(self.folder) if self.folder is not None else read_distilled(read)
        return unit_vectors(model.encode(list(texts)), len(texts), self.name)

    def windows(self, texts: Sequence[str]) -> list[int]:
        """Return 1 for each text."""
        return [1] * len(check_texts(texts))

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        """Embed texts; see `Embedder.embed`."""
        table, texts = self._load(), check_texts(texts)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        begin = 0
        while begin < len(texts):
            end, characters = begin, 0
            while end < len(texts) and (end == begin or characters + len(texts[end]) <= _CHARACTERS):
                characters += len(texts[end])
                end += 1
            vectors[begin:end] = table.embed(texts[begin:end])
            begin = end
            if progress:
                progress(begin, len(texts))
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query like any other text."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _load(self) -> _Table:
        with self._lock:
            if self._loaded is None:
                own = self.folder
                self._loaded = read_distilled(_load) if own is None else _load(Path(own).expanduser())
            return self._loaded


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    rows: NDArray[np.float32]  # Weighted vector of each token id, float32[tokens, dimension].
    tokenizer: JsonTokenizer
    unknown: int | None  # Id of the unknown token; None if there is none.
    card: ModelCard

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with needs("static"):
            from scipy.sparse import csr_array

        ids, counts = self.tokenizer.encode(texts)
        known = (ids != -1 if self.unknown is None else ids != self.unknown).astype(np.float32)
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        # Texts as rows of a sparse matrix: several times faster than summing indexed vectors.
        used = csr_array((known, ids.astype(np.int32), ends), shape=(len(texts), len(self.rows)))
        sums = np.asarray(used @ self.rows, dtype=np.float32)
        # numpy's norm would copy them.
        lengths = np.sqrt(np.einsum("td,td->t", sums, sums))
        if not lengths.all():
            sums[lengths == 0], lengths[lengths == 0] = self._nothing(), 1
        sums /= lengths[:, None]
        return sums

    def _nothing(self) -> NDArray[np.float32]:
        """Return the direction of a text without known tokens."""
        row = self.rows[self.unknown or 0]
        length = float(np.linalg.norm(row))
        return np.asarray(row / length if length else np.eye(1, len(row))[0], dtype=np.float32)


def _load(folder: Path) -> _Table:
    with needs("static"):
        from safetensors.numpy import load
        from tokenizers import Tokenizer

    try:
        weights, tokenizer = (folder / "model.safetensors").read_bytes(), (folder / "tokenizer.json").read_bytes()
        tensors = load(weights)
        table = tensors.get("embeddings", tensors.get("embedding.weight"))
        model = json.loads(tokenizer)["model"]
        ids = Tokenizer.from_buffer(tokenizer).get_vocab()
    except Exception as error:  # tokenizers raises nothing narrower.
        raise _unusable(folder, str(error)) from error
    if table is None or table.ndim != 2:
        raise _unusable(folder, f"model.safetensors holds {', '.join(tensors)}, and no table called embeddings")
    rows = table.astype(np.float32)
    # model2vec has quantised the vocabulary: several tokens share a row, each with a weight.
    if "mapping" in tensors:
        rows = rows[tensors["mapping"]]
    if "weights" in tensors:
        rows = rows * tensors["weights"].astype(np.float32)[:, None]
    if max(ids.values(), default=-1) >= len(rows) or not np.isfinite(rows).all():
        raise _unusable(folder, f"its {len(rows)} vectors are not one finite vector for each of {len(ids)} tokens")
    unknown = model["unk_id"] if "unk_id" in model else ids.get(model.get("unk_token"))
    digest = hashlib.blake2b(weights + tokenizer, digest_size=8).hexdigest()
    card = ModelCard(
        weights=f"static:{digest}",
        dimension=rows.shape[1],
        window=sys.maxsize,
        pooling="mean",
        tokenizer=f"{model['type']}/{len(ids)}",
        **licence_of(folder),
    )
    return _Table(rows, JsonTokenizer(str(folder), tokenizer), unknown, card)


def _unusable(folder: Path, reason: str) -> EmbeddingError:
    return EmbeddingError(
        f"{folder}: is not a static model ({reason}). Give a folder that model2vec's save_pretrained has written."
    )
