"""Documents, chunks, spans and ids."""

from __future__ import annotations

import dataclasses
import pickle
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.chunk import FIELDS, Chunk, Document
from kinsplit.identity import KINSPLIT, chunk_id, content_hash, document_hash
from kinsplit.spans import Span

names = st.text(st.characters(codec="utf-8"), max_size=30)


def made(**changes: object) -> Chunk:
    values = {
        "id": "i",
        "source_id": "s",
        "index": 0,
        "total": 1,
        "level": 0,
        "spans": (Span(3, 7),),
        "text": "text",
        "overlap": 0,
        "parent_id": None,
        "prev_id": None,
        "next_id": None,
        "token_count": None,
        "content_hash": content_hash("text"),
    }
    return Chunk(**{**values, **changes})


@given(names, names, st.integers(0, 9), st.integers(0, 10**6))
def test_an_id_is_the_uuid_of_source_strategy_level_and_index(
    source: str, strategy: str, level: int, index: int
) -> None:
    found = chunk_id(source, strategy, level, index)
    assert found == str(uuid.uuid5(KINSPLIT, f"{source}|{strategy}|{level}|{index}"))
    assert uuid.UUID(found).version == 5


def test_the_namespace_and_an_id_never_change() -> None:
    assert str(KINSPLIT) == "e93bbe45-bc21-5253-a3e1-74531bd65c94"
    assert chunk_id("a.md", "0123456789abcdef", 0, 3) == "10caa69e-3a77-5e18-adee-17de59e06dbd"


def test_an_id_is_made_of_any_source_name() -> None:
    sources = ["", "./data/andrei.txt_1", "a|b", "Ünïcödé 今天", "\ud800", "x" * 10_000]
    assert len({chunk_id(source, "f", 0, 0) for source in sources}) == len(sources)


def test_a_hash_sees_text_and_context_apart() -> None:
    hashes = [
        content_hash("ab"),
        content_hash("ab", "c"),
        content_hash("b", "a"),
        content_hash("abc"),
        content_hash(""),
    ]
    assert len(set(hashes)) == len(hashes)
    assert all(len(h) == 32 for h in hashes)
    assert content_hash("\ud800") != content_hash("\ud801")


def test_a_chunk_reaches_from_its_first_span_to_its_last() -> None:
    chunk = made(spans=(Span(3, 7), Span(20, 25)))
    assert (chunk.start, chunk.end) == (3, 25)


@pytest.mark.parametrize("value", [made(), Document("d", "text")])
def test_values_are_frozen_and_slotted(value: Chunk | Document) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        value.text = "other"  # type: ignore[misc]
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("value", [made(metadata={"a": 1}), Document("d", "text", {"a": 1}, (0, 2)), Span(1, 2)])
def test_values_survive_pickling(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value


@pytest.mark.parametrize(
    ("start", "end", "pages"),
    [
        (0, 1, (1, 1)),
        (0, 10, (1, 1)),
        (9, 11, (1, 2)),
        (10, 20, (2, 2)),
        (10, 21, (2, 4)),
        (25, 30, (4, 4)),
        (5, 5, (1, 1)),
    ],
)
def test_the_pages_of_a_range(start: int, end: int, pages: tuple[int, int]) -> None:
    # The third page is empty.
    assert Document("d", "x" * 30, pages=(0, 10, 20, 20)).page_range(start, end) == pages


def test_a_document_without_pages_has_no_page_range() -> None:
    assert Document("d", "text").page_range(0, 4) is None


def test_a_documents_hash_depends_on_its_leaves_and_their_order() -> None:
    one, two = content_hash("one"), content_hash("two")
    assert document_hash([one, two]) == document_hash(iter([one, two]))
    assert len({document_hash(hashes) for hashes in ([one, two], [two, one], [one], [])}) == 4


def test_the_table_of_fields_holds_every_attribute_of_a_chunk_but_its_metadata() -> None:
    own = {each.name for each in dataclasses.fields(Chunk)}
    assert own - {field.attribute for field in FIELDS} == {"metadata"}
    assert {field.attribute for field in FIELDS if not field.is_computed} == own - {"metadata"}
