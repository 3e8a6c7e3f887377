"""Verification of questions and labels read from files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kinsplit.evaluation.datasets.format import FileRow, Problems
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.loaders.decoding import clean
from kinsplit.spans import Span

# Lone surrogates, which JSON can hold but UTF-8 can't.
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class StatedPlace(NamedTuple):
    """A place of a label as a file states it."""

    field: str
    source_id: Any
    span: tuple[Any, Any] | None  # Bounds of the span; None for the whole document.
    text: Any = None  # Text that the span should hold, if it is stated.
    row: FileRow | None = None  # Row of the place, if it differs from that of the question.


@dataclass(frozen=True)
class StatedLabel:
    """A label as a file states it; see `Label`."""

    places: Sequence[StatedPlace]
    group: str = ""
    grade: int = 1


@dataclass(frozen=True)
class StatedQuestion:
    """A question as a file states it; see `Question`."""

    row: FileRow
    id: Any
    text: Any
    labels: Sequence[StatedLabel] = ()
    answer: Any = ""  # Reference answer; "" for none.
    field: str = "query"


def verified(stated: Iterable[StatedQuestion], dataset: Dataset, problems: Problems) -> tuple[Question, ...]:
    """Verify questions and their labels, or raise LoadError if there are problems, or no questions."""
    questions: list[Question] = []
    seen: dict[str, FileRow] = {}
    for one in stated:
        before = problems.count
        _check_text(one, seen, problems)
        # A label that is stated twice counts once.
        labels = dict.fromkeys(_label(label, one, dataset, problems) for label in one.labels)
        if problems.count == before:
            questions.append(Question(one.id, one.text, tuple(labels), one.answer))
    problems.check(empty=not questions)
    return tuple(questions)


def _check_text(one: StatedQuestion, seen: dict[str, FileRow], problems: Problems) -> None:
    if broken := _broken(one.id):
        problems.add(one.row, None, "query_id", broken, one.id, "Give it one.")
    elif one.id in seen:
        other = seen[one.id]
        where = f"{other.place} of {other.path}"
        problems.add(one.row, one.id, "query_id", f"must be unique, and is that of {where}", one.id, "Rename one.")
    else:
        seen[one.id] = one.row
    if broken := _broken(one.text):
        remedy = "Write the question, or leave the row out."
        problems.add(one.row, one.id, one.field, broken, one.text, remedy)
    if not isinstance(one.answer, str):
        problems.add(one.row, one.id, "answer", "must be a string", one.answer, "Write the answer, or nothing.")


def _label(label: StatedLabel, one: StatedQuestion, dataset: Dataset, problems: Problems) -> Label:
    places = (_place(place, one, dataset, problems) for place in label.places)
    # A wrong place is None; its question is never used.
    return Label(tuple(dict.fromkeys(place for place in places if place is not None)), label.group, label.grade)


def _place(place: StatedPlace, one: StatedQuestion, dataset: Dataset, problems: Problems) -> Place | None:
    found = dataset.names.find(place.source_id)
    if len(found) != 1:
        some = ", ".join(map(repr, list(dataset.sources)[:3]))
        rule = "must name a document that is there"
        remedy = f"Name one of the {len(dataset.sources):,} documents, such as {some}."
        if found:
            rule = "must name one document, and is the docid of several rows"
            remedy = f"Write {' or '.join(map(repr, found))}."
        problems.add(place.row or one.row, one.id, place.field, rule, place.source_id, remedy)
        return None
    document = dataset.sources[found[0]]
    if place.span is None:
        return Place(document.id)
    return Place(document.id, Span(*place.span)) if _fits(place, place.span, one, document.text, problems) else None


def _fits(place: StatedPlace, span: tuple[Any, Any], one: StatedQuestion, text: str, problems: Problems) -> bool:
    """Return whether a span lies in a text and holds the stated text; if not, add the problem."""
    row, (start, end), before = place.row or one.row, span, problems.count
    if not (_whole(start) and _whole(end) and 0 <= start < end <= len(text)):
        rule = f"must be [start, end) within the {len(text):,} characters of {place.source_id!r}"
        remedy = "Count code points of the text as it is stored."
        problems.add(row, one.id, place.field, rule, [start, end], remedy)
    elif not text[start:end].strip():
        problems.add(row, one.id, place.field, "must hold visible text", [start, end], "Leave it out.")
    elif place.text is not None and not _is(text[start:end], place.text):
        at = text.find(place.text) if isinstance(place.text, str) and place.text else -1
        hint = "Nothing may be stripped or normalised after the labels were made."
        if at >= 0:
            hint = f"That text stands at [{at}, {at + len(place.text)}]."
        rule = f"must be the text at [{start}, {end}] of {place.source_id!r}, {text[start:end][:60]!r}"
        problems.add(row, one.id, place.field.replace("spans", "answers"), rule, place.text, hint)
    return problems.count == before


def _is(text: str, stated: object) -> bool:
    # The loaders replace characters that databases reject, one for one.
    return isinstance(stated, str) and text in (stated, clean(stated).text)


def _broken(value: object) -> str:
    """Return the rule for texts that a value breaks; "" if none."""
    if not isinstance(value, str) or not value.strip():
        return "must be a string of visible text"
    return "must not hold a lone surrogate" if _SURROGATE.search(value) else ""


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


#: The logic of SC-Qrels: a span answers alone, together with the others of its group, or instead of them.
ALONE, TOGETHER, INSTEAD = LOGIC = ("COMPLETE_SPAN", "AND", "OR")


class AnnotatedSpan(NamedTuple):
    """An annotated span."""

    places: Sequence[StatedPlace]
    logic: str = ALONE
    group: str = ""


def labels_of(marks: Sequence[AnnotatedSpan]) -> list[StatedLabel]:
    """Return the labels of marks in order: one for all alternatives of a group, and one for each other mark."""
    labels: list[StatedLabel] = []
    alternatives: dict[str, list[StatedPlace]] = {}
    for places, logic, group in marks:
        if logic == INSTEAD and group in alternatives:
            alternatives[group].extend(places)
            continue
        stated = list(places)
        if logic == INSTEAD:
            alternatives[group] = stated
        labels.append(StatedLabel(stated, group if logic == TOGETHER else ""))
    return labels
