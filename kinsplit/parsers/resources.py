"""Parameters that name what has to be loaded: a tokenizer, an embedder, a language model.

A value may also be the loaded object.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WrapValidator


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
