import json
import pickle
from dataclasses import replace
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinsplit_testing import SCHEMA, make_chunks, save

from kinsplit.chunk import RESERVED, Document
from kinsplit.errors import InvalidParameterError, StoreError
from kinsplit.parsers import create
from kinsplit.spans import Span
from kinsplit.stores.engines.edge.store import EdgeStore
from kinsplit.stores.filters import MOST_CONDITIONS, MOST_VALUES, check_request, to_conditions
from kinsplit.stores.payload import check_metadata, from_payload, to_payload
from kinsplit.stores.values import SyncReport, Where


class Kind(Enum):
    SLIDES = "slides"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc. ", max_size=3), inner, max_size=3),
    max_leaves=5,
)
metadata = st.dictionaries(
    st.text(min_size=1, max_size=8).filter(lambda key: key.isidentifier()), json_values, max_size=4
)


def test_the_payload_has_the_documented_keys():
    chunks = make_chunks("courses/cs/a.md", ["x" * 400, "y"], course="cs", sibling_files=("b.md",))
    assert to_payload(chunks[0]) == {
        "source_id": "courses/cs/a.md",
        "chunk_index": 0,
        "total_chunks": 2,
        "is_chunked": True,
        "level": 0,
        "parent_id": None,
        "prev_id": None,
        "next_id": chunks[1].id,
        "char_start": 0,
        "char_end": 400,
        "overlap": 0,
        "content_hash": chunks[0].content_hash,
        "context": "",
        "token_count": None,
        "full_content": "x" * 400,
        "content_preview": "x" * 300,
        "content_length": 400,
        "course": "cs",
        "sibling_files": ["b.md"],
    }


def test_a_document_of_one_chunk_is_not_chunked():
    (chunk,) = make_chunks("a", ["only"])
    assert to_payload(chunk)["is_chunked"] is False


def test_spans_are_kept_only_where_there_are_several():
    (chunk,) = make_chunks("a", ["one two"])
    several = replace(chunk, spans=(Span(0, 3), Span(90, 93)))
    assert "spans" not in to_payload(chunk)
    payload = to_payload(several)
    assert (payload["spans"], payload["char_start"], payload["char_end"]) == ([[0, 3], [90, 93]], 0, 93)
    assert from_payload(several.id, payload) == several


@given(metadata=metadata)
def test_metadata_comes_back_and_the_chunk_can_be_pickled(metadata):
    metadata = {key: value for key, value in metadata.items() if key not in RESERVED}
    (chunk,) = make_chunks("a", ["text"])
    chunk = replace(chunk, metadata=metadata)
    back = from_payload(chunk.id, to_payload(chunk))
    assert back == chunk
    assert pickle.loads(pickle.dumps(back)) == back


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with EdgeStore(str(tmp_path_factory.mktemp("edge")), "payloads", SCHEMA) as store:
        yield store


@given(metadata=metadata)
def test_what_the_engine_gives_back_is_no_change(store, metadata):
    metadata = {key: value for key, value in metadata.items() if key not in RESERVED}
    (chunk,) = make_chunks("a", ["text"])
    chunk = replace(chunk, metadata=metadata)
    save(store, "a", [chunk])
    assert store.sync("a", [chunk], {}) == SyncReport(unchanged=1)


def test_a_float_that_the_engine_rounds_is_no_change(store):
    (chunk,) = make_chunks("float", ["text"], size=1.1579208923731604e77, modified=1723456789.1234567)
    save(store, "float", [chunk])
    assert store.sync("float", [chunk], {}) == SyncReport(unchanged=1)
    (found,) = store.get([chunk.id])
    assert found.metadata == pytest.approx(chunk.metadata, rel=1e-15)


@pytest.mark.parametrize("key", sorted(RESERVED))
def test_a_reserved_key_is_refused_by_name(key):
    (chunk,) = make_chunks("a", ["text"])
    with pytest.raises(InvalidParameterError, match=f"'{key}'"):
        to_payload(replace(chunk, metadata={key: "mine"}))
    with pytest.raises(InvalidParameterError, match=f"'{key}'"):
        check_metadata({key: "mine"})


def test_what_an_indexer_places_is_taken_from_chunks_and_refused_from_documents():
    (chunk,) = make_chunks("a", ["text"], strategy="word", page_start=1, page_end=2)
    assert to_payload(chunk)["page_end"] == 2
    for key in ("strategy", "page_start", "page_end"):
        with pytest.raises(InvalidParameterError, match=key):
            check_metadata({key: "mine"})


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (object(), r"metadata\['k'\]"),
        (float("nan"), r"metadata\['k'\]"),
        (2**63, r"metadata\['k'\]"),
        (b"bytes", r"metadata\['k'\]"),
        ({1: 2}, r"metadata\['k'\]"),
        ({"deep": [1, b"2"]}, r"metadata\['k'\]\['deep'\]\[1\]"),
        (np.array([1, np.nan]), r"metadata\['k'\]\[1\]"),
        (np.datetime64("NaT"), r"metadata\['k'\]"),
        (np.timedelta64(1, "ns"), r"metadata\['k'\]"),
        (np.array([1j]), r"metadata\['k'\]"),
    ],
)
def test_a_value_that_json_does_not_have_is_refused_by_its_place(value, where):
    with pytest.raises(InvalidParameterError, match=where):
        check_metadata({"k": value})


def test_a_key_that_is_no_string_is_refused():
    with pytest.raises(InvalidParameterError, match="strings as keys"):
        check_metadata({1: "x"})


@pytest.mark.parametrize(("key", "value"), [("full_content", None), ("spans", 7), ("spans", [[1, 2, 3]])])
def test_a_damaged_payload_is_named(key: str, value: object) -> None:
    (chunk,) = create("sentence").chunk(Document("d", "One."))
    payload = {**to_payload(chunk), key: value}
    if value is None:
        del payload[key]
    with pytest.raises(StoreError, match=rf"point {chunk.id} is damaged.*index that again"):
        from_payload(chunk.id, payload)


@pytest.mark.parametrize("wrong", [[1], "subject=cs", {1: 2}, lambda _: True])
def test_a_filter_of_a_wrong_type_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameterError, match="where: must "):
        to_conditions(0, wrong)


@pytest.mark.parametrize(
    ("largest", "too_large"),
    [
        ({"year": [2020] * (MOST_VALUES - 2)}, {"year": [2020] * (MOST_VALUES - 1)}),
        ({"year": set(range(MOST_VALUES - 2))}, {"year": set(range(MOST_VALUES - 1))}),
        *(
            (make(MOST_CONDITIONS // each), make(MOST_CONDITIONS // each + 1))
            for each, make in (
                (1, lambda n: {"$or": [{f"key{i}": i} for i in range(n)]}),
                (1, lambda n: {"$or": [*({"year": i} for i in range(500)), *({f"key{i}": i} for i in range(n - 1))]}),
                (1, lambda n: {f"key{i}": {"$gte": i} for i in range(n)}),
                (1, lambda n: {"$not": {"$and": [{"source_id": i} for i in range(n)]}}),
                (1, lambda n: {"year": [i + 0.5 for i in range(n)]}),
                (2, lambda n: {"$or": [{f"key{i}": ["x", i]} for i in range(n)]}),
                (2, lambda n: {f"key.{i}": i for i in range(n)}),
                (5, lambda n: {"$or": [{f"key{i}": ["x", i, 0.5, True, None]} for i in range(n)]}),
            )
        ),
    ],
)
def test_filters_of_requests_have_a_largest_size(largest: Where, too_large: Where) -> None:
    check_request(largest)
    assert to_conditions(None, too_large)
    with pytest.raises(InvalidParameterError, match=r"^where: must h.* at most .*Filter by fewer"):
        check_request(too_large)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02T03:04:05Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02T03:04:05.000006"),
        (date(2024, 1, 2), "2024-01-02"),
        (Path("notes") / "a.md", "notes/a.md"),
        (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        ({"b", "a", 1}, ["a", "b", 1]),
        (frozenset({True}), [True]),
        (("x", (1,)), ["x", [1]]),
        (Kind.SLIDES, "slides"),
        (np.int64(7), 7),
        (np.float32(0.5), 0.5),
        (np.longdouble(0.5), 0.5),
        (np.float64(2020), 2020),
        (np.bool_(True), True),
        (np.str_("text"), "text"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.datetime64("2024-01-02"), "2024-01-02"),
        (np.datetime64("2024-01-02T03:04:05.123456789"), "2024-01-02T03:04:05.123456"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_of_other_kinds_are_written_as_json(value, stored):
    check_metadata({"k": value})
    (chunk,) = make_chunks("a", ["text"], k=value, deep={"k": [value]})
    payload = to_payload(chunk)
    assert payload["k"] == stored
    assert payload["deep"] == {"k": [stored]}
    assert type(payload["k"]) is type(stored)
    assert json.dumps(payload)
