"""Marked spans of a question -> its labels, by the logic between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kinsplit.evaluation.datasets.stated import StatedLabel, StatedPlace

#: SC-Qrels' words: a span that answers alone, one that answers only with the others of its group, and one that answers
#: in place of the others of its group.
ALONE, TOGETHER, INSTEAD = LOGIC = ("COMPLETE_SPAN", "AND", "OR")


class Mark(NamedTuple):
    """A span that somebody marked as an answer.

    Attributes:
        places: It, and its copies.
        logic: One of `LOGIC`.
        group: The marks of its question that the logic refers to.
    """

    places: Sequence[StatedPlace]
    logic: str = ALONE
    group: str = ""


def labels_of(marks: Sequence[Mark]) -> list[StatedLabel]:
    """Return the labels that marks make, in their order: alternatives are one label, all others one each."""
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
