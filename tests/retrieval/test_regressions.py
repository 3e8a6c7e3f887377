"""Problems that users have had with other tools, and the required behaviour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kinsplit import Document, Index
from kinsplit.parsers import create
from kinsplit.retrieval import Candidate, Expansion, arrange
from kinsplit.stores.maintenance import verify

TEXT = " ".join(f"Sentence number {number} tells something of its own." for number in range(400))

_INDEX = """
import sys
from kinsplit import Document, Index
from kinsplit.parsers import create
strategy = create("sentence", chunk_size=24, chunk_overlap=0)
with Index(sys.argv[1], strategy=strategy, embedder="hash") as index:
    index.add(Document("d", sys.stdin.read()))
"""


def test_another_process_finds_the_siblings_and_the_parents(tmp_path: Path) -> None:
    address = f"edge:{tmp_path / 'data'}"
    subprocess.run([sys.executable, "-c", _INDEX, address], input=TEXT, text=True, check=True)

    with Index(address, embedder="hash", must_exist=True) as index:
        (passage,) = index.search("Sentence number 77", top_k=1, candidates=1, window=2)
        (parent,) = index.search("Sentence number 77", top_k=1, candidates=1, parents=True)
        assert verify(index.store) == []
    (hit,) = passage.hits
    numbers = [chunk.index for chunk in passage.chunks]
    assert numbers == list(range(hit.chunk.index - 2, hit.chunk.index + 3))
    assert passage.text == TEXT[passage.start : passage.end]
    assert "number 77 " in passage.text
    assert parent.text == TEXT[parent.start : parent.end]
    assert parent.start <= hit.chunk.start < hit.chunk.end <= parent.end


def test_two_adjacent_hits_make_one_text_without_the_overlap_twice() -> None:
    strategy = create("sentence", chunk_size=40, chunk_overlap=15)
    with Index("memory:", strategy=strategy, embedder="hash") as index:
        index.add(Document("d", TEXT))
        a, b = index.store.find({"chunk_index": [4, 5]})
        hits = [Candidate(b, 0.9), Candidate(a, 0.8)]
        (passage,) = arrange(hits, {a.id: a, b.id: b}, Expansion(window=0), strategy.fingerprint, 5)

    assert b.overlap > 0
    assert passage.text == TEXT[a.start : b.end]
    assert [(hit.chunk.id, hit.score) for hit in passage.hits] == [(b.id, 0.9), (a.id, 0.8)]


@pytest.mark.parametrize("address", ["memory:", "edge"])
def test_a_second_run_costs_nothing_and_half_a_document_leaves_no_stale_chunk(address: str, tmp_path: Path) -> None:
    place = address if address == "memory:" else f"edge:{tmp_path / 'data'}"
    with Index(place, strategy=create("sentence", chunk_size=24, chunk_overlap=0), embedder="hash") as index:
        first = index.add(Document("d", TEXT))
        second = index.add(Document("d", TEXT))
        half = index.add(Document("d", TEXT[: len(TEXT) // 2]))
        nothing = index.add(Document("d", "  \n"))

        assert first.added >= 150
        assert (second.added, second.updated, second.deleted, second.embedded) == (0, 0, 0, 0)
        assert second.unchanged == first.added
        assert half.deleted == pytest.approx(first.added / 2, abs=2)
        assert nothing.deleted == first.added - half.deleted
        assert (index.store.count(), index.store.sources()) == (0, {})
