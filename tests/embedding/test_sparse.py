import pytest

from kinsplit.embedding import SparseVector
from kinsplit.embedding.sparse import Bm25Embedder
from kinsplit.errors import InvalidParameterError


def terms(embedder, text):
    return embedder.words(text)


def test_documents_weigh_terms_and_questions_do_not():
    embedder = Bm25Embedder()
    (document,) = embedder.embed(["dogs and a cat and dogs"])
    question = embedder.embed_query("dogs and a cat and dogs")
    # "cat" has a term without stemming, too.
    assert len(document.indices) == 3
    assert set(document.indices) > embedder.words("dog cat") <= set(question.indices)
    assert set(question.values) == {1.0}
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


def test_prose_has_no_further_words():
    assert len(Bm25Embedder().words("NASA and the IBM PC, PDFs in 3D")) == 5


@pytest.mark.parametrize(
    ("question", "acronym", "phrase"),
    [
        ("What is OOP?", "OOP", "You will use object-oriented programming to write a cipher."),
        ("what is oop", "O.O.P.", "8 | Object Oriented Programming | Chapter 8.1"),
        ("How many ALUs?", "an ALU", "ARITHMETIC \nLOGIC UNIT\n\nINPUT OUTPUT"),
        ("Ask a TA.", "TAs", "Contact your Teaching Assistant if you have a problem."),
        ("the DoD", "DOD", "the Department of Defense"),
        ("What does the F.B.I. do?", "the FBI", "An agent of the Federal Bureau of Investigation."),
    ],
)
def test_acronyms_and_long_forms_find_each_other(question, acronym, phrase):
    embedder = Bm25Embedder()
    for asked, text in ((question, phrase), (phrase, acronym)):
        (document,) = embedder.embed([text])
        assert set(embedder.embed_query(asked).indices) & set(document.indices) - embedder.words(text)


def test_acronyms_leave_the_weights_of_words_as_they_are():
    text = "A Program Counter (PC) counts; object oriented programming doesn't."
    full = Bm25Embedder()
    expected, (found,) = full._model.embed_document(text), full.embed([text])
    weights = dict(zip(found.indices, found.values, strict=True))
    assert {index: weights[index] for index in expected.indices} == dict(
        zip(expected.indices, expected.values, strict=True)
    )
    assert len(found.indices) > len(expected.indices)


def test_an_acronym_of_few_letters_is_no_stem_of_other_words():
    bm25 = Bm25Embedder()
    question = bm25.embed_query("What is OOP?")
    # Half the weight for the word as it is written; the same as a stem in the names of courses.
    assert sorted(question.values) == [0.5, 0.5, 1, 1]
    for text, meets in (("Oops!", False), ("oop", True), ("an oop-style class", True), ("The Oops of OOP", True)):
        (found,) = bm25.embed([text])
        assert bool({*found.indices} & {*question.indices}) is meets, text


def test_a_longer_word_in_capitals_counts_half_as_a_word():
    question = Bm25Embedder().embed_query("reverse a LIST")
    weights = dict(zip(question.indices, question.values, strict=True))
    (word,) = Bm25Embedder().words("lists")
    assert weights[word] == 0.5


@pytest.mark.parametrize("text", ["the laws of a state bind all", "a b c", "公园 天气 今天", "ภาษา ไทย คำ"])
def test_capitals_and_other_scripts_have_no_acronyms(text):
    embedder = Bm25Embedder(None)
    assert set(embedder.embed([text])[0].indices) == embedder.words(text)


@pytest.mark.parametrize(
    ("question", "text", "shared"),
    [
        ("跑步的好处", "早上跑步有益健康。", 3),  # 跑, 步 and 跑步.
        ("ﾊﾞｽの時刻", "市営バスは便利です。", 3),
        ("สภาพอากาศ", "วันนี้สภาพอากาศดีมาก", 7),
        ("ရာသီဥတု", "ဒီနေ့ရာသီဥတုသာယာသည်", 5),
        ("python 列表", "在Python中,列表很有用", 4),
        ("公园", "图书馆", 0),
    ],
)
@pytest.mark.parametrize("language", ["english", "german"])
def test_scripts_without_spaces_between_words_have_terms_in_every_language(language, question, text, shared):
    embedder = Bm25Embedder(language)
    (document,) = embedder.embed([text])
    assert len(set(embedder.embed_query(question).indices) & set(document.indices)) == shared
    assert embedder.words(text) == set(document.indices)


def test_terms_of_groups_of_characters_are_never_those_of_words():
    embedder = Bm25Embedder()
    (document,) = embedder.embed(["公园 ไทย"])
    spelt = " ".join(["7516c7", "7516c56ed7", "70e440e170e220e7", "516c", "公园", "ไทย"])
    assert len(document.indices) == 4
    plain = embedder._model
    assert not set(document.indices) & set(plain.embed_document("公园 ไทย 516c56ed").indices)
    # Only who writes a term's own number finds it.
    assert set(plain.embed_query(spelt).indices) - set(plain.embed_query("公园 ไทย 516c").indices)


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


@pytest.mark.parametrize("made", [Bm25Embedder("german"), Bm25Embedder(None, 20.5), Bm25Embedder("any")])
def test_a_fingerprint_says_all_of_an_embedder(made):
    again = Bm25Embedder.of(made.fingerprint)
    assert again.fingerprint == made.fingerprint
    text = "The running foxes, die Häuser, 公园, object-oriented programming"
    assert again.embed([text]) == made.embed([text])


@pytest.mark.parametrize("fingerprint", ["", "bm25", "bm25:elvish:256", "bm25:german:long", "splade:german:256"])
def test_a_fingerprint_of_something_else_is_refused(fingerprint):
    with pytest.raises(InvalidParameterError, match="sparse: must be BM25"):
        Bm25Embedder.of(fingerprint)


@pytest.mark.parametrize("character", ["a", "7", "_", "\u0e01", "\u3042"])
def test_a_million_characters_without_a_space_are_few_terms(character):
    (vector,) = Bm25Embedder().embed([character * 1_000_000])
    assert len(vector.indices) <= 2


def test_a_file_of_hex_is_one_term():
    (vector,) = Bm25Embedder().embed(["deadbeef" * 40_000])
    assert len(vector.indices) == 1
