"""Accuracy of the check of an answer's sentences, on what the sample course says and what it doesn't.

Every sentence cites the three best passages for its question. The threshold was chosen on the first group; the second
one was written afterwards. Run: python benchmarks/answer_check.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from kinsplit import Index
from kinsplit.answering.checking import check
from kinsplit.answering.run import Draft
from kinsplit.answering.sources import Marker, number
from kinsplit.answering.values import Check
from kinsplit.options import MIN_SUPPORT

COURSE = Path(__file__).parents[1] / "examples" / "course"


class Group(NamedTuple):
    """Paraphrases of what the passages for a question say, and plausible sentences that they don't say."""

    question: str
    said: tuple[str, ...]
    not_said: tuple[str, ...]


CHOSEN_ON = (
    Group(
        "How is the course graded?",
        (
            "The exam makes up 60 per cent of the mark.",
            "Each of the two problem sets is worth 20 per cent.",
            "You must reach half the points in the examination to pass.",
            "Homework is due in the sixth and in the twelfth week.",
        ),
        (
            "The exam takes place in the main hall.",
            "Attendance is compulsory in all lectures.",
            "The exam makes up 75 per cent of the mark.",
            "Group work is graded by peers.",
            "The final project counts for half of the grade.",
        ),
    ),
    Group(
        "What is a base case?",
        (
            "The base case is the one whose answer is known at once.",
            "A recursive case makes the problem smaller and builds the answer from that.",
            "If recursion never stops, mostly the base case is missing.",
        ),
        (
            "Tail recursion is optimised away by the Python compiler.",
            "A base case must always return None.",
            "Recursion uses less memory than a loop.",
        ),
    ),
    Group(
        "Why is binary search fast?",
        (
            "Binary search halves the range at every step.",
            "The list has to be sorted for binary search.",
            "It takes logarithmic time.",
        ),
        (
            "Binary search was invented by John Mauchly.",
            "Binary search also works on linked lists.",
            "Hash tables are faster than binary search.",
        ),
    ),
    Group(
        "How do I catch an exception so that my program does not crash?",
        (
            "Put the code into a try block and handle the error in except.",
            "An exception that is not caught ends the program.",
        ),
        (
            "Exceptions are logged to the system journal.",
            "Java has checked exceptions.",
            "Catching an exception costs about a microsecond.",
        ),
    ),
    Group(
        "Why does changing one list also change another one?",
        (
            "Both names refer to the same list object.",
            "A copy made with a slice is independent.",
            "Assignment does not copy a list.",
        ),
        (
            "Lists are stored in a red-black tree.",
            "Tuples can be changed in place.",
            "Lists are copied when they are passed to functions.",
        ),
    ),
)

KEPT_ASIDE = (
    Group(
        "What is the difference between a local and a global variable?",
        (
            "A local variable vanishes when its call ends.",
            "A global variable is assigned outside of all functions.",
            "Python looks for a name in the local frame first and among the built-in ones last.",
            "Two local variables of the same name do not disturb each other.",
        ),
        (
            "Global variables are faster than local ones.",
            "Global variables are stored in a file.",
            "The keyword nonlocal was added in Python 2.",
            "A local variable must be declared with its type.",
        ),
    ),
    Group(
        "What is object-oriented programming?",
        (
            "It organises a program around objects that hold data and the operations on them.",
            "Every value in Python is an object.",
            "A class is a blueprint and its instances are built to it.",
            "Encapsulation lets the inside change without breaking other people's code.",
        ),
        (
            "It was first used in the language Simula.",
            "Python objects are freed by hand.",
            "A class may have at most one instance.",
            "Object-oriented programs run faster than others.",
        ),
    ),
    Group(
        "What does the O notation say about running time?",
        (
            "Constant factors are dropped.",
            "Only the fastest growing term is kept.",
            "The worst case gives a guarantee.",
            "O is an upper bound on the number of steps.",
        ),
        (
            "The O notation measures memory in bytes.",
            "The best case is what matters most.",
            "Every program runs in linear time.",
            "It was introduced by Donald Knuth in 1976.",
        ),
    ),
    Group(
        "How are problem sets handed in?",
        (
            "You hand in Python files on the course website.",
            "There are three late days altogether.",
            "After the late days, each day costs a tenth of the points.",
        ),
        (
            "Problem sets are sent by e-mail to the tutor.",
            "You have 14 late days in total.",
            "Solutions must be printed and signed.",
        ),
    ),
)


def checks(index: Index, group: Group, sentences: tuple[str, ...]) -> list[Check]:
    """Check sentences against the passages found for a group's question."""
    sources = number(index.search(group.question, top_k=3))
    draft = Draft(group.question, sources)
    for sentence in sentences:
        draft.piece(sentence)
        draft.marker(Marker("[1-3]", tuple(source.number for source in sources)))
        draft.piece("\n")
    return check(draft.text, draft.citations, index.embedder, index.bm25)


def share(index: Index, groups: tuple[Group, ...], kind: str) -> tuple[int, int]:
    """Return the number of sentences of a kind that are found, and their total."""
    found = [each for group in groups for each in checks(index, group, getattr(group, kind))]
    return sum(each.status == "found" for each in found), len(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Index(f"edge:{folder}") as index:
        index.add(COURSE)
        print(f"Found at a score of {MIN_SUPPORT} with {index.embedder.name}:")
        for name, groups in (("threshold chosen on", CHOSEN_ON), ("kept aside", KEPT_ASIDE)):
            for kind, words in (("said", "what the passages say"), ("not_said", "what they don't say")):
                found, of = share(index, groups, kind)
                print(f"  {name}: {words}: {found} of {of}")


if __name__ == "__main__":
    main()
