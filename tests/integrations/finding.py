"""Helpers for the tests of searches, the same for both frameworks."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.schema import NodeWithScore, TextNode

from kinsplit import Index
from kinsplit.details import details, flat, whole
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.integrations import langchain, llama_index
from kinsplit.parsers import create

HASH = HashEmbedder()
TOPICS = ("recursion", "loops", "classes", "files", "sorting", "testing", "modules", "strings")
LECTURE = "\n\n".join(
    f"## {topic.title()}\n\nThis part is about {topic}.  It says what {topic} means.\nAnd it says why {topic} matters."
    for topic in TOPICS
)
PARAMETERS: dict[str, Any] = {"chunk_size": 24, "overlap_sentences": 1}
STRATEGY = create("sentence", **PARAMETERS)
FRAMEWORKS = ("llama_index", "langchain")


class Hit:
    """A result of either framework, with the same attributes for both."""

    def __init__(self, given: Any) -> None:
        node = given.node if isinstance(given, NodeWithScore) else given
        self.text = node.text if isinstance(node, TextNode) else node.page_content
        self.id = node.id_ if isinstance(node, TextNode) else node.id
        self.given = node.metadata
        self.metadata = whole(node.metadata)
        self.details = details(given)
        self.score = given.score if isinstance(given, NodeWithScore) else self.details.get("score")


def split(framework: str, text: str = LECTURE) -> list[Any]:
    """Return the lecture's chunks as objects of a framework."""
    if framework == "llama_index":
        document = LlamaIndexDocument(id_="lecture", text=text, metadata={"subject": "cs"})
        return llama_index.node_parser("sentence", **PARAMETERS)([document])
    whole = LangChainDocument(id="lecture", page_content=text, metadata={"subject": "cs"})
    return langchain.text_splitter("sentence", **PARAMETERS).split_documents([whole])


def found(framework: str, chunk: Any, score: float | None) -> Any:
    """Return a chunk as a framework's search result."""
    if framework == "llama_index":
        return NodeWithScore(node=chunk, score=score)
    own = {} if score is None else {"score": score, "scores": {"dense": score}}
    return LangChainDocument(id=chunk.id, page_content=chunk.page_content, metadata=flat(chunk.metadata, **own))


def process(stage: Any, hits: Sequence[Any], query: str = "q") -> list[Hit]:
    """Pass hits through a postprocessor or a compressor, and check that it doesn't mutate them."""
    before = copy.deepcopy(hits)
    if hasattr(stage, "postprocess_nodes"):
        after = stage.postprocess_nodes(list(hits), query_str=query)
    else:
        after = stage.compress_documents(hits, query)
    assert hits == before, "nothing is mutated"
    return [Hit(one) for one in after]


def ask(framework: str, index: Index, query: str, **options: Any) -> list[Hit]:
    if framework == "llama_index":
        return [Hit(one) for one in llama_index.KinsplitRetriever(index, **options).retrieve(query)]
    return [Hit(one) for one in langchain.KinsplitRetriever(index, **options).invoke(query)]


def expansion(framework: str, store: Any, **options: Any) -> Any:
    made: Any = llama_index.SiblingExpansion if framework == "llama_index" else langchain.SiblingExpansion
    return made(store, **options)
