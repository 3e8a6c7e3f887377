"""`kinsplit.split`, strategies as functions, and texts without an id."""

from __future__ import annotations

import pytest

import kinsplit
from kinsplit import Document, InvalidParameterError, create_strategy, split
from kinsplit.parsers import default_strategy, names

TEXT = "Owls hunt at night. Larks sing at dawn. Gulls fish by day."


def test_split_is_the_strategy_of_that_name_with_those_parameters() -> None:
    document = Document("birds.md", TEXT, {"course": "birds"})
    assert split(document, "word", chunk_size=4) == create_strategy("word", chunk_size=4).chunk(document)
    assert split(document) == default_strategy().chunk(document)
    strategy = create_strategy("sentence", max_sentences=1)
    assert split(document, strategy) == strategy(document) == strategy.chunk(document)


@pytest.mark.parametrize("name", [name for name in names() if name not in ("semantic", "cluster", "llm")])
def test_every_strategy_splits_a_bare_text_as_a_document_named_by_its_hash(name: str) -> None:
    chunks = create_strategy(name).chunk(TEXT)
    assert chunks == split(Document(f"text#{_digest(TEXT)}", TEXT), name)
    assert "".join(TEXT[chunk.start : chunk.end] for chunk in chunks if chunk.level == 0).startswith("Owls")


def _digest(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def test_texts_and_documents_can_be_mixed_and_equal_texts_have_equal_ids() -> None:
    strategy = create_strategy("word", chunk_size=4)
    first, second, third = strategy.chunk_many([TEXT, Document("b", TEXT), TEXT])
    assert first == third
    assert {chunk.id for chunk in first}.isdisjoint(chunk.id for chunk in second)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: split(TEXT, "sentense"), "strategy"),
        (lambda: split(TEXT, "sentence", chunk_sise=3), "chunk_sise"),  # type: ignore[call-overload]
        (lambda: split(TEXT, create_strategy("word"), chunk_size=3), "chunk_size"),  # type: ignore[call-overload]
        (lambda: split(b"bytes"), "document"),  # type: ignore[call-overload]
        (lambda: create_strategy("word").chunk_many(TEXT), "documents"),
    ],
)
def test_a_wrong_call_names_its_field(call: object, field: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.field == field


def test_importing_the_name_does_not_import_the_parsers() -> None:
    import subprocess
    import sys

    code = "import sys, kinsplit; dir(kinsplit); print('kinsplit.parsers' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
    assert kinsplit.split is split
