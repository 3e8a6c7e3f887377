"""The front door: files in, passages out, and only what changed is embedded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit import Document, Index
from kinsplit.chunk import Chunk
from kinsplit.embedding import Progress, create
from kinsplit.errors import (
    InvalidParameterError,
    LimitTooSmallError,
    LoadError,
    MissingContentError,
    SchemaMismatchError,
    StoreError,
    TokenizerError,
)
from kinsplit.index import default_strategy

PARAGRAPHS = [f"Paragraph {i} is about {topic}. It says what {topic} means, and why." for i, topic in enumerate(
    ["recursion", "loops", "classes", "files", "sorting", "testing", "modules", "strings"]
)]  # fmt: skip


class RecordingEmbedder:
    """The hash embedder, remembering what it embedded."""

    def __init__(self) -> None:
        self._inner = create("hash")
        self.seen: list[str] = []
        self.name, self.dimension = self._inner.name, self._inner.dimension
        self.window, self.fingerprint = self._inner.window, self._inner.fingerprint

    def windows(self, texts: Sequence[str]) -> list[int]:
        return self._inner.windows(texts)

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        self.seen.extend(texts)
        return self._inner.embed(texts, progress)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._inner.embed_query(text)


@pytest.fixture
def course(tmp_path: Path) -> Path:
    folder = tmp_path / "course"
    folder.mkdir()
    (folder / "lecture_01.md").write_text("# One\n\n" + "\n\n".join(PARAGRAPHS), encoding="utf-8")
    (folder / "lecture_02.md").write_text("# Two\n\n" + "\n\n".join(reversed(PARAGRAPHS)), encoding="utf-8")
    return folder


def open_index(tmp_path: Path, embedder: RecordingEmbedder, strategy: str | None = None) -> Index:
    from kinsplit.parsers import create as create_strategy

    chosen = create_strategy("structure", chunk_size=20, min_chunk_size=5) if strategy is None else strategy
    return Index(f"edge:{tmp_path / 'data'}", collection="cs", strategy=chosen, embedder=embedder)


def test_a_second_run_embeds_nothing_and_changes_nothing(tmp_path: Path, course: Path) -> None:
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder) as index:
        first = index.add(course)
    seen = len(embedder.seen)
    with open_index(tmp_path, embedder) as index:
        second = index.add(course)

    assert first.added == sum(d.chunks for d in first.documents) > 10
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
        passages = index.search("classes", where={"source_id": "course/lecture_01.md"})

    assert report.added == 1
    assert [s for s in embedder.seen if "This is new" not in s] == []
    assert before.deleted == report.deleted == 0
    for passage in passages:
        assert passage.text == (new + text)[passage.start : passage.end]


def test_passages_are_slices_of_their_files_with_their_facts(tmp_path: Path, course: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(course)
        passages = index.search("what does recursion mean", top_k=2, window=1)

    assert passages
    for passage in passages:
        source = course.parent / passage.source_id
        assert passage.text == source.read_text(encoding="utf-8")[passage.start : passage.end]
        assert passage.metadata["file_path"] == passage.source_id
        assert passage.metadata["course"] == "course"
        assert "gap" not in passage.metadata
    assert "recursion" in passages[0].text


def test_documents_filters_and_pages(tmp_path: Path) -> None:
    text = "First page speaks of whales. " * 3 + "\f" + "Second page speaks of stars. " * 3
    documents = [
        Document("a.pdf", text, {"subject": "biology"}, pages=(0, text.index("\f") + 1)),
        Document("b.txt", "Stars are suns far away.", {"subject": "physics"}),
    ]
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        report = index.add(documents)
        everything = index.search("stars")
        physics = index.search("stars", where={"subject": "physics"})

    assert report.added == 2
    assert {p.source_id for p in everything} == {"a.pdf", "b.txt"}
    assert [p.source_id for p in physics] == ["b.txt"]
    assert next(p.pages for p in everything if p.source_id == "a.pdf") == (1, 2)
    assert physics[0].pages is None


def test_prune_deletes_what_is_gone_and_only_below_the_given_folder(tmp_path: Path, course: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index:
        index.add([course, Document("elsewhere.txt", "Kept.")])
        (course / "lecture_02.md").unlink()
        kept = index.add(course)
        pruned = index.add(course, prune=True)

        assert kept.deleted == 0
        assert pruned.deleted == pruned.pruned > 0
        assert set(index.store.sources()) == {"course/lecture_01.md", "elsewhere.txt"}


def test_a_broken_file_is_reported_and_the_rest_go_on(tmp_path: Path, course: Path) -> None:
    (course / "broken.pdf").write_bytes(b"%PDF-1.4 not really")
    with open_index(tmp_path, RecordingEmbedder()) as index:
        report = index.add(course)

    (failed,) = report.failed
    assert "broken.pdf" in str(failed.error)
    assert {d.source_id for d in report.documents} == {"course/lecture_01.md", "course/lecture_02.md"}


def test_an_index_opens_again_with_the_strategy_it_was_made_with(tmp_path: Path, course: Path) -> None:
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder) as index:
        index.add(course)
        strategy = index.strategy
    with Index(f"edge:{tmp_path / 'data'}", collection="cs", embedder=embedder) as index:
        assert index.strategy == strategy
        assert index.add(course).embedded == 0


def test_an_index_opens_again_with_the_language_it_was_made_with(tmp_path: Path) -> None:
    text = "Die alten Häuser stehen am Markt."
    with Index(f"edge:{tmp_path}", embedder="hash", terms="german") as index:
        index.add(Document("d", text))
    for strategy in (None, default_strategy()):
        with Index(f"edge:{tmp_path}", strategy=strategy, embedder="hash") as index:
            assert index.bm25.language == "german"
            assert index.add(Document("d", text)).unchanged == 1
            assert index.search("eines Hauses")[0].scores["bm25"] > 0
    with pytest.raises(SchemaMismatchError, match="sparse"):
        Index(f"edge:{tmp_path}", embedder="hash", terms="english")
    with Index("memory:", embedder="hash", terms="any") as index:
        assert index.bm25.language is None


def test_another_strategy_or_model_is_refused(tmp_path: Path, course: Path) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index:
        index.add(course)
    with pytest.raises(SchemaMismatchError, match="strategy"):
        open_index(tmp_path, RecordingEmbedder(), "sentence")
    with pytest.raises(SchemaMismatchError, match="model"):
        Index(f"edge:{tmp_path / 'data'}", collection="cs", embedder="hash:32")
    with Index(f"edge:{tmp_path / 'data'}", collection="cs", embedder="hash") as index:
        assert index.search("classes")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"query": "  "}, "query"),
        ({"query": "x", "top_k": 0}, "top_k"),
        ({"query": "x", "candidates": 0}, "candidates"),
        ({"query": "x", "window": -1}, "window"),
        ({"query": "x", "budget": 0}, "budget"),
        ({"query": "x", "candidates": 10**20}, "candidates"),
        ({"query": "x", "top_k": 2.5}, "top_k"),
        ({"query": None}, "query"),
    ],
)
def test_a_wrong_argument_is_named(tmp_path: Path, arguments: dict[str, object], field: str) -> None:
    with open_index(tmp_path, RecordingEmbedder()) as index, pytest.raises(InvalidParameterError, match=f"^{field}:"):
        index.search(**arguments)  # type: ignore[arg-type]


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


def test_a_store_inside_the_folder_is_no_source(tmp_path: Path, course: Path) -> None:
    for _ in range(2):
        with Index(f"edge:{course / 'kinsplit-data'}", embedder="hash") as index:
            report = index.add(course)

    assert report.failed == ()
    assert {d.source_id for d in report.documents} == {"course/lecture_01.md", "course/lecture_02.md"}


def two_folders(tmp_path: Path) -> tuple[Path, Path]:
    for parent in ("a", "b"):
        (tmp_path / parent / "notes").mkdir(parents=True)
        (tmp_path / parent / "notes" / "x.md").write_text(f"The notes of {parent}.", encoding="utf-8")
    return tmp_path / "a" / "notes", tmp_path / "b" / "notes"


def test_a_second_folder_of_the_same_name_is_refused_and_nothing_replaced(tmp_path: Path) -> None:
    first, second = two_folders(tmp_path)
    (second / "a.md").write_text("Only here.", encoding="utf-8")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        for again in (second, second / "x.md"):
            with pytest.raises(LoadError, match="would replace") as caught:
                index.add(again)
            assert str(first / "x.md") in str(caught.value)
            assert str(second / "x.md") in str(caught.value)
            assert "folder that holds both" in str(caught.value)
        assert list(index.store.sources()) == ["notes/x.md"]
        assert index.search("notes")[0].text == "The notes of a."
        assert index.add(tmp_path / "a").added > 0, "the folder above gives other ids"


def test_one_folder_by_several_ways_is_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = two_folders(tmp_path)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "notes").symlink_to(first, target_is_directory=True)
    monkeypatch.chdir(first)
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        for way in (".", "x.md", tmp_path / "link" / "notes"):
            again = index.add(way)
            assert again.unchanged > again.added + again.updated == 0


def test_a_project_that_moved_is_indexed_again_without_embedding(tmp_path: Path) -> None:
    first, _ = two_folders(tmp_path)
    embedder = RecordingEmbedder()
    with open_index(tmp_path, embedder, "sentence") as index:
        index.add(first)
        embedder.seen.clear()
        (tmp_path / "a").rename(tmp_path / "elsewhere")
        moved = index.add(tmp_path / "elsewhere" / "notes")
        assert (moved.embedded, moved.added, embedder.seen) == (0, 0, [])
        assert moved.updated > 0, "where it was read"
        assert index.add(tmp_path / "elsewhere" / "notes").updated == 0


def write_rows(path: Path, **texts: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    rows = [json.dumps({"docid": docid, "text": text}) for docid, text in texts.items()]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def test_a_row_of_another_file_is_not_replaced_while_that_file_is_there(tmp_path: Path) -> None:
    first = write_rows(tmp_path / "a" / "a.jsonl", alice="Edition a.", bob="Kept.")
    second = write_rows(tmp_path / "b" / "b.jsonl", alice="Edition b.", carol="New.")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first.parent)
        report = index.add(second.parent)
        (failed,) = report.failed
        assert (failed.source_id, report.documents) == ("b/b.jsonl", ())
        assert f"'alice' would replace that of {first}" in str(failed.error)
        assert index.search("edition", where={"source_id": "alice"})[0].text == "Edition a."
        assert index.add(first.parent).unchanged == 2

        write_rows(first, bob="Kept.")
        assert index.add([first, second]).failed == (), "the row has moved"
        assert index.search("edition", where={"source_id": "alice"})[0].text == "Edition b."
        first.rename(first.with_name("c.jsonl"))
        assert index.add(first.parent).failed == (), "the file has moved"


@pytest.mark.parametrize("whole", [True, False])
def test_prune_deletes_the_rows_that_are_gone_from_their_file(tmp_path: Path, whole: bool) -> None:
    file = write_rows(tmp_path / "rows" / "a.jsonl", alice="One.", bob="Two.")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add([file.parent, Document("dora", "Four.")])
        write_rows(file, alice="One.")
        assert index.add(file.parent).deleted == 0
        assert list(index.store.sources()) == ["alice", "bob", "dora"]
        assert index.add(file.parent if whole else file, prune=True).pruned == 1
        assert list(index.store.sources()) == ["alice", "dora"]


def test_prune_deletes_the_rows_of_a_file_that_is_gone_and_spares_those_of_a_broken_one(tmp_path: Path) -> None:
    folder = write_rows(tmp_path / "rows" / "a.jsonl", alice="One.").parent
    write_rows(folder / "b.jsonl", bob="Two.")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_rows(elsewhere / "rows" / "a.jsonl", carol="Three.")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(folder)
        index.add(elsewhere / "rows")
        (folder / "b.jsonl").write_text('{"docid": "bob", "text": 3}', encoding="utf-8")
        report = index.add(folder, prune=True)
        assert ([failed.source_id for failed in report.failed], report.pruned) == (["rows/b.jsonl"], 0)
        (folder / "b.jsonl").unlink()
        assert index.add(folder, prune=True).pruned == 1
        assert list(index.store.sources()) == ["alice", "carol"], "the other folder's are still there"


def test_prune_spares_what_another_folder_of_the_name_holds(tmp_path: Path) -> None:
    first, second = two_folders(tmp_path)
    (second / "x.md").rename(second / "y.md")
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(first)
        index.add(second)
        assert index.add(first, prune=True).pruned == 0
        (second / "y.md").unlink()
        assert index.add(first, prune=True).pruned > 0
        assert list(index.store.sources()) == ["notes/x.md"]


def test_prune_spares_what_lies_below_a_folder_that_cannot_be_listed(
    tmp_path: Path, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (course / "week").mkdir()
    (course / "week" / "x.md").write_text("Still there.", encoding="utf-8")
    listed = Path.iterdir

    def refuse(self: Path) -> object:
        if self.name == "week":
            raise PermissionError(13, "Permission denied", str(self))
        return listed(self)

    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(course)
        # So that only the folder itself can tell that the file isn't gone.
        monkeypatch.setattr("kinsplit.files._exists", lambda _: False)
        monkeypatch.setattr(Path, "iterdir", refuse)
        report = index.add(course, prune=True)

    assert [failed.source_id for failed in report.failed] == ["course/week"]
    assert report.pruned == 0


def test_prune_knows_a_folder_behind_a_link_by_the_name_it_was_given(tmp_path: Path, course: Path) -> None:
    (tmp_path / "linked").symlink_to(course, target_is_directory=True)
    with open_index(tmp_path, RecordingEmbedder(), "sentence") as index:
        index.add(tmp_path / "linked")
        (course / "lecture_02.md").unlink()
        assert index.add(tmp_path / "linked", prune=True).pruned > 0
        assert list(index.store.sources()) == ["linked/lecture_01.md"]


def test_a_document_that_cannot_be_split_is_reported_and_the_rest_go_on(tmp_path: Path) -> None:
    def by_byte(text: str) -> list[int]:
        return list(text.encode())

    from kinsplit.parsers import create as create_strategy

    strategy = create_strategy("sentence", chunk_size=3, chunk_overlap=0, tokenizer=by_byte)
    documents = [Document("a", "one"), Document("b", "two 😀"), Document("c", "one")]
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        report = index.add(documents)

        assert [document.source_id for document in report.documents] == ["a", "c"]
        (failed,) = report.failed
        assert failed.source_id == "b"
        assert isinstance(failed.error, LimitTooSmallError)
        assert "every character of 'b' in tokens, also '😀' (U+1F600)" in str(failed.error)


def test_a_collection_made_with_a_tokenizer_object_is_searched_without_it_but_for_a_budget(tmp_path: Path) -> None:
    from kinsplit.parsers import create as create_strategy

    strategy = create_strategy("sentence", chunk_size=9, tokenizer=str.split)
    with Index(f"edge:{tmp_path}", strategy=strategy, embedder="hash") as index:
        index.add(Document("d", "Stars are suns far away."))
        assert index.search("stars", budget=9)
    with Index(f"edge:{tmp_path}", embedder="hash") as index:
        assert index.search("stars")
        with pytest.raises(TokenizerError, match=r"str\.split is a Python object.*Give the strategy with"):
            index.search("stars", budget=9)


def test_a_mismatch_names_only_what_differs(tmp_path: Path) -> None:
    from kinsplit.parsers import create as create_strategy

    with Index(f"edge:{tmp_path}", strategy="sentence", embedder="hash"):
        pass
    with pytest.raises(SchemaMismatchError) as caught:
        Index(
            f"edge:{tmp_path}", strategy=create_strategy("sentence", chunk_size=80, chunk_overlap=20), embedder="hash"
        )
    told = str(caught.value)
    assert "strategy.chunk_size is 500 there and 80 here; strategy.chunk_overlap is 100 there and 20 here." in told
    assert "{" not in told
    assert "tokenizer" not in told


def test_a_collection_that_a_vector_store_filled_is_named_as_such(tmp_path: Path) -> None:
    core = pytest.importorskip("llama_index.core.schema")
    from kinsplit.integrations.llama_index import KinsplitVectorStore

    address = f"edge:{tmp_path / 'data'}"
    store = KinsplitVectorStore(address, collection="cs")
    store.add([core.TextNode(text="A loop repeats.", embedding=create("hash").embed(["A loop repeats."])[0].tolist())])
    store.close()
    with pytest.raises(StoreError, match="filled by a framework's vector store"):
        Index(address, collection="cs", embedder="hash")


def test_an_index_that_could_not_open_unlocks_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kinsplit.index

    address = f"edge:{tmp_path / 'data'}"
    with Index(address, embedder="hash"):
        pass
    with monkeypatch.context() as patch:
        patch.setattr(kinsplit.index, "names", list)
        with pytest.raises(StoreError, match="no strategy") as caught:
            Index(address, embedder="hash")
    assert caught.traceback, "its frames, which keep the store alive"
    with Index(address, embedder="hash"):
        pass


@pytest.mark.parametrize("strategy", ["sentence", "hierarchical"])
def test_what_another_writer_deletes_while_a_document_waits_is_embedded_again(strategy: str) -> None:
    document = Document("d", "\n\n".join(f"{i}. {paragraph}" for i, paragraph in enumerate(PARAGRAPHS * 20)))
    embedder = RecordingEmbedder()
    with Index("memory:", strategy=strategy, embedder=embedder) as index:
        index.add(document)
        missing = index.store.missing
        changed = Document("d", document.text + " And an end.")

        def missing_then_deleted(source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
            found = missing(source_id, chunks)
            index.store.missing = missing  # type: ignore[method-assign]
            index.delete("d")
            return found

        index.store.missing = missing_then_deleted  # type: ignore[method-assign]
        report = index.add(changed)

        assert report.added == report.embedded == report.documents[0].chunks > 1
        assert index.search("end")


def test_a_writer_that_deletes_again_and_again_is_given_up_on() -> None:
    with Index("memory:", strategy="sentence", embedder="hash") as index:
        document = Document("d", "\n\n".join(PARAGRAPHS * 20))
        index.add(document)
        missing = index.store.missing
        asked = []

        def nothing_missing(source_id: str, chunks: Sequence[Chunk]) -> list[Chunk]:
            asked.append(source_id)
            return []

        index.delete("d")
        index.store.missing = nothing_missing  # type: ignore[method-assign]
        with pytest.raises(MissingContentError):
            index.add(document)
        assert len(asked) == 4
        index.store.missing = missing  # type: ignore[method-assign]


def test_searches_that_begin_together_open_one_client_and_a_failed_one_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import kinsplit.index
    from kinsplit.stores.threaded import ThreadedStore

    opened = []

    async def run() -> None:
        async def open_async_store(*_: object) -> ThreadedStore:
            opened.append(None)
            await asyncio.sleep(0.01)
            if len(opened) == 1:
                raise StoreError("The server is away.")
            return ThreadedStore(index.store)

        monkeypatch.setattr(kinsplit.index, "has_async_client", lambda _: True)
        monkeypatch.setattr(kinsplit.index, "open_async_store", open_async_store)
        first = await asyncio.gather(*(index.asearch("stars") for _ in range(3)), return_exceptions=True)
        assert [str(error) for error in first] == ["The server is away."] * 3
        assert all(await asyncio.gather(*(index.asearch("stars") for _ in range(3))))
        await index.aclose()

    index = Index("memory:", embedder="hash")
    index.add(Document("d", "Stars are suns far away."))
    asyncio.run(run())
    assert len(opened) == 2


@pytest.mark.parametrize("second", [Document("a", "Again."), Document("b", "Text.", {"level": 1})])
def test_documents_that_can_not_be_stored_are_refused_before_any_is_written(second: Document) -> None:
    from kinsplit.parsers import create as create_strategy

    first = Document("a", "\n\n".join(f"{i}. {paragraph}" for i, paragraph in enumerate(PARAGRAPHS * 90)))
    strategy = create_strategy("sentence", chunk_size=16, chunk_overlap=0)
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        with pytest.raises(InvalidParameterError):
            index.add([first, Document("c", first.text), second])
        assert index.store.sources() == {}
