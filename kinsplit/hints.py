r"""Hints: what the names of other libraries, and other natural guesses, are called here.

None of them is an alias. Errors show them: `max_tokens: is not a parameter of "sentence" (got 50). Did you mean
'chunk_size'?`
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

#: What is meant, by the kind of the name and by patterns of guesses in lower case; the first that fits counts. `{}`
#: stands for the guess. Of several parameters, divided by blanks, the first that the function has is meant.
_MEANT: Mapping[str, Mapping[str, str]] = {
    "parameter": {
        r"(chunk|max|maximum|segment)_?(length|len|tokens?|chars?|characters?|words?)|chunk_?sizes?|max_chunk_(size|length)"
        r"|size|length|token_limit|n_tokens|tokens|tokens_per_chunk|max_size|new_after_n_chars": (
            "chunk_size child_size chunk_sizes budget top_k strategy"
        ),
        r"overlap|.*_overlap|overlap_.*|stride|step": "chunk_overlap overlap_sentences passage_overlap strategy",
        r"min_(tokens|chars|characters|size|length)|combine_text_under_n_chars": "min_chunk_size min_sentences",
        r"k|n|limit|topk|top|top_n|n_results|num_results|similarity_top_k|max_results|count": "top_k",
        r"filters?|metadata_filters?|where_document|query_filter|metadata": "where",
        r"mode|search_type|search_mode|ranker|hybrid|method": "ranking strategy",
        r"reranker|re_rank|rerank_model|rerank_top_k": "rerank",
        r"neighbou?rs|siblings|window_size|context|context_window": "window",
        r"max_context_tokens|token_budget|context_tokens": "budget",
        r"embed(ding)?s?_?(model|models|model_name|function|fn)?|encoder|vectorizer|dense_model": "embedder",
        r"model_name|model": "model embedder tokenizer",
        r"llm|language_model": "model context_model",
        r"path|url|uri|location|db|database|dsn|address|persist_(directory|dir|path)|folder|data_dir": "store",
        r"name|.*_name|table|namespace": "collection",
        r"splitter|chunker|text_splitter|node_parser|strategy_name": "strategy",
        r"encoding|length_function|.*tokenizer.*|token_counter": "tokenizer",
        r"lang|locale|languages": "language",
        r".*threshold_(type|kind)": "threshold_kind",
        r".*threshold.*": "threshold",
        r"units?|measure|length_unit": "unit",
    },
    "strategy": {
        r"\d+": "chunk_size={}",
        r"recursive.*|markdown.*|html.*|header.*|heading.*|section.*|paragraphs?|layout|by_title|document|code|json": (
            "structure"
        ),
        r"fixed.*|size": "word",
        r"chars?|text|charactertextsplitter": "character",
        r"sliding.*|window|token.*": "token",
        r"sent.*|nltk.*|spacy.*|punkt|default|auto|basic|simple": "sentence",
        r"parent.*|small.*|child.*|hierarch.*|auto_?merging": "hierarchical",
        r"agent.*|proposition.*|llama.*|slumber.*|gpt.*": "llm",
        r"semantic.*|neural|embedding|percentile|similarity|late": "semantic",
        r"sdpm|topic.*|cluster.*": "cluster",
        r"multi.*": "multigranular",
    },
    "bm25": {r"en": "english", r"de": "german", r"fr": "french", r"es": "spanish", r"it": "italian", r"auto": "any"},
    "unit": {r"chars?|characters|letters?": "character", r"words": "word", r"tokens|tok": "token"},
    "ranking": {r"bm25|sparse|keywords?|lexical|fulltext": "terms", r"vectors?|semantic|similarity": "dense"},
    "embedding_context": {r"true|heading": "headings", r"false|null": "none", r"late.*|contextual": "late"},
    "store": {
        r":memory:|memory|ram|in-?memory|ephemeral|.*memory.*": "memory:",
        r"https?://[^@?]*": "qdrant:{}",
        r"[\w.-]+:\d+": "qdrant:http://{}",
        r"https?://.*|qdrant": "qdrant:URL",
        r"postgres.*|pgvector|pg": "pgvector:DSN",
        r"": "edge:./kinsplit-data",
        r"edge": "edge:PATH",
        r"chroma.*|faiss.*|milvus.*|lance.*|weaviate.*|pinecone.*|sqlite.*|duckdb.*": "edge:./kinsplit-data",
        r"(?!\w+:)[^:@]+|[a-z]:[\\/].*": "edge:{}",
    },
    "embedder": {
        r"(sentence-transformers/)?all-minilm-l6-v2|default|minilm.*": "bundled",
        r"text-embedding-.*": "openai:{}",
        r"(nomic|mxbai|snowflake)-.*": "ollama:{}",
        r"openai|ollama": "{}:MODEL",
        r"bge": "st:BAAI/bge-small-en-v1.5",
        r"bge-.*": "st:BAAI/{}",
        r"(multilingual-)?e5-.*": "st:intfloat/{}",
        r"gte-.*": "st:thenlper/{}",
        r"sentence[-_]transformers?|huggingface|hf": "st:NAME_OR_PATH",
        r"(hf|huggingface|sentence[-_]transformers?):.*/.*": "st:NAME_OR_PATH",
        r"cohere.*|voyage.*|mistral-.*|jina-.*|gemini.*": "litellm:PROVIDER/MODEL",
        r"[^:]+/[^:]+|all-.*|paraphrase-.*|multi-qa-.*": "st:{}",
    },
    "model": {
        r"gpt.*|o\d.*|chatgpt.*": "openai:{}",
        r"openai|ollama": "{}:MODEL",
        r"[^:]*(claude|gemini)[^:]*": "openai:MODEL",
        r"[^:]+(:\w+)?": "ollama:{}",
    },
    "rerank": {
        r"true|yes|colbert.*|late.*": "late",
        r"false|null|no": "none",
        r"cross-?encoder|cohere.*": "cross-encoder:NAME_OR_PATH",
        r"bge-.*": "cross-encoder:BAAI/{}",
        r"ms-marco.*": "cross-encoder:cross-encoder/{}",
        r"[^:]+/[^:]+": "cross-encoder:{}",
        r"llm|gpt.*|rankgpt": "llm:MODEL",
    },
    "tokenizer": {
        r"(cl100k|o200k|p50k|r50k)_base|gpt2|o200k_harmony": "tiktoken:{}",
        r"gpt-(4o|4\.|5).*|o\d.*|chatgpt.*": "tiktoken:o200k_base",
        r"gpt.*|text-embedding-.*|tiktoken|openai": "tiktoken:cl100k_base",
        r"bert.*uncased|default|none|.*minilm.*": "bundled",
        r"character": "bundled",
        r"[^:]+/[^:]+": "hf:{}",
        r"huggingface:.*|hf|transformers": "hf:REPOSITORY",
    },
    "kinsplit": {
        r"chunk|split_text|split_documents|chunk_text|.*split(ter)?|.*chunker|.*parser|.*strategy": (
            'kinsplit.split(text), or kinsplit.create_strategy("sentence") for many texts'
        ),
        r"(list_|get_)?(strategies|splitters|chunkers)": "kinsplit.strategy_names()",
        r"(load|read|open|from)(_.*)?|.*loader|.*reader|parse": 'kinsplit.read("notes.pdf")',
        r"langchain|textsplitter|text_splitter": "from kinsplit.integrations.langchain import text_splitter",
        r"llama_?index|nodeparser|node_parser": "from kinsplit.integrations.llama_index import node_parser",
        r"search|index|.*store|.*retriever|db|add": 'kinsplit.Index("edge:./kinsplit-data")',
        r"ask|answer|chat|.*rag": "from kinsplit.answering import ask",
        r"evaluate|.*evaluation|experiment|benchmark": "from kinsplit.evaluation import Experiment",
        r"chunks|node|textnode": "kinsplit.Chunk",
        r"to_pandas|to_df|dataframe": "kinsplit.to_dataframe(chunks)",
        r"(print|display|plot|visuali[sz]er?)(_.*)?": "kinsplit.show(chunks)",
    },
    "langchain": {
        r".*splitter|.*chunker|.*parser": 'text_splitter("sentence")',
        r".*retriever": "KinsplitRetriever",
        r".*store|qdrant|chroma|faiss": "KinsplitVectorStore",
        r".*embeddings?": "KinsplitEmbeddings",
        r".*rerank.*|.*compressor": "Rerank",
        r".*loader|.*reader": 'kinsplit.read("notes.pdf")',
    },
    "llama_index": {
        r".*splitter|.*chunker|.*parser": 'node_parser("sentence")',
        r".*retriever": "KinsplitRetriever",
        r".*store|.*index|qdrant|chroma|faiss": "KinsplitVectorStore",
        r".*embeddings?": "KinsplitEmbedding",
        r".*rerank.*": "Rerank",
        r".*postprocessor": "SiblingExpansion",
        r".*loader|.*reader": 'kinsplit.read("notes.pdf")',
    },
    "Chunk": {
        r"page_content|content|get_content|get_text|body|value": "chunk.text",
        r"start_index|start_char(_idx)?|char_start|offset|begin": "chunk.start",
        r"end_index|end_char(_idx)?|char_end": "chunk.end",
        r"next(_chunk|_node)?|prev(ious)?(_chunk|_node)?|parent(_node)?|children|siblings|neighbou?rs": (
            "chunk.next_id, chunk.prev_id and chunk.parent_id, which are the ids of other chunks"
        ),
        r"(as|to)_?(dict|json)|dict|json|model_dump(_json)?": "dataclasses.asdict(chunk)",
        r"id_|node_id|chunk_id|uuid": "chunk.id",
        r"source|document|doc|doc_id|document_id|ref_doc_id|file|path|filename": "chunk.source_id",
        r"page(_number|_label|s)?": 'chunk.metadata["page_start"]',
        r"(n_|num_)?tokens|length": "chunk.token_count",
        r"headings?|headers?|section|title": "chunk.beside",
        r"chunk_index|position|number": "chunk.index",
        r"vector|embedding": "index.store, which holds the vectors",
    },
    "Document": {
        r"page_content|content|get_content|get_text|body": "document.text",
        r"doc_id|id_|document_id|source|path|name|file_path": "document.id",
        r"split|chunks?|nodes|to_chunks": "kinsplit.split(document)",
    },
    "Passage": {
        r"page_content|content|get_content|get_text|body|node": "passage.text",
        r"source|document|doc|doc_id|document_id|ref_doc_id|file|path|filename|id|node_id": "passage.source_id",
        r"page(_number|_label)?": "passage.pages",
        r"similarity|distance|relevance|rank": "passage.score",
        r"next(_chunk)?|prev(ious)?(_chunk)?|parent|siblings|neighbou?rs": (
            "index.search(query, window=2) for more context, and passage.chunks for the chunks of a passage"
        ),
        r"chunk": "passage.hits, the chunks that were found, or passage.chunks with their kin",
        r"(as|to)_?(dict|json)|dict|json|model_dump(_json)?": "dataclasses.asdict(passage)",
        r"headings?|headers?|section|title": "passage.beside",
        r"level|index|next_id|prev_id|parent_id": "passage.hits[0].chunk",
    },
    "Index": {
        r"documents|docs": "index.store.sources() for their ids, or index.add([kinsplit.Document(id, text)])",
        r"a?(ask|answer|chat)|as_chat_engine": (
            "from kinsplit.answering import ask; ask(index, question, model), with a model such as 'ollama:llama3'"
        ),
        r"a?(query|retrieve|similarity_search|find_similar|get_relevant_documents|invoke|as_.*)(_.*)?": (
            "index.search(question, top_k=3)"
        ),
        r"a?(add_)?(texts?|documents?|docs?|nodes?|chunks?)|a?(insert|upsert|update|refresh|index|load|ingest)(_.*)?"
        r"|from_.*|a?add_.*": "index.add([kinsplit.Document(id, text)]), or index.add(folder)",
        r"a?(remove|drop|delete_.*|clear|reset)": "index.delete(source_id)",
        r"(list_)?(sources|files|ids)|keys|items|list|get_.*": "index.store.sources()",
        r"size|length|num_.*|stats": "index.count()",
        r"a?(save|persist|flush|commit|write)(_.*)?": "index.close(), although what add returns is stored already",
        r"a?neighbou?rs|get|siblings|window|expand": "index.search(question, window=2), or index.store.get(ids)",
    },
    "Strategy": {
        r"a?split_(text|documents?)|create_documents|get_nodes.*|chunk_text|invoke|transform.*|run": (
            "strategy.chunk(text), or strategy.chunk_many(texts)"
        ),
        r"chunk_(batch|documents)|batch|map|chunks": "strategy.chunk_many(texts)",
    },
}


def meant(kind: str, guess: object, known: Collection[str] = ()) -> str:
    """Return what a guess is called here; "" if nothing comes near.

    Args:
        kind: Kind of the name: "parameter", the name of a parameter for its values, or a class for its attributes.
        guess: The guess.
        known: The names that there are.
    """
    import re
    from difflib import get_close_matches

    if guess is not None and not isinstance(guess, str | int):
        return ""
    spelled = "null" if guess is None else str(guess)
    plain = {re.sub(r"[\W_]", "", name).lower(): name for name in known}
    folded = re.sub(r"[\W_]", "", spelled).lower()
    # A slip of the fingers is meant before a name that others use.
    if near := get_close_matches(folded, plain, 1, 0.8):
        return plain[near[0]]
    for pattern, answer in _MEANT.get(kind, {}).items():
        if re.fullmatch(pattern, spelled.lower(), re.DOTALL):
            if kind != "parameter":
                return answer.replace("{}", spelled)
            if found := [name for name in answer.split() if name in known]:
                return found[0]
    near = get_close_matches(folded, plain, 1, 0.75)
    return plain[near[0]] if near else ""


def question(kind: str, guess: object, known: Collection[str] = ()) -> str:
    """Return what is meant as a question that goes before a remedy, such as "Did you mean 'top_k'? "; see `meant`."""
    name = meant(kind, guess, known)
    return f"Did you mean {name!r}? " if name else ""


class MissingAttributeError(AttributeError):
    """An object or a module lacks an attribute; the message says what to write.

    Args:
        of: The object.
        name: Name of the attribute.
        kind: Key of the table of guesses.
    """

    def __init__(self, of: object, name: str, kind: str) -> None:
        super().__init__(name, name=name, obj=of)
        self._kind = kind

    def __str__(self) -> str:
        # Looked up only here, since most such errors are caught: hasattr and getattr ask in vain very often.
        of, name = self.obj, str(self.args[0])
        is_module = isinstance(of, ModuleType)
        owner = f"module {getattr(of, '__name__', '')!r}" if is_module else f"{type(of).__name__!r} object"
        written = "" if name.startswith("_") else meant(self._kind, name, dir(of) if is_module else ())
        return f"{owner} has no attribute {name!r}{written and f'. Write: {written}'}"


class Hinted:
    """A class whose missing attributes raise an error that says what to write."""

    __slots__ = ()

    # Type checkers shall know the attributes that there are, and no others.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise MissingAttributeError(self, name, type(self).__name__)


class HintedText(Hinted):
    """A value with a text, as long as its text."""

    __slots__ = ()
    text: str

    def __len__(self) -> int:
        return len(self.text)

    def __bool__(self) -> bool:
        return True


def check_module(name: str) -> None:
    """Check the name of a module of kinsplit that isn't there, or of what one imports from a package.

    Raises:
        ImportError: It is a guess; the error says what to write.
    """
    package, _, last = name.rpartition(".")
    if package == "kinsplit" or package.startswith("kinsplit.integrations."):
        written = meant(package.rpartition(".")[2], last, () if last.startswith("_") else dir(sys.modules[package]))
        if written:
            raise ImportError(f"{package} has no {last!r}. Write: {written}", name=name)


def uncallable(module: str, written: str) -> None:
    """Let a module say what to write to those who call it as a function."""

    class Uncallable(ModuleType):
        def __call__(self, *arguments: object, **named: object) -> NoReturn:
            del arguments, named
            raise TypeError(f"{module} is a module. Write: {written}")

    sys.modules[module].__class__ = Uncallable
