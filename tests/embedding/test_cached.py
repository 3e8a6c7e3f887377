import numpy as np
import pytest

from kinsplit import Document, Index
from kinsplit.embedding import (
    CachedEmbedder,
    ForeignEmbedder,
    VectorCache,
    create,
    resolve,
    use_vector_cache,
)
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import CacheError, CacheWarning, InvalidParameterError
from kinsplit.parsers import create as strategy
from kinsplit.support.disk_cache import FILE
from kinsplit.support.threads import in_thread
from tests.embedding.foreign_models import AsyncLlamaIndexModel

TEXTS = ["A class is a blueprint.", "", "A class is a blueprint.", "🤣 ünï\ud800code"]
TALE = " ".join(f"The {noun} of the story is {n} years old." for n in range(9) for noun in ("cat", "dog", "king"))


class Recorder(HashEmbedder):
    """Remembers what it was asked."""

    repeatable = True

    def __init__(self, dimension: int = 64) -> None:
        super().__init__(dimension)
        self.seen: list[list[str]] = []

    def embed(self, texts, progress=None):
        self.seen.append(list(texts))
        return super().embed(texts, progress)


@pytest.fixture
def cache(tmp_path):
    with VectorCache(tmp_path / "vectors") as opened:
        yield opened


def test_vectors_are_the_same_and_each_text_is_embedded_once(cache):
    inner = Recorder()
    embedder, expected = CachedEmbedder(inner, cache), HashEmbedder().embed(TEXTS)
    assert np.array_equal(embedder.embed(TEXTS), expected)
    assert inner.seen == [["A class is a blueprint.", "", "🤣 ünï\ufffdcode"]]
    assert np.array_equal(embedder.embed(["new", *TEXTS])[1:], expected)
    assert inner.seen[1:] == [["new"]]
    assert embedder.embed([]).shape == (0, 64)
    assert embedder.embed(TEXTS).dtype == np.float32


def test_a_second_run_embeds_nothing(tmp_path):
    for run, asked in enumerate(([TEXTS[0]], [])):
        inner = Recorder()
        with VectorCache(tmp_path) as cache:
            CachedEmbedder(inner, cache).embed([TEXTS[0]])
        assert [text for batch in inner.seen for text in batch] == asked, run


def test_it_says_of_itself_what_its_embedder_says(cache):
    inner = HashEmbedder(32)
    embedder = CachedEmbedder(inner, cache)
    assert (embedder.name, embedder.dimension, embedder.window) == (inner.name, 32, inner.window)
    assert embedder.fingerprint == inner.fingerprint
    assert embedder.windows(["a " * 300]) == inner.windows(["a " * 300]) == [2]


def test_models_do_not_get_each_others_vectors(cache):
    CachedEmbedder(HashEmbedder(window=3), cache).embed(["a b c d e"])
    found = CachedEmbedder(HashEmbedder(window=4), cache).embed(["a b c d e"])
    assert np.array_equal(found, HashEmbedder(window=4).embed(["a b c d e"]))


class Mine(HashEmbedder):
    """Somebody's own: its code may change while its fingerprint stays."""


@pytest.mark.parametrize(
    "embedder", [Mine(), ForeignEmbedder(AsyncLlamaIndexModel())], ids=["own class", "framework's"]
)
def test_the_vectors_of_an_object_are_kept_only_if_it_says_that_it_is_repeatable(cache, embedder, monkeypatch):
    with use_vector_cache(cache):
        assert resolve(embedder) is embedder
    with pytest.raises(InvalidParameterError, match=r"embedder: must say .*version=.*`repeatable = True`"):
        CachedEmbedder(embedder, cache)
    monkeypatch.setattr(Mine, "repeatable", True, raising=False)
    with use_vector_cache(cache):
        assert isinstance(resolve(Mine()), CachedEmbedder)


def test_an_index_says_that_it_keeps_no_vectors_of_an_object(tmp_path):
    with pytest.warns(CacheWarning, match=r"vectors of .* are not kept, since .*ForeignEmbedder\(model, version='1'\)"):
        index = Index("memory:", embedder=AsyncLlamaIndexModel(), vector_cache=tmp_path / "vectors")
    index.close()


def test_another_version_of_a_foreign_model_is_another_model():
    model = AsyncLlamaIndexModel()
    none, one, two = (ForeignEmbedder(model, version=version) for version in (None, "1", "2"))
    assert len({none.fingerprint, one.fingerprint, two.fingerprint}) == 3
    assert [one.repeatable for one in (none, one, two)] == [False, True, True]


def test_questions_go_to_the_model(cache):
    inner = Recorder()
    embedder = CachedEmbedder(inner, cache)
    for _ in range(2):
        assert np.array_equal(embedder.embed_query("a"), HashEmbedder().embed_query("a"))
    assert inner.seen == [["a"], ["a"]]


def test_progress_tells_of_what_the_model_has_to_embed(cache):
    embedder, steps = CachedEmbedder(HashEmbedder(), cache), []
    embedder.embed(["a", "b"])
    embedder.embed(["a", "b", "c", "c"], lambda done, total: steps.append((done, total)))
    embedder.embed(["a", "b", "c", "c"], lambda done, total: steps.append((done, total)))
    assert steps == [(1, 1)]


async def test_it_awaits_an_asynchronous_model_once(cache):
    model = AsyncLlamaIndexModel()
    embedder = CachedEmbedder(ForeignEmbedder(model, version="1"), cache)
    first = await in_thread(embedder.embed, TEXTS)
    assert model.seen[-2] == ["awaited"]
    asked = len(model.seen)
    assert np.array_equal(await in_thread(embedder.embed, TEXTS), first)
    assert np.array_equal(embedder.embed(TEXTS), first)
    assert len(model.seen) == asked
    assert np.array_equal(await in_thread(embedder.embed_query, "a"), embedder.embed_query("a"))


def test_the_oldest_vectors_are_forgotten_when_it_is_full(tmp_path):
    inner = Recorder(1024)
    with VectorCache(tmp_path, size=1 << 20) as cache:
        embedder = CachedEmbedder(inner, cache)
        for start in range(0, 1000, 100):
            embedder.embed([f"text {number}" for number in range(start, start + 100)])
        inner.seen.clear()
        embedder.embed(["text 999", "text 0"])
        assert inner.seen == [["text 0"]]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.db")) < 2 << 20


def test_a_vector_of_another_length_is_embedded_again(tmp_path):
    with VectorCache(tmp_path) as cache:
        cache.put(HashEmbedder().fingerprint, ["a"], np.ones((1, 3), dtype=np.float32))
        assert np.array_equal(CachedEmbedder(HashEmbedder(), cache).embed(["a"]), HashEmbedder().embed(["a"]))


def test_a_damaged_file_is_one_clear_error(tmp_path):
    (tmp_path / FILE).write_bytes(b"this is no database" * 1000)
    with pytest.raises(CacheError, match=r"the cache is damaged .* Delete the folder"):
        VectorCache(tmp_path)


def test_a_file_damaged_meanwhile_is_one_clear_error(tmp_path):
    with VectorCache(tmp_path) as cache:
        CachedEmbedder(HashEmbedder(1024), cache).embed([f"text {number}" for number in range(500)])
    with (tmp_path / FILE).open("r+b") as file:
        file.seek(40_000)
        file.write(b"\xff" * 1_500_000)
    with VectorCache(tmp_path) as cache, pytest.raises(CacheError, match="damaged"):
        CachedEmbedder(HashEmbedder(1024), cache).embed([f"text {number}" for number in range(500)])


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CacheError, match="file"):
        VectorCache(tmp_path / "file")
    with pytest.raises(InvalidParameterError, match="size: must be at least 1048576 bytes"):
        VectorCache(tmp_path, size=1000)


def test_inside_the_block_every_embedder_that_is_named_keeps_its_vectors(tmp_path, cache):
    outside = resolve("hash")
    with use_vector_cache(tmp_path / "a"):
        assert isinstance(resolve("hash"), CachedEmbedder)
        assert isinstance(resolve(outside), CachedEmbedder)
        assert resolve(resolve("hash")).embedder is outside
        assert resolve("static:anywhere") is resolve("static:anywhere")
        with use_vector_cache(cache):
            assert resolve("hash").cache is cache
        with use_vector_cache(False):
            assert resolve("hash").cache.folder == tmp_path / "a"
    assert resolve("hash") is outside
    assert (tmp_path / "a" / FILE).is_file()


def test_kinsplits_own_folder_serves_where_no_other_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path))
    with use_vector_cache():
        resolve("hash").embed(["a"])
    assert (tmp_path / "vectors" / FILE).is_file()


def test_a_strategy_embeds_a_text_once(cache):
    inner = Recorder()
    document = Document("tale", TALE)
    semantic = strategy("semantic", embedder=inner)
    expected = semantic.chunk(document)
    inner.seen.clear()
    for asked in (27, 0):
        with use_vector_cache(cache):
            assert semantic.chunk(document) == expected
        assert sum(map(len, inner.seen)) == asked
        inner.seen.clear()


def test_an_index_embeds_a_text_once_in_all_collections(tmp_path):
    inner = Recorder()
    for collection, asked in (("first", 1), ("second", 0)):
        with Index(
            f"edge:{tmp_path / 'store'}", collection=collection, embedder=inner, vector_cache=tmp_path / "vectors"
        ) as index:
            index.add(Document("tale", "A class is a blueprint for objects."))
            assert sum(map(len, inner.seen)) == asked
            assert index.search("class blueprint", top_k=1)[0].source_id == "tale"
        inner.seen.clear()


def test_without_a_cache_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("KINSPLIT_CACHE", str(tmp_path / "cache"))
    with Index(f"edge:{tmp_path / 'store'}", embedder="hash") as index:
        index.add(Document("tale", TALE))
    assert not (tmp_path / "cache").exists()


def test_late_interaction_finds_the_model_behind_the_cache(tmp_path, cache):
    class Tokens(HashEmbedder):
        repeatable = True

        def embed_tokens(self, texts):
            return [self.embed(text.split()) for text in texts]

    with Index(f"edge:{tmp_path / 'store'}", embedder=CachedEmbedder(Tokens(), cache)) as index:
        index.add([Document("a", "A class is a blueprint."), Document("b", "Boil the pasta.")])
        assert index.search("the pasta", rerank="late", top_k=1)[0].source_id == "b"


def test_a_spec_stays_what_it_was(cache):
    assert CachedEmbedder(create("hash:32"), cache).name == "hash:32"
