"""A service that answers questions about uploaded files, with kinsplit."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, UploadFile
from fastapi.responses import StreamingResponse
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_community.document_loaders import PyPDFLoader, TextLoader
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from kinsplit.integrations import langchain as kin
from tests.applications.langchain_models import chat_model, embeddings

PROMPT = ChatPromptTemplate.from_template("Answer from the context.\n\n{context}\n\nQuestion: {input}")
LOADERS: dict[str, Any] = {".pdf": PyPDFLoader, ".md": TextLoader}

splitter = kin.text_splitter("structure", chunk_size=400, length_function=len)
cached = kin.CachedEmbeddings(embeddings, model=embeddings.model, folder="vectors")
store = kin.KinsplitVectorStore(cached, "edge:kinsplit-data")
app = FastAPI()


class Question(BaseModel):
    question: str
    file_id: int | None = None


def rows(statement: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect("files.db")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS files (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)")
        return database.execute(statement, values).fetchall()


def load_and_split(path: Path, file_id: int) -> list[Document]:
    documents = LOADERS[path.suffix](str(path)).load()
    chunks = splitter.split_documents(documents)
    for chunk in chunks:
        chunk.metadata["file_id"] = file_id
    return chunks


def get_chain(file_id: int | None) -> Runnable[Any, Any]:
    where = None if file_id is None else {"file_id": file_id}
    retriever = kin.SiblingExpansion(store).as_retriever(store.as_retriever(search_kwargs={"k": 3, "filter": where}))
    return create_retrieval_chain(retriever, create_stuff_documents_chain(chat_model, PROMPT))


@app.post("/upload")
def upload(file: UploadFile) -> dict[str, int]:
    name = Path(file.filename or "")
    if name.suffix not in LOADERS:
        raise HTTPException(400, f"Only {', '.join(LOADERS)} can be uploaded.")
    ((file_id,),) = rows("INSERT INTO files (name) VALUES (?) RETURNING id", name.name)
    path = Path(f"temp_{file_id}_{name.name}")
    try:
        with path.open("wb") as copy:
            shutil.copyfileobj(file.file, copy)
        store.add_documents(load_and_split(path, file_id))
    finally:
        path.unlink()
    return {"file_id": file_id}


@app.get("/files")
def files() -> dict[int, str]:
    return dict(rows("SELECT id, name FROM files"))


@app.delete("/files/{file_id}")
def delete(file_id: int) -> dict[str, int]:
    chunks = store.find({"file_id": file_id})
    store.delete(filter={"file_id": file_id})
    rows("DELETE FROM files WHERE id = ?", file_id)
    return {"deleted": len(chunks)}


@app.post("/ask")
def ask(asked: Question) -> dict[str, Any]:
    found = get_chain(asked.file_id).invoke({"input": asked.question})
    return {"answer": found["answer"], "context": [document.metadata for document in found["context"]]}


@app.post("/stream")
def stream(asked: Question) -> StreamingResponse:
    def answers() -> Iterator[str]:
        for part in get_chain(asked.file_id).stream({"input": asked.question}):
            yield part.get("answer", "")

    return StreamingResponse(answers(), media_type="text/plain")
