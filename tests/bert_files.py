"""The files of the bundled tokenizer: its tokenizer.json in two parts, and what `tokenizers` makes of each code point.

`python -m tests.bert_files TOKENIZER_JSON` writes them.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from tokenizers import normalizers, pre_tokenizers

from kinsplit.tokenizers import word_piece

FOLDER = Path(word_piece.__file__).with_name("bert")
POINTS = [*range(0xD800), *range(0xE000, 0x110000)]

_NORMALIZER = normalizers.BertNormalizer()
_PRE_TOKENIZER = pre_tokenizers.BertPreTokenizer()
# The library decomposes these by a rule.
_HANGUL = range(0xAC00, 0xD7A4)


def form(character: str) -> str:
    """Return a character as `tokenizers` normalises it, with spaces where it begins or ends a word."""
    found = ""
    for part in _NORMALIZER.normalize_str(character):
        # Between two letters, white space makes two words, and punctuation three.
        words = len(_PRE_TOKENIZER.pre_tokenize_str(f"a{part}a"))
        found += (part, " ", f" {part} ")[words - 1]
    return found


def characters() -> bytes:
    """Return the file of all code points, not compressed."""
    forms = {point: found for point in POINTS if (found := form(chr(point))) != chr(point)}
    kinds = {"removed": lambda _: "", "space": lambda _: " ", "alone": lambda point: f" {chr(point)} "}
    content: dict[str, object] = {
        name: _ranges(point for point, found in forms.items() if found == made(point)) for name, made in kinds.items()
    }
    other = [point for point, found in forms.items() if all(found != made(point) for made in kinds.values())]
    content["forms"] = {chr(point): forms[point] for point in other if point not in _HANGUL}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def _ranges(points: Iterable[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for point in points:
        if found and found[-1][1] == point - 1:
            found[-1][1] = point
        else:
            found.append([point, point])
    return found


if __name__ == "__main__":
    config = json.loads(Path(sys.argv[1]).read_bytes())
    words, config["model"]["vocab"] = "\n".join(config["model"]["vocab"]), {}
    (FOLDER / "vocabulary.txt.gz").write_bytes(gzip.compress(words.encode(), mtime=0))
    (FOLDER / "tokenizer.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (FOLDER / "characters.json.gz").write_bytes(gzip.compress(characters(), mtime=0))
