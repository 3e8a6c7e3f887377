"""Estimated token counts for a language model whose tokenizer isn't available."""

from __future__ import annotations

import regex

from kinsplit.tokenizers import BUNDLED, resolve

# Bytes per token in scripts unknown to the bundled tokenizer, which has a single token for a whole word there. Models
# read frequent scripts in pieces of several bytes, and rare ones byte by byte. Measured with cl100k: 3.2 bytes per
# token of Thai, 2.7 of Hindi, 1.6 of emoji, 1.5 of Burmese and Georgian, 1.1 of Amharic.
_FEW = 4
_WORDLESS = regex.compile(r"[\p{Devanagari}\p{Bengali}\p{Thai}]+")
_SPARSE = regex.compile(r"[\p{Devanagari}\p{Bengali}\p{Thai}\u0080-\u024f\u1e00-\u1eff]+")
_RARE = regex.compile(
    r"[^\p{ASCII}\p{Latin}\p{Greek}\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Devanagari}\p{Bengali}\p{Thai}"
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{P}\p{Z}\u30fc\ufe0f]+"
)


def count_tokens(text: str) -> int:
    """Estimate the number of tokens of a text for any model, rather too high than too low."""
    # Words unknown to the bundled tokenizer are counted here, without it.
    (known,) = resolve(BUNDLED).count([_RARE.sub(" ", _WORDLESS.sub(" ", text))]).tolist()
    wordless, sparse, rare = (sum(map(_bytes, found.findall(text))) for found in (_WORDLESS, _SPARSE, _RARE))
    return max(
        int(known) - (-wordless // 2) + rare, -(-(_bytes(text) - sparse - rare) // _FEW) + -(-sparse // 2) + rare
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
