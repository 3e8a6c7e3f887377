"""Documents that the embedding model refuses, which keep no others out, and models that are down."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from numpy.typing import NDArray
from typer.testing import CliRunner

from kinsplit import Document, EmbedderUnavailableError, EmbeddingError, Index
from kinsplit.chunk import Chunk
from kinsplit.cli import app
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.protocol import Progress
from kinsplit.embedding.remote_models.clients import OpenAIEmbedder
from kinsplit.errors import KinsplitError, LimitTooSmallError, MissingExtraError, TextRefusedError
from kinsplit.indexing.reports import AddEvent, DocumentReport, FileRead, TextsEmbedded
from kinsplit.indexing.vectors import Division
from kinsplit.stores.values import DocumentComparison
from tests.embedding.fake_embeddings import FakeEmbeddings, serving

#: Documents in one batch.
MANY = 40


def documents(*poisoned: int, number: int = MANY, more: str = "") -> list[Document]:
    return [
        Document(f"d{at:02}", f"Owls number {at} hunt at night.{more}" + " POISON." * (at in poisoned))
        for at in range(number)
    ]


def ids(index: Index) -> set[str]:
    return set(index.store.sources())


class Picky(Embeddings):
    """An embedding object of LangChain that refuses some texts, and records the sizes of its calls."""

    def __init__(self, refused: str = "POISON") -> None:
        self.refused, self.calls = refused, list[int]()
        self.is_down = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        if self.is_down or any(self.refused in text for text in texts):
            raise RuntimeError("413 input too large")
        return [[len(text) % 7 + 1.0, 1.0, 2.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 1.0, 1.0]


class Wrong(HashEmbedder):
    """An embedder of one's own that gives unusable vectors for some texts."""

    def __init__(self, spoil: Callable[[NDArray[np.float32]], Any]) -> None:
        super().__init__(8)
        self._spoil = spoil

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        vectors = super().embed(texts, progress)
        spoilt: NDArray[np.float32] = self._spoil(vectors) if any("POISON" in text for text in texts) else vectors
        return spoilt


@pytest.mark.parametrize("poisoned", [(3,), (0,), (MANY - 1,), (0, 17, 18, MANY - 1)])
def test_refused_documents_keep_no_others_out(poisoned: tuple[int, ...]) -> None:
    picky = Picky()
    with Index("memory:", embedder=picky) as index:
        for run in (1, 2, 3):
            picky.calls.clear()
            report = index.add(documents(*poisoned))
            assert [failure.source_id for failure in report.failed] == [f"d{at:02}" for at in poisoned]
            for failure in report.failed:
                assert str(failure.error).startswith(f"{failure.source_id}: ")
                assert "RuntimeError: 413 input too large" in str(failure.error)
            assert report.documents == len(ids(index)) == MANY - len(poisoned)
            assert report.added == (MANY - len(poisoned) if run == 1 else 0)
            # The batch, and for each refused document two calls per halving, and two probes.
            assert len(picky.calls) <= 1 + len(poisoned) * (2 * math.ceil(math.log2(MANY)) + 2)
        assert index.search("owls")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda vectors: vectors * np.nan, "NaN or infinity"),
        (lambda vectors: np.full_like(vectors, np.inf), "NaN or infinity"),
        (lambda vectors: vectors[:-1], "shape|one vector per text"),
        (lambda vectors: np.concatenate([vectors, vectors]), r"shape \(2, 8\) for 1 texts"),
        (lambda vectors: vectors[:, :5], "of 5 numbers instead of 8"),
        (lambda vectors: [*vectors[:-1].tolist(), [1.0]], "of 1 numbers instead of 8|one vector per text"),
        (lambda vectors: [None] * len(vectors), r"NaN|one vector per text|shape \(1,\)"),
    ],
)
def test_wrong_vectors_of_one_text_are_a_refusal(spoil: Callable[[NDArray[np.float32]], Any], reason: str) -> None:
    with Index("memory:", embedder=Wrong(spoil)) as index:
        report = index.add(documents(5))
        (failure,) = report.failed
        assert failure.source_id == "d05"
        with pytest.raises(EmbeddingError, match=reason):
            raise failure.error
        assert ids(index) == {f"d{at:02}" for at in range(MANY)} - {"d05"}


def test_a_refused_chunk_keeps_its_whole_document_out_and_its_former_version_in(tmp_path: Path) -> None:
    folder = tmp_path / "owls"
    folder.mkdir()
    former = "\n\n".join(f"Paragraph {at} tells what owls of kind {at} eat in winter." for at in range(20))
    (folder / "long.md").write_text(former)
    (folder / "other.md").write_text("Others hunt by day.")
    with Index("memory:", embedder=Picky(), strategy="hierarchical") as index:
        index.add(folder)
        before = index.store.export("owls/long.md")
        (folder / "long.md").write_text(f"New here.\n\n{former}\n\nPOISON at the end.")
        (folder / "other.md").write_text("Others hunt by night.")
        report = index.add(folder, prune=True)
        assert [failure.source_id for failure in report.failed] == ["owls/long.md"]
        assert (report.gone, report.pruned) == ((), 0)
        after = index.store.export("owls/long.md")
        assert [chunk for chunk, _ in after] == [chunk for chunk, _ in before]
        assert index.find({"source_id": "owls/other.md"})[0].text == "Others hunt by night."
        (folder / "long.md").write_text(f"New here.\n\n{former}")
        assert index.add(folder).failed == ()
        assert index.find({"source_id": "owls/long.md"})[0].text.startswith("New here.")


def test_late_chunking_finds_a_refused_document() -> None:
    from kinsplit.embedding.bundled import BundledEmbedder

    class Late(BundledEmbedder):
        def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
            if any("POISON" in text for text in texts):
                raise ValueError("can't be read")
            return super().embed_tokens(texts)

    with Index("memory:", embedder=Late(), embedding_context="late") as index:
        report = index.add(documents(2, number=4))
        assert [failure.source_id for failure in report.failed] == ["d02"]
        assert ids(index) == {"d00", "d01", "d03"}


@pytest.mark.parametrize("strategy", ["semantic", "cluster"])
def test_a_strategy_whose_model_refuses_a_document_keeps_no_others_out(strategy: str) -> None:
    from kinsplit import create_strategy

    picky = Picky()
    made = create_strategy(strategy, embedder=picky)
    with Index("memory:", embedder="hash", strategy=made) as index:
        report = index.add(
            documents(2, number=5, more=" They fly. They sleep. They eat. They see. They hear. They turn.")
        )
        (failure,) = report.failed
        assert failure.source_id == "d02"
        assert f"{strategy} with " in str(failure.error)
        assert len(ids(index)) == 4
        picky.is_down = True
        with pytest.raises(EmbedderUnavailableError, match="0 documents are stored"):
            index.add(documents(number=5, more=" They run. They sing. They eat. They see. They hear. They turn."))


def test_a_model_that_is_down_ends_the_run_with_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinsplit.indexing.indexer._BATCH", 12)  # Four documents, each with its parent and itself.
    picky = Picky()
    with Index("memory:", embedder=picky) as index:

        def die_after(report: object) -> None:
            picky.is_down = True

        with pytest.raises(EmbedderUnavailableError) as caught:
            index.add(documents(), on_event=die_after)
        stored = len(ids(index))
        assert 0 < stored < MANY
        assert stored % 4 == 0
        assert f"{stored} documents are stored, and another run goes on with the others" in str(caught.value)
        assert "RuntimeError: 413 input too large" in str(caught.value)
        assert isinstance(caught.value.__cause__, EmbedderUnavailableError)
        picky.calls.clear()
        with pytest.raises(EmbedderUnavailableError, match=f"{stored} documents are stored"):
            index.add(documents())
        assert picky.calls == [4, 1], "one batch, and one probe"
        picky.is_down = False
        report = index.add(documents())
        assert (report.added, report.unchanged, report.failed) == (MANY - stored, stored, ())


def test_a_model_that_dies_while_a_batch_is_divided_refuses_nothing() -> None:
    class Dying(Picky):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.is_down = len(self.calls) >= 5
            return super().embed_documents(texts)

    dying = Dying()
    with Index("memory:", embedder=dying) as index, pytest.raises(EmbedderUnavailableError, match="0 documents"):
        index.add(documents(3))
    assert len(dying.calls) <= 12


def test_an_error_that_is_not_about_texts_is_raised_as_it_is() -> None:
    class Missing(HashEmbedder):
        def embed(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
            raise MissingExtraError("torch", "torch")

    with Index("memory:", embedder=Missing(8)) as index, pytest.raises(MissingExtraError, match="pip install"):
        index.add(documents())


@pytest.mark.parametrize("kind", [TextsEmbedded, DocumentReport, FileRead])
def test_an_error_of_a_callback_is_no_refusal(kind: type[AddEvent], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Owls hunt.")

    def fail(event: AddEvent) -> None:
        if isinstance(event, kind):
            raise ZeroDivisionError

    picky = Picky()
    with Index("memory:", embedder=picky) as index:
        picky.calls.clear()
        with pytest.raises(ZeroDivisionError):
            index.add([tmp_path, *documents()], on_event=fail)
        assert len(picky.calls) <= 1


def test_a_document_refused_after_another_writer_deleted_its_chunks_is_reported() -> None:
    picky = Picky("never")
    with Index("memory:", embedder=picky) as index:
        index.add(Document("d", "Owls hunt. POISON."))
        compare = index.store.compare

        def compare_then_delete(wanted: Mapping[str, Sequence[Chunk]]) -> dict[str, DocumentComparison]:
            found = compare(wanted)
            index.store.compare = compare  # type: ignore[method-assign]
            index.delete("d")
            picky.refused = "POISON"
            return found

        index.store.compare = compare_then_delete  # type: ignore[method-assign]
        report = index.add([Document("d", "Owls hunt. POISON.", metadata={"year": 2024}), *documents(number=3)])
        assert [failure.source_id for failure in report.failed] == ["d"]
        assert report.documents == 3


def test_the_command_ends_with_the_code_of_partial_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = HashEmbedder.embed

    def embed(self: HashEmbedder, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        if any("POISON" in text for text in texts):
            raise RuntimeError("413 input too large")
        return whole(self, texts, progress)

    monkeypatch.setattr(HashEmbedder, "embed", embed)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owls").mkdir()
    for document in documents(3, number=6):
        (tmp_path / "owls" / f"{document.id}.txt").write_text(document.text)
    done = CliRunner().invoke(app, ["index", "owls", "--embedder", "hash", "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert [each["source_id"] for each in found["documents"]] == [f"owls/d{at:02}.txt" for at in (0, 1, 2, 4, 5)]
    (failed,) = found["failed"]
    assert failed["file"] == "owls/d03.txt"
    assert "413 input too large" in json.dumps(failed)
    (tmp_path / "owls" / "d03.txt").rename(tmp_path / "d03.txt")
    assert CliRunner().invoke(app, ["index", "d03.txt", "--embedder", "hash"]).exit_code == 2


class Server(FakeEmbeddings):
    """A server that answers requests that hold a certain text with an error."""

    status = 200

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, str, dict[str, str]]:
        if self.status != 200 and any("POISON" in text for text in body["input"]):
            return self.status, json.dumps({"error": {"message": "no vectors of this"}}), {}
        return super().answer(path, body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, socket_enabled: None) -> Iterator[Server]:
    monkeypatch.setattr("tests.embedding.fake_embeddings.FakeEmbeddings", Server)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        assert isinstance(running, Server)
        yield running


@pytest.mark.parametrize(("status", "calls"), [(400, 18), (413, 18), (422, 18), (500, 32)])
def test_a_server_that_refuses_a_text_keeps_no_others_out(server: Server, status: int, calls: int) -> None:
    with Index("memory:", embedder=OpenAIEmbedder("tiny", server.url)) as index:
        server.status = status
        server.calls.clear()
        report = index.add(documents(11))
        (failure,) = report.failed
        assert failure.source_id == "d11"
        assert f"status {status}: no vectors of this" in str(failure.error)
        assert len(ids(index)) == MANY - 1
        assert len(server.calls) <= calls
        # A refused text doesn't make the other requests smaller.
        server.calls.clear()
        index.add(documents(more=" They sleep by day."))
        assert len(server.calls) == 1


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (403, 1), (404, 1), (429, 3), (503, 3)])
def test_a_server_that_is_unavailable_ends_the_run_without_division(server: Server, status: int, calls: int) -> None:
    with Index("memory:", embedder=OpenAIEmbedder("tiny", server.url)) as index:
        index.add(documents(number=2))
        server.status = status
        server.calls.clear()
        with pytest.raises(EmbedderUnavailableError, match=f"status {status}.*2 documents are stored"):
            index.add([*documents(number=2), *(Document(f"e{at}", f"POISON {at}.") for at in range(9))])
        assert len(server.calls) == calls, "the client's own attempts"
        assert ids(index) == {"d00", "d01"}


def test_a_server_that_answers_no_more_is_unavailable(socket_enabled: None) -> None:
    with pytest.raises(EmbedderUnavailableError, match="not reachable"):
        OpenAIEmbedder("tiny", "http://127.0.0.1:9").embed(["a"])


@given(
    number=st.integers(0, 70),
    poisoned=st.sets(st.integers(0, 69)),
    named=st.booleans(),
    limited=st.booleans(),
)
def test_exactly_the_refused_items_fail(number: int, poisoned: set[int], *, named: bool, limited: bool) -> None:
    calls = []

    def work(part: Sequence[int]) -> list[int]:
        calls.append(list(part))
        for at in part:
            if at in poisoned:
                if limited:
                    raise LimitTooSmallError(1, "token", "\U0001f9d1", str(at))
                raise TextRefusedError("no", f"text {at}") if named else ValueError("no")
        return [2 * at for at in part]

    probes = []
    division: Division[int, int] = Division(
        None if limited else "model", work, lambda: probes.append(1), str, lambda at: [f"text {at}"]
    )
    found = division.settle(range(number))
    refused = poisoned & set(range(number))
    assert [at for at, each in enumerate(found) if isinstance(each, KinsplitError)] == sorted(refused)
    assert [each for each in found if not isinstance(each, KinsplitError)] == [
        2 * at for at in range(number) if at not in refused
    ]
    most = 3 if named and not limited else 2 * math.ceil(math.log2(max(number, 2)))
    assert len(calls) <= (number > 0) + len(refused) * most
    assert len(probes) <= (0 if limited else len(refused) + (bool(refused)))
