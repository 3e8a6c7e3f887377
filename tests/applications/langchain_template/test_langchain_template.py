"""A folder is ingested, changed and asked, with LangChain's own splitter and store and with kinsplit's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kinsplit.integrations import langchain as kin
from tests.applications.conftest import NEWS, insert_news
from tests.applications.langchain_models import embeddings
from tests.applications.table import row

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Using SHA-1:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
versions = pytest.mark.parametrize("version", ["before", "after"])
QUESTION = "What is a base case?"

Start = Callable[[str], ModuleType]


def context(application: ModuleType, question: str, where: dict[str, Any] | None = None) -> list[Any]:
    found = application.get_chain(where).invoke({"input": question, "chat_history": []})
    return found["context"]  # type: ignore[no-any-return]


@versions
def test_a_second_run_embeds_what_changed(start: Start, data: Path, version: str) -> None:
    name = f"langchain_template.{version}"
    embeddings.embedded()
    start(name).ingest()
    first = len(embeddings.embedded())
    start(name).ingest()
    assert embeddings.embedded() == []
    insert_news(data / "lecture_06.md")
    application = start(name)
    application.ingest()
    second = len(embeddings.embedded())
    assert getattr(row("langchain_template"), version) == f"{second} of {first}"
    assert any(NEWS in each.page_content for each in context(application, NEWS))


@pytest.mark.filterwarnings("ignore::kinsplit.stores.filter_check.FilterWarning")
@versions
def test_a_file_that_is_gone_is_forgotten(start: Start, data: Path, version: str) -> None:
    name = f"langchain_template.{version}"
    start(name).ingest()
    assert context(start(name), QUESTION, {"title": "syllabus"})
    (data / "syllabus.md").unlink()
    embeddings.embedded()
    start(name).ingest()
    assert embeddings.embedded() == []
    application = start(name)
    assert context(application, QUESTION, {"title": "syllabus"}) == []
    assert context(application, QUESTION)


@versions
def test_answers_cite_their_files_and_stream(start: Start, data: Path, version: str) -> None:
    name = f"langchain_template.{version}"
    start(name).ingest()
    chain = start(name).get_chain()
    asked = {"input": QUESTION, "chat_history": [("human", "Hello."), ("ai", "Hello!")]}
    parts = [part["answer"] for part in chain.stream(asked) if "answer" in part]
    found = chain.invoke(asked)
    assert len(parts) > 3
    assert "".join(parts) == found["answer"]
    for each in found["context"]:
        source = Path(each.metadata["source"])
        assert f"[{source.stem}, {source}]\n{each.page_content}" in found["answer"]


def test_passages_of_kinsplit_are_slices_of_their_files(start: Start, data: Path) -> None:
    name = "langchain_template.after"
    start(name).ingest()
    for each in context(start(name), QUESTION):
        text = Path(each.metadata["source"]).read_text(encoding="utf-8")
        assert text[each.metadata["char_start"] : each.metadata["char_end"]] == each.page_content


def test_the_store_of_before_can_stay(start: Start, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = start("langchain_template.before")
    monkeypatch.setattr(stock, "embeddings", kin.CachedEmbeddings(embeddings, model="counted", folder="vectors"))
    application = start("langchain_template.after")
    monkeypatch.setattr(application, "get_vector_store", stock.get_vector_store)
    application.ingest()
    insert_news(data / "lecture_06.md")
    embeddings.embedded()
    assert application.ingest()["num_deleted"] == 0
    assert len(embeddings.embedded()) == 1
    found = context(application, NEWS)
    assert any(NEWS in each.page_content for each in found)
    assert max(len(each.page_content) for each in found) > 400
