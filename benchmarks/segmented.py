"""Texts with known changes of topic, joined from parts of different articles."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from texts import SHARED_DATA

from kinsplit.parsers.packing.refine import slices
from kinsplit.parsers.units.sentences import Units, sentences

_HEADING = re.compile(r"^=+ .* =+\s*$", re.MULTILINE)
_TITLE, _SUBTITLE = re.compile(r"\n = [^=\n]+ = \n"), re.compile(r"\n = = .* = \n")
#: Lengths in characters of sections used as parts: shorter ones are remarks, longer ones would outweigh the others.
_SHORTEST, _LONGEST = 500, 6000
#: Number of parts of a text.
_PARTS = 10

#: Parts by article.
Articles = Mapping[str, Sequence[str]]


class Segmented(NamedTuple):
    """A text, and the offsets in code points at which its parts begin, except the first."""

    text: str
    boundaries: tuple[int, ...]


def segmented_sets(root: Path = SHARED_DATA) -> dict[str, list[Segmented]]:
    """Return the texts by set.

    - "sections": whole sections of Wikipedia with their paragraphs, separated by blank lines.
    - "choi": the first 3 to 11 sentences of sections, separated by a single space, as in Choi, "Advances in
      domain independent linear text segmentation", NAACL 2000.
    - "de", "zh": paragraphs of XQuAD, separated by a space.
    """
    articles = _wikipedia(root)
    return {
        "sections": _joined(articles, "\n\n", 24, seed=0),
        "choi": _joined(articles, " ", 40, seed=1, shorten=_first_sentences),
        "de": _joined(_xquad(root, "de"), " ", 16, seed=2),
        "zh": _joined(_xquad(root, "zh"), " ", 16, seed=3),
    }


def _joined(
    articles: Articles,
    joint: str,
    number: int,
    seed: int,
    shorten: Callable[[str, random.Random], str | None] = lambda part, _: part,
) -> list[Segmented]:
    chance = random.Random(seed)
    return [_join(list(_parts(articles, chance, shorten)), joint) for _ in range(number)]


def _parts(
    articles: Articles, chance: random.Random, shorten: Callable[[str, random.Random], str | None]
) -> Iterator[str]:
    """Yield parts, with no two consecutive ones from the same article."""
    last, left = None, _PARTS
    while left:
        name = chance.choice([name for name in articles if name != last])
        part = shorten(chance.choice(articles[name]), chance)
        if part is not None:
            last, left = name, left - 1
            yield part


def _join(parts: Sequence[str], joint: str) -> Segmented:
    starts = accumulate(len(part) + len(joint) for part in parts[:-1])
    return Segmented(joint.join(parts), tuple(starts))


def _first_sentences(part: str, chance: random.Random) -> str | None:
    units, number = sentences(part, "en"), chance.randint(3, 11)
    if len(units.starts) < number:
        return None
    return " ".join(slices(part, Units(units.starts[:number], units.ends[:number])))


def _wikipedia(root: Path) -> Articles:
    articles = {
        path.stem: _sections(_HEADING.split(path.read_text(encoding="utf-8")))
        for path in sorted((root / "wikipedia_ai" / "txt").glob("*.txt"))
    }
    for number, article in enumerate(_TITLE.split(_texts(root / "chroma" / "wikitexts")[0])):
        articles[f"wikitext {number}"] = _sections(_SUBTITLE.split(article))
    return {name: sections for name, sections in articles.items() if sections}


def _sections(found: Sequence[str]) -> list[str]:
    return [section.strip() for section in found if _SHORTEST <= len(section.strip()) <= _LONGEST]


def _xquad(root: Path, language: str) -> Articles:
    texts = _texts(root / "xquad" / language)
    return {str(number): [part.strip() for part in text.split("\n\n")] for number, text in enumerate(texts)}


def _texts(folder: Path) -> list[str]:
    with (folder / "docs.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]
