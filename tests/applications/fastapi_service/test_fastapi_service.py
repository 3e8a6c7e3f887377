"""Files are uploaded, asked about and deleted, with LangChain's own splitter and store and with kinsplit's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.applications.conftest import NEWS, insert_news
from tests.applications.langchain_models import embeddings
from tests.applications.table import row

testclient = pytest.importorskip("fastapi.testclient")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
versions = pytest.mark.parametrize("version", ["before", "after"])

Start = Callable[[str], ModuleType]


class Client:
    """A user of the service, which starts anew."""

    def __init__(self, start: Start, version: str) -> None:
        self._http = testclient.TestClient(start(f"fastapi_service.{version}").app)

    def upload(self, path: Path) -> int:
        with path.open("rb") as file:
            answer = self._http.post("/upload", files={"file": (path.name, file)})
        assert answer.status_code == 200
        return answer.json()["file_id"]  # type: ignore[no-any-return]

    def ask(self, question: str, file_id: int | None = None) -> dict[str, Any]:
        asked = {"question": question, "file_id": file_id}
        answer: dict[str, Any] = self._http.post("/ask", json=asked).json()
        assert self._http.post("/stream", json=asked).text == answer["answer"]
        return answer

    def files(self) -> dict[str, str]:
        return self._http.get("/files").json()  # type: ignore[no-any-return]

    def delete(self, file_id: int) -> int:
        return self._http.delete(f"/files/{file_id}").json()["deleted"]  # type: ignore[no-any-return]


def files_of(answer: dict[str, Any]) -> set[int]:
    return {about["file_id"] for about in answer["context"]}


@versions
def test_an_upload_after_a_change_embeds_what_changed(start: Start, data: Path, version: str) -> None:
    client = Client(start, version)
    embeddings.embedded()
    path = data / "lecture_06.md"
    old = client.upload(path)
    first = len(embeddings.embedded())
    insert_news(path)
    client = Client(start, version)
    client.delete(old)
    new = client.upload(path)
    second = len(embeddings.embedded())
    assert getattr(row("fastapi_service"), version) == f"{second} of {first}"
    assert NEWS in client.ask(NEWS)["answer"].partition("Question")[0]
    assert files_of(client.ask(NEWS)) == {new}


@pytest.mark.filterwarnings("ignore::kinsplit.stores.filter_check.FilterWarning")
@versions
def test_files_are_found_by_filter_and_deleted_after_a_restart(start: Start, data: Path, version: str) -> None:
    client = Client(start, version)
    ids = [client.upload(path) for path in sorted(data.iterdir())]
    client = Client(start, version)
    assert client.files() == {str(id_): path.name for id_, path in zip(ids, sorted(data.iterdir()), strict=True)}
    for id_ in ids:
        assert files_of(client.ask("What is a base case?", id_)) == {id_}
    assert client.delete(ids[0]) > 5
    client = Client(start, version)
    assert client.ask("What is a base case?", ids[0])["context"] == []
    assert files_of(client.ask("What is a base case?")) <= set(ids[1:])
    assert client.delete(ids[0]) == 0


@versions
def test_a_file_that_is_uploaded_twice_is_two_files(start: Start, data: Path, version: str) -> None:
    client = Client(start, version)
    first, second = (client.upload(data / "syllabus.md") for _ in range(2))
    assert client.delete(second) > 0
    assert files_of(client.ask("Which lectures are there?")) == {first}
    assert client.delete(first) > 0


@versions
def test_pages_of_a_pdf_stay_citable(start: Start, data: Path, version: str) -> None:
    pytest.importorskip("pypdf")
    client = Client(start, version)
    id_ = client.upload(Path(__file__).parents[3] / "examples" / "course" / "lecture_03.pdf")
    context = client.ask("What is a loop?", id_)["context"]
    assert all(isinstance(about["page"], int) for about in context)
    assert version == "before" or all(about["page_start"] == about["page"] + 1 for about in context)
