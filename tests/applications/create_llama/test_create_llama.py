"""A chat application of create-llama, before and after."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.schema import NodeRelationship

from tests.applications.conftest import NEWS, insert_news
from tests.applications.create_llama import after, before
from tests.applications.llama_index_models import embed_model
from tests.applications.table import row
from tests.snippets import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
both = pytest.mark.parametrize("app", [before, after], ids=["before", "after"])

OWLS = "Owls hunt at night.\n\nThey eat mice.\n\nA barn owl screeches."


@pytest.fixture(autouse=True)
def files(data: Path) -> Iterator[Path]:
    """The folder of the files that are indexed, which any version of LlamaIndex reads as they are."""
    for file in list(data.iterdir()):
        file.rename(file.with_suffix(".txt"))
    asyncio.set_event_loop(None)  # LlamaIndex then closes the loops that it opens.
    settings = dict(vars(Settings))
    embed_model.embedded()
    yield data
    vars(Settings).update(settings)


@pytest.fixture
def owls(files: Path) -> Path:
    file = files / "owls.txt"
    file.write_text(OWLS)
    return file


def sources(app: ModuleType, question: str, doc_ids: list[str] | None = None) -> list[Any]:
    return list(app.get_chat_engine(doc_ids or []).chat(question).source_nodes)


def nodes(app: ModuleType) -> list[Any]:
    return list(app.get_vector_store().get_nodes())


@both
def test_a_second_run_embeds_what_changed(app: ModuleType, files: Path) -> None:
    app.generate()
    first = embed_model.embedded()
    assert len(first) == len(nodes(app))
    app.generate()
    assert embed_model.embedded() == []
    insert_news(files / "lecture_06.txt")
    app.generate()
    again = embed_model.embedded()
    assert any(NEWS in " ".join(text.split()) for text in again)
    assert getattr(row("create_llama"), app.__name__.rpartition(".")[2]) == f"{len(again)} of {len(first)}"
    if app is after:
        assert not set(again) & set(first)


@both
def test_answers_show_where_they_come_from(app: ModuleType, owls: Path) -> None:
    app.generate()
    answer = app.get_chat_engine().chat("Owls hunt at night. They eat mice. A barn owl screeches.")
    hit = answer.source_nodes[0]
    assert hit.text in OWLS
    assert "They eat mice." in answer.response
    assert hit.score > 0
    assert hit.metadata["file_name"] == "owls.txt"
    assert hit.metadata["file_path"] == hit.node.ref_doc_id == str(owls)
    assert hit.metadata["private"] == "false"
    assert hit.metadata["node_id"] == hit.node_id in {node.node_id for node in nodes(app)}
    last = [node for node in nodes(app) if NodeRelationship.NEXT not in node.relationships]
    assert {node.ref_doc_id for node in last} == {str(file) for file in owls.parent.iterdir()}
    assert len(last) == 4


def test_neighbours_come_with_a_hit(files: Path) -> None:
    insert_news(files / "lecture_06.txt")
    after.generate()
    (hit, *_) = sources(after, NEWS)
    assert NEWS in hit.text
    assert len(hit.text) > max(len(node.text) for node in nodes(after) if NEWS in node.text)
    assert hit.text in (files / "lecture_06.txt").read_text(encoding="utf-8")


@both
def test_a_deleted_file_is_forgotten(app: ModuleType, owls: Path) -> None:
    app.generate()
    owls.unlink()
    app.generate()
    assert "owls.txt" not in {node.metadata["file_name"] for node in nodes(app)}
    assert "owls.txt" not in {hit.metadata["file_name"] for hit in sources(app, OWLS)}


@both
def test_a_pdf_is_cited_by_its_path_and_forgotten_with_its_pages(app: ModuleType, files: Path) -> None:
    pytest.importorskip("pypdf")
    pytest.importorskip("llama_index.readers.file", exc_type=ImportError)
    pdf = files / "lecture_03.pdf"
    shutil.copy(ROOT / "examples" / "course" / pdf.name, pdf)
    app.generate()
    made = [node for node in nodes(app) if node.metadata["file_name"] == pdf.name]
    assert {node.metadata["page_label"] for node in made} >= {"1", "2"}
    if app is after:
        assert {node.ref_doc_id for node in made} == {str(pdf)}
        assert len([node for node in made if NodeRelationship.NEXT not in node.relationships]) == 1
    pdf.unlink()
    app.generate()
    assert pdf.name not in {node.metadata["file_name"] for node in nodes(app)}


@both
def test_private_files_are_found_by_their_ids(app: ModuleType) -> None:
    app.generate()
    ids = app.upload("zebra.txt", "The zebra has a secret plan.")
    question = "The secret plan of the zebra"
    assert "zebra.txt" not in {hit.metadata["file_name"] for hit in sources(app, question)}
    found = {hit.metadata["file_name"] for hit in sources(app, question, ids)}
    assert "zebra.txt" in found
    assert found - {"zebra.txt"}, "public files too"


@both
def test_an_upload_empties_the_docstore_and_the_next_run_doubles_no_node_of_kinsplit(app: ModuleType) -> None:
    app.generate()
    number = len(nodes(app))
    app.upload("zebra.txt", "The zebra has a secret plan.")
    embed_model.embedded()
    app.generate()
    assert len(nodes(app)) == 1 + number * (2 if app is before else 1)
    assert len(embed_model.embedded()) == (number if app is before else 0)


def test_the_store_of_before_can_stay(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after, "get_vector_store", before.get_vector_store)
    after.generate()
    number = len(nodes(after))
    embed_model.embedded()
    insert_news(files / "lecture_06.txt")
    after.generate()
    assert len(embed_model.embedded()) == int(row("create_llama").after.split()[0])
    assert number <= len(nodes(after)) <= number + 1
    (hit, *_) = sources(after, NEWS)
    assert NEWS in hit.text
    assert hit.text in (files / "lecture_06.txt").read_text(encoding="utf-8")
    (files / "lecture_06.txt").unlink()
    after.generate()
    assert "lecture_06.txt" not in {node.metadata["file_name"] for node in nodes(after)}


def test_another_process_has_indexed(owls: Path) -> None:
    run = "from tests.applications.create_llama.after import generate; generate()"
    subprocess.run([sys.executable, "-c", run], check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120)
    after.init_settings()
    assert owls.name in {hit.metadata["file_name"] for hit in sources(after, OWLS)}
    after.generate()
    assert embed_model.embedded() == []
