"""Embedders by name."""

from __future__ import annotations

from collections.abc import Callable

from kinsplit.embedding.protocol import Embedder
from kinsplit.errors import InvalidParameterError


def names() -> tuple[str, ...]:
    """Return the forms of spec that `create` takes."""
    return ("bundled", "hash", "hash:DIMENSION", "st:NAME_OR_PATH")


def create(spec: str) -> Embedder:
    """Make an embedder; nothing is loaded before its first use.

    Args:
        spec: "bundled" for the all-MiniLM-L6-v2 that comes with kinsplit, "st:NAME_OR_PATH" for any
            sentence-transformers model, "hash" or "hash:DIMENSION" for tests.

    Raises:
        InvalidParameterError: No embedder has that name.
    """
    scheme, colon, rest = spec.partition(":")
    maker = _MAKERS.get(scheme)
    if maker is None or (bool(colon) != bool(rest)):
        raise InvalidParameterError("embedder", f"must be one of {', '.join(names())}", spec, "Check the spelling.")
    return maker(spec, rest)


def _bundled(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.bundled import BundledEmbedder

    if rest:
        raise InvalidParameterError("embedder", "'bundled' takes nothing after it", spec, "Write 'bundled'.")
    return BundledEmbedder()


def _hash(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.hashing import HashEmbedder

    if rest and not rest.isdecimal():
        raise InvalidParameterError("embedder", "'hash:' takes a dimension", spec, "Write for example 'hash:64'.")
    return HashEmbedder(int(rest)) if rest else HashEmbedder()


def _sentence_transformer(spec: str, rest: str) -> Embedder:
    from kinsplit.embedding.sentence_transformer import SentenceTransformerEmbedder

    if not rest:
        remedy = "Write for example 'st:BAAI/bge-m3' or 'st:./my-model'."
        raise InvalidParameterError("embedder", "'st:' takes a model's name or folder", spec, remedy)
    return SentenceTransformerEmbedder(rest)


_MAKERS: dict[str, Callable[[str, str], Embedder]] = {
    "bundled": _bundled,
    "hash": _hash,
    "st": _sentence_transformer,
}
