"""Adapters that load nothing but their framework, and correct type stubs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.test_base import ALONE, run

#: Modules that each framework brings.
OWN = {
    "langchain": ("langchain_core", "langchain_text_splitters", "httpx", "tenacity"),
    "llama_index": ("llama_index", "nltk", "jinja2", "httpx", "tenacity", "tiktoken"),
}

_ALL = """
import json
from importlib import import_module

def added_by(adapter, name, *framework):
    for module in framework:
        import_module(module)
    known = set(sys.modules)
    getattr(import_module(f"kinsplit.integrations.{adapter}"), name)
    added = {module.partition(".")[0] for module in set(sys.modules) - known}
    return sorted(added - sys.stdlib_module_names)

def error_of(call):
    try:
        call()
    except ImportError as error:
        return f"{type(error).__name__}: {error}"

def without(module, adapter):
    gone = (f"kinsplit.integrations.{adapter}", module)
    aside = {name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith(gone)}
    sys.modules[module] = None
    error = error_of(lambda: import_module(f"kinsplit.integrations.{adapter}"))
    del sys.modules[module]
    sys.modules.update(aside)
    return error

found = {}
"""

_LANGCHAIN = """
found["added"] = added_by("langchain", "text_splitter", "langchain_core.documents", "langchain_text_splitters")
unwanted = {"llama_index", "langchain_core.vectorstores", "httpx", "qdrant_edge"}
found["loaded"] = sorted(unwanted & set(sys.modules))
blocked = sys.argv[1:]
sys.modules.update(dict.fromkeys(blocked))

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from kinsplit.integrations.langchain import KinsplitTokenTextSplitter, KinStore, SiblingExpansion, text_splitter
from kinsplit.tokenizers import resolve

text = "It rained all day. Nobody noticed it. " * 20
chunks = text_splitter("sentence", chunk_size=8).split_documents([Document(id="a", page_content=text)])
found["linked"] = [chunk.metadata["prev_id"] for chunk in chunks[1:]] == [chunk.id for chunk in chunks[:-1]] != []
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
store.add_documents(chunks)
with KinStore(":memory:") as kin:
    kin.add(chunks)
    found["expanded"] = [SiblingExpansion(way).invoke(chunks[4:5])[0].page_content == text[
        chunks[3].metadata["char_start"] : chunks[5].metadata["char_end"]
    ] for way in (store, kin)]

found["tiktoken"] = [error_of(call) for call in (
    lambda: resolve("tiktoken:cl100k_base"),
    lambda: KinsplitTokenTextSplitter.from_tiktoken_encoder(model_name="gpt-4"),
)]
for name in blocked:
    del sys.modules[name]
found["missing"] = [without(*each) for each in (
    ("langchain_core", "langchain"),
    ("langchain_text_splitters", "langchain"),
    ("llama_index", "llama_index"),
    ("tqdm", "llama_index"),
)]
print(json.dumps(found))
"""

_LLAMA_INDEX = """
found["added"] = added_by("llama_index", "node_parser", "llama_index.core")
found["loaded"] = sorted({"langchain_core"} & set(sys.modules))
sys.modules.update(dict.fromkeys(sys.argv[1:]))

from llama_index.core import Document
from kinsplit.integrations.llama_index import node_parser

chunks = node_parser("sentence", chunk_size=30).get_nodes_from_documents([Document(id_="a", text="It rained. " * 60)])
found["linked"] = [chunk.prev_node.node_id for chunk in chunks[1:]] == [chunk.id_ for chunk in chunks[:-1]] != []
print(json.dumps(found))
"""


def reported(framework: str, script: str) -> Any:
    """Return what a process reports that has, from its first use of an adapter on, one framework alone."""
    blocked = [name for name in ALONE if name not in OWN[framework]]
    return json.loads(run([], _ALL + script, *blocked))


@pytest.fixture(scope="module")
def langchain() -> Any:
    return reported("langchain", _LANGCHAIN)


def test_importing_the_adapter_of_langchain_loads_nothing_else(langchain: Any) -> None:
    assert (langchain["added"], langchain["loaded"]) == (["kinsplit"], [])


def test_chunks_and_their_kin_need_no_extra_but_langchain(langchain: Any) -> None:
    assert langchain["linked"]
    assert langchain["expanded"] == [True, True]


def test_what_is_missing_is_named_with_its_extra(langchain: Any) -> None:
    def message(package: str, extra: str) -> str:
        return f'MissingExtraError: {package} is not installed. Run: pip install "kinsplit[{extra}]"'

    assert langchain["tiktoken"] == [message("tiktoken", "tiktoken")] * 2
    assert langchain["missing"] == [
        message("langchain-core", "langchain"),
        message("langchain-text-splitters", "langchain"),
        message("llama-index-core", "llama-index"),
        message("tqdm", "llama-index"),
    ]


def test_the_adapter_of_llama_index_loads_nothing_else_and_needs_nothing_else() -> None:
    assert reported("llama_index", _LLAMA_INDEX) == {"added": ["kinsplit"], "loaded": [], "linked": True}
