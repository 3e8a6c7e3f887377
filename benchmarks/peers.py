"""Splitters of other libraries that a class and its parameters don't describe."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from io import BytesIO

from systems import fast

from kinsplit.chunk import Chunk, Document
from kinsplit.identity import content_hash
from kinsplit.parsers import Strategy


def with_file_names(strategy: Strategy) -> Strategy:
    """Return a strategy whose chunks begin with the name of their file, for the embedder and for BM25.

    LlamaIndex embeds metadata this way, `file_name` first; LangChain's users write it before the text.
    """
    made, split = copy(strategy), strategy.chunk_many

    def chunk_many(documents: Iterable[Document]) -> list[list[Chunk]]:
        return [[_named(chunk) for chunk in chunks] for chunks in split(documents)]

    object.__setattr__(made, "chunk_many", chunk_many)  # A strategy is frozen.
    return made


def _named(chunk: Chunk) -> Chunk:
    beside = replace(chunk.beside, placement=f"file_name: {chunk.source_id.rpartition('/')[2]}")
    return replace(chunk, beside=beside, content_hash=content_hash(chunk.text, beside.context))


def semchunk_160(text: str) -> Sequence[tuple[int, int]]:
    """Split a text into chunks of at most 160 tokens by semchunk, and return their offsets."""
    chunker = importlib.import_module("semchunk").chunkerify(lambda piece: fast().count_tokens(piece), 160)
    _, offsets = chunker(text, offsets=True)
    return offsets


def chonkie_160(text: str) -> Sequence[object]:
    """Split a text into chunks of at most 160 tokens by chonkie's recursive chunker."""
    return importlib.import_module("chonkie").RecursiveChunker(tokenizer=fast(), chunk_size=160).chunk(text)


def docling_160(text: str) -> Sequence[str]:
    """Read a text as Markdown with docling, and split it into chunks of at most 160 tokens with its hybrid chunker."""
    base = importlib.import_module("docling_core.transforms.chunker.tokenizer.base").BaseTokenizer

    class Tokens(base):  # type: ignore[misc, valid-type]
        def count_tokens(self, text: str) -> int:
            return fast().count_tokens(text)

        def get_max_tokens(self) -> int:
            return 160

        def get_tokenizer(self) -> object:
            return lambda piece: fast().count_tokens(piece)

    backend = importlib.import_module("docling.backend.md_backend").MarkdownDocumentBackend
    given = importlib.import_module("docling.datamodel.document").InputDocument
    kind = importlib.import_module("docling.datamodel.base_models").InputFormat.MD
    stream = BytesIO(text.encode())
    document = given(path_or_stream=stream, format=kind, backend=backend, filename="text.md")
    chunker = importlib.import_module("docling_core.transforms.chunker.hybrid_chunker").HybridChunker(
        tokenizer=Tokens()
    )
    return [chunk.text for chunk in chunker.chunk(backend(in_doc=document, path_or_stream=stream).convert())]
