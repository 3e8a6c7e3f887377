"""What embedding the chunks costs."""

from __future__ import annotations

from kinsplit.chunk import embedded_text
from kinsplit.evaluation.statistics.protocol import Made


class TokensEmbedded:
    """The tokens that the embedding model reads, each chunk's context included."""

    name, unit = "tokens_embedded", "tokens"
    description = "Tokens that are embedded, contexts included"

    def value(self, made: Made) -> float:
        """Count the tokens with the evaluation's tokenizer; equal texts count once for each chunk."""
        texts = [embedded_text(c) if made.contexts else c.text for c in made.chunking.chunks]
        return int(made.chunking.tokenizer.count(texts).sum()) if texts else 0
