"""What a search says about its question: whether any passage is close to it, and which course it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinsplit import Document, Index
from kinsplit.answering import ask
from kinsplit.answering.prompt import build_prompt, number
from kinsplit.embedding import create
from kinsplit.errors import EmbeddingError
from kinsplit.integrations.langchain import KinsplitRetriever as LangChainRetriever
from kinsplit.integrations.llama_index import KinsplitRetriever as LlamaIndexRetriever
from kinsplit.integrations.shared.results import to_prompt
from kinsplit.wire import finding_row
from tests.index.helpers import RecordingEmbedder

NOT_CLOSE = "No passage is close to this question."

LESSONS = {
    "Northwind Baking": {
        "welcome": "Northwind Baking is a course in nine units. Northwind Baking needs no oven of your own.",
        "proofing": "Proofing is the last rest of a shaped loaf before it is baked.",
        "steam": "A rising loaf sensor tells the baker when to let off steam.",
        "salt": "Salt slows the yeast and tightens the dough.",
    },
    "Baking": {"cakes": "A cake is done when a needle comes out of it clean.", "sugar": "Sugar browns in the oven."},
    "Bees": {
        "queen": "A queen lays up to two thousand eggs a day. When she ages, the workers raise another one.",
        "club": "The capital of the club is held by its treasurer, who counts it in May.",
    },
}


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with Index("memory:") as opened:
        opened.add(
            Document(
                f"{course}/{name}.md", text, metadata={"course": course, "course_title": f"{course} for Beginners"}
            )
            for course, lessons in LESSONS.items()
            for name, text in lessons.items()
        )
        yield opened


@pytest.mark.parametrize(
    ("question", "close"),
    [
        ("how many eggs does a queen lay?", True),
        ("what do the workers do with an old queen?", True),
        ("proofing", True),
        ("what is the capital of Mongolia?", False),
        ("how do I join two SQL tables?", False),
        ("what does the RLS do?", True),  # Its letters stand for what the passage spells.
        ("what does the GPS do?", False),
    ],
)
@pytest.mark.parametrize("options", [{}, {"budget": 500}, {"level": "all", "budget": 500}, {"rerank": "late"}])
def test_a_search_says_whether_a_passage_is_close(
    index: Index, question: str, close: bool, options: dict[str, object]
) -> None:
    found = index.search(question, **options)  # type: ignore[arg-type]
    assert found
    assert found.is_close is close
    assert found.notices == ([] if close else [NOT_CLOSE])


def test_nothing_is_said_where_it_is_not_known(index: Index) -> None:
    for ranking in ("dense", "hybrid", "terms"):
        assert index.search("what is the capital of Mongolia?", ranking=ranking).is_close is None
    assert index.search("queens", where={"source_id": {"$in": []}}).is_close is None


def test_a_model_that_cannot_be_calibrated_finds_without_a_verdict() -> None:
    class Failing(RecordingEmbedder):
        def embed(self, texts, progress=None):  # type: ignore[no-untyped-def]
            if len(texts) > 1:
                raise EmbeddingError("too many")
            return super().embed(texts, progress)

    with Index("memory:", embedder=Failing()) as opened:
        opened.add(Document("a", "Owls hunt at night."))
        assert opened.search("owls").is_close is None


def test_the_question_is_embedded_once_and_the_unrelated_texts_once_per_index() -> None:
    class Counting(RecordingEmbedder):
        questions = 0

        def embed_query(self, text):  # type: ignore[no-untyped-def]
            self.questions += 1
            return create("hash").embed_query(text)

    embedder = Counting()
    with Index("memory:", embedder=embedder) as opened:
        opened.add(Document("a", "Owls hunt at night."))
        opened.search("owls")
        embedder.seen.clear()
        opened.search("larks")
    assert (embedder.questions, embedder.seen) == (2, [])


@pytest.mark.parametrize(
    ("question", "course"),
    [
        ("in Northwind Baking, what does proofing mean?", "Northwind Baking"),
        ("Northwind Baking for Beginners: proofing", "Northwind Baking"),
        ("what does Bees say about a queen?", "Bees"),
        ("what is proofing in baking?", "Baking"),
        ("what does proofing mean?", ""),
        ("Bees", ""),  # No other words are left.
        ("do bees like baking?", ""),  # Two courses.
    ],
)
def test_a_question_names_one_course(index: Index, question: str, course: str) -> None:
    found = index.search(question)
    assert found.named_course == course
    named = [notice for notice in found.notices if "names the course" in notice]
    assert [course in notice for notice in named] == [True] * bool(course)


def test_a_name_lifts_its_course_alike_and_filters_nothing(index: Index) -> None:
    found = index.search("in Northwind Baking, what does proofing mean?", top_k=7)
    assert found[0].source_id == "Northwind Baking/proofing.md"
    assert len({passage.metadata["course"] for passage in found}) > 1


@pytest.mark.parametrize("address", ["memory:", "edge:{}"])
def test_the_only_course_of_a_collection_is_not_named(address: str, tmp_path: Path) -> None:
    with Index(address.format(tmp_path), embedder="hash") as opened:
        opened.add(Document("a", "Owls hunt at night.", metadata={"course": "Birds"}))
        assert opened.search("which birds hunt at night?").named_course == ""


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Mara Quill's course: what is a starter?", "starter"),
        ("In Mara Quill's course, what does salt do?", "salt"),
        ("In Northwind Baking, what does proofing mean?", "proofing"),
        ("What does Mara Quill's course cost?", "README"),
        ("Who is Mara Quill, and what does she bake?", "README"),
    ],
)
def test_a_lecturer_stands_for_the_course_unless_the_question_is_about_her(question: str, first: str) -> None:
    texts = {
        "README": "Northwind Baking is a course in nine units by Mara Quill. What does the course cost? Nothing.",
        **LESSONS["Northwind Baking"],
        "starter": "A starter is flour and water in which wild yeast lives. It is fed every day.",
        "cooling": "A loaf is cut only after it has cooled for an hour.",
    }
    with Index("memory:") as opened:
        opened.add(Document(f"{name}.md", text, {"course": "Northwind Baking"}) for name, text in texts.items())
        assert opened.search(question, top_k=1)[0].source_id == f"{first}.md"


NAMING = "in Bees, how do I join two SQL tables?"


def test_the_answer_of_every_door_says_so(index: Index) -> None:
    found = index.search(NAMING)
    named = (
        "The question names the course Bees, whose passages rank higher. "
        "Ask without the name to search all courses alike."
    )
    assert finding_row(found) == {
        "is_close": False,
        "named_course": "Bees",
        "notices": [NOT_CLOSE, named],
    }
    answer = ask(index, NAMING)
    assert [(n.kind, n.message) for n in answer.notices][:2] == [("not_close", NOT_CLOSE), ("named_course", named)]
    assert to_prompt(found).startswith(f"{NOT_CLOSE}\n\n{named}\n\n[1] ")
    for slim in (False, True):
        (document, *_) = LangChainRetriever(index, slim=slim).invoke(NAMING)
        (node, *_) = LlamaIndexRetriever(index, slim=slim).retrieve(NAMING)
        for metadata in (document.metadata, node.metadata):
            assert (metadata["is_close"], metadata["named_course"]) == (False, "Bees")
        assert "named_course" not in LangChainRetriever(index, slim=slim).invoke("proofing")[0].metadata


def test_the_labels_of_a_prompt_name_the_course(index: Index) -> None:
    prompt = build_prompt("proofing", number(index.search("what does proofing mean?", top_k=1)))
    assert 'number="1" course="Northwind Baking" file="Northwind Baking/proofing.md"' in prompt


def test_a_score_as_high_as_any_is_no_answer() -> None:
    """The scores of kin are as high for the questions without an answer, since one word of them is rare."""
    hives = (
        f"# Bees {number}\n\nHive {number} stands in field {number}. Its bees visit clover in May and lime trees in "
        "June. The beekeeper weighs it every week."
        for number in range(40)
    )
    queens = "# Queens\n\nA queen lays up to two thousand eggs a day. When she ages, the workers raise another one."
    notes = "# Notes\n\nThe capital of the club is held by its treasurer."
    asked = {
        "how many eggs does a queen lay?": True,
        "what do the workers do with an old queen?": True,
        "what is the capital of Mongolia?": False,
        "how do I join two SQL tables?": False,
    }
    with Index("memory:") as opened:
        opened.add([Document(f"{number}.md", text) for number, text in enumerate((*hives, queens, notes))])
        assert {question: opened.search(question).is_close for question in asked} == asked


@pytest.mark.parametrize("ranking", ["kin", "hybrid", "dense", "terms"])
def test_an_acronym_does_not_find_words_of_its_stem(ranking: str) -> None:
    texts = {
        "hangman.md": "Oops! That letter is not in the word. Please guess a letter: a. Oops! You have 5 guesses left.",
        "classes.md": "A class bundles data and behaviour into one object. Methods are functions that belong to it.",
        "loops.md": "A while loop asks first and then repeats its body until the condition is false.",
    }
    with Index("memory:") as opened:
        opened.add([Document(name, text) for name, text in texts.items()])
        found = [passage.source_id for passage in opened.search("What is OOP?", ranking=ranking)]
        quoted = ask(opened, "What is OOP?").text
    assert found[:1] == ([] if ranking == "terms" else ["classes.md"])
    assert quoted.startswith("“A class bundles data")


def test_another_course_file_rewrites_terms_and_embeds_nothing(tmp_path: Path) -> None:
    folder, embedder = tmp_path / "course", RecordingEmbedder()
    folder.mkdir()
    (folder / "course.toml").write_text('course = "Birds"\n')
    (folder / "owls.md").write_text("# Owls\n\nThey hunt at night.\n")
    with Index("memory:", embedder=embedder) as opened:
        opened.add(folder)
        assert [p.source_id for p in opened.search("ornithology", ranking="terms")] == []
        embedder.seen.clear()
        (folder / "course.toml").write_text('course = "Ornithology"\n')
        opened.add(folder)
        assert embedder.seen == []
        (found,) = opened.search("ornithology", ranking="terms")
        assert (found.source_id, found.metadata["course"]) == ("course/owls.md", "Ornithology")
        assert opened.search("birds", ranking="terms") == []
