import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from langchain_core.embeddings import FakeEmbeddings

from kinsplit import Document, Index
from kinsplit.embedding import ForeignEmbedder, create, resolve
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.support.threads import in_thread
from kinsplit.tokenizers import resolve as tokenizer
from tests.embedding.foreign_models import HASH, AsyncLlamaIndexModel, LangChainModel, LlamaIndexModel

TEXTS = ["A class is a blueprint.", "", "Sorting a list.", "🤣 ünï\ud800code"]
LONG = " ".join(f"Sentence {n} of a lecture about antidisestablishmentarianism." for n in range(60))
KINDS = pytest.mark.parametrize("kind", [LlamaIndexModel, AsyncLlamaIndexModel, LangChainModel])


@KINDS
def test_vectors_are_the_objects_own_of_length_one(kind):
    embedder = resolve(kind())
    vectors = embedder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype, embedder.dimension) == ((4, 32), np.float32, 32)
    assert vectors == pytest.approx(HASH.embed(TEXTS), abs=1e-6)
    assert embedder.embed([]).shape == (0, 32)
    query = embedder.embed_query("sorting")
    assert (query.shape, query.dtype) == ((32,), np.float32)
    assert query == pytest.approx(HASH.embed_query("question sorting"), abs=1e-6)


@KINDS
def test_no_text_longer_than_the_window_reaches_the_object(kind):
    model = kind()
    embedder = ForeignEmbedder(model, window=50)
    texts = [LONG, "short", "ab1" * 700, LONG[:300], "公园" * 200, " " * 900]
    embedder.embed(texts)
    embedder.embed_query(LONG)
    counts = tokenizer("bundled").count([text for batch in model.seen for text in batch])
    # Two tokens are the special ones.
    assert 40 < max(counts) <= 48
    assert sum(embedder.windows([*texts, LONG])) == sum(map(len, model.seen))
    assert embedder.windows(["short", LONG])[0] == 1 < embedder.windows([LONG])[0]


def test_a_long_text_is_the_mean_of_its_windows():
    model = LangChainModel()
    vector = ForeignEmbedder(model, window=100).embed([LONG])[0]
    (parts,) = model.seen
    assert "".join(sorted(parts, key=LONG.index)) == LONG
    mean = HASH.embed(parts).mean(axis=0)
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_batches_are_bounded_and_sorted_and_the_order_comes_back():
    model = LangChainModel()
    steps = []
    texts = [("word " * length).strip() for length in (5, 80, 1, 40, 2, 60, 3)]
    embedder = ForeignEmbedder(model, batch_size=3)
    vectors = embedder.embed(texts, progress=lambda done, total: steps.append((done, total)))
    assert [[len(text.split()) for text in batch] for batch in model.seen] == [[80, 60, 40], [5, 3, 2], [1]]
    assert steps == [(3, 7), (6, 7), (7, 7)]
    assert vectors == pytest.approx(HASH.embed(texts), abs=1e-6)


def test_what_the_object_says_of_its_window_and_batches_is_believed():
    said = resolve(LlamaIndexModel(max_length=77, embed_batch_size=9))
    assert (said.window, said.batch_size) == (77, 9)
    assert (resolve(LangChainModel()).window, resolve(LangChainModel()).batch_size) == (512, 128)
    assert ForeignEmbedder(LlamaIndexModel(max_length=77), window=8192, batch_size=5).window == 8192


@pytest.mark.parametrize("give", ["_model", "_client", "client"])
def test_a_sentence_transformers_model_inside_tells_window_tokenizer_and_prompts(give):
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = Tokenizer(models.WordLevel({"a": 0, "?": 1}, unk_token="?"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    model = LangChainModel(encode_kwargs={"prompt": "say: "})
    inside = SimpleNamespace(max_seq_length=12, tokenizer=letters, prompts={"query": "ask:"})
    setattr(model, give, inside)
    embedder = resolve(model)
    embedder.embed(["aaaa aaaa aaaa"])
    assert embedder.window == 12
    # A token per letter: two are special, and "say: " has five.
    assert {len(text) for batch in model.seen for text in batch} <= {1, 2, 3, 4, 5}
    assert embedder.fingerprint.endswith(":ask::say: ?dimensions=32&window=12")
    inside.max_seq_length = 7
    with pytest.raises(EmbeddingError, match="7 tokens leaves none"):
        ForeignEmbedder(model).embed(["a"])


def test_a_model_in_this_process_is_used_by_one_thread_at_a_time():
    model = LangChainModel(client=SimpleNamespace(max_seq_length=256, tokenizer=str.split))
    inside, most = [], []

    def embed(texts):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()
        return HASH.embed(texts).tolist()

    model.embed_documents = embed
    embedder = resolve(model)
    threads = [threading.Thread(target=embedder.embed, args=([str(n)],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ([[1.0, 0.0]], r"shape \(1, 2\) for 2 texts"),
        ([[1.0], [1.0], [1.0]], r"shape \(3, 1\) for 2 texts"),
        ([1.0, 2.0], r"shape \(2,\) for 2 texts"),
        ([[], []], r"shape \(2, 0\)"),
        ([[1.0, 0.0], [1.0]], "something other than one vector per text"),
        (None, "something else|shape"),
        ([["a"], ["b"]], "something other"),
        ([[1.0, float("nan")], [1.0, 0.0]], "NaN or infinity"),
        ([[1.0, float("inf")], [1.0, 0.0]], "NaN or infinity"),
        ([[1.0, 0.0], [0.0, 0.0]], "zero vector"),
    ],
)
def test_an_answer_that_is_no_vectors_is_one_clear_error(answer, complaint):
    model = LangChainModel()
    model.embed_documents = lambda texts: answer
    with pytest.raises(EmbeddingError, match=f"LangChainModel returned .*{complaint}"):
        resolve(model).embed(["a", "b"])


def test_vectors_whose_length_changes_between_calls_are_an_error():
    model = LangChainModel()
    model.embed_documents = lambda texts: [[1.0] * (2 + len(model.seen))] * (model.seen.append(texts) or len(texts))
    with pytest.raises(EmbeddingError, match="of 2 and of 3 numbers"):
        ForeignEmbedder(model, batch_size=1).embed(["a", "b"])


def test_large_and_tiny_numbers_still_give_vectors_of_length_one():
    model = LangChainModel()
    model.embed_documents = lambda texts: [[1e200, 0.0], [0.0, -1e-200]]
    assert resolve(model).embed(["a", "b"]).tolist() == [[1.0, 0.0], [0.0, -1.0]]


def test_what_the_object_raises_is_passed_on():
    model = LangChainModel()

    def fail(texts):
        raise ConnectionError("no route")

    model.embed_documents = fail
    with pytest.raises(ConnectionError, match="no route"):
        resolve(model).embed(["a"])


@KINDS
async def test_asynchronous_and_synchronous_vectors_are_equal(kind):
    model = kind()
    embedder = ForeignEmbedder(model, window=40, batch_size=2)
    assert np.array_equal(await in_thread(embedder.embed, [*TEXTS, LONG]), embedder.embed([*TEXTS, LONG]))
    assert np.array_equal(await in_thread(embedder.embed_query, LONG), embedder.embed_query(LONG))
    assert (["awaited"] in model.seen) == (kind is AsyncLlamaIndexModel)


def test_one_object_gives_one_embedder_and_equal_objects_two():
    first, second = FakeEmbeddings(size=3), FakeEmbeddings(size=3)
    assert first == second
    assert resolve(first) is resolve(first) is not resolve(second)
    assert resolve(HASH) is HASH


def test_its_name_says_what_it_is_and_that_it_cannot_be_found_again():
    name = resolve(LlamaIndexModel(model_name="my-model")).name
    assert name == "object:tests.embedding.foreign_models.LlamaIndexModel:my-model"
    with pytest.raises(EmbeddingError, match="Python object"):
        resolve(name)


@pytest.mark.parametrize("value", [None, 3, object(), create, ["bundled"]])
def test_what_embeds_nothing_is_refused(value):
    with pytest.raises(InvalidParameterError, match="embedder: must be a spec, an embedder of kinsplit, LlamaIndex"):
        resolve(value)


@pytest.mark.parametrize("options", [{"window": 0}, {"batch_size": 0}])
def test_sizes_must_be_positive(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        ForeignEmbedder(LangChainModel(), **options)


@KINDS
def test_an_index_takes_the_object(kind, tmp_path):
    with Index(f"edge:{tmp_path}", embedder=kind()) as index:
        index.add([Document("cooking", "Boil the pasta in salted water."), Document("code", "A class is a blueprint.")])
        assert index.search("blueprint class", top_k=1)[0].source_id == "code"
    with Index(f"edge:{tmp_path}", embedder=kind(), must_exist=True) as index:
        assert index.store.schema.dimension == 32


def test_resolving_an_object_imports_neither_framework():
    code = """
import sys
class Model:
    def embed_documents(self, texts): return [[1.0, 2.0] for _ in texts]
    def embed_query(self, text): return [2.0, 1.0]
from kinsplit.embedding import resolve
assert resolve(Model()).embed(["a"]).shape == (1, 2)
print(sorted({"llama_index", "langchain_core", "torch"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
