"""tokie, which counts far faster than `tokenizers`, kept from what it does otherwise."""

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

from kinsplit.tokenizers.protocol import SEPARATORS, STOPS, IntArray

Count = Callable[[Sequence[str]], IntArray]
#: Gives the token ids of all texts one after another, and how many are each text's.
Encode = Callable[[Sequence[str]], tuple[IntArray, IntArray]]

# From 64 KiB on tokie cuts a text for its threads wherever it likes, inside words and even inside characters.
LONGEST = 16_000
# A long text is cut where counts add up instead.
_ENDS = re.escape("".join(SEPARATORS | STOPS) + string.punctuation)
_PIECE = re.compile(rf".{{0,{LONGEST - 1}}}[{_ENDS}]|[^{_ENDS}]+[{_ENDS}]?", re.DOTALL)

# Words of which tokenizers disagree most: case, accents, CJK, emoji, controls, contractions, numbers, long words.
_PROBE = (
    "The quick brown fox's 1,234.50 jumps! Über naïve café cafe\u0301 Ελλάδα Привет 東京タワー 食べ物 ไทย नमस्ते عربي",
    "👩‍👩‍👧‍👦 a\u00a0b\u2003c\r\nd\te  f\u200b\u00adg <|endoftext|> [MASK] </s> don't can’t x_y a--b … “q” "
    + "z" * 120,
    "def f(x):\n    return x ** 2  # comment\n\n\n<p>&nbsp;</p>\ufffd\x07",
)


class FastCounter:
    """Counts as `tokenizers` does, at tokie's speed.

    Args:
        raw: The tokenizer's description.
        reference: The same tokenizer of `tokenizers`.
        count_exactly: Counts with it.
        encode_exactly: Encodes with it.
        splits_at_space: Whether white space always separates tokens.

    Raises:
        ValueError: tokie doesn't know the tokenizer, or reads the probe texts otherwise.
    """

    def __init__(
        self, raw: dict[str, Any], reference: Any, count_exactly: Count, encode_exactly: Encode, splits_at_space: bool
    ) -> None:
        self._tokie = _tokie(raw, reference)
        self._count_exactly, self._encode_exactly = count_exactly, encode_exactly
        self._splits_at_space = splits_at_space
        self._drops_delete = (raw.get("normalizer") or {}).get("clean_text") is True

    def count(self, texts: Sequence[str]) -> IntArray:
        """Return the number of tokens of each text as int64[len(texts)].

        Raises:
            UnicodeEncodeError: A text holds a lone surrogate.
        """
        texts = self._cleaned(texts)
        if max(map(len, texts), default=0) <= LONGEST:
            return np.array(self._tokie.count_tokens_batch(list(texts)), dtype=np.int64)
        flat, numbers, short = self._pieces(texts)
        counts = np.empty(len(flat), dtype=np.int64)
        counts[short] = self._tokie.count_tokens_batch([piece for piece in flat if len(piece) <= LONGEST])
        counts[~short] = self._count_exactly([piece for piece in flat if len(piece) > LONGEST])
        return _sums(counts, numbers)

    def encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the token ids of all texts one after another, and how many are each text's, both as int64[...].

        Raises:
            UnicodeEncodeError: A text holds a lone surrogate.
        """
        texts = self._cleaned(texts)
        if max(map(len, texts), default=0) <= LONGEST:
            return self._encode(texts)
        flat, numbers, short = self._pieces(texts)
        found, exact = (
            iter(_apart(*encode([piece for piece, is_short in zip(flat, short, strict=True) if is_short == kind])))
            for encode, kind in ((self._encode, True), (self._encode_exactly, False))
        )
        ids = [next(found) if is_short else next(exact) for is_short in short]
        return np.concatenate(ids), _sums(np.array([len(piece) for piece in ids], dtype=np.int64), numbers)

    def _encode(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        ids, counts = self._tokie.encode_batch_flat(list(texts), add_special_tokens=False)
        return ids.astype(np.int64), counts.astype(np.int64)

    def _cleaned(self, texts: Sequence[str]) -> Sequence[str]:
        # BERT's normaliser drops U+007F; in a text that is all ASCII tokie takes it for a character.
        if self._drops_delete and "\x7f" in "".join(texts):
            return [text.replace("\x7f", "") for text in texts]
        return texts

    def _pieces(self, texts: Sequence[str]) -> tuple[list[str], list[int], npt.NDArray[np.bool_]]:
        """Cut long texts into pieces where tokens never reach across white space.

        Returns:
            The pieces, how many are each text's, and which are short enough for tokie.
        """
        is_cut = self._splits_at_space
        pieces = [
            [*map(_abridged, _PIECE.findall(text))] if is_cut and len(text) > LONGEST else [text] for text in texts
        ]
        flat = [piece for found in pieces for piece in found]
        return flat, [len(found) for found in pieces], np.array([len(piece) <= LONGEST for piece in flat])


def _sums(counts: IntArray, numbers: Sequence[int]) -> IntArray:
    """Return the sum of the counts of each text's pieces."""
    return np.add.reduceat(counts, np.cumsum([0, *numbers[:-1]]))


def _apart(ids: IntArray, counts: IntArray) -> list[IntArray]:
    """Return the ids of each text for themselves."""
    return np.split(ids, np.cumsum(counts)[:-1]) if len(counts) else []


def _abridged(piece: str) -> str:
    """Return as much of a piece as is needed to count it: a word so long is one unknown token."""
    return piece[: LONGEST - 1] + piece[-1] if piece.isascii() and piece[:-1].isalnum() else piece


def _tokie(raw: dict[str, Any], reference: Any) -> Any:
    import tokie

    # tokie reads files only.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_text(json.dumps(raw), encoding="utf-8")
        try:
            fast = tokie.Tokenizer.from_json(str(file))
            fast.no_truncation()
            fast.no_padding()
            same = all(
                list(fast.encode(text, add_special_tokens=False).ids)
                == reference.encode(text, add_special_tokens=False).ids
                for text in _PROBE
            )
        except (tokie.TokieError, RuntimeError) as error:
            raise ValueError(str(error)) from error
    if not same:
        raise ValueError("it reads the probe texts otherwise")
    return fast
