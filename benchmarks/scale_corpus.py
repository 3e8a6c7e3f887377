"""Folders of Markdown files in any number, made from the sample course, and questions about them.

A file is a few of the course's sections with a quarter of their longer words replaced: by words of a vocabulary whose
frequencies follow Zipf's law, as those of a language do, and by names that belong to the file alone. Every course has a
paragraph that all of its files repeat, and some files are revisions of the file before them.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from texts import sections

#: Numbers of subjects, and of files of a course.
SUBJECTS, FILES = 10, 20
#: Average number of characters of a file, and their spread on a logarithmic scale.
_LENGTH, _SPREAD = 25_000, 0.5
#: Share of the longer words that are replaced, and of the replacements that are the file's own names.
_REPLACED, _OWN = 0.25, 0.2
#: Number of names of a file, and of words in the vocabulary.
_NAMES, _WORDS = 30, 50_000
#: Share of files that are revisions, and of paragraphs that a revision changes.
_REVISIONS, _REVISED = 0.03, 0.1
_WORD = re.compile(r"([A-Za-z]{4,})")
_CONSONANTS = ("b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "st", "tr")
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS for vowel in "aeiou"]


class Asked(NamedTuple):
    """A question about a file.

    Attributes:
        text: Consecutive words of the file.
        subject: Subject of the file, which a tenth of all files have.
        course: Course of the file, which `FILES` files have.
    """

    text: str
    subject: str
    course: str


def write(folder: Path, characters: int, seed: int = 0) -> int:
    """Write files of so many characters in all, below folders for subjects and courses; return the number of files."""
    number = written = 0
    before = ""
    while written < characters:
        before = _text(number, seed, before)
        path = folder / _place(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before, encoding="utf-8")
        written += len(before)
        number += 1
    return number


def change(folder: Path, share: float, seed: int = 0) -> int:
    """Add a paragraph in the middle of a share of the files; return their number."""
    files = sorted(folder.rglob("*.md"))
    chosen = random.Random(seed).sample(files, max(1, round(share * len(files))))
    for path in chosen:
        paragraphs = path.read_text(encoding="utf-8").split("\n\n")
        paragraphs.insert(len(paragraphs) // 2, f"This was added later to {path.stem}, after round {seed}.")
        path.write_text("\n\n".join(paragraphs), encoding="utf-8")
    return len(chosen)


def questions(folder: Path, number: int, seed: int = 0) -> Iterator[Asked]:
    """Yield questions: eight consecutive words of a file each."""
    choice = random.Random(seed)
    files = sorted(folder.rglob("*.md"))
    for _ in range(number):
        path = choice.choice(files)
        words = [word for word in path.read_text(encoding="utf-8").split() if word.isalnum()]
        start = choice.randrange(len(words) - 8)
        yield Asked(" ".join(words[start : start + 8]), path.parent.parent.name, path.parent.name)


def _place(number: int) -> Path:
    course = number // FILES
    return Path(f"subject_{course % SUBJECTS}", f"course_{course:05}", f"lecture_{number:06}.md")


def _text(number: int, seed: int, before: str) -> str:
    """Return the text of a file: a revision of the file before it, or a new one."""
    rng = np.random.default_rng((seed, number))
    if before and rng.random() < _REVISIONS:
        paragraphs = before.split("\n\n")
        changed = rng.random(len(paragraphs)) < _REVISED
        return "\n\n".join(
            _varied(text, rng, ["revised"]) if new else text for text, new in zip(paragraphs, changed, strict=True)
        )
    found = sections(False)
    names = [_word(rng).capitalize() for _ in range(_NAMES)]
    course = number // FILES
    pieces = [f"# {' '.join(names[:3])}", _varied(found[course % len(found)], np.random.default_rng(course), [])]
    left = rng.lognormal(np.log(_LENGTH) - _SPREAD**2 / 2, _SPREAD) - sum(map(len, pieces))
    while left > 0:
        pieces.append(f"## {_varied(found[rng.integers(len(found))], rng, names)}")
        left -= len(pieces[-1])
    return "\n\n".join(pieces)


def _varied(text: str, rng: np.random.Generator, names: Sequence[str]) -> str:
    """Return a text with some of its words replaced."""
    pieces = _WORD.split(text)
    places = 1 + 2 * np.flatnonzero(rng.random(len(pieces) // 2) < _REPLACED)
    vocabulary = _vocabulary()
    # Ranks whose frequency is the inverse of the rank.
    ranks = np.exp(rng.random(len(places)) * np.log(len(vocabulary))).astype(int) - 1
    own = rng.random(len(places)) < (_OWN if names else 0)
    for place, rank, is_own in zip(places, ranks, own, strict=True):
        pieces[place] = names[rank % len(names)] if is_own else vocabulary[rank]
    return "".join(pieces)


@cache
def _vocabulary() -> list[str]:
    """Return the course's words, and invented ones after them."""
    found = dict.fromkeys(word.lower() for section in sections(False) for word in _WORD.findall(section))
    rng = np.random.default_rng(0)
    invented = (
        "".join(_SYLLABLES[syllable] for syllable in row[:length])
        for row, length in zip(
            rng.integers(len(_SYLLABLES), size=(_WORDS, 4)).tolist(), rng.integers(2, 5, _WORDS).tolist(), strict=True
        )
    )
    return [*found, *(word for word in dict.fromkeys(invented) if word not in found)]


def _word(rng: np.random.Generator) -> str:
    return "".join(_SYLLABLES[syllable] for syllable in rng.integers(len(_SYLLABLES), size=rng.integers(2, 5)))
