"""Questions that name their document or its course: what names it counts for it, and no longer inside it.

"In Acme's merger agreement, what is the closing condition?" is about closing conditions. Inside that agreement, "Acme",
"merger" and "agreement" find the preamble and the signatures.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kinsplit.chunk import DOCUMENT
from kinsplit.identity import name_of
from kinsplit.options import KinWeights
from kinsplit.retrieval.scoring import OwnScores, best_of_each, entries_of, likelihoods, likely, scores_of
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Entry, Query, RankedEntries

if TYPE_CHECKING:
    from kinsplit.retrieval.rankings import SearchQuestion

#: Steps of a search for what a question names; see `kinsplit.retrieval.rankings.Steps`.
Finding = Generator[Sequence[Query], list[RankedEntries], "Naming | None"]

# Constants of a study on six labelled sets; see docs/kin-scoring.md.
# Least share of the likelihood for a document to be the one that a question means.
_LEAST = 0.3
# Most documents in which a word that names one may occur.
_RARE = 20
# Number of chunks at the top of the term ranking, among which a first chunk with the names is.
_TOP = 3
# Least number of further words if a first chunk names its document.
_FURTHER = 3
# Names of files that describe a whole course.
_OF_COURSES = frozenset({"readme", "index", "syllabus", "about", "welcome", "overview"})


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """A question that names a document or a course, without what names it.

    Attributes:
        question: The question without the words that name it. Its vector lacks what the question's shares with the
            document's first chunk, if the names stand there.
        likely: Ids of the documents that the question may mean, the most likely first; empty if it names a course.
        first: Id of the document's first chunk, if that may also be what the question asks for.
        course: Name of the course; empty if the question doesn't have it.
    """

    question: SearchQuestion
    likely: Sequence[str] = ()
    first: str | None = None
    course: str = ""


def find_naming(
    store: ChunkStore, question: SearchQuestion, weights: KinWeights, found: Mapping[str, RankedEntries]
) -> Finding:
    """Find the document that a question names: by a rare word of its name, or by those that its first chunk has.

    A document has to be likely by all evidence, and other words have to be left. A first chunk names its document only
    if it has all rare words of the question that the document has. Who is named in the description of a course, as its
    lecturer is, names the course: the question is then to be asked without that name.

    Args:
        store: The store.
        question: The question.
        weights: Weights of kin scoring.
        found: Rankings of chunks, `dense` and `bm25`, and of documents, `document`.
    """
    names = {entry.source_id: _name(question, entry) for entry, _ in found["document"]}
    first = {entry.source_id: entry.id for entry, _ in found["bm25"][:_TOP] if entry.index == 0}
    if not question.words or not (first or any(names.values())):
        return None
    entries = entries_of((found["dense"], found["bm25"]))
    own = OwnScores.of(entries, scores_of(found["dense"]), scores_of(found["bm25"])).joined(weights.bm25)
    documents = {entry.source_id: score for entry, score in found["document"]}
    likelihood = likelihoods(documents, best_of_each(entries.values(), own), float(own.min()))
    source_id, share = likely(likelihood)
    name = names.get(source_id, frozenset())
    asked = sorted(question.words if source_id in first else name)
    if share < _LEAST or not asked:
        return None
    rare = min(_RARE, max(1, store.count(DOCUMENT, question.where) // 2))
    one_word = [question.by_word(word, DOCUMENT, rare + 1) for word in asked]
    having = {word: {entry.source_id for entry, _ in hits} for word, hits in zip(asked, (yield one_word), strict=True)}
    order = sorted(likelihood, key=lambda each: (-likelihood[each], each))
    chunk = store.vectors([chunk_id]).get(chunk_id) if (chunk_id := first.get(source_id)) is not None else None
    if chunk is not None and chunk.dense is not None and chunk.sparse is not None:
        known = name.union(chunk.sparse.indices)
        distinct = {word for word in question.words if len(having[word]) <= rare and source_id in having[word]}
        further = sum(len(having[word]) > rare for word in question.words - known)
        rest = _without(question, known)
        if rest is not None and distinct and distinct <= known and further >= _FURTHER:
            dense = question.vector - float(question.vector @ chunk.dense) * chunk.dense
            return Naming(replace(rest, dense=dense), order, None if distinct <= name else chunk_id)
        if (rest := _without_people(question, chunk.sparse.indices, having, source_id)) is not None:
            return Naming(rest)
    rest = _without(question, name)
    if rest is not None and any(0 < len(having[word]) <= rare for word in name):
        return Naming(rest, order)
    return None


def _without_people(
    question: SearchQuestion, first: Collection[int], having: Mapping[int, Collection[str]], source_id: str
) -> SearchQuestion | None:
    """Return a question without the names, of two words, that only the first chunk of a course's description has.

    It is None if there are none, or if no other document has a word that the description lacks.
    """
    known = {word for word in having if word in first and having[word] == {source_id}}
    people = frozenset[int]().union(*(words for words, _ in question.alone if len(words) == 2 and words <= known))
    elsewhere = any(having[word] and source_id not in having[word] for word in question.words.difference(first))
    is_description = name_of(source_id).lower() in _OF_COURSES
    return _without(question, people) if people and elsewhere and is_description else None


def _name(question: SearchQuestion, entry: Entry) -> frozenset[int]:
    """Return the words of a question that name a document: those of its file, and its title if all of it is there."""
    title = question.read_name(entry.title)
    name = question.read_name(name_of(entry.source_id)) & question.words
    return name | title if title <= question.words else name


def find_course(question: SearchQuestion, rankings: Iterable[RankedEntries]) -> Naming | None:
    """Find the course that a question names, if entries are of several courses and it names one of them.

    It names a course by all words of the course's name or title. Of two names, one of which has all words of the other,
    the longer is meant. Other words have to be left.

    Args:
        question: The question.
        rankings: What was found for the question.
    """
    # By document first: the hash of a tuple is computed each time.
    courses = {*{entry.source_id: entry.course for ranking in rankings for entry, _ in ranking}.values()}
    if len(courses) < 2:
        return None
    read = question.read_name
    asked = {course: [words for name in course if (words := read(name)) <= question.words] for course in courses}
    named = {course: words for course, names in asked.items() if (words := frozenset[int]().union(*names))}
    longest = [each for each in named if not any(named[each] < other for other in named.values())]
    if len(longest) != 1:
        return None
    course = longest[0]
    rest = _without(question, named[course])
    return None if rest is None else Naming(rest, course=course[0])


def _without(question: SearchQuestion, name: Collection[int]) -> SearchQuestion | None:
    """Return a question without the words of a name, or None if no word would be left."""
    words = question.words.difference(name)
    terms = question.terms.only({*question.terms.indices}.difference(name))
    return replace(question, terms=terms, words=words) if words else None
