"""Exceptions and warnings.

```
KinsplitError
├── InvalidParameterError   an argument breaks a rule (also a ValueError)
│   ├── LimitTooSmallError  a document holds a character that is longer than the limit
│   └── MissingContentError chunks came without vectors, and the store has none for them
├── MissingExtraError       an optional dependency is not installed (also an ImportError)
├── TokenizerError          a tokenizer can't be found, loaded or sent to another process
├── LoadError               a file can't be read as text
├── FetchError              a source on the network can't be fetched
├── CacheError              a cache folder can't be used
├── EmbeddingError          an embedding model gave no usable vectors, or its files are not the ones expected
│   ├── TextRefusedError    its server refuses a text
│   └── EmbedderUnavailableError it can't be reached, refuses access, or fails with any text
├── LanguageModelError      a language model gave no usable answer
│   └── ModelUnavailableError it can't be reached, doesn't exist, or refuses access
├── WorkerError             a call in a worker process gave no result
│   ├── TimeLimitError      it exceeded its time limit
│   ├── MemoryLimitError    it exceeded its memory limit
│   ├── ResultSizeError     its result exceeds the size limit
│   └── WorkerDiedError     its process died
└── StoreError              a chunk store can't carry out an operation
    ├── CollectionNotFoundError nothing has been indexed under that name
    ├── ForeignCollectionError something else than kinsplit made it
    ├── StoreLockedError    another process holds the folder
    ├── DiskFullError       too little disk space is free
    └── SchemaMismatchError the collection was made with another model or strategy

KinsplitWarning             (a UserWarning) and those of the parts: BackendWarning, FallbackWarning,
│                           GraphWarning, IndexWarning, KeepaliveWarning, PluginWarning, RateWarning,
│                           RerankWarning, SentenceWarning
├── CacheWarning            a result can't be kept in the cache and is computed again
└── LockWarning             a lock that somebody else holds is waited for
```
"""

from __future__ import annotations

import signal
import unicodedata
from collections.abc import Sequence
from typing import Any, Self

# Control and format characters, surrogates, and the ends of lines and paragraphs.
_ACTIVE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Joiners within words and emoji sequences; harmless elsewhere.
_JOINERS = frozenset("\u200c\u200d")
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\ufffd")


def inline(text: str) -> str:
    r"""Escape a text of foreign origin, such as a file name, so that it stays within one line.

    Characters that would end the line, change the direction of writing, hide text or control a terminal become Python
    escapes: a line feed `\n`, U+202E `\u202e`.
    """
    if text.isprintable():
        return text
    return "".join(repr(letter)[1:-1] if _is_active(letter) else letter for letter in text)


def visible(text: str) -> str:
    """Replace control characters except tab and line feed, each by one character."""
    return text.translate(_CONTROLS)


def _is_active(letter: str) -> bool:
    return unicodedata.category(letter) in _ACTIVE and letter not in _JOINERS


class KinsplitWarning(UserWarning):
    """Base of all warnings about input, as opposed to code; the commands show them."""

    @classmethod
    def combined(cls, found: Sequence[Self]) -> list[Self]:
        """Combine the warnings of one run into those worth reading."""
        return list(found)


class CacheWarning(KinsplitWarning):
    """A result can't be kept in the cache folder and is computed again."""


class LockWarning(KinsplitWarning):
    """A lock that somebody else holds is waited for."""


class KinsplitError(Exception):
    """Base of all errors that kinsplit raises on purpose."""


class InvalidParameterError(KinsplitError, ValueError):
    """An argument breaks a rule.

    Args:
        field: Name of the argument.
        rule: What is allowed, as a sentence without a full stop.
        value: The value given.
        remedy: How to fix it, as a sentence.
    """

    def __init__(self, field: str, rule: str, value: Any, remedy: str) -> None:
        super().__init__(field, rule, value, remedy)
        self.field, self.rule, self.value, self.remedy = field, rule, value, remedy

    def __str__(self) -> str:
        shown = repr(self.value)
        if len(shown) > 80:
            shown = f"{shown[:77]}..."
        return f"{self.field}: {self.rule} (got {shown}). {self.remedy}"

    def of(self, field: str) -> InvalidParameterError:
        """Return the same error under the name of another parameter."""
        return InvalidParameterError(field, self.rule, self.value, self.remedy)


def require(ok: object, field: str, rule: str, value: Any, remedy: str) -> None:
    """Raise an error unless an argument follows its rule; see `InvalidParameterError` for the arguments.

    Raises:
        InvalidParameterError: `ok` is false.
    """
    if not ok:
        raise InvalidParameterError(field, rule, value, remedy)


def require_names(arguments: Sequence[object], first: str) -> None:
    """Raise an error for arguments without their names.

    Args:
        arguments: The arguments.
        first: Name of the argument that is most likely meant.

    Raises:
        InvalidParameterError: There are any.
    """
    if arguments:
        rule, remedy = "must be given by its name, as all options", f"Write {first}={arguments[0]!r}, if it is that."
        raise InvalidParameterError("arguments", rule, arguments[0], remedy)


class LimitTooSmallError(InvalidParameterError):
    """A document holds a character that is longer than a chunk may be.

    Args:
        limit: The limit.
        unit: Unit of the limit, such as "token".
        character: The character.
        source_id: Id of the document, where known.
        field: Name of the parameter that sets the limit.
    """

    def __init__(
        self, limit: int, unit: str, character: str, source_id: str | None = None, field: str = "chunk_size"
    ) -> None:
        text = "the text" if source_id is None else repr(source_id)
        code_points = " ".join(f"U+{ord(c):04X}" for c in character)
        rule = f"must hold every character of {text} in {unit}s, also {character!r} ({code_points})"
        super().__init__(field, rule, limit, "Raise it.")
        self.args = (limit, unit, character, source_id, field)
        self.limit, self.unit, self.character, self.source_id = limit, unit, character, source_id

    def inside(self, source_id: str) -> LimitTooSmallError:
        """Return the same error with the id of the document."""
        return LimitTooSmallError(self.limit, self.unit, self.character, source_id, self.field)

    def of(self, field: str) -> LimitTooSmallError:
        """Return the same error under the name of another parameter."""
        return LimitTooSmallError(self.limit, self.unit, self.character, self.source_id, field)


class MissingContentError(InvalidParameterError):
    """Chunks came without vectors, and the store has none: never embedded, or deleted by another writer since.

    Args:
        content: Level and content hash of one such chunk.
    """

    def __init__(self, content: tuple[int, str]) -> None:
        remedy = "Embed every chunk that missing() returns."
        super().__init__("vectors", "must hold each content that the store lacks", content, remedy)
        self.args = (content,)


class MissingExtraError(KinsplitError, ImportError):
    """An optional dependency is not installed.

    Args:
        package: Name of the missing distribution.
        extra: Name of the extra that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)
        self.package, self.extra = package, extra

    def __str__(self) -> str:
        return f'{self.package} is not installed. Run: pip install "kinsplit[{self.extra}]"{_HINTS.get(self.extra, "")}'


_HINTS = {
    "multilingual": " (it has no wheels for Windows and for Macs with Intel processors: there, take the embedder "
    "'st:intfloat/multilingual-e5-small')",
    "torch": " (for PyTorch without gigabytes of CUDA libraries, add: --extra-index-url "
    "https://download.pytorch.org/whl/cpu)",
}


class TokenizerError(KinsplitError):
    """A tokenizer can't be found, loaded, or sent to another process."""


class LoadError(KinsplitError):
    """A file can't be read as text.

    Args:
        path: The file.
        reason: The cause and the remedy.
    """

    def __init__(self, path: object, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = str(path), reason

    def __str__(self) -> str:
        return inline(f"{self.path}: {self.reason}")


class FetchError(KinsplitError):
    """A source on the network can't be fetched."""


class CacheError(KinsplitError):
    """A cache folder can't be written, or its content is damaged."""


class EmbeddingError(KinsplitError):
    """An embedding model gave no usable vectors, or its files are missing or not the ones expected."""


class TextRefusedError(EmbeddingError):
    """The server of an embedding model refuses a text; others may be fine.

    Args:
        reason: The server's answer and the remedy.
        text: The text, as it was sent.
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(reason, text)
        self.reason, self.text = reason, text

    def __str__(self) -> str:
        return self.reason


class EmbedderUnavailableError(EmbeddingError):
    """An embedding model can't be reached, refuses access, or fails with any text; other texts would fail as well.

    Args:
        reason: The cause and the remedy.
        stored: Number of documents that a run had stored when it ended there; None outside a run.
    """

    def __init__(self, reason: str, stored: int | None = None) -> None:
        super().__init__(reason, stored)
        self.reason, self.stored = reason, stored

    def __str__(self) -> str:
        if self.stored is None:
            return self.reason
        done = f"{self.stored:,} {'document is' if self.stored == 1 else 'documents are'}"
        return f"{self.reason} The run ended there: {done} stored, and another run goes on with the others."


class LanguageModelError(KinsplitError):
    """A language model gave no usable answer."""


class ModelUnavailableError(LanguageModelError):
    """A language model can't be reached, doesn't exist, or refuses access; other prompts would fail as well."""


class WorkerError(KinsplitError):
    """A call in a worker process gave no result."""


class TimeLimitError(WorkerError):
    """A call exceeded its time limit.

    Args:
        limit: Time limit in seconds.
    """

    def __init__(self, limit: float) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"took longer than {self.limit:,g} s"


class MemoryLimitError(WorkerError):
    """A call exceeded its memory limit.

    Args:
        limit: Memory limit in bytes; None if only the memory of the machine was the limit.
    """

    def __init__(self, limit: int | None) -> None:
        super().__init__(limit)
        self.limit = limit

    def __str__(self) -> str:
        return f"needs more {'' if self.limit is None else f'than {self.limit / 2**20:,.0f} MiB of '}memory"


class ResultSizeError(WorkerError):
    """The result of a call exceeds the size limit.

    Args:
        size: Size of the result in bytes.
        limit: Size limit in bytes.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size, self.limit = size, limit

    def __str__(self) -> str:
        return f"gives a result of {self.size:,} bytes, where at most {self.limit:,} are allowed"


class WorkerDiedError(WorkerError):
    """The process that ran a call died.

    Args:
        code: Its exit code, or the number of the signal that killed it, negated.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    def __str__(self) -> str:
        if self.code >= 0:
            return f"ended its process with exit code {self.code}"
        try:
            name = f" ({signal.Signals(-self.code).name})"
        except ValueError:  # a real-time signal
            name = ""
        return f"ended its process with signal {-self.code}{name}"


class StoreError(KinsplitError):
    """A chunk store can't carry out an operation."""


class CollectionNotFoundError(StoreError):
    """Nothing has been indexed under that name."""


class ForeignCollectionError(StoreError):
    """Something else than kinsplit made a collection, so kinsplit changes and deletes nothing there.

    Args:
        place: The collection with its store.
    """

    def __init__(self, place: object) -> None:
        super().__init__(place)
        self.place = place

    def __str__(self) -> str:
        return (
            f"{self.place} was not made by kinsplit, which leaves it as it is. Choose another name, or change it with "
            "the program that made it."
        )


class StoreLockedError(StoreError):
    """Another process holds the store's folder."""


class DiskFullError(StoreError):
    """Too little disk space is free for an operation; nothing was written.

    Args:
        folder: Folder on the full disk.
        action: The operation, as an infinitive without "to".
        needed: Bytes needed.
        free: Bytes free.
    """

    def __init__(self, folder: str, action: str, needed: int, free: int) -> None:
        super().__init__(folder, action, needed, free)
        self.folder, self.action, self.needed, self.free = folder, action, needed, free

    def __str__(self) -> str:
        needed, free = (f"{size / 1e6:.1f} MB" for size in (self.needed, self.free))
        return (
            f"{self.folder}: to {self.action}, {needed} must be free, and {free} are. Nothing was written. "
            "Free some space on that disk, or use a folder on another one."
        )


class SchemaMismatchError(StoreError):
    """The collection was made with another model or strategy."""
