"""The examples in docstrings run; the reference on the site shows them.

Examples name objects that a program has, such as `index` and `vector_store`: each file gets those of its framework.
"""

from __future__ import annotations

import doctest
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Document, Index, split
from kinsplit.parsers import create
from tests.snippets import ROOT, skip_if_optional

PACKAGE = ROOT / "kinsplit"
TEXT = "Owls hunt at night. They hear mice under snow. Larks sing at dawn. Gulls fish by day."
#: Strategies have a test of their own, since docs/strategies.md is made of their examples.
FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and path.parent.name != "strategies"
)


def plain() -> dict[str, Any]:
    document = Document("birds.md", TEXT)
    index = Index("memory:", embedder="hash")
    index.add([document])
    return {"index": index, "document": document, "chunks": split(document), "create": create, "split": split}


def langchain() -> dict[str, Any]:
    from langchain_classic.retrievers import ContextualCompressionRetriever
    from langchain_core import documents, embeddings, indexing, language_models, prompts, runnables, vectorstores

    from kinsplit.integrations import langchain as integration

    splitter = integration.text_splitter("sentence", unit="word", chunk_size=4, chunk_overlap=0)
    chunks = splitter.split_documents([documents.Document(id="birds.md", page_content=TEXT)])
    model = embeddings.DeterministicFakeEmbedding(size=16)
    store = vectorstores.InMemoryVectorStore(model)
    store.add_documents(chunks)
    records = indexing.InMemoryRecordManager(namespace="birds")
    records.create_schema()
    return {
        **{name: getattr(integration, name) for name in integration.__all__},
        "ContextualCompressionRetriever": ContextualCompressionRetriever,
        "InMemoryVectorStore": vectorstores.InMemoryVectorStore,
        # The cache needs vectors that depend on the text alone, as rented ones do.
        "OpenAIEmbeddings": lambda: model,
        "RunnablePassthrough": runnables.RunnablePassthrough,
        "base": store.as_retriever(),
        # An agent needs a model that calls tools.
        "create_agent": lambda model, tools: tools,
        "model": None,
        "chunks": chunks,
        "embeddings": model,
        "llm": language_models.FakeListChatModel(responses=["At dawn."]),
        "prompt": prompts.ChatPromptTemplate.from_template("{context} {question}"),
        "records": records,
        "retriever": store.as_retriever(),
        "show": str,
        "store": vectorstores.InMemoryVectorStore(model),
        "vector_store": store,
    }


def llama_index() -> dict[str, Any]:
    from llama_index.core import MockEmbedding, VectorStoreIndex, schema
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.storage.docstore import SimpleDocumentStore

    from kinsplit.integrations import llama_index as integration

    parser = integration.node_parser("sentence", unit="word", chunk_size=4, chunk_overlap=0)
    nodes = parser.get_nodes_from_documents([schema.Document(id_="birds.md", text=TEXT)])
    model = MockEmbedding(embed_dim=16)
    return {
        **{name: getattr(integration, name) for name in integration.__all__},
        # An agent needs a model that calls tools.
        "FunctionAgent": lambda tools, llm: tools,
        "IngestionPipeline": IngestionPipeline,
        "OpenAIEmbedding": lambda: model,
        "RetrieverQueryEngine": RetrieverQueryEngine,
        "VectorStoreIndex": VectorStoreIndex,
        "docstore": SimpleDocumentStore(),
        "index": VectorStoreIndex(nodes, embed_model=model),
        "llm": MockLLM(),
        "model": model,
        "parser": parser,
        "store": integration.KinsplitVectorStore("memory:"),
    }


class Checker(doctest.OutputChecker):
    """A checker that takes any result where the docstring shows none."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return not want or super().check_output(want, got, optionflags)


@pytest.fixture
def names(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The objects that the examples of a file use, in a folder with a few files."""
    path: Path = request.getfixturevalue("path")
    (tmp_path / "courses").mkdir()
    (tmp_path / "courses" / "oop.md").write_text("OOP is programming with objects.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    makers: dict[str, Callable[[], dict[str, Any]]] = {"llama_index": llama_index, "langchain": langchain}
    made = plain()
    opened = made["index"]
    for folder, make in makers.items():
        if folder in path.parts or "shared" in path.parts:
            own = make()
            # A retriever of kinsplit takes an index of kinsplit.
            made |= own if path.stem not in ("retriever", "tool") else {**own, "index": opened}
    if "llama_index" in path.parts:
        from llama_index.core import Settings

        # A query engine of an example takes LlamaIndex's default language model.
        monkeypatch.setattr(Settings, "_llm", made["llm"])
    if "langchain" in path.parts and path.stem == "keys":
        from langchain_core.indexing import index

        made["index"] = index
    yield made
    opened.close()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
@pytest.mark.usefixtures("fast_models")
def test_the_examples_of_a_module_run(path: Path, names: dict[str, Any]) -> None:
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(part for part in parts if part != "__init__"))
    tests = [test for test in doctest.DocTestFinder().find(module, extraglobs=names) if test.examples]
    assert tests
    for test in tests:
        try:
            doctest.DebugRunner(Checker()).run(test)
        except doctest.DocTestFailure as error:
            pytest.fail(f"{test.name}: {error.example.source}expected {error.example.want}got {error.got}")
        except doctest.UnexpectedException as error:
            if isinstance(error.exc_info[1], ImportError):
                skip_if_optional(error.exc_info[1], path)
            pytest.fail(f"{test.name}: {error.example.source}{error.exc_info[1]!r}")
