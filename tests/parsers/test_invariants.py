"""Invariants of every strategy on arbitrary texts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.chunk import Document
from kinsplit.parsers import create, names
from tests.generators import strategy_parameters, texts
from tests.parsers.contract import check_chunks


@pytest.mark.parametrize("name", names())
def test_invariants_hold_for_any_text_and_parameters(name: str) -> None:
    @given(text=texts(), parameters=strategy_parameters(name))
    def check(text: str, parameters: dict[str, Any]) -> None:
        strategy = create(name, **parameters)
        document = Document("d", text)
        check_chunks(strategy, document, strategy.chunk(document))

    check()


@pytest.mark.parametrize("name", names())
def test_a_batch_gives_what_its_texts_give_alone(name: str) -> None:
    @settings(max_examples=30)
    @given(batch=st.lists(texts(8), max_size=4), parameters=strategy_parameters(name))
    def check(batch: list[str], parameters: dict[str, Any]) -> None:
        strategy = create(name, **parameters)
        assert strategy.split_many(batch) == [strategy.split(text) for text in batch]

    check()
