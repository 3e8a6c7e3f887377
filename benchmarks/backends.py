"""Backends of the bundled model, for the embedding benchmark."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding import create
from kinsplit.embedding.backends.torch import quiet
from kinsplit.embedding.bundled import model_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

#: System that all others are compared with.
REFERENCE = "sentence-transformers float32"
EXACT, DEFAULT, FAST = "kinsplit openvino-float32", "kinsplit (default)", "kinsplit int8"


class System(NamedTuple):
    """A way to run the model.

    Attributes:
        name: Name in tables.
        make: Function that loads the model.
        spec: Spec of the embedder in kinsplit; None for sentence-transformers itself.
    """

    name: str
    make: Callable[[], Embed]
    spec: str | None = None


def _loaded(**options: Any) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    with quiet():
        return SentenceTransformer(str(model_folder()), device="cpu", **options)


def _peer(**options: Any) -> Embed:
    encode = _loaded(**options).encode
    return lambda texts: np.asarray(
        encode(list(texts), normalize_embeddings=True, show_progress_bar=False, convert_to_tensor=True).float()
    )


def reference(texts: Sequence[str]) -> Vectors:
    """Embed texts with sentence-transformers in float32."""
    return _peer()(texts)


def _kinsplit(spec: str) -> Embed:
    embedder = create(spec)
    embedder.embed(["load"])
    return embedder.embed


def _own(name: str, spec: str) -> System:
    return System(name, functools.partial(_kinsplit, spec), spec)


SYSTEMS = (
    System(REFERENCE, _peer),
    System("sentence-transformers bfloat16", functools.partial(_peer, model_kwargs={"dtype": "bfloat16"})),
    _own("kinsplit torch", "bundled?backend=torch"),
    _own("kinsplit numpy", "bundled?backend=numpy"),
    _own(EXACT, "bundled?backend=openvino-float32"),
    _own(DEFAULT, "bundled"),
    _own(FAST, "bundled?backend=int8"),
)


class Starts(NamedTuple):
    """Times in seconds from the start of Python to the first vector: `first` converts the model, `next` reuses it."""

    first: float
    next: float


def starts(spec: str) -> Starts:
    """Measure the time in which a first and a second process embed a question, with an empty cache folder."""
    code = f"from kinsplit.embedding import create; create({spec!r}).embed_query('How long does it take?')"
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "KINSPLIT_CACHE": cache}
        seconds = []
        for _ in range(2):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            seconds.append(time.perf_counter() - begin)
    return Starts(*seconds)
