"""LangChain's standard tests of vector stores and retrievers."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_kinsplit import KinsplitRetriever, KinsplitVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from kinsplit import Document, Index


class TestKinsplitVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self) -> VectorStore:
        return KinsplitVectorStore(self.get_embeddings(), "memory:")


class TestKinsplitRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return KinsplitRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        index = Index("memory:", embedder="hash")
        index.add([Document(f"{number}.md", f"Bird {number} sings in tree {number + 7}.") for number in range(8)])
        return {"index": index}

    @property
    def retriever_query_example(self) -> str:
        return "Which bird sings?"
