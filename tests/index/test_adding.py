"""Tests of adding documents, of which only changes are embedded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kinsplit import Document, Index
from kinsplit.chunk import Chunk, Content
from kinsplit.errors import InvalidParameterError, LimitTooSmallError, LoadError, MissingContentError
from kinsplit.parsers.base import Levels
from kinsplit.parsers.strategies.character import CharacterStrategy
from kinsplit.stores.filters import MOST_VALUES
from kinsplit.stores.values import DocumentComparison, SyncReport, Vectors
from tests.index.helpers import PARAGRAPHS, RecordingEmbedder, Stored, open_index


def test_a_second_run_embeds_nothing_and_changes_nothing(tmp_path: Path, course: Path) -> None:
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder) as index:
        first = index.add(course)
    seen = len(embedder.seen)
    with open_index(tmp_path, embedder) as index:
        second = index.add(course)

    assert first.added == first.chunks > 10
    assert first.embedded == seen > 0
    assert (second.added, second.updated, second.deleted, second.embedded) == (0, 0, 0, 0)
    assert second.unchanged == first.added
    assert len(embedder.seen) == seen


def test_after_one_paragraph_changed_only_its_chunk_is_embedded(tmp_path: Path, course: Path) -> None:
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder) as index:
        index.add(course)
        embedder.seen.clear()
        changed = [
            "A new paragraph on generators and what they yield." if i == 3 else p for i, p in enumerate(PARAGRAPHS)
        ]
        (course / "lecture_01.md").write_text("# One\n\n" + "\n\n".join(changed), encoding="utf-8")
        report = index.add(course)

    assert report.embedded == 1
    assert len(embedder.seen) == 1
    assert "generators" in embedder.seen[0]
    assert report.updated == 5, "its own chunk, and the offsets of the four behind it"


def test_a_paragraph_put_in_front_moves_the_others_without_embedding_them(tmp_path: Path, course: Path) -> None:
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder) as index:
        before = index.add(course)
        embedder.seen.clear()
        text = (course / "lecture_01.md").read_text(encoding="utf-8")
        new = "# Zero\n\nThis is new, and long enough to be a chunk of its own.\n\n"
        (course / "lecture_01.md").write_text(new + text, encoding="utf-8")
        report = index.add(course)
        embedded = list(embedder.seen)
        passages = index.search("classes", where={"source_id": "course/lecture_01.md"})

    assert report.added == 1
    assert [s for s in embedded if "This is new" not in s] == []
    assert before.deleted == report.deleted == 0
    for passage in passages:
        assert passage.text == (new + text)[passage.start : passage.end]


def test_a_broken_file_is_reported_and_the_rest_go_on(tmp_path: Path, course: Path) -> None:
    (course / "broken.pdf").write_bytes(b"%PDF-1.4 not really")
    with open_index(tmp_path, RecordingEmbedder()) as index:
        report = index.add(course)

    (failed,) = report.failed
    assert "broken.pdf" in str(failed.error)
    assert report.documents == 2


def test_paths_that_hold_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with open_index(tmp_path, RecordingEmbedder()) as index:
        with pytest.raises(LoadError, match="empty"):
            index.add(tmp_path / "empty")
        with pytest.raises(LoadError, match="nowhere"):
            index.add(tmp_path / "nowhere")


def test_metadata_that_would_hide_a_chunks_own_fields_are_refused(tmp_path: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index, pytest.raises(InvalidParameterError, match="chunk_index"):
        index.add(Document("d", "Text.", {"chunk_index": 3}))


def test_two_documents_with_one_id_are_refused(tmp_path: Path) -> None:
    with (
        open_index(tmp_path, RecordingEmbedder()) as index,
        pytest.raises(InvalidParameterError, match="id of their own"),
    ):
        index.add([Document("x", "One."), Document("x", "Two.")])


@pytest.mark.parametrize("second", [Document("a", "Again."), Document("b", "Text.", {"level": 1})])
def test_documents_that_can_not_be_stored_are_refused_before_any_is_written(second: Document) -> None:
    from kinsplit.parsers import create as create_strategy

    first = Document("a", "\n\n".join(f"{i}. {paragraph}" for i, paragraph in enumerate(PARAGRAPHS * 90)))
    strategy = create_strategy("sentence", chunk_size=16, chunk_overlap=0)
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        with pytest.raises(InvalidParameterError):
            index.add([first, Document("c", first.text), second])
        assert index.store.sources() == {}


def test_a_store_inside_the_folder_is_no_source(tmp_path: Path, course: Path) -> None:
    for _ in range(2):
        with Index(f"edge:{course / 'kinsplit-data'}", embedder="hash") as index:
            report = index.add(course)

    assert report.failed == ()
    assert report.documents == 2


def test_a_document_that_cannot_be_split_is_reported_and_the_rest_go_on(tmp_path: Path) -> None:
    def by_byte(text: str) -> list[int]:
        return list(text.encode())

    from kinsplit.parsers import create as create_strategy

    strategy = create_strategy("sentence", chunk_size=3, chunk_overlap=0, tokenizer=by_byte)
    documents = [Document("a", "one"), Document("b", "two 😀"), Document("c", "one")]
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        stored = Stored()
        report = index.add(documents, on_event=stored)

        assert [document.source_id for document in stored.documents] == ["a", "c"]
        (failed,) = report.failed
        assert failed.source_id == "b"
        assert isinstance(failed.error, LimitTooSmallError)
        assert "every character of 'b' in tokens, also '😀' (U+1F600)" in str(failed.error)


def test_documents_that_have_not_changed_are_looked_up_together_and_not_written() -> None:
    documents = [Document(str(number), f"{number}. {PARAGRAPHS[0]}", {"year": 2020}) for number in range(5)]
    with Index("memory:", embedder="hash") as index:
        index.add(documents)
        stored, compare, sync = index.store.stored, index.store.compare, index.store.sync
        asked: list[int] = []
        compared: list[str] = []
        written: list[str] = []

        def watch_stored(origins: Mapping[str, str]) -> dict[str, int]:
            asked.append(len(origins))
            return stored(origins)

        def watch_compare(documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
            compared.extend(documents)
            return compare(documents)

        def watch_sync(source_id: str, chunks: Sequence[Chunk], vectors: Mapping[Content, Vectors]) -> SyncReport:
            written.append(source_id)
            return sync(source_id, chunks, vectors)

        index.store.stored = watch_stored  # type: ignore[method-assign]
        index.store.compare = watch_compare  # type: ignore[method-assign]
        index.store.sync = watch_sync  # type: ignore[method-assign]
        documents[2] = Document("2", documents[2].text, {"year": 2021})
        reports = Stored()
        index.add(documents, on_event=reports)
        changes = [report.changes for report in reports.documents]
    assert (asked, compared, written) == ([5], ["2"], ["2"])
    assert changes == [SyncReport(updated=1) if n == 2 else SyncReport(unchanged=1) for n in range(5)]


def test_more_documents_than_a_request_may_name_are_indexed_and_deleted() -> None:
    # Most are blank, which takes a tenth of the time.
    documents = [
        Document(f"d{number}", "" if number % 1000 else f"Note {number}.") for number in range(MOST_VALUES + 2)
    ]
    with Index("memory:", embedder="hash") as index:
        stored = index.store.stored
        asked: list[int] = []

        def watch_stored(origins: Mapping[str, str]) -> dict[str, int]:
            asked.append(len(origins))
            return stored(origins)

        index.store.stored = watch_stored  # type: ignore[method-assign]
        assert index.add(documents).added == 11
        assert asked == [*[1000] * 10, 2]
        names = [document.id for document in documents]
        assert index.count({"source_id": names}) == 11
        (passage,) = index.search("note 7000", where={"source_id": names}, top_k=1)
        assert passage.source_id == "d7000"
        assert index.delete(where={"source_id": names[1:]}) == 10
        assert index.store.sources(0) == {"d0": 1}


@pytest.mark.parametrize("store", ["memory:", "edge"])
def test_chunks_that_an_unchanged_document_has_lost_are_stored_again(store: str, tmp_path: Path) -> None:
    document = Document("d", "\n\n".join(PARAGRAPHS * 3), {"weight": 0.1 + 0.2})
    with Index(f"edge:{tmp_path}" if store == "edge" else store, embedder="hash") as index:
        index.add(document)
        held = {chunk.id: chunk for chunk in index.store.find({"source_id": "d"}, None)}
        leaves = sum(chunk.level == 0 for chunk in held.values())
        for lost in {chunk.level: chunk for chunk in held.values()}.values():
            assert index.add(document).unchanged == leaves
            index.store.remove([lost.id])
            assert index.add(document).unchanged == leaves - (lost.level == 0)
            assert {chunk.id: chunk for chunk in index.store.find({"source_id": "d"}, None)} == held


def test_documents_are_split_again_unless_the_same_chunks_must_come_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[str] = []

    class Mine(CharacterStrategy):
        def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
            split.extend(document.id for document in documents)
            return super()._cut_outlined(documents)

    document = Document("d", PARAGRAPHS[0])
    with Index("memory:", strategy=Mine(), embedder="hash") as index:
        # Its code may have changed since.
        for _ in range(2):
            index.add(document)
        assert split == ["d", "d"]
        monkeypatch.setattr(Mine, "__module__", "kinsplit.parsers.strategies.character")
        for _ in range(3):
            index.add(document)
        # The first of these runs didn't know yet of what the chunks were made.
        assert split == ["d"] * 3
        monkeypatch.setattr("kinsplit.__version__", "99.0")
        index.add(document)
        assert split == ["d"] * 4


@pytest.mark.parametrize("strategy", ["sentence", "hierarchical"])
def test_what_another_writer_deletes_while_a_document_waits_is_embedded_again(strategy: str) -> None:
    document = Document("d", "\n\n".join(f"{i}. {paragraph}" for i, paragraph in enumerate(PARAGRAPHS * 20)))
    embedder = RecordingEmbedder()
    with Index("memory:", strategy=strategy, embedder=embedder) as index:
        index.add(document)
        compare = index.store.compare
        changed = Document("d", document.text + " And an end.")

        def compare_then_delete(documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
            found = compare(documents)
            index.store.compare = compare  # type: ignore[method-assign]
            index.delete("d")
            return found

        index.store.compare = compare_then_delete  # type: ignore[method-assign]
        report = index.add(changed)

        assert report.added == report.embedded == report.chunks > 1
        assert index.search("end")


def test_a_writer_that_deletes_again_and_again_is_given_up_on() -> None:
    with Index("memory:", strategy="sentence", embedder="hash") as index:
        document = Document("d", "\n\n".join(PARAGRAPHS * 20))
        index.add(document)
        compare = index.store.compare
        asked: list[str] = []

        def nothing_missing(documents: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
            asked.extend(documents)
            return dict.fromkeys(documents, DocumentComparison([], is_stored=False))

        index.delete("d")
        index.store.compare = nothing_missing  # type: ignore[method-assign]
        with pytest.raises(MissingContentError):
            index.add(document)
        assert len(asked) == 4
        index.store.compare = compare  # type: ignore[method-assign]
