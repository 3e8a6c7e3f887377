"""The strategy `cluster`: clusters, sizes of chunks, and cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, Document
from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.parsers import create, similarity
from kinsplit.parsers.similarity import cluster
from kinsplit.tokenizers import resolve
from tests.parsers.contract import check_chunks


class Named:
    """An embedder that knows the direction of each word, and counts its calls.

    Other texts have opposite directions in turn, so that unrelated texts have a mean cosine of 0.
    """

    name, dimension, window, fingerprint = "named", 2, 256, "named"

    def __init__(self, directions: dict[str, float]) -> None:
        self.directions, self.calls = directions, list[list[str]]()

    def windows(self, texts: Sequence[str]) -> list[int]:
        return [1] * len(texts)

    def embed(self, texts: Sequence[str], progress: object = None) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        angles = np.radians([self.directions.get(text.split()[0], 180.0 * (i % 2)) for i, text in enumerate(texts)])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self.embed([text])[0]
        return found


def chunked(text: str, **parameters: Any) -> list[Chunk]:
    strategy, document = create("cluster", **{"embedder": "hash", **parameters}), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return chunks


def words(*angles: float, threshold: float, chunk_size: int = 50) -> list[str]:
    """Return the chunks of a text of one-word passages with these directions, in degrees."""
    names = [chr(ord("a") + number) for number in range(len(angles))]
    embedder = Named(dict(zip(names, angles, strict=True)))
    sizes = {"chunk_size": chunk_size, "passage_size": 1, "passage_overlap": 0}
    return [c.text for c in chunked(" ".join(names), embedder=embedder, threshold=threshold, **sizes)]


class Boundless:
    """Clusters that hold at most so many members."""

    def __init__(self, most: int = 10**9) -> None:
        self.most, self.members = most, list[list[int]]()

    def has_room(self, clusters: NDArray[np.int64], member: int) -> NDArray[np.bool_]:
        return np.array([len(self.members[n]) < self.most for n in clusters.tolist()], dtype=np.bool_)

    def take(self, number: int, member: int) -> bool:
        if number == len(self.members):
            self.members.append([])
        self.members[number].append(member)
        return True


def one_by_one(vectors: NDArray[np.float64], threshold: float, most: int) -> list[list[int]]:
    """Return the clusters as rag_eval finds them: each vector beside each mean."""
    clusters: list[list[int]] = []
    for number, vector in enumerate(vectors):
        means = [vectors[members].mean(axis=0) for members in clusters]
        similar = [
            float(mean @ vector / np.linalg.norm(mean)) if len(members) < most else -2.0
            for mean, members in zip(means, clusters, strict=True)
        ]
        best = int(np.argmax(similar)) if similar else -1
        if best >= 0 and similar[best] >= threshold:
            clusters[best].append(number)
        else:
            clusters.append([number])
    return clusters


@pytest.mark.parametrize(("few", "most"), [(0, 3), (similarity._FEW, 1000)], ids=["in blocks", "few clusters"])
@pytest.mark.parametrize("threshold", [-1.0, 0.2, 0.5, 0.75, 0.95])
def test_the_fast_ways_give_what_comparing_one_by_one_gives(
    threshold: float, most: int, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "_FEW", few)
    random = np.random.default_rng(7)
    topics = random.normal(size=(40, 16))
    vectors = topics[random.integers(0, 40, 300)] + 0.5 * random.normal(size=(300, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    capacity = Boundless(most)
    cluster(vectors.astype(np.float32), threshold, capacity)
    assert capacity.members == one_by_one(vectors.astype(np.float32).astype(np.float64), threshold, most)


def test_equal_vectors_are_one_cluster_at_any_threshold() -> None:
    vectors = np.tile(np.random.default_rng(1).normal(size=(1, 384)), (300, 1)).astype(np.float32)
    capacity = Boundless()
    cluster(vectors, 1.0, capacity)
    assert capacity.members == [list(range(300))]


def test_like_passages_are_gathered_and_the_others_stay_where_they_are() -> None:
    assert words(0, 90, 5, 95, 180, threshold=0.9) == ["a\n\nc", "b\n\nd", "e"]


def test_the_best_mean_wins_and_it_moves() -> None:
    assert words(0, 60, 35, threshold=0.75) == ["a", "b c"]
    assert words(0, 30, 50, threshold=0.8) == ["a b c"], "35 degrees from the mean, 50 from the first"
    assert words(0, 30, 60, threshold=0.8) == ["a b", "c"]


def test_a_full_cluster_takes_no_more_and_the_next_best_does() -> None:
    assert words(0, 0, 0, 0, 0, threshold=0.9, chunk_size=2) == ["a b", "c d", "e"]
    assert words(0, 40, 1, 15, threshold=0.9, chunk_size=2) == ["a\n\nc", "b\n\nd"]


def test_everything_is_like_everything_at_the_lowest_threshold() -> None:
    assert words(0, 180, 90, 270, threshold=-1) == ["a b c d"]


def test_spans_are_in_order_and_neighbours_are_one() -> None:
    text = "Cats eat dogs run cats eat cats eat"
    first, second = chunked(text, passage_size=2, passage_overlap=0)
    assert first.spans == ((0, 8), (18, 35))
    assert (first.text, first.token_count) == ("Cats eat\n\ncats eat cats eat", 6)
    assert (second.spans, second.text) == (((9, 17),), "dogs run")
    assert (first.next_id, second.prev_id) == (second.id, first.id)


def test_the_overlap_is_in_both_chunks_and_never_twice_in_one() -> None:
    text = " ".join(f"Word {n}." for n in range(40))
    apart = chunked(text, passage_size=12, passage_overlap=4, threshold=1.0)
    assert len(apart) > 3
    for before, chunk in pairwise(apart):
        assert chunk.overlap > 0
        assert before.text.endswith(chunk.text[: chunk.overlap])
    (together,) = chunked(text, passage_size=12, passage_overlap=4, threshold=-1.0)
    assert together.text == text


@pytest.mark.parametrize("tokenizer", ["bundled", "tiktoken:cl100k_base"])
@pytest.mark.parametrize("chunk_size", [16, 33, 100])
def test_no_chunk_is_longer_than_its_limit_with_separators(tokenizer: str, chunk_size: int) -> None:
    text = " ".join(f"Line {n} of {'cats' if n % 3 else 'dogs'}, unbelievably!" for n in range(120))
    chunks = chunked(text, chunk_size=chunk_size, passage_size=8, threshold=0.2, tokenizer=tokenizer)
    counts = resolve(tokenizer).count([chunk.text for chunk in chunks]).tolist()
    assert counts == [chunk.token_count for chunk in chunks]
    assert chunk_size - 10 <= max(counts) <= chunk_size
    assert any(len(chunk.spans) > 1 for chunk in chunks)


def test_where_lengths_do_not_add_up_every_chunk_is_measured() -> None:
    def more_for_longer_texts(text: str) -> list[str]:
        return [*text.split(), *["more"] * (len(text) // 20)]

    text = " ".join(["cats eat fish"] * 40)
    sizes = {"chunk_size": 14, "passage_size": 5, "passage_overlap": 0, "threshold": -1.0}
    chunks = chunked(text, tokenizer=more_for_longer_texts, **sizes)
    assert len(chunks) > 5
    assert max(len(more_for_longer_texts(chunk.text)) for chunk in chunks) <= 14


def test_all_texts_are_embedded_in_one_call_and_blank_ones_in_none() -> None:
    embedder = Named({"a": 0, "b": 90})
    strategy = create("cluster", embedder=embedder, passage_size=1, passage_overlap=0)
    assert [len(spans) for spans in strategy.split_many(["a b a", "", "b"])] == [2, 0, 1]
    _unrelated, *own = embedder.calls
    assert own == [["a", "b", "a", "b"]]
    assert strategy.split_many(["", " \n"]) == [[], []]
    assert strategy.split_many([]) == []
    assert len(embedder.calls) == 2


def test_sizes_follow_from_each_other() -> None:
    given = create("cluster", chunk_size=400)
    assert (given.parameters["passage_size"], given.parameters["passage_overlap"]) == (100, 9)
    assert create("cluster", passage_size=100).parameters["passage_overlap"] == 9
    assert create("cluster", chunk_size=1).parameters["passage_size"] == 1


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"chunk_size": 100, "passage_size": 101}, "passage_size"),
        ({"passage_size": 10, "passage_overlap": 5}, "passage_overlap"),
        ({"passage_overlap": -1}, "passage_overlap"),
        ({"threshold": 1.1}, "threshold"),
        ({"threshold": "0.5"}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"embedder": 3}, "embedder"),
        ({"embedder": None}, "embedder"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        create("cluster", **parameters)
    assert caught.value.field == field


def test_a_character_that_no_passage_holds_names_the_passages() -> None:
    strategy = create("cluster", embedder="hash", chunk_size=8, passage_size=1)
    with pytest.raises(LimitTooSmallError) as caught:
        strategy.chunk(Document("d", "한국어"))
    assert (caught.value.field, caught.value.source_id) == ("passage_size", "d")


def test_an_embedder_that_is_an_object_can_not_be_carried_elsewhere() -> None:
    import pickle

    with pytest.raises(InvalidParameterError, match="embedder"):
        pickle.dumps(create("cluster", embedder=Named({})))
