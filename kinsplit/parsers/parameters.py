"""Parameters that name what has to be loaded: a tokenizer, an embedder, a language model.

A value may also be the loaded object.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WrapValidator

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers.units.sentences import check_language


def _either(methods: tuple[str, ...], rule: str) -> WrapValidator:
    """Return what checks that a value is a string or has one of some methods, and keeps it as it is."""

    def check(value: object, _: object) -> object:
        if isinstance(value, str) or any(hasattr(value, method) for method in methods):
            return value
        raise ValueError(rule)

    return WrapValidator(check)


TokenizerField = Annotated[
    Any,
    _either(("__call__", "encode_batch", "encode_ordinary"), "must be a name, a path, a tokenizer or a callable"),
    Field(
        description='Counts tokens: "bundled" (BERT uncased), "hf:REPOSITORY", "tiktoken:ENCODING", '
        "the path of a tokenizer.json, or a callable.",
        json_schema_extra={"type": "string"},
    ),
]

EmbedderField = Annotated[
    Any,
    _either(
        ("embed", "get_text_embedding_batch", "embed_documents"),
        "must be an embedder's name, or an embedder of kinsplit, LlamaIndex or LangChain",
    ),
    Field(
        description="Embeds sentences: a name that `kinsplit.embedding.create` takes, or an embedder of kinsplit, "
        "LlamaIndex or LangChain.",
        json_schema_extra={"type": "string"},
    ),
]

ModelField = Annotated[
    Any,
    _either(
        ("complete", "invoke", "__call__"),
        "must be a language model's name, a language model of kinsplit, LlamaIndex or LangChain, or a function",
    ),
    Field(
        description='Names the boundaries: "ollama:MODEL", "openai:MODEL" for any server with OpenAI\'s interface, a '
        'language model of LlamaIndex or LangChain, a function, or "none" for paragraphs and headings alone.',
        json_schema_extra={"type": "string"},
    ),
]


#: Positive, and small enough for the arrays that lengths are kept in.
Size = Annotated[int, Field(gt=0, le=2**31 - 1, strict=True)]
#: Several sizes, each of which makes a level of chunks. More than anybody reads: every one costs as much as a cut.
Sizes = Annotated[tuple[Size, ...], Field(min_length=1, max_length=16)]
Overlap = Annotated[int, Field(ge=0, strict=True)]
Language = Annotated[
    str,
    AfterValidator(check_language),
    Field(description='Language of the sentences as an ISO 639-1 code, or "auto" to detect it.'),
]


def share(data: dict[str, Any], field: str, of: str, default: int, divisor: int) -> int:
    """Return a size that, where it is not given, is a share of another one.

    Args:
        data: The parameters as given.
        field: The parameter to find.
        of: The parameter that it is a share of.
        default: The default of that parameter.
        divisor: What it is divided by.

    Returns:
        The given value, whatever it is, or the share.
    """
    given = data.get(field)
    if given is not None:
        return given  # type: ignore[no-any-return]
    whole = data.get(of, default)
    return whole // divisor if isinstance(whole, int) else 0


def check_below(field: str, value: int, bound: str, limit: int) -> None:
    """Check that one size is smaller than another.

    Raises:
        InvalidParameterError: It is not.
    """
    if value >= limit:
        raise InvalidParameterError(
            field, f"must be smaller than {bound} ({limit})", value, f"Lower {field} or raise {bound}."
        )
