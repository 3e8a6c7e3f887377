"""Questions about a folder, in the shape of LangChain's templates, with LangChain's own splitter and Chroma."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_chroma import Chroma
from langchain_classic.chains import create_history_aware_retriever, create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.indexes import SQLRecordManager, index
from langchain_community.document_loaders import DirectoryLoader, TextLoader
from langchain_core.documents import Document
from langchain_core.indexing import IndexingResult
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from tests.applications.langchain_models import chat_model, embeddings

STANDALONE = ChatPromptTemplate.from_messages(
    [
        ("system", "Put the last question into words that are clear without the conversation."),
        MessagesPlaceholder("chat_history"),
        ("human", "{input}"),
    ]
)
ANSWER = ChatPromptTemplate.from_messages(
    [
        ("system", "Answer from the context, and name your sources.\n\n{context}"),
        MessagesPlaceholder("chat_history"),
        ("human", "{input}"),
    ]
)
CITED = PromptTemplate.from_template("[{title}, {source}]\n{page_content}")


def get_vector_store() -> VectorStore:
    return Chroma("docs", embeddings, persist_directory="chroma")


def load_documents() -> list[Document]:
    loader = DirectoryLoader("data", glob="**/*.md", loader_cls=TextLoader, loader_kwargs={"encoding": "utf-8"})
    return loader.load()


def ingest() -> IndexingResult:
    """Index the files of the data folder, and forget those that are gone."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=50)
    chunks = [chunk for chunk in splitter.split_documents(load_documents()) if len(chunk.page_content) > 10]
    for chunk in chunks:
        chunk.metadata["title"] = Path(chunk.metadata["source"]).stem
    store = get_vector_store()
    records = SQLRecordManager("docs", db_url="sqlite:///records.db")
    records.create_schema()
    return index(chunks, records, store, cleanup="full", source_id_key="source")


def get_chain(where: dict[str, Any] | None = None) -> Runnable[Any, Any]:
    """Return a chain that answers from the files whose metadata match a filter."""
    store = get_vector_store()
    retriever = store.as_retriever(search_kwargs={"k": 3, "filter": where})
    answer = create_stuff_documents_chain(chat_model, ANSWER, document_prompt=CITED)
    return create_retrieval_chain(create_history_aware_retriever(chat_model, retriever, STANDALONE), answer)
