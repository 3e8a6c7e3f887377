"""What has to be known of a model to prepare its input; kept beside a converted one, so that nothing else is loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.errors import EmbeddingError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

_FACTS, _TOKENIZER = "model.json", "tokenizer.json"


@dataclass(frozen=True, slots=True, eq=False)
class ModelFacts:
    """What a sentence-transformers model declares.

    Attributes:
        dimension: Length of a vector.
        window: Most tokens that it reads at once, special tokens included.
        pad: Id of the token that fills shorter inputs.
        prompts: Texts that are put before a text, by what it is.
        tokenizer: Without truncation and padding.
    """

    dimension: int
    window: int
    pad: int
    prompts: Mapping[str, str]
    tokenizer: Tokenizer

    @property
    def query_prompt(self) -> str:
        """What the model wants before a question."""
        return self.prompts.get("query") or ""

    @property
    def document_prompt(self) -> str:
        """What the model wants before a text that will be searched."""
        return next(filter(None, (self.prompts.get(key) for key in ("document", "passage", "corpus"))), "")

    def save(self, folder: Path) -> None:
        """Write the facts into a folder."""
        facts = {"dimension": self.dimension, "window": self.window, "pad": self.pad, "prompts": dict(self.prompts)}
        (folder / _TOKENIZER).write_text(self.tokenizer.to_str(), encoding="utf-8")
        (folder / _FACTS).write_text(json.dumps(facts, indent=2), encoding="utf-8")


def read_facts(folder: Path) -> ModelFacts:
    """Return what `ModelFacts.save` wrote."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    return ModelFacts(**json.loads((folder / _FACTS).read_text(encoding="utf-8")), tokenizer=tokenizer)


def facts_of(model: SentenceTransformer, name: str) -> ModelFacts:
    """Return what a loaded model declares.

    Args:
        model: The model.
        name: For errors.

    Raises:
        EmbeddingError: It has no fast tokenizer.
    """
    from tokenizers import Tokenizer

    backend = getattr(model.tokenizer, "backend_tokenizer", model.tokenizer)
    if not isinstance(backend, Tokenizer):
        raise EmbeddingError(f"The embedding model {name!r} has no fast tokenizer (tokenizer.json).")
    # A copy: the model sets truncation and padding on its own at every call.
    tokenizer = Tokenizer.from_str(backend.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ModelFacts(
        dimension=len(model.encode("dimension", show_progress_bar=False)),
        window=model.max_seq_length or sys.maxsize,
        pad=getattr(model.tokenizer, "pad_token_id", None) or 0,
        prompts={name: prompt for name, prompt in model.prompts.items() if prompt},
        tokenizer=tokenizer,
    )
