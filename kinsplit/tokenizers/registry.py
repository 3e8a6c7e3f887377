"""Tokenizers by name."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regex

from kinsplit.errors import InvalidParameterError, TokenizerError
from kinsplit.hints import question
from kinsplit.support.extras import check_repository, needs
from kinsplit.tokenizers.foreign import CallableTokenizer, TiktokenTokenizer, describe
from kinsplit.tokenizers.json_file import JsonTokenizer
from kinsplit.tokenizers.protocol import Tokenizer
from kinsplit.tokenizers.word_piece import bundled

#: Name of the bundled tokenizer, BERT's uncased WordPiece, shared by all-MiniLM-L6-v2 and bge-*-en-v1.5.
BUNDLED = "bundled"
#: SHA-256 of its tokenizer.json, as published with the model.
BUNDLED_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def resolve(spec: str | object) -> Tokenizer:
    """Return the tokenizer for the `tokenizer` parameter of a strategy.

    Args:
        spec: `"bundled"`, `"hf:REPOSITORY"`, `"tiktoken:ENCODING"`, the path of a `tokenizer.json` (or of a folder
            with one), a fast tokenizer of `tokenizers`, `transformers` or `tiktoken`, or a callable that returns the
            tokens of a text.

    Raises:
        TokenizerError: The tokenizer can't be found or loaded.
        InvalidParameterError: The value is not a tokenizer.
    """
    if isinstance(spec, str):
        return _named(spec)
    if (backend := getattr(spec, "backend_tokenizer", None)) is not None:
        spec = backend
    if hasattr(spec, "to_str") and hasattr(spec, "encode_batch"):
        return JsonTokenizer(describe(spec), spec.to_str())
    if hasattr(spec, "encode_ordinary_batch"):
        return TiktokenTokenizer(describe(spec), spec)
    if callable(spec):
        return CallableTokenizer(describe(spec), spec)
    rule = "must be a name, a path, a tokenizer or a callable"
    raise InvalidParameterError("tokenizer", rule, spec, 'Try tokenizer="bundled".')


@functools.lru_cache(maxsize=32)
def _named(spec: str) -> Tokenizer:
    if spec == BUNDLED:
        return JsonTokenizer(spec, bundled())
    scheme, _, name = spec.partition(":")
    if scheme == "object":
        raise TokenizerError(
            f"tokenizer: {name} is a Python object, which can't be loaded by its description. "
            "Pass the object again: Index(..., strategy=create_strategy(name, tokenizer=...))."
        )
    if scheme == "tiktoken" and name:
        return TiktokenTokenizer(spec, _tiktoken_encoding(name))
    if scheme == "hf" and name:
        return JsonTokenizer(spec, _hub_file(name).read_bytes())
    path = Path(spec)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise TokenizerError(
            f"tokenizer: {spec!r} is neither a known name nor a tokenizer.json that exists. "
            f"{question('tokenizer', spec)}"
            'Give "bundled", "hf:REPOSITORY", "tiktoken:ENCODING" or the path of a tokenizer.json.'
        )
    return JsonTokenizer(spec, file.read_bytes())


def _hub_file(repository: str) -> Path:
    with needs("tokenizers"):
        from huggingface_hub import hf_hub_download
    try:
        check_repository(repository, files=["tokenizer.json"])
        return Path(hf_hub_download(repository, "tokenizer.json"))
    except Exception as error:
        why = str(error) if isinstance(error, LookupError) else type(error).__name__
        raise TokenizerError(
            f'tokenizer: "hf:{repository}" could not be loaded from the hub or its cache '
            f"({why}). Check the name and the network, or give the path of its tokenizer.json."
        ) from error


def _tiktoken_encoding(name: str) -> Any:
    with needs("tiktoken"):
        import tiktoken
    try:
        with _llama_index_cache(name):
            return tiktoken.get_encoding(name)
    except Exception as error:
        raise TokenizerError(
            f'tokenizer: "tiktoken:{name}" could not be loaded ({type(error).__name__}). '
            "It needs the network once; cl100k_base and o200k_base come with llama-index-core."
        ) from error


_environment_lock = threading.Lock()


@contextlib.contextmanager
def _llama_index_cache(name: str) -> Iterator[None]:
    """Let tiktoken find the encodings bundled with llama-index-core, through its environment variable."""
    from importlib.util import find_spec

    found = find_spec("llama_index.core") if find_spec("llama_index") else None
    folder = Path(found.origin).parent / "_static" / "tiktoken_cache" if found and found.origin else None
    if name not in {"cl100k_base", "o200k_base"} or folder is None or "TIKTOKEN_CACHE_DIR" in os.environ:
        yield
        return
    from kinsplit.support.environment import variables

    with _environment_lock, variables({"TIKTOKEN_CACHE_DIR": str(folder)}):
        yield


# Bytes per token in scripts unknown to the bundled tokenizer, which has a single token for a whole word there. Models
# read frequent scripts in pieces of several bytes, and rare ones byte by byte. Measured with cl100k: 3.2 bytes per
# token of Thai, 2.7 of Hindi, 1.6 of emoji, 1.5 of Burmese and Georgian, 1.1 of Amharic.
_FEW = 4
_WORDLESS = r"[\p{Devanagari}\p{Bengali}\p{Thai}]+"
_SPARSE = r"[\p{Devanagari}\p{Bengali}\p{Thai}\u0080-\u024f\u1e00-\u1eff]+"
_RARE = (
    r"[^\p{ASCII}\p{Latin}\p{Greek}\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Devanagari}\p{Bengali}\p{Thai}"
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{P}\p{Z}\u30fc\ufe0f]+"
)


def count_tokens(text: str) -> int:
    """Estimate the number of tokens of a text for any model, rather too high than too low."""
    # Words unknown to the bundled tokenizer are counted here, without it.
    (known,) = resolve(BUNDLED).count([regex.sub(_RARE, " ", regex.sub(_WORDLESS, " ", text))]).tolist()
    wordless, sparse, rare = (sum(map(_bytes, regex.findall(found, text))) for found in (_WORDLESS, _SPARSE, _RARE))
    by_words = int(known) - (-wordless // 2)
    return rare + max(by_words, -(-(_bytes(text) - sparse - rare) // _FEW) + -(-sparse // 2))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
