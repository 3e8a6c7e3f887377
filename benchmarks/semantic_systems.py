"""All semantic splitters, with a common embedder."""

from __future__ import annotations

import functools
import importlib
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinsplit.embedding import Embedder
from kinsplit.parsers import create
from kinsplit.parsers.similarity import THRESHOLDS
from kinsplit.tokenizers.word_piece import bundled

#: Function from texts to the texts of their chunks.
Split = Callable[[Sequence[str]], list[list[str]]]
_SPACE = re.compile(r"\s+")


class System(NamedTuple):
    """A splitter: its name in tables, and a function that makes it from an embedder or raises ImportError."""

    name: str
    make: Callable[[Embedder], Split]


def kinsplit(name: str, **parameters: object) -> System:
    """Return a strategy of kinsplit, with the embedder if it takes one."""

    def make(embedder: Embedder) -> Split:
        given = {"embedder": embedder} if name == "semantic" else {}
        strategy = create(name, **given, **parameters)
        return lambda texts: [
            [text[start:end] for start, end in spans]
            for text, spans in zip(texts, strategy.split_many(texts), strict=True)
        ]

    shown = ", ".join(f"{value}" for value in parameters.values())
    return System(f"kinsplit {name} {shown}".strip(), make)


def llama_index(**parameters: Any) -> System:
    """Return LlamaIndex's splitter: it cuts where groups of three sentences differ beyond the 95th percentile."""

    def make(embedder: Embedder) -> Split:
        core = importlib.import_module("llama_index.core")
        embeddings = importlib.import_module("llama_index.core.embeddings")
        node_parser = importlib.import_module("llama_index.core.node_parser")

        class Shared(embeddings.BaseEmbedding):  # type: ignore[name-defined, misc]
            def _get_text_embedding(self, text: str) -> list[float]:
                return embedder.embed([text])[0].tolist()  # type: ignore[no-any-return]

            def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
                return embedder.embed(texts).tolist()  # type: ignore[no-any-return]

            def _get_query_embedding(self, query: str) -> list[float]:
                return embedder.embed_query(query).tolist()  # type: ignore[no-any-return]

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return self._get_query_embedding(query)

        model = Shared(embed_batch_size=2048)
        parser = node_parser.SemanticSplitterNodeParser(embed_model=model, **parameters)
        return lambda texts: [[node.text for node in parser([core.Document(text=text)])] for text in texts]

    shown = " ".join(f"{value}" for value in parameters.values())
    return System(f"llama-index semantic {shown}".strip(), make)


def langchain(**parameters: Any) -> System:
    """Return LangChain's SemanticChunker: like LlamaIndex's, with several kinds of threshold."""

    def make(embedder: Embedder) -> Split:
        embeddings = importlib.import_module("langchain_core.embeddings")
        splitter = importlib.import_module("langchain_experimental.text_splitter")

        class Shared(embeddings.Embeddings):  # type: ignore[name-defined, misc]
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return embedder.embed(texts).tolist()  # type: ignore[no-any-return]

            def embed_query(self, text: str) -> list[float]:
                return embedder.embed_query(text).tolist()  # type: ignore[no-any-return]

        chunker = splitter.SemanticChunker(Shared(), **parameters)
        return lambda texts: [chunker.split_text(text) for text in texts]

    shown = " ".join(f"{value}" for value in parameters.values())
    return System(f"langchain semantic {shown}".strip(), make)


def chonkie(**parameters: Any) -> System:
    """Return chonkie's SemanticChunker: smoothed similarities of sentences to the three before them."""

    def make(embedder: Embedder) -> Split:
        package = importlib.import_module("chonkie")
        embeddings = importlib.import_module("chonkie.embeddings")
        tokie = importlib.import_module("tokie")

        class Shared(embeddings.BaseEmbeddings):  # type: ignore[name-defined, misc]
            def embed(self, text: str) -> Any:
                return embedder.embed([text])[0]

            def embed_batch(self, texts: list[str]) -> list[Any]:
                return list(embedder.embed(texts))

            @property
            def dimension(self) -> int:
                return embedder.dimension

            def get_tokenizer(self) -> Any:
                return tokie.Tokenizer.from_json(_vocabulary())

        chunker = package.SemanticChunker(embedding_model=Shared(), **parameters)
        return lambda texts: [[chunk.text for chunk in chunks] for chunks in map(chunker.chunk, texts)]

    shown = " ".join(f"{value}" for value in parameters.values())
    return System(f"chonkie semantic {shown}".strip(), make)


@functools.cache
def _vocabulary() -> str:
    """Return the path of a copy of the bundled vocabulary."""
    path = Path(tempfile.mkdtemp(prefix="kinsplit-")) / "tokenizer.json"
    path.write_text(json.dumps(bundled()), encoding="utf-8")
    return str(path)


#: The peers, each starting with its default.
PEERS = (
    llama_index(),
    langchain(),
    langchain(breakpoint_threshold_type="standard_deviation"),
    langchain(breakpoint_threshold_type="interquartile"),
    langchain(breakpoint_threshold_type="gradient"),
    chonkie(),
)
PEER_DEFAULTS = ("llama-index semantic", "langchain semantic", "chonkie semantic")
OWN = tuple(kinsplit("semantic", threshold_kind=kind) for kind in THRESHOLDS)


def cut_places(text: str, chunks: Sequence[str]) -> list[int]:
    """Return the start of each chunk except the first, counted in characters other than white space.

    White space is not counted because some splitters rewrite it.
    """
    sizes = np.cumsum([len(_SPACE.sub("", chunk)) for chunk in chunks[:-1]], dtype=np.int64)
    total = len(_SPACE.sub("", text))
    return [int(size) for size in sizes if 0 < size < total]


def solid_places(text: str, places: Sequence[int]) -> list[int]:
    """Convert offsets in code points to counts of the preceding characters other than white space."""
    solid = np.cumsum([0, *(not character.isspace() for character in text)])
    return [int(solid[place]) for place in places]
