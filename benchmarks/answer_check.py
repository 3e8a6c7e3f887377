"""Accuracy of the check of an answer's sentences, on what the cited passages say and what they don't.

Every sentence cites the three best passages for its question. The threshold was chosen on the sentences about the
sample course; those about articles of Wikipedia were written afterwards. Run: python benchmarks/answer_check.py
[EMBEDDER ...]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from texts import SHARED_DATA

from kinsplit import Index
from kinsplit.answering.attempt import Marker
from kinsplit.answering.checking import check
from kinsplit.answering.prompt import number
from kinsplit.answering.run import Draft
from kinsplit.answering.values import Check
from kinsplit.embedding import Embedder, resolve
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


KEPT_ASIDE = (
    Group(
        "What is the vanishing gradient problem?",
        (
            "Hochreiter analyzed the vanishing gradient problem in his diploma thesis.",
            "LSTM can learn tasks that need memories of events thousands of time steps earlier.",
            "At the end of a long sentence, a recurrent network holds little precise information about earlier tokens.",
            "The forget gate was introduced in 1999.",
        ),
        (
            "The vanishing gradient problem occurs only in convolutional networks.",
            "Larger batches of training data solve the vanishing gradient problem.",
            "Hochreiter received the Turing Award for the LSTM.",
            "An LSTM needs more memory than a transformer.",
        ),
    ),
    Group(
        "How does supervised learning differ from unsupervised learning?",
        (
            "Supervised learning uses data that contain both the inputs and the desired outputs.",
            "Unsupervised learning finds structures in data without labels.",
            "Clustering is a main application of unsupervised learning.",
            "Classification is used where the outputs are limited to a set of values.",
        ),
        (
            "Supervised learning is always more accurate than unsupervised learning.",
            "Most companies prefer unsupervised learning because it costs less.",
            "Labels are usually created by students.",
            "Unsupervised learning requires a graphics card.",
        ),
    ),
    Group(
        "Why was the transformer faster to train than recurrent networks?",
        (
            "Transformers have no recurrent units, so they take less time to train.",
            "Recurrent networks process one token at a time and can't work on all tokens in parallel.",
            "The time that a transformer needs grows with the square of its context window.",
            "LSTM was the standard for long sequences until transformers were published in 2017.",
        ),
        (
            "Transformers were trained on chips from Intel.",
            "A transformer uses fewer parameters than any recurrent network.",
            "Recurrent networks can't be trained by gradient descent.",
            "The transformer was first used for weather forecasts.",
        ),
    ),
    Group(
        "What was the Georgetown experiment?",
        (
            "In the Georgetown experiment, over sixty Russian sentences were translated into English automatically.",
            "Its authors expected machine translation to be solved within three to five years.",
            "After the ALPAC report, money for machine translation was cut drastically.",
            "ELIZA imitated a Rogerian psychotherapist.",
        ),
        (
            "The Georgetown experiment was paid for by the Soviet Union.",
            "The Georgetown experiment translated French poems.",
            "The experiment failed because its computer broke down.",
            "ELIZA was sold to hospitals.",
        ),
    ),
)


class Material(NamedTuple):
    """Documents and sentences about them."""

    name: str
    folder: Path
    groups: tuple[Group, ...]


MATERIAL = (
    Material("course, threshold chosen on", COURSE, CHOSEN_ON),
    Material("articles, kept aside", SHARED_DATA / "wikipedia_ai" / "txt", KEPT_ASIDE),
)


def checks(index: Index, group: Group, sentences: tuple[str, ...], embedder: Embedder) -> list[Check]:
    """Check sentences against the passages found for a group's question."""
    sources = number(index.search(group.question, top_k=3))
    draft = Draft(group.question, sources)
    for sentence in sentences:
        draft.piece(sentence)
        draft.marker(Marker("[1-3]", tuple(source.number for source in sources)))
        draft.piece("\n")
    return check(draft.text, draft.citations, embedder, index.bm25)


def share(index: Index, groups: tuple[Group, ...], kind: str, embedder: Embedder) -> str:
    """Return how many sentences of a kind are found."""
    found = [each for group in groups for each in checks(index, group, getattr(group, kind), embedder)]
    return f"{sum(each.status == 'found' for each in found)} of {len(found)}"


def main(*specs: str) -> None:
    """Print how many sentences each embedder finds; the bundled one finds the passages that they cite."""
    print(f"Found at a support of {MIN_SUPPORT}:")
    for material in MATERIAL:
        with Index("memory:") as index:
            index.add(material.folder)
            for spec in specs or ("bundled",):
                embedder = resolve(spec)
                said, not_said = (share(index, material.groups, kind, embedder) for kind in ("said", "not_said"))
                print(f"{material.name:<30}{spec:<20}said {said}, not said {not_said}")


if __name__ == "__main__":
    main(*sys.argv[1:])
