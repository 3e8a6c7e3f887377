"""Parameter types that strategies share, and their checks.

Tokenizers, embedders and language models are given by name or as objects.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WrapValidator

from kinsplit.errors import require
from kinsplit.parsers.units.languages import check_language


def _either(rule: str, *methods: str) -> WrapValidator:
    """Return a validator that accepts strings, specs as strings, and objects with any of the methods, unchanged."""

    def check(value: object, _: object) -> object:
        if isinstance(value, str):
            return value
        from kinsplit.models import ModelSpec  # Few strategies need models.

        if isinstance(value, ModelSpec):
            return str(value)
        if any(hasattr(value, method) for method in methods):
            return value
        raise ValueError(rule)

    return WrapValidator(check)


def _described(*lines: str) -> Any:
    return Field(description=" ".join(lines), json_schema_extra={"type": "string"})


TokenizerField = Annotated[
    Any,
    _either("must be a name, a path, a tokenizer or a callable", "__call__", "encode_batch", "encode_ordinary"),
    _described(
        'Tokenizer that counts tokens: "bundled" (BERT uncased), "hf:REPOSITORY", "tiktoken:ENCODING", the path of a',
        "tokenizer.json, or a callable.",
    ),
]
_EMBEDDER = "must be an embedder's name, or an embedder of kinsplit, LlamaIndex or LangChain"
EmbedderField = Annotated[
    Any,
    _either(_EMBEDDER, "embed", "get_text_embedding_batch", "embed_documents"),
    _described(
        "Embedding model: a name accepted by `kinsplit.embedding.create`, or an embedder of kinsplit, LlamaIndex or",
        "LangChain.",
    ),
]
_MODEL = "must be a language model's name, a language model of kinsplit, LlamaIndex or LangChain, or a function"
ModelField = Annotated[
    Any,
    _either(_MODEL, "complete", "invoke", "__call__"),
    _described(
        'Language model that chooses the boundaries: "ollama:MODEL", "openai:MODEL" for any server with OpenAI\'s API,',
        'a language model of LlamaIndex or LangChain, a function, or "none" to use paragraphs and headings only.',
    ),
]


#: Positive, and within the range of the arrays of lengths.
Size = Annotated[int, Field(gt=0, le=2**31 - 1, strict=True)]
#: Sizes of several levels of chunks. Each level costs as much as splitting the text once.
Sizes = Annotated[tuple[Size, ...], Field(min_length=1, max_length=16)]
Overlap = Annotated[int, Field(ge=0, strict=True)]
_LANGUAGE = 'Language of the text as an ISO 639-1 code, or "auto" to detect it.'
Language = Annotated[str, AfterValidator(check_language), Field(description=_LANGUAGE)]


def share(data: dict[str, Any], field: str, of: str, default: int, divisor: int) -> int:
    """Return the given size, unchecked, or else a fraction of another size."""
    given = data.get(field)
    if given is not None:
        return given  # type: ignore[no-any-return]
    whole = data.get(of, default)
    return whole // divisor if isinstance(whole, int) else 0


def check_below(field: str, value: int, bound: str, limit: int) -> None:
    """Check that one size is smaller than another, or raise InvalidParameterError if the size is not smaller."""
    require(value < limit, field, f"must be smaller than {bound} ({limit})", value, f"Lower {field} or raise {bound}.")
