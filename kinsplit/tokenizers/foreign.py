"""Functions and encodings of tiktoken as tokenizers, and descriptions of objects."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from kinsplit.errors import InvalidParameterError
from kinsplit.spans import replace_surrogates
from kinsplit.tokenizers.protocol import IntArray, valid


class CallableTokenizer:
    """A function that returns the tokens of a text. It gives no offsets, so words are cut only if necessary."""

    splits_at_space = False

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self.name = name
        self._function = function
        tokens = function("one two")
        if isinstance(tokens, str | Mapping) or not hasattr(tokens, "__len__"):
            rule = "must return the list of a text's tokens"
            raise InvalidParameterError("tokenizer", rule, tokens, 'Return a list of tokens; for lengths, see "unit".')

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        return np.array([len(self._function(text)) for text in texts], dtype=np.int64)

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`; all tokens of a word have the offset of the word."""
        found = []
        for text in texts:
            words = list(re.finditer(r"\S+", text))
            offsets = np.array([m.start() for m in words], dtype=np.int64)
            found.append(np.repeat(offsets, self.count([m.group() for m in words])))
        return found


#: Attributes in which tokenizers, embedders and language models store their name.
_NAMES = ("name_or_path", "name", "model_name", "model")


def describe(spec: object) -> str:
    """Return a description of a tokenizer or model given as an object, for fingerprints and messages.

    Functions are described by module and name, lambdas and inner functions also by a hash of their code, methods by
    their object, and other objects by type and name. Different objects can have the same description, for example if
    they differ only in another attribute, so a name is preferable for anything that is stored.
    """
    return spec if isinstance(spec, str) else f"object:{_described(spec)}"


def _name(spec: object) -> str:
    # Methods of built-in types have no module.
    kind: Any = spec if hasattr(spec, "__qualname__") else type(spec)
    return f"{getattr(kind, '__module__', None) or 'builtins'}.{kind.__qualname__}"


def _described(spec: object) -> str:
    name = _name(spec)
    owner = getattr(spec, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType | type):
        return f"{name} of {_described(owner)}"
    code = getattr(spec, "__code__", None)
    if code is not None and "<" in name:
        return f"{name}:{_digest(spec, code)}"
    if not hasattr(spec, "__qualname__"):
        own = (getattr(spec, attribute, None) for attribute in _NAMES)
        return ":".join([name, *(value for value in own if value and isinstance(value, str))][:2])
    return name


def _digest(function: Any, code: CodeType) -> str:
    """Return 8 hexadecimal digits that depend on a function's code, closure and defaults."""
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
    return hashlib.blake2b(repr((_plain(code), _plain([*held, *defaults]))).encode(), digest_size=4).hexdigest()


def _plain(value: object) -> object:
    """Return a representation of a value that is the same in every process."""
    if isinstance(value, CodeType):
        return [value.co_code.hex(), value.co_names, _plain(value.co_consts)]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(repr(_plain(item)) for item in value)
    if isinstance(value, str | bytes | int | float | complex | None):
        return value
    return _name(value)


class TiktokenTokenizer:
    """An encoding of `tiktoken`."""

    splits_at_space = False

    def __init__(self, name: str, encoding: Any) -> None:
        self.name = name
        self._encoding = encoding

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        return np.array([len(ids) for ids in self._encode(texts)], dtype=np.int64)

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`."""
        return [self._token_starts(text, ids) for text, ids in zip(texts, self._encode(texts), strict=True)]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        readable = list(valid(texts))
        if len(readable) == 1:
            # A batch starts threads even for one text.
            return [self._encoding.encode_ordinary(readable[0])]
        encoded: list[list[int]] = self._encoding.encode_ordinary_batch(readable)
        return encoded

    def _token_starts(self, text: str, ids: list[int]) -> IntArray:
        # A token may begin inside a character; its offset is that of the character.
        sizes = np.array([len(b) for b in self._encoding.decode_tokens_bytes(ids)], dtype=np.int64)
        byte_starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        data = np.frombuffer(replace_surrogates(text).encode(), dtype=np.uint8)
        character = np.cumsum((data & 0xC0) != 0x80) - 1
        starts: IntArray = character[byte_starts].astype(np.int64)
        return starts
