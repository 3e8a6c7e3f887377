"""Models as described objects: the card of a model says how it must be asked, and what its vectors depend on."""

from __future__ import annotations

import sys
from typing import Any, Literal
from urllib.parse import quote

from kinsplit.support.settings import Settings

#: Characters that stay as they are in the value of an option; "&" begins the next one, and "%" an escaped character.
_PLAIN = "".join(chr(code) for code in range(32, 127) if chr(code) not in "&%")


def option_text(options: dict[str, Any]) -> str:
    """Return options as they follow a model: "?a=1&b=2"; those that are None are left out, and "" is for none."""
    given = (f"{name}={quote(str(value), safe=_PLAIN)}" for name, value in options.items() if value is not None)
    joined = "&".join(given)
    return f"?{joined}" if joined else ""


class ModelCard(Settings):
    """What is known of a model, from its own files, from its server, or from the options of its spec.

    Attributes:
        weights: Identity of the weights: a hash of them, or the name of the model where they can't be read.
        window: Maximum number of tokens of one input, with special tokens and prefixes; `sys.maxsize` for no limit.
        dimension: Length of a vector; 0 for a model without vectors.
        dimensions: Lengths to which its vectors can be cut, longest first (Matryoshka).
        pooling: How the vectors of tokens become one: mean, cls (the first one), last, or a name of the model's own.
        normalises: Whether the model itself scales its vectors to length 1, which kinsplit does in any case.
        query_prefix: Text before each question.
        passage_prefix: Text before each text for an index.
        tokenizer: Kind of the tokenizer and size of its vocabulary, such as "WordPiece/30522".
        similarity: Measure by which the model's vectors are compared.
        languages: Languages that the model knows, as codes of ISO 639.
        licence: Licence of the weights.
    """

    weights: str
    window: int
    dimension: int = 0
    dimensions: tuple[int, ...] = ()
    pooling: str | None = None
    normalises: bool | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    tokenizer: str | None = None
    similarity: Literal["cosine", "dot", "euclidean", "manhattan"] = "cosine"
    languages: tuple[str, ...] = ()
    licence: str | None = None

    @property
    def fingerprint(self) -> str:
        """All that the vectors depend on; two models with the same one are interchangeable.

        It has the form of a spec, so that a difference names the option that mends it.
        """
        depends = ("dimension", "window", "pooling", "query_prefix", "passage_prefix")
        found = {name: getattr(self, name) or None for name in depends}
        return self.weights + option_text({**found, "window": None if self.window == sys.maxsize else self.window})
