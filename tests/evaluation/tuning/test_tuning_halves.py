"""The halves of the questions: nothing leaks from one to the other."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.labels import Dataset, Question
from kinsplit.evaluation.tuning.tune import FewQuestionsWarning, halves
from tests.evaluation.making import label, question, text


def dataset(*questions: Question) -> Dataset:
    return Dataset("made", tuple(Document(name, text(1000)) for name in "abc"), questions)


def apart(number: int, source: str = "a") -> Question:
    return question(
        label((10 * number, 10 * number + 5), source=source), name=f"{source}{number}", asked=f"{source}{number}?"
    )


def ids(found: tuple[Dataset, Dataset]) -> list[set[str]]:
    return [{question.id for question in half.questions} for half in found]


def test_each_question_is_in_one_half_and_each_document_in_both_alike() -> None:
    questions = [apart(n, source) for source, n in product("abc", range(22))]
    found = halves(dataset(*questions))
    search, held_out = ids(found)
    assert search | held_out == {question.id for question in questions}
    assert not search & held_out
    assert Counter(name[0] for name in search) == Counter(name[0] for name in held_out) == dict.fromkeys("abc", 11)
    assert found[0].documents == found[1].documents == dataset().documents


@pytest.mark.filterwarnings("ignore::kinsplit.evaluation.tuning.tune.FewQuestionsWarning")
def test_questions_about_the_same_text_stay_together() -> None:
    others = [apart(n, "b") for n in range(12)]
    chain = [
        question(label((0, 100)), label((500, 510)), name="x", asked="x?"),
        question(label((505, 520), source="a"), name="other document", asked="y?"),
        question(label((90, 120)), name="second", asked="z?"),
        question(label((110, 130)), name="third", asked="u?"),
        question(label((0, 5), source="c"), name="same words", asked="  U? "),
        question(label(None, source="c"), name="whole document", asked="v?"),
    ]
    linked = {"x", "second", "third", "same words", "whole document"}
    for seed in range(8):
        at_d = Dataset("made", (*dataset().documents, Document("d", text(1000))), (*others, *chain))
        sides = [linked & side for side in ids(halves(at_d, seed))]
        assert sorted(map(len, sides)) == [0, len(linked)]


@pytest.mark.filterwarnings("ignore::kinsplit.evaluation.tuning.tune.FewQuestionsWarning")
def test_a_seed_divides_always_alike_and_another_one_otherwise() -> None:
    made = dataset(*(apart(n) for n in range(20)))
    assert ids(halves(made, 3)) == ids(halves(made, 3))
    assert len({tuple(sorted(ids(halves(made, seed))[0])) for seed in range(5)}) == 5


def test_touching_labels_share_nothing() -> None:
    made = dataset(question(label((0, 5)), name="1", asked="1?"), question(label((5, 9)), name="2", asked="2?"))
    with pytest.warns(FewQuestionsWarning, match="Only 1 question is held out"):
        assert sorted(map(len, ids(halves(made)))) == [1, 1]


def test_questions_that_can_not_be_divided_are_refused() -> None:
    unlabelled = Question("u", "Why?")
    for questions in ((), (unlabelled, apart(1)), (apart(1), question(label((12, 14), source="a"), name="n"))):
        with pytest.raises(InvalidParameterError, match="questions: must include at least two labelled ones"):
            halves(dataset(*questions))
