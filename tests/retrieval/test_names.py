"""Questions that name a document by its file, its title, its course, or the names in its text."""

from __future__ import annotations

import pytest

from kinsplit import Document, Index
from kinsplit.embedding import sparse
from kinsplit.errors import InvalidParameterError
from kinsplit.identity import name_of
from kinsplit.options import KinWeights
from kinsplit.parsers import create
from kinsplit.retrieval import SearchQuestion
from kinsplit.retrieval.rankings import find_evidence, rank_together

PARTS = ("delivery", "payment", "warranty", "liability", "notice", "termination")


def contract(party: str, number: int) -> str:
    """Return a contract whose preamble alone names the party, and whose clauses differ in one number."""
    clauses = "\n\n".join(f"The clause on {part} allows {number + n} days." for n, part in enumerate(PARTS))
    return f"This agreement is made with {party}, whose seat is {party} House.\n\n{clauses}"


CONTRACTS = {"Acacia": 10, "Borealis": 30, "Cedarwood": 50, "Dunmore": 70}


SHORT = create("sentence", chunk_size=14, chunk_overlap=0)


def warranty(days: int) -> str:
    """Return the clause on warranty."""
    return f"The clause on warranty allows {days + PARTS.index('warranty')} days."


def ids(passages):
    return [passage.source_id for passage in passages]


@pytest.mark.parametrize(
    ("source_id", "words"),
    [
        ("cs/lecture_10_recursion.pdf", "lecture 10 recursion"),
        ("Acacia_Communications.v2.docx", "Acacia Communications"),
        (r"C:\notes\week 1.md", "week 1"),
        ("https://example.org/guides/install.html?lang=en", "install"),
        ("https://example.org/guides/", "guides"),
        ("people.csv#ada", "people ada"),
        ("people.csv#17", "people"),
        (".env", ".env"),
        ("text#0f1e2d3c4b5a6978", ""),
        ("d41d8cd98f00b204e9800998ecf8427e", ""),
        ("123e4567-e89b-12d3-a456-426614174000.pdf", ""),
        ("2024", ""),
        ("", ""),
    ],
)
def test_a_document_is_named_by_the_words_of_its_file(source_id, words):
    assert name_of(source_id) == words


def test_a_word_of_the_name_finds_a_document_whose_text_lacks_it():
    with Index("memory:", strategy=SHORT) as index:
        index.add([Document(f"{party.lower()}.md", contract("the buyer", n)) for party, n in CONTRACTS.items()])
        for party, days in CONTRACTS.items():
            (found,) = index.search(f"How many days does the clause on warranty of {party} allow?", top_k=1, window=0)
            assert (found.source_id, found.hits[0].chunk.text) == (f"{party.lower()}.md", warranty(days))


def test_a_renamed_file_is_found_by_its_new_name():
    text = contract("the buyer", 3)
    with Index("memory:", embedder="hash") as index:
        index.add([Document("old/acacia.md", text), Document("old/borealis.md", text.replace("days", "weeks"))])
        index.delete("old/acacia.md")
        index.add(Document("old/cedarwood.md", text))
        (document,) = index.store.find({"source_id": "old/cedarwood.md"}, level=100)
        terms = set(index.store.vectors([document.id])[document.id].sparse.indices)
        assert index.bm25.words("cedarwood") <= terms
        assert not index.bm25.words("acacia") & terms


def test_a_title_counts_where_the_text_lacks_it():
    with Index("memory:", embedder="hash") as index:
        index.add(Document("1.md", "A text about owls.", {"title": "Nocturnal owls"}))
        (document,) = index.store.find({}, level=100)
        sparse = index.store.vectors([document.id])[document.id].sparse
        weights = dict(zip(sparse.indices, sparse.values, strict=True))
        (owls,), (nocturnal,) = index.bm25.words("owls"), index.bm25.words("nocturnal")
        assert weights[nocturnal] == pytest.approx(4)
        assert weights[owls] < 4


def test_a_changed_title_changes_the_terms_and_embeds_nothing():
    before = Document("1.md", "A text about owls.", {"title": "Night"})
    with Index("memory:", embedder="hash") as index:
        index.add(before)
        report = index.add(Document("1.md", before.text, {"title": "Dusk"}))
        assert report.embedded == 0
        (document,) = index.store.find({}, level=100)
        terms = set(index.store.vectors([document.id])[document.id].sparse.indices)
        assert index.bm25.words("dusk") <= terms
        assert not index.bm25.words("night") & terms


@pytest.mark.parametrize("store", ["memory:", "edge"])
def test_a_renamed_course_rewrites_the_terms_of_all_levels_and_embeds_nothing(store, tmp_path):
    address = store if store == "memory:" else f"edge:{tmp_path}/store"
    with Index(address, embedder="hash") as index:
        for course in ("Baking", "Pastry"):
            documents = [
                Document(f"{party}.md", contract(party, days), {"course": course}) for party, days in CONTRACTS.items()
            ]
            report = index.add(documents)
            leaves = index.count()
            assert (report.embedded, report.unchanged) == ((leaves, 0) if course == "Baking" else (0, 0))
        chunks = index.find({}, level=None)
        vectors = index.store.vectors([chunk.id for chunk in chunks])
        pastry, baking = (
            index.bm25.with_names(index.bm25.embed([""])[0], "", "", name, is_document=False).indices
            for name in ("Pastry", "Baking")
        )
        for chunk in chunks:
            terms = set(vectors[chunk.id].sparse.indices)
            assert set(pastry) <= terms
            assert not set(baking) & terms
        assert index.add(documents).unchanged == leaves


def test_a_course_lifts_all_of_its_chunks_alike():
    text = "Proofing is the last rest of a shaped loaf before it is baked."
    with Index("memory:", embedder="hash") as index:
        index.add([Document(f"{course}/1.md", text, {"course": course}) for course in ("Northwind", "Southgate")])
        for course in ("Northwind", "Southgate"):
            for ranking in ("kin", "terms"):
                found = index.search(f"What does proofing mean in {course}?", ranking=ranking, top_k=1)
                assert ids(found) == [f"{course}/1.md"]


def test_a_name_in_the_first_chunk_is_explained_away_in_the_others():
    with Index("memory:", strategy=SHORT) as index:
        index.add([Document(f"{number:032x}", contract(*each)) for number, each in enumerate(CONTRACTS.items())])
        for number, (party, days) in enumerate(CONTRACTS.items()):
            asked = f"In the agreement with {party}, {party} House, how many days does the clause on warranty allow?"
            found = index.search(asked, top_k=9, window=0, ranking="kin")
            hits = sorted((hit for passage in found for hit in passage.hits), key=lambda hit: -hit.score)
            first = next(hit.chunk for hit in hits if hit.chunk.index)
            assert (first.source_id, first.text) == (f"{number:032x}", warranty(days))


NAMING = "In the agreement with Acacia, Acacia House, how many days does the clause on warranty allow?"


def named(asked, names, ending=""):
    """Return what remains of a question that names the first of the contracts; its text has an ending of its own."""
    texts = [contract(party, days) for party, days in CONTRACTS.items()]
    with Index("memory:", strategy=SHORT) as index:
        index.add([Document(*each) for each in zip(names, (texts[0] + ending, *texts[1:]), strict=True)])
        question = SearchQuestion.of(asked, index.embedder.embed_query(asked), index.bm25)
        (found,) = rank_together(index.store, [find_evidence(index.store, question, KinWeights(), 10)])
        return found.named, {entry.id: entry for entry in found.entries.values() if entry.index == 0}


def test_the_first_chunk_counts_by_the_whole_question_unless_the_file_has_all_of_the_names():
    rest, first = named(NAMING, [f"{number:032x}" for number in range(4)])
    assert first[rest.first].source_id == f"{0:032x}"
    rest, _ = named(NAMING, [f"{party.lower()}.md" for party in CONTRACTS])
    assert rest.first is None


def test_a_rare_word_beyond_the_first_chunk_belongs_to_the_question_and_not_to_a_name():
    names, ending = [f"{number:032x}" for number in range(4)], "\n\nThe clause on arbitration comes last."
    assert named(NAMING, names, ending)[0] is not None
    assert named(NAMING.replace("warranty", "arbitration"), names, ending)[0] is None


def test_a_question_without_a_word_of_a_name_is_ranked_as_without_names():
    texts = [contract(party, days) for party, days in CONTRACTS.items()]
    asked = "How many days does the clause on liability allow?"
    scores = []
    for names in (["alpha.md", "beta.md", "gamma.md", "delta.md"], [f"{number:032x}" for number in range(4)]):
        with Index("memory:", embedder="hash") as index:
            index.add([Document(name, text) for name, text in zip(names, texts, strict=True)])
            found = index.search(asked, top_k=9, window=0)
            scores.append([(names.index(passage.source_id), passage.start, passage.score) for passage in found])
    assert scores[0] == scores[1]


def test_a_question_that_is_only_a_name_keeps_its_words():
    documents = [Document("recursion.md", "Recursion is a function that calls itself. It needs a base case.")]
    documents += [Document(f"{topic}.md", f"This text is about {topic}.") for topic in PARTS]
    with Index("memory:", embedder="hash") as index:
        index.add(documents)
        assert ids(index.search("What is recursion?", top_k=1)) == ["recursion.md"]


def test_a_collection_with_other_terms_is_refused_with_the_remedy(tmp_path, monkeypatch):
    address = f"edge:{tmp_path}/store"
    with monkeypatch.context() as former:
        former.setattr(sparse, "_TERMS", "forms+parts+acronyms+grams")
        with Index(address, embedder="hash") as index:
            index.add(Document("1.md", "A text about owls."))
    with pytest.raises(InvalidParameterError, match="the version of kinsplit that made it"):
        Index(address)
