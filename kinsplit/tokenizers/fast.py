"""Fast encoding with tokie, checked against an exact tokenizer."""

from __future__ import annotations

import json
import re
import string
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinsplit.tokenizers.protocol import SEPARATORS, STOPS, IntArray, is_word

#: Function that returns the concatenated token ids of all texts and the number of ids per text.
Encode = Callable[[Sequence[str]], tuple[IntArray, IntArray]]

# From 64 KiB on, tokie splits a text between its threads at arbitrary offsets, even inside words and characters.
LONGEST = 16_000
# Longer texts are cut where counts add up.
_ENDS = re.escape("".join(SEPARATORS | STOPS) + string.punctuation)
_PIECE = re.compile(rf".{{0,{LONGEST - 1}}}[{_ENDS}]|[^{_ENDS}]+[{_ENDS}]?", re.DOTALL)

# Texts on which tokenizers are most likely to disagree: case, accents, CJK, emoji, controls, numbers, long words.
_PROBE = (
    "The quick brown fox's 1,234.50 jumps! Über naïve café cafe\u0301 Ελλάδα Привет 東京タワー 食べ物 ไทย नमस्ते عربي",
    "👩‍👩‍👧‍👦 a\u00a0b\u2003c\r\nd\te  f\u200b\u00adg <|endoftext|> [MASK] </s> don't can’t x_y a--b … “q” "
    + "z" * 120,
    "def f(x):\n    return x ** 2  # comment\n\n\n<p>&nbsp;</p>\ufffd\x07",
)


# Code points below this are probed at the start, others when they first occur.
_COMMON = 0x300


class FastEncoder:
    """Encoder with the results of an exact tokenizer and the speed of tokie.

    Args:
        raw: Content of the tokenizer.json.
        encode_exactly: Encoding function of the exact tokenizer.
        unknown: Id of the unknown token, or None.
        splits_at_space: Whether white space always separates tokens.

    Raises:
        ImportError: tokie is not installed.
        ValueError: tokie doesn't support the tokenizer or reads the probe texts differently.
    """

    def __init__(self, raw: dict[str, Any], encode_exactly: Encode, unknown: int | None, splits_at_space: bool) -> None:
        self._tokie = _tokie(raw, encode_exactly)
        self._encode_exactly, self._unknown, self._splits_at_space = encode_exactly, unknown, splits_at_space
        # Whether each code point was probed, and whether the two libraries read it differently.
        self._probed, self._odd = np.zeros(0x110000, dtype=np.bool_), np.zeros(0x110000, dtype=np.bool_)
        self._probe(np.arange(_COMMON))
        self._odd_common = [chr(point) for point in np.flatnonzero(self._odd).tolist()]

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the concatenated token ids of all texts and the number of ids per text, both as int64[...].

        Raises:
            UnicodeEncodeError: A text contains a lone surrogate.
        """
        if max(map(len, texts), default=0) <= LONGEST:
            return self._encode(texts)
        flat, numbers = self._pieces(texts)
        ids, counts = self._encode(flat)
        return ids, np.add.reduceat(counts, np.cumsum([0, *numbers[:-1]]))

    def _encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        exact = self._are_odd(texts) | np.array([len(text) > LONGEST for text in texts], dtype=np.bool_)
        if not exact.any():
            return self._read(texts)
        found, slow = (
            iter(_apart(*encode([text for text, is_exact in zip(texts, exact, strict=True) if is_exact == kind])))
            for encode, kind in ((self._read, False), (self._encode_exactly, True))
        )
        ids = [next(slow) if is_exact else next(found) for is_exact in exact]
        return np.concatenate(ids), np.array([len(own) for own in ids], dtype=np.int64)

    def _read(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        ids, counts = self._tokie.encode_batch_flat(list(texts), add_special_tokens=False)
        return ids.astype(np.int64), counts.astype(np.int64)

    def _are_odd(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which texts contain a character that tokie reads differently."""
        joined = "".join(texts)
        odd = {c for c in self._odd_common if c in joined}
        if not joined.isascii():
            points = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4")
            rare = points[points >= _COMMON]
            if not self._probed[rare].all():
                self._probe(np.unique(rare[~self._probed[rare]]))
            odd.update(map(chr, rare[self._odd[rare]].tolist()))
        if not odd:
            return np.zeros(len(texts), dtype=np.bool_)
        return np.array([not odd.isdisjoint(text) for text in texts], dtype=np.bool_)

    def _probe(self, points: npt.NDArray[np.integer[Any]]) -> None:
        """Check whether both libraries, whose Unicode versions differ, read some code points alike."""
        texts = [f"{c} a{c}b 1{c}{c}, {c}." for c in map(chr, points.tolist())]
        for point, fast, exact in zip(
            points.tolist(), _apart(*self._read(texts)), _apart(*self._encode_exactly(texts)), strict=True
        ):
            self._odd[point] = not np.array_equal(fast, exact)
        self._probed[points] = True

    def _pieces(self, texts: Sequence[str]) -> tuple[list[str], list[int]]:
        """Cut long texts into pieces between tokens.

        Returns:
            The pieces, and the number of pieces per text.
        """
        is_cut = self._splits_at_space
        pieces = [
            [*map(self._abridged, _PIECE.findall(text))] if is_cut and len(text) > LONGEST else [text] for text in texts
        ]
        return [piece for found in pieces for piece in found], [len(found) for found in pieces]

    def _abridged(self, piece: str) -> str:
        """Return as much of a piece as determines its tokens: a word with an unknown beginning is unknown."""
        if len(piece) <= LONGEST or not is_word(piece[:-1]):
            return piece
        begin = piece[: LONGEST - 1]
        return begin + piece[-1] if self._encode([begin])[0].tolist() == [self._unknown] else piece


def _apart(ids: IntArray, counts: IntArray) -> list[IntArray]:
    """Return the ids of each text as separate arrays."""
    return np.split(ids, np.cumsum(counts)[:-1]) if len(counts) else []


def _tokie(raw: dict[str, Any], encode_exactly: Encode) -> Any:
    import tokie

    # tokie reads only files.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_text(json.dumps(raw), encoding="utf-8")
        try:
            fast = tokie.Tokenizer.from_json(str(file))
            fast.no_truncation()
            fast.no_padding()
            same = all(
                list(fast.encode(text, add_special_tokens=False).ids) == encode_exactly([text])[0].tolist()
                for text in _PROBE
            )
        except (tokie.TokieError, RuntimeError) as error:
            raise ValueError(str(error)) from error
    if not same:
        raise ValueError("tokie reads the probe texts differently")
    return fast
