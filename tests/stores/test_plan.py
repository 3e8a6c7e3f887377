import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinsplit_testing import make_chunks

from kinsplit.errors import InvalidParameterError
from kinsplit.stores.payload import to_payload
from kinsplit.stores.plan import content_of, plan_sync
from kinsplit.stores.values import SyncReport, Vectors

versions = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(old=versions, new=versions)
@settings(max_examples=100)
def test_a_plan_turns_what_is_stored_into_what_is_wanted(old, new):
    stored = {chunk.id: to_payload(chunk) for chunk in make_chunks("doc", old)}
    wanted = {chunk.id: to_payload(chunk) for chunk in make_chunks("doc", new)}
    chunks = make_chunks("doc", new)
    vectors = {chunk.content_key: Vectors(np.ones(2, np.float32)) for chunk in chunks if chunk.text not in old}

    plan = plan_sync("doc", chunks, stored, vectors, 2)

    result = {**stored, **dict(plan.upserts), **dict(plan.payloads)}
    for id_ in plan.deletes:
        del result[id_]
    assert result == wanted
    written = [id_ for id_, _ in (*plan.upserts, *plan.payloads)]
    assert len(written) == len(set(written))
    assert all(stored.get(id_) != wanted[id_] for id_ in written)
    assert all(stored[id_]["content_hash"] == payload["content_hash"] for id_, payload in plan.payloads)
    assert all(content_of(stored[id_]) == content for content, id_ in plan.donors.items())
    assert {content_of(payload) for _, payload in plan.upserts} <= {*plan.donors, *vectors}
    report = plan.report
    assert report.added == len(wanted.keys() - stored.keys())
    assert report.deleted == len(stored.keys() - wanted.keys()) == len(plan.deletes)
    assert report.added + report.updated == len(written)
    assert report.added + report.updated + report.unchanged == len(wanted)


@given(old=st.lists(st.sampled_from("abcdefgh"), unique=True), data=st.data())
@settings(max_examples=100)
def test_what_stays_in_the_document_is_there_after_every_write(old, data):
    kept = [text for text in old if data.draw(st.booleans())]
    new = list(kept)
    for text in data.draw(st.lists(st.sampled_from("12345"), unique=True)):
        new.insert(data.draw(st.integers(0, len(new))), text)
    state = {chunk.id: to_payload(chunk) for chunk in make_chunks("doc", old)}
    chunks = make_chunks("doc", new)
    vectors = {chunk.content_key: Vectors(np.ones(2, np.float32)) for chunk in chunks}
    plan = plan_sync("doc", chunks, state, vectors, 2)
    for id_, payload in plan.upserts:
        state[id_] = payload
        assert {payload["full_content"] for payload in state.values()} >= set(kept)


def test_a_chunk_that_changes_its_level_needs_other_vectors():
    (leaf,) = make_chunks("doc", ["text"])
    stored = {leaf.id: {**to_payload(leaf), "level": 1}}
    with pytest.raises(InvalidParameterError, match="each content that the store lacks"):
        plan_sync("doc", [leaf], stored, {}, 2)
    plan = plan_sync("doc", [leaf], stored, {leaf.content_key: Vectors(np.ones(2, np.float32))}, 2)
    assert (len(plan.upserts), plan.donors, plan.report) == (1, {}, SyncReport(updated=1))


def test_an_id_that_comes_twice_is_named():
    one, two = make_chunks("doc", ["a", "b"])
    with pytest.raises(InvalidParameterError, match=two.id):
        plan_sync("doc", [one, two, two], {}, {}, 2)


def test_reports_add_up():
    assert SyncReport(1, 2, 3, 4) + SyncReport(10, 20, 30, 40) == SyncReport(11, 22, 33, 44)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (1, True, False),
        (1, 1.0, True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 2}, False),
        ([{"a": 0.1}], [{"a": 0.1}], True),
    ],
)
def test_payloads_are_compared_by_value_and_kind(old, new, same):
    (before,), (after,) = make_chunks("doc", ["text"], k=old), make_chunks("doc", ["text"], k=new)
    plan = plan_sync("doc", [after], {before.id: to_payload(before)}, {}, 2)
    assert plan.report == (SyncReport(unchanged=1) if same else SyncReport(updated=1))
