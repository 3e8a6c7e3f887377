"""Texts, strategies and answers for the tests of `llm`."""

from __future__ import annotations

import json
import re
from typing import Any

from kinsplit.chunk import Document
from kinsplit.parsers import Strategy, create
from tests.parsers.contract import check_chunks

#: Ten sentences in three paragraphs, of which only the second begins a chunk by the rules at 20 words a chunk.
TEXT = (
    "Cats purr a lot. They sleep all day. They hunt mice at night. They love warm places.\n\n"
    "Dogs bark at strangers. They run in the park. They fetch sticks for hours.\n\n"
    "Fish swim in water. They never blink. They breathe by gills."
)
_NUMBERED = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)


def sentences_of(prompt: str) -> list[str]:
    """Return the sentences that a prompt shows."""
    numbered = _NUMBERED.findall(prompt)
    assert [int(number) for number, _ in numbered] == list(range(len(numbered)))
    return [sentence for _, sentence in numbered]


def at_fish(prompt: str) -> str:
    """Answer that a chunk begins wherever an animal is first named."""
    shown = sentences_of(prompt)
    return json.dumps({"starts": [i for i, s in enumerate(shown) if i == 0 or s.split()[0] in ("Dogs", "Fish")]})


def strategy_with(model: object, **parameters: Any) -> Strategy:
    return create("llm", model=model, **parameters)


def texts_of(strategy: Strategy, text: str) -> list[str]:
    document = Document("d", text)
    chunks = strategy.chunk(document)
    check_chunks(strategy, document, chunks)
    return [chunk.text for chunk in chunks]


def starts_of(strategy: Strategy, text: str = TEXT) -> list[str]:
    """Return the first word of each chunk."""
    return [chunk.split()[0] for chunk in texts_of(strategy, text)]


#: A thousand sentences, of which every fifth begins a chunk.
LONG = "\n\n".join(f"Animal {i} is here. It eats well. It sleeps well. It runs far away. It sings." for i in range(200))


def animals(prompt: str) -> str:
    shown = sentences_of(prompt)
    return json.dumps({"starts": [i for i, s in enumerate(shown) if s.startswith("Animal") or i == 0]})
