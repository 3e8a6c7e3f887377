import pytest

from kinsplit.embedding import SparseVector
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError


def terms(embedder, text):
    return set(embedder.embed_query(text).indices)


def test_documents_weigh_terms_and_questions_do_not():
    embedder = Bm25Embedder()
    (document,) = embedder.embed(["dogs and a cat and dogs"])
    question = embedder.embed_query("dogs and a cat and dogs")
    assert set(document.indices) == set(question.indices)
    assert set(question.values) == {1.0}
    assert len(set(document.values)) == 2
    assert document == embedder.embed(["dogs and a cat and dogs"])[0]


def test_stop_words_and_stemming_follow_the_language():
    english, german, neutral = Bm25Embedder(), Bm25Embedder("german"), Bm25Embedder(None)
    assert terms(english, "the running foxes") == terms(english, "run fox")
    assert terms(german, "die Häuser") == terms(german, "der Hauses")
    assert len(terms(neutral, "the running foxes")) == 3


@pytest.mark.parametrize("language", [None, "chinese"])
def test_words_without_spaces_are_found(language):
    embedder = Bm25Embedder(language)
    assert terms(embedder, "公园") & terms(embedder, "今天天气很好。我们去公园吧")


@pytest.mark.parametrize(
    ("name", "part"),
    [("isSubset", "subset"), ("bisectSearchHelper", "search"), ("getHTMLPage", "html"), ("merge_sort", "sort")],
)
def test_names_of_code_are_found_by_their_parts_and_as_a_whole(name, part):
    embedder = Bm25Embedder()
    (document,) = embedder.embed([f"def {name}(a, b): ..."])
    assert terms(embedder, part) <= set(document.indices)
    assert terms(embedder, name) <= set(document.indices)
    assert terms(embedder, name) > terms(embedder, part)


def test_prose_has_no_further_terms():
    embedder = Bm25Embedder()
    assert len(terms(embedder, "NASA and the IBM PC, PDFs in 3D")) == 5


def test_text_without_terms_gives_an_empty_vector():
    embedder = Bm25Embedder()
    assert embedder.embed(["", " \n", "the of and", "!?"]) == [SparseVector((), ())] * 4


def test_lone_surrogates_do_no_harm():
    embedder = Bm25Embedder()
    assert terms(embedder, "\ud800 fox") >= terms(embedder, "fox")
    assert embedder.embed(["fox \udfff"])[0].indices


def test_a_shorter_average_length_lowers_the_weights_of_a_long_text():
    text = " ".join(f"word{n}" for n in range(50))
    assert Bm25Embedder(average_length=10).embed([text])[0].values < Bm25Embedder().embed([text])[0].values


def test_an_unknown_language_lists_the_known_ones():
    with pytest.raises(InvalidParameterError, match=r"klingon.*english, .*french"):
        Bm25Embedder("klingon")


@pytest.mark.parametrize("length", [0, -1, float("nan")])
def test_the_average_length_must_be_positive(length):
    with pytest.raises(InvalidParameterError, match="average_length"):
        Bm25Embedder(average_length=length)


def test_the_fingerprint_tells_models_apart():
    models = [Bm25Embedder(), Bm25Embedder("german"), Bm25Embedder(None), Bm25Embedder(average_length=128)]
    assert len({model.fingerprint for model in models}) == 4


def test_a_sparse_vector_needs_as_many_values_as_indices():
    with pytest.raises(InvalidParameterError, match="values"):
        SparseVector((1, 2), (1.0,))


@pytest.mark.parametrize(
    "made", [Bm25Embedder("german"), Bm25Embedder(None, 20.5), Bm25Embedder("any"), Bm25Embedder()]
)
def test_a_fingerprint_says_all_of_an_embedder(made):
    again = Bm25Embedder.of(made.fingerprint)
    assert (again.language, again.average_length) == (made.language, made.average_length)
    assert again.embed(["The running foxes, die Häuser"]) == made.embed(["The running foxes, die Häuser"])


@pytest.mark.parametrize("fingerprint", ["", "bm25", "bm25:elvish:256", "bm25:german:long", "splade:german:256"])
def test_a_fingerprint_of_something_else_is_refused(fingerprint):
    with pytest.raises(InvalidParameterError, match="sparse: must be BM25"):
        Bm25Embedder.of(fingerprint)


@pytest.mark.parametrize("character", ["a", "7", "_", "\u0e01", "\u3042"])
def test_a_million_characters_without_a_space_are_few_terms(character):
    (vector,) = Bm25Embedder().embed([character * 1_000_000])
    assert len(vector.indices) <= 1


def test_a_file_of_hex_is_one_term():
    (vector,) = Bm25Embedder().embed(["deadbeef" * 40_000])
    assert len(vector.indices) == 1
