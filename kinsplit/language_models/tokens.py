"""About how many tokens a text has for a language model whose own tokenizer isn't here."""

from __future__ import annotations

import regex

from kinsplit.tokenizers import BUNDLED, resolve

# Bytes for each token, for which the bundled tokenizer is no measure: it has one token for a whole word of a script, or
# for a sign, that it doesn't know. What a model has seen much of, it reads in pieces of some bytes; what is rare, byte
# by byte. Measured with cl100k: 3.2 bytes of Thai, 2.7 of Hindi, 1.6 of emoji, 1.5 of Burmese and Georgian, 1.1 of
# Amharic make one token.
_FEW = 4
_WORDLESS = regex.compile(r"[\p{Devanagari}\p{Bengali}\p{Thai}]+")
_SPARSE = regex.compile(r"[\p{Devanagari}\p{Bengali}\p{Thai}\u0080-\u024f\u1e00-\u1eff]+")
_RARE = regex.compile(
    r"[^\p{ASCII}\p{Latin}\p{Greek}\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Devanagari}\p{Bengali}\p{Thai}"
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{P}\p{Z}\u30fc\ufe0f]+"
)


def count_tokens(text: str) -> int:
    """Return about how many tokens of any model a text has, rather too many."""
    # Words unknown to the bundled tokenizer are counted here, without it.
    (known,) = resolve(BUNDLED).count([_RARE.sub(" ", _WORDLESS.sub(" ", text))]).tolist()
    wordless, sparse, rare = (sum(map(_bytes, found.findall(text))) for found in (_WORDLESS, _SPARSE, _RARE))
    return max(
        int(known) - (-wordless // 2) + rare, -(-(_bytes(text) - sparse - rare) // _FEW) + -(-sparse // 2) + rare
    )


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
