"""Base of embedders whose models run on a server: windows, batches, and counts of tokens."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import re
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.protocol import Embedder, check_texts, unit_vectors
from kinsplit.embedding.windows import SPECIAL_TOKENS, CountedTokens, SlicingEmbedder, Tokens, split_texts
from kinsplit.errors import EmbedderUnavailableError, EmbeddingError, TextRefusedError, require
from kinsplit.models import option_text
from kinsplit.support.environment import read, redact_url
from kinsplit.tokenizers import BUNDLED, resolve
from kinsplit.tokenizers.registry import count_tokens

if TYPE_CHECKING:
    from kinsplit.model_servers.server import FailedCall

#: Variable with the price of a million tokens in US dollars.
VARIABLE = "KINSPLIT_EMBEDDING_PRICE"
_TABLE = "model_prices_and_context_window_backup.json"


def price_of(given: float | None, model: str) -> float | None:
    """Return the price of a million tokens in US dollars, or None if it is not known.

    None given takes KINSPLIT_EMBEDDING_PRICE, or else litellm's table where it is installed.

    Raises:
        InvalidParameterError: The price is not a number from 0.
    """
    text = (read(VARIABLE) or "").strip() if given is None else str(given)
    if text:
        try:
            price = float(text)
        except ValueError:
            price = math.nan
        rule = "must be the price of a million tokens in US dollars"
        require(0 <= price < math.inf, VARIABLE if given is None else "price", rule, text, "Write for example 0.02.")
        return price
    each = facts(model).get("input_cost_per_token")
    return each * 1e6 if isinstance(each, int | float) else None


def facts(model: str) -> dict[str, Any]:
    """Return what litellm's table says of a model; nothing where litellm is not installed."""
    provider, _, rest = model.partition("/")
    found = _table().get(model)
    if found is None and rest:
        found = _table().get(rest)
        if isinstance(found, dict) and found.get("litellm_provider") != provider:
            return {}
    return found if isinstance(found, dict) else {}


@functools.cache
def _table() -> dict[str, Any]:
    # The file alone: importing litellm takes seconds, and downloads the newest table.
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).parent / _TABLE
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}


class Used(NamedTuple):
    """Use of a model on a server."""

    requests: int
    tokens: int
    cost: float | None  # In US dollars; None if the price is not known.


class Usage:
    """Requests and tokens so far, counted by any thread; the price of a million tokens is in US dollars."""

    def __init__(self, price: float | None) -> None:
        self.price = price
        self._lock = threading.Lock()
        self._requests = self._tokens = 0

    def add(self, tokens: int | None) -> None:
        """Count a request."""
        with self._lock:
            self._requests += 1
            self._tokens += tokens or 0

    def since(self, before: Used | None = None) -> Used:
        """Return the use so far, or since an earlier moment."""
        with self._lock:
            requests, tokens = self._requests, self._tokens
        if before is not None:
            requests, tokens = requests - before.requests, tokens - before.tokens
        return Used(requests, tokens, None if self.price is None else tokens * self.price / 1e6)


def usage_of(embedder: Embedder) -> Usage | None:
    """Return the usage of an embedder whose model runs on a server, also behind a cache; else None."""
    found = getattr(without_cache(embedder), "usage", None)
    return found if isinstance(found, Usage) else None


#: Maximum number of texts and of tokens in a request; the vectors of a failed request are lost.
BATCH, BATCH_TOKENS = 256, 100_000
#: Statuses with which servers reject too many texts or tokens, or a text.
_REFUSED = frozenset({400, 413, 422})
#: Statuses with which they would answer any text: a wrong key, no credit, no such model, too many requests, overload.
_UNAVAILABLE = frozenset({401, 402, 403, 404, 405, 407, 429, 501, 502, 503, 504})
_TOO_LONG = re.compile(r"too (?:long|large|many tokens)|context (?:length|size|window)|maximum .*tokens")


class EmbeddingAnswer(NamedTuple):
    """Vectors of some texts."""

    vectors: Any
    tokens: int | None  # Number of tokens that the server counted; None if it doesn't say.


class EstimatedTokens:
    """Estimated tokens of a model whose tokenizer isn't available, rather too many than too few.

    A text of up to `budget` bytes is not counted more exactly than by its bytes.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def count(self, texts: Sequence[str]) -> Sequence[int]:
        """See `TokenReader.count`."""
        sizes = (len(text.encode()) for text in texts)
        return [size if size <= self._budget else count_tokens(text) for text, size in zip(texts, sizes, strict=True)]

    def read(self, text: str) -> Tokens:
        """See `TokenReader.read`; the tokens are those of the bundled tokenizer."""
        return CountedTokens(resolve(BUNDLED)).read(text)


class RemoteOptions(TypedDict, total=False):
    """Arguments of all embedders whose models run on servers; see `OpenAIEmbedder`."""

    dimensions: int | None
    window: int | None
    pooling: str | None
    query_prefix: str | None
    passage_prefix: str | None
    price: float | None
    batch_size: int
    batch_tokens: int
    timeout: float


class RemoteEmbedder(SlicingEmbedder):
    """An embedder whose model runs on a server; see `OpenAIEmbedder` for its arguments.

    A request that a server rejects is repeated in halves, so that servers may accept fewer texts or tokens at once than
    this class sends. The addresses are those of the spec, for its name.
    """

    model: str
    scheme = ""

    def __init__(
        self,
        model: str,
        addresses: dict[str, str | None],
        dimensions: int | None = None,
        window: int | None = None,
        pooling: str | None = None,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        price: float | None = None,
        batch_size: int = BATCH,
        batch_tokens: int = BATCH_TOKENS,
        timeout: float = 120.0,
    ) -> None:
        super().__init__(model, window, batch_size)
        for field, address in addresses.items():
            # It is part of the name, which collections and results record.
            shown, remedy = redact_url(address or ""), "Set the variable of the address to the whole URL instead."
            require(shown == (address or ""), field, "must not hold a password", shown, remedy)
        for field, value in (("dimensions", dimensions), ("batch_tokens", batch_tokens)):
            require(value is None or value >= 1, field, "must be at least 1", value, "Leave it out for the default.")
        rule = f"must be more than {SPECIAL_TOKENS}, the number of special tokens"
        require(window is None or window > SPECIAL_TOKENS, "window", rule, window, "Leave it out for the default.")
        self.dimensions, self.batch_tokens, self.timeout = dimensions, batch_tokens, timeout
        self._requested = {} if dimensions is None else {"dimensions": dimensions}
        asked = {"pooling": pooling, "query_prefix": query_prefix, "passage_prefix": passage_prefix}
        self._asked = {name: value for name, value in asked.items() if value is not None}
        self._options = {"dimensions": dimensions, "window": window, **self._asked, **addresses}
        self.usage = Usage(price_of(price, model))

    @property
    def name(self) -> str:
        """The spec that makes this embedder."""
        return f"{self._weights}{option_text(self._options)}"

    @functools.cached_property
    def dimension(self) -> int:
        """Length of a vector; determined by one short call, unless it was requested or the server tells it."""
        return self.dimensions or self._declared.get("dimension") or super().dimension

    @property
    def _weights(self) -> str:
        """The model, which is assumed to be the same on another server."""
        return f"{self.scheme}:{self.model}"

    @functools.cached_property
    def _declared(self) -> dict[str, Any]:
        return {**self._told(), **self._asked}

    @abstractmethod
    def _told(self) -> dict[str, Any]:
        """Return the fields of the model's card that the server or a table knows."""

    @abstractmethod
    def _request(self, texts: list[str]) -> EmbeddingAnswer | FailedCall: ...

    @functools.cached_property
    def _tokens(self) -> Any:
        return EstimatedTokens(self._budget)

    @functools.cached_property
    def _budget(self) -> int:
        """Tokens left for the text itself."""
        taken = max(count_tokens(self._asked.get(name, "")) for name in ("query_prefix", "passage_prefix"))
        rule = f"must be more than {SPECIAL_TOKENS + taken}, the number of tokens of the prefix and special ones"
        require(self.window > SPECIAL_TOKENS + taken, "window", rule, self.window, "Shorten the prefix.")
        return self.window - SPECIAL_TOKENS - taken

    def _slices(self, texts: Sequence[str], *, is_query: bool = False) -> list[list[str]]:
        slices = split_texts(check_texts(texts), self._tokens, self._budget)
        prefix = self._asked.get("query_prefix" if is_query else "passage_prefix", "")
        return [[prefix + part or " " for part in parts] for parts in slices]  # Servers reject an empty text.

    def _batches(self, texts: list[str]) -> Iterator[list[int]]:
        batch: list[int] = []
        total = 0
        for index, count in enumerate(self._tokens.count(texts)):
            if batch and (len(batch) >= self.batch_size or total + count > self.batch_tokens):
                yield batch
                batch, total = [], 0
            batch.append(index)
            total += count
        yield batch

    def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        answer = self._request(texts)
        if isinstance(answer, EmbeddingAnswer):
            self.usage.add(answer.tokens)
            vectors = unit_vectors(answer.vectors, len(texts), self.name)
            expected, found = self.dimensions or self._declared.get("dimension"), vectors.shape[1]
            if expected not in (None, found):
                rule = f"{self.name} returned vectors of {found} numbers instead of {expected}"
                own = f"Give the model as '{self._weights}?dimensions={found}'"
                raise EmbeddingError(
                    f"{rule}. {'Leave the dimensions out for this model' if self.dimensions else own}."
                )
            return vectors
        if answer.status in _UNAVAILABLE:
            raise EmbedderUnavailableError(str(answer.error))
        # Some servers refuse a long text with 500.
        if answer.status not in _REFUSED and not _TOO_LONG.search(str(answer.error)):
            raise answer.error
        if len(texts) == 1:
            raise TextRefusedError(self._with_remedy(str(answer.error)), texts[0])
        half = len(texts) // 2
        halves = [self._embed_batch(texts[:half]), self._embed_batch(texts[half:])]
        # They show that the server accepts fewer texts, while one text that it refuses shows nothing.
        self.batch_size = min(self.batch_size, max(1, half))
        return np.concatenate(halves)

    def _with_remedy(self, reason: str) -> str:
        """Return the message of an error, with a remedy if the server says that a text is too long."""
        if not _TOO_LONG.search(reason):
            return reason
        return f"{reason} Give the model's window: '{self._weights}?window=NUMBER'."
