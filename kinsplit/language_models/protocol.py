"""What kinsplit needs of a language model."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Protocol, runtime_checkable

#: A JSON schema. It describes an object, since OpenAI's own servers take no other.
Schema = Mapping[str, Any]

#: An answer in pieces, none of them empty; returns whether the longest answer allowed cut it off. Closing it makes the
#: model stop.
Pieces = Generator[str, None, bool]

#: Context window that is assumed where nothing tells it, in tokens.
USUAL_WINDOW = 8192


@runtime_checkable
class LanguageModel(Protocol):
    """Answers prompts; may be called from several threads at once.

    Attributes:
        name: What messages call it.
        identity: What tells its answers from those of any other model, so that they can be kept and used again; None
            if nothing does, and then they aren't kept.
        window: Longest prompt and answer together, in the model's own tokens.
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
            schema: What the answer should look like, for servers that can hold the model to it. The prompt must ask
                for it as well.
            max_tokens: Longest answer, where the server knows such a limit.

        Raises:
            ModelUnavailableError: No call will succeed for now.
            LanguageModelError: This one didn't.
        """
        ...


@runtime_checkable
class StreamingModel(LanguageModel, Protocol):
    """A language model that can answer in pieces, while it still thinks about the rest; see `stream`."""

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        """Answer a prompt in pieces.

        Args:
            prompt: The prompt, as the user's only message.
            max_tokens: Longest answer, where the server knows such a limit.

        Raises:
            ModelUnavailableError: No call will succeed for now.
            LanguageModelError: This one didn't, or broke off.
        """
        ...
