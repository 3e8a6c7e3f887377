"""Ingestion and chat of PrivateGPT, before and after."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.applications.conftest import NEWS, insert_news
from tests.applications.llama_index_models import embed_model
from tests.applications.private_gpt import after, before
from tests.applications.table import row
from tests.snippets import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
both = pytest.mark.parametrize("app", [before, after], ids=["before", "after"])

OWLS = "An owl hunts at night. It sees well in the dark. Owls eat mice."
BIRDS = "\f".join((OWLS, "A lark sings at dawn. Larks eat seeds.", "Bats are no birds. They hunt insects."))


@pytest.fixture(autouse=True)
def birds(data: Path) -> Path:
    """A file with three pages."""
    file = data / "birds.txt"
    file.write_text(BIRDS)
    asyncio.set_event_loop(None)  # LlamaIndex then closes the loops that it opens.
    embed_model.embedded()
    return file


class Running:
    """The application, which starts anew."""

    def __init__(self, app: ModuleType) -> None:
        components = app.Components()
        self.service, self.chat = app.IngestService(components), app.ChatService(components)

    def ingest(self, *files: Path) -> list[str]:
        component = self.service.component
        made = component.bulk_ingest([(file.name, file) for file in files])
        return [document.doc_id for document in made]

    def answer(self, question: str, doc_ids: list[str] | None = None) -> Any:
        return self.chat.chat_engine(doc_ids).chat(question)


@both
def test_ingesting_a_changed_file_embeds_what_changed(app: ModuleType, data: Path) -> None:
    files = sorted(data.glob("*.md"))
    running = Running(app)
    ids = dict(zip(files, running.ingest(*files), strict=True))
    first = embed_model.embedded()
    insert_news(files[0])
    running = Running(app)
    running.service.component.delete(ids[files[0]])
    (new,) = running.ingest(files[0])
    again = embed_model.embedded()
    assert getattr(row("private_gpt"), app.__name__.rpartition(".")[2]) == f"{len(again)} of {len(first)}"
    if app is after:
        assert not set(again) & set(first)
    assert running.answer(NEWS).source_nodes[0].node.ref_doc_id == new


@both
@pytest.mark.parametrize("way", ["ingest", "bulk_ingest"])
def test_pages_are_listed_found_and_deleted_by_the_ids_that_were_returned(
    app: ModuleType, birds: Path, way: str
) -> None:
    component = Running(app).service.component
    made = component.ingest(birds.name, birds) if way == "ingest" else component.bulk_ingest([(birds.name, birds)])
    ids = [document.doc_id for document in made]
    assert len(ids) == (3 if app is before else 1), "pages are documents of their own, or one document"
    running = Running(app)
    (other,) = running.ingest(birds.parent / "syllabus.md")
    assert running.service.list_ingested().keys() == {*ids, other}
    assert running.service.list_ingested()[ids[0]].items() >= {"file_name": birds.name, "page_label": "1"}.items()
    for id_, page in zip(ids, BIRDS.split("\f"), strict=False):
        hits = running.answer(page, [id_]).source_nodes
        assert {hit.node.ref_doc_id for hit in hits} == {hit.metadata["doc_id"] for hit in hits} == {id_}
        running.service.component.delete(id_)
    running = Running(app)
    assert running.service.list_ingested().keys() == {other}
    assert {hit.node.ref_doc_id for hit in running.answer(OWLS).source_nodes} <= {other}
    assert not any(text in BIRDS for _, text, _ in running.chat.chunks(OWLS))


@both
def test_answers_are_made_from_windows(app: ModuleType, birds: Path) -> None:
    running = Running(app)
    running.ingest(birds)
    answer = running.answer("It sees well in the dark.")
    hit = answer.source_nodes[0]
    assert " ".join(hit.text.split()).startswith(OWLS)
    assert "Owls eat mice." in answer.response
    assert "page_label" not in answer.response
    assert hit.metadata["page_label"] == "1"
    assert {hit.metadata["file_name"] for hit in answer.source_nodes} == {"birds.txt"}


@both
def test_chunks_have_siblings_in_the_docstore_after_a_restart(app: ModuleType, birds: Path) -> None:
    Running(app).ingest(birds)
    chunks = Running(app).chat.chunks("It sees well in the dark.", limit=1, siblings=2)
    (one,) = [
        [[text.strip() for text in texts] for texts in (earlier, [text], later)] for earlier, text, later in chunks
    ]
    page = ["A lark sings at dawn."] if app is after else []
    assert one == [["An owl hunts at night."], ["It sees well in the dark."], ["Owls eat mice.", *page]]


def test_another_process_has_ingested(birds: Path) -> None:
    run = (
        "from pathlib import Path; from tests.applications.private_gpt.after import Components, IngestService;"
        "IngestService(Components()).component.ingest('birds.txt', Path('data/birds.txt'))"
    )
    subprocess.run([sys.executable, "-c", run], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120)
    running = Running(after)
    assert list(running.service.list_ingested()) == [birds.name]
    assert OWLS in " ".join(running.answer("It sees well in the dark.").source_nodes[0].text.split())
    running.service.component.delete(birds.name)
    assert Running(after).answer(OWLS).source_nodes == []
