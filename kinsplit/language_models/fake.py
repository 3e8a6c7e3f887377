"""A deterministic substitute for a language model, for tests."""

from __future__ import annotations

import hashlib
import json
from itertools import accumulate

from kinsplit.language_models.protocol import Pieces, Schema

_LONGEST_STEP = 8
_PIECE = 5


class HashModel:
    """Answers any schema with ascending numbers from 0 in steps that the prompt's hash determines.

    It needs no server, and a prompt always gets the same answer.
    """

    name = "hash"
    identity = None
    window = 1 << 20

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """See `LanguageModel.complete`; the answer is a JSON object with a list as the schema's first property."""
        del max_tokens
        digest = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass")).digest()
        numbers = list(accumulate((1 + byte % _LONGEST_STEP for byte in digest), initial=0))
        (key, *_) = (schema or {}).get("properties", {"numbers": None})
        return json.dumps({key: numbers})

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """See `StreamingModel.stream`; the same answer, a few characters at a time."""
        answer = self.complete(prompt, max_tokens=max_tokens)
        for start in range(0, len(answer), _PIECE):
            yield answer[start : start + _PIECE]
        return False
