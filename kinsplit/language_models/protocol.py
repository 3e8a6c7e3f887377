"""The protocols of language models."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from kinsplit.errors import KinsplitError, LanguageModelError, ModelUnavailableError
from kinsplit.model_servers.secrets import error_message

#: A JSON schema of an object; OpenAI's own servers accept no other.
Schema = Mapping[str, Any]

#: An answer in pieces, none of them empty; returns whether it was cut off at its maximum length. Closing the generator
#: stops the model.
Pieces = Generator[str, None, bool]

#: Assumed context window in tokens of a model that declares none.
USUAL_WINDOW = 8192
#: Usable share of a window, since token counts are estimates.
PLANNED = 0.85


@runtime_checkable
class LanguageModel(Protocol):
    """Answers prompts, also from several threads at once.

    Attributes:
        name: Name in messages.
        identity: Key that distinguishes its answers from those of other models, so that they can be cached; None
            prevents caching.
        window: Maximum length of prompt and answer together, in the model's own tokens.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def identity(self) -> str | None: ...  # noqa: D102

    @property
    def window(self) -> int: ...  # noqa: D102

    def complete(self, prompt: str, schema: Schema | None = None, max_tokens: int | None = None) -> str:
        """Answer a prompt.

        Args:
            prompt: The prompt, as the user's only message.
            schema: Schema of the answer, for servers that can enforce it. The prompt must describe it as well.
            max_tokens: Maximum length of the answer, for servers that support a limit.

        Raises:
            ModelUnavailableError: No call will succeed for now.
            LanguageModelError: This call failed.
        """
        ...


@runtime_checkable
class StreamingModel(LanguageModel, Protocol):
    """A language model that can stream its answer; see `stream`."""

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """Answer a prompt in pieces.

        Args:
            prompt: The prompt, as the user's only message.
            max_tokens: Maximum length of the answer, for servers that support a limit.

        Raises:
            ModelUnavailableError: No call will succeed for now.
            LanguageModelError: This call failed, or the answer broke off.
        """
        ...


@contextmanager
def wrap_errors(name: str) -> Iterator[None]:
    """Convert exceptions of a framework's model, or of a user's own, into `LanguageModelError`.

    Raises:
        ModelUnavailableError: The connection failed.
        LanguageModelError: Any other failure.
    """
    try:
        yield
    except KinsplitError:
        raise
    except Exception as error:  # Models raise exceptions of any kind.
        kind = ModelUnavailableError if _is_unreachable(error) else LanguageModelError
        raise kind(f"{name} failed: {type(error).__name__}: {error_message(str(error))}.") from error


def _is_unreachable(error: BaseException | None) -> bool:
    """Return whether a failed connection is the error or one of its causes."""
    # Not imported, which takes as long as a strategy without a model: where it isn't loaded, nothing raised its errors.
    httpx = sys.modules.get("httpx")
    kinds = (ConnectionRefusedError, *([httpx.ConnectError] if httpx is not None else []))
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, kinds):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
