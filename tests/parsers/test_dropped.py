"""Characters that a tokenizer drops are in the chunks, and chunks stay within their limits."""

from __future__ import annotations

import pytest

from kinsplit.chunk import Document
from kinsplit.parsers import names
from kinsplit.parsers.packing.refine import CHARACTERS_PER_TOKEN
from tests.generators import DROPPED
from tests.parsers.contract import check_chunks
from tests.parsers.sized import has_unit, sized

every_strategy = pytest.mark.parametrize("name", names())
BODY = "Hello there world. " * 9


@every_strategy
def test_what_is_dropped_at_the_ends_of_a_text_is_in_its_chunks(name: str) -> None:
    # Found: `token` and `cluster` lost it where eight words or more of it came first.
    for dropped in DROPPED:
        for times in (1, 9):
            for text in (dropped * times + BODY, BODY + dropped * times, dropped * times):
                strategy, document = sized(name, 16, "token", overlap=4), Document("d", text)
                check_chunks(strategy, document, strategy.chunk(document))


@pytest.mark.parametrize("name", [name for name in names() if has_unit(name) or name in {"token", "cluster"}])
@pytest.mark.parametrize(
    "text",
    [
        "\u0301 " * 5_000 + BODY,
        BODY + "\u200b" * 5_000 + BODY,
        BODY + " " * 5_000 + BODY,
        ("word" + " " * 700) * 30,
        "One. " + "\ue000 One.\n" * 600,
        "\u200b\n" * 5_000,
        "e" + "\u0301" * 5_000,
        "deadbeef" * 700,
    ],
    ids=lambda text: f"{text[:2]!a} {text[-2:]!a}",
)
def test_no_chunk_has_more_characters_than_its_limit_implies(name: str, text: str) -> None:
    strategy, document = sized(name, 16, "token", overlap=4), Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    assert max(len(chunk.text) for chunk in leaves) <= CHARACTERS_PER_TOKEN * 16 + 4 * max(len(c.spans) for c in leaves)
