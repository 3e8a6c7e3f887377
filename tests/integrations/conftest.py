"""The collection for the tests of retrievers, expansion and reranking."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinsplit import Document, Index
from tests.integrations.finding import HASH, LECTURE, STRATEGY
from tests.stores.conftest import postgres_server

__all__ = ["index", "postgres_server"]


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    with Index("memory:", strategy=STRATEGY, embedder=HASH) as made:
        made.add(Document("lecture", LECTURE, {"subject": "cs"}, pages=(0, 300)))
        made.add(Document("cells", "Cells divide. Cells grow. Cells die.", {"subject": "bio"}))
        yield made
