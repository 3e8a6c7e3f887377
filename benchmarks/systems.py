"""All measured splitters, behind a common interface."""

from __future__ import annotations

import functools
import importlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
import tokie
from texts import Corpus, prose

from kinsplit.chunk import Document
from kinsplit.embedding.bundled import model_folder
from kinsplit.parsers import Strategy, create

#: The libraries' splitters have no common base class.
Splitter = Any
Parameter = int | str
#: Groups of chunks of any type.
Chunks = Sequence[Sequence[object]]


class Piece(NamedTuple):
    """A chunk as a library reports it."""

    source: str
    text: str
    start: int | None
    end: int | None

    @property
    def exact(self) -> bool:
        return self.start is not None and self.source[self.start : self.end] == self.text


class System(NamedTuple):
    """A splitter with its parameters.

    Attributes:
        name: Name in tables and for `--only`.
        make: Function that returns a new splitter, so that nothing it caches is left in the next round.
        run: Timed call: the fastest that the library offers.
        pieces: Function that returns the chunks with the offsets that the library reports; None if it makes no chunks.
    """

    name: str
    make: Callable[[], Splitter]
    run: Callable[[Splitter, Corpus], Chunks]
    pieces: Callable[[Splitter, Corpus], Iterator[Piece]] | None = None


def _tokenizer_json() -> str:
    """Return the bundled vocabulary without truncation, padding and special tokens."""
    content = (model_folder() / "tokenizer.json").read_text(encoding="utf-8")
    return json.dumps({**json.loads(content), "truncation": None, "padding": None, "post_processor": None})


@functools.cache
def reference() -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(_tokenizer_json())


@functools.cache
def fast() -> tokie.Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_text(_tokenizer_json(), encoding="utf-8")
        return tokie.Tokenizer.from_json(str(file))


def floor(name: str, make: Callable[[], Splitter], run: Callable[[Splitter, list[str]], Any]) -> System:
    return System(name, make, lambda tokenizer, corpus: run(tokenizer, corpus.texts))


_NAMES = (
    "Maria Kovalenko, Ivan Petrov, Aiko Tanaka, Lars Lindqvist, Giulia Bianchi, Pedro Almeida, Ines Duarte, "
    "Emil Novak, Zofia Wojcik, Ayla Demir, Henrik Dahl, Sanne de Vries, Matteo Ricci, Chloe Martin, Jonas Weber, "
    "Tuuli Korhonen, Grzegorz Kaminski, Marija Horvat."
)


def fresh(name: str, parameters: Mapping[str, Parameter]) -> Strategy:
    """Return a loaded strategy without cached texts, since only benchmarks repeat the same texts."""
    modules = [module for module_name, module in sys.modules.items() if module_name.startswith("kinsplit.parsers")]
    for cached in {value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")}:
        cached.cache_clear()
    strategy = create(name, **parameters)
    # A long paragraph in English, after which tokie counts tokens, and one whose language takes n-grams to detect.
    strategy.chunk_many([Document("warm", prose(120_000, one_line=True)), Document("names", 50 * _NAMES)])
    return strategy


def kinsplit(label: str, name: str, **parameters: Parameter) -> System:
    def run(strategy: Strategy, corpus: Corpus) -> Chunks:
        return strategy.chunk_many(corpus.documents)

    def pieces(strategy: Strategy, corpus: Corpus) -> Iterator[Piece]:
        for document, chunks in zip(corpus.documents, strategy.chunk_many(corpus.documents), strict=True):
            yield from (Piece(document.text, c.text, c.start, c.end) for c in chunks)

    return System(f"kinsplit {label}", lambda: fresh(name, parameters), run, pieces)


def kinsplit_node_parser(label: str, name: str, **parameters: Parameter) -> System:
    def make() -> Splitter:
        from kinsplit.integrations.llama_index import node_parser

        fresh(name, parameters)
        return node_parser(name, **parameters)

    def run(parser: Splitter, corpus: Corpus) -> Chunks:
        return [parser.get_nodes_from_documents(corpus.llama_index)]

    return System(f"kinsplit node parser {label}", make, run, _nodes)


def kinsplit_text_splitter(label: str, name: str, **parameters: Parameter) -> System:
    def make() -> Splitter:
        from kinsplit.integrations.langchain import text_splitter

        fresh(name, parameters)
        return text_splitter(name, **parameters)

    def run(splitter: Splitter, corpus: Corpus) -> Chunks:
        return [splitter.split_documents(corpus.langchain)]

    def pieces(splitter: Splitter, corpus: Corpus) -> Iterator[Piece]:
        for d in splitter.split_documents(corpus.langchain):
            source = corpus.by_name[d.metadata["source_id"]]
            yield Piece(source, d.page_content, d.metadata["char_start"], d.metadata["char_end"])

    return System(f"kinsplit text splitter {label}", make, run, pieces)


def llama_index(label: str, kind: str, size: int, overlap: int) -> System:
    def make() -> Splitter:
        # LlamaIndex only takes the length of the tokenizer's result; a range costs nothing.
        splitter = getattr(importlib.import_module("llama_index.core.node_parser"), kind)
        count = fast().count_tokens
        return splitter(chunk_size=size, chunk_overlap=overlap, tokenizer=lambda text: range(count(text)))

    def run(splitter: Splitter, corpus: Corpus) -> Chunks:
        return [splitter.split_text(text) for text in corpus.texts]

    return System(f"llama-index {label} {size}/{overlap}", make, run, _nodes)


def _nodes(parser: Splitter, corpus: Corpus) -> Iterator[Piece]:
    texts = {document.node_id: document.text for document in corpus.llama_index}
    for node in parser.get_nodes_from_documents(corpus.llama_index):
        yield Piece(texts[node.ref_doc_id], node.text, node.start_char_idx, node.end_char_idx)


def langchain(label: str, size: int, overlap: int, length: Callable[[], Callable[[str], int]]) -> System:
    def make() -> Splitter:
        splitter = importlib.import_module("langchain_text_splitters").RecursiveCharacterTextSplitter
        return splitter(chunk_size=size, chunk_overlap=overlap, length_function=length(), add_start_index=True)

    def run(splitter: Splitter, corpus: Corpus) -> Chunks:
        return [splitter.split_text(text) for text in corpus.texts]

    def pieces(splitter: Splitter, corpus: Corpus) -> Iterator[Piece]:
        for text in corpus.texts:
            for d in splitter.create_documents([text]):
                start = d.metadata["start_index"]
                # -1 stands for "not found".
                yield Piece(text, d.page_content, None if start < 0 else start, start + len(d.page_content))

    return System(f"langchain {label} {size}/{overlap}", make, run, pieces)


def chonkie(label: str, kind: str, **parameters: Parameter) -> System:
    def make() -> Splitter:
        return getattr(importlib.import_module("chonkie"), kind)(tokenizer=fast(), **parameters)

    def run(chunker: Splitter, corpus: Corpus) -> Chunks:
        return [chunker.chunk(text) for text in corpus.texts]

    def pieces(chunker: Splitter, corpus: Corpus) -> Iterator[Piece]:
        for text, chunks in zip(corpus.texts, run(chunker, corpus), strict=True):
            yield from (Piece(text, c.text, c.start_index, c.end_index) for c in chunks)

    return System(f"chonkie {label}", make, run, pieces)


def semchunk(size: int) -> System:
    def make() -> Splitter:
        # semchunk memoises the counter permanently, by identity, so make a new one each time.
        count = fast().count_tokens
        return importlib.import_module("semchunk").chunkerify(lambda text: count(text), size)

    def pieces(chunker: Splitter, corpus: Corpus) -> Iterator[Piece]:
        for text, chunks, offsets in zip(corpus.texts, *chunker(corpus.texts, offsets=True), strict=True):
            yield from (Piece(text, chunk, *offset) for chunk, offset in zip(chunks, offsets, strict=True))

    return System(f"semchunk {size}", make, lambda chunker, corpus: chunker(corpus.texts), pieces)


def semantic_text_splitter(size: int) -> System:
    def make() -> Splitter:
        # Ten times faster with a callback to tokie than with its built-in `tokenizers`.
        splitter = importlib.import_module("semantic_text_splitter").TextSplitter
        return splitter.from_callback(fast().count_tokens, size)

    def pieces(splitter: Splitter, corpus: Corpus) -> Iterator[Piece]:
        for text, found in zip(corpus.texts, splitter.chunk_all_indices(corpus.texts), strict=True):
            yield from (Piece(text, chunk, start, start + len(chunk)) for start, chunk in found)

    return System(f"semantic-text-splitter {size}", make, lambda s, corpus: s.chunk_all(corpus.texts), pieces)


SYSTEMS = (
    floor("tokie counts", fast, lambda t, texts: t.count_tokens_batch(texts)),
    floor(
        "tokie offsets",
        fast,
        lambda t, texts: [t.encode_with_offsets(x, add_special_tokens=False).offsets for x in texts],
    ),
    floor("tokenizers encode_batch", reference, lambda t, texts: t.encode_batch(texts, add_special_tokens=False)),
    kinsplit("token 512/128", "token", chunk_size=512, stride=128),
    chonkie("token 512/384", "TokenChunker", chunk_size=512, chunk_overlap=384),
    llama_index("token", "TokenTextSplitter", 512, 384),
    kinsplit("sentence 500/100", "sentence", chunk_size=500, chunk_overlap=100),
    chonkie("sentence 500/100", "SentenceChunker", chunk_size=500, chunk_overlap=100),
    llama_index("sentence", "SentenceSplitter", 500, 100),
    kinsplit("structure 500", "structure", unit="token", chunk_size=500),
    chonkie("recursive 500", "RecursiveChunker", chunk_size=500),
    semchunk(500),
    semantic_text_splitter(500),
    langchain("tokens", 500, 100, lambda: fast().count_tokens),
    kinsplit("character 500/100", "character", chunk_size=500, chunk_overlap=100),
    langchain("characters", 500, 100, lambda: len),
    kinsplit_node_parser("character 500/100", "character", chunk_size=500, chunk_overlap=100),
    kinsplit_text_splitter("character 500/100", "character", chunk_size=500, chunk_overlap=100),
    kinsplit("word", "word"),
    kinsplit("hierarchical", "hierarchical"),
    kinsplit("multigranular", "multigranular"),
)
