from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinsplit_testing import SCHEMA, TEXTS, embed, make_chunks, make_document, save

from kinsplit import Index
from kinsplit.chunk import DOCUMENT, Beside, Document
from kinsplit.identity import chunk_id, content_hash
from kinsplit.parsers import create, names
from kinsplit.spans import Span
from kinsplit.stores import Vectors, open_store
from kinsplit.stores.maintenance import verify
from tests.generators import strategy_parameters, texts
from tests.parsers.sized import plain


def family(source_id="doc"):
    """Return five leaves, two parents with three and two of them, and the document."""
    leaves = make_chunks(source_id, TEXTS)
    parents = make_chunks(source_id, ["\n".join(TEXTS[:3]), "\n".join(TEXTS[3:])], level=1)
    leaves = [replace(leaf, parent_id=parents[leaf.index // 3].id) for leaf in leaves]
    return [*leaves, *parents, make_document(leaves, "Objects")]


@pytest.fixture
def store():
    with open_store("memory:", "cs", SCHEMA) as store:
        for source_id in ("doc", "other"):
            save(store, source_id, family(source_id))
        yield store


def damage(store, chunk):
    store.put([chunk], embed([chunk]))


def kinds(store):
    return {(problem.kind, problem.level, problem.index) for problem in verify(store)}


def test_a_whole_store_has_no_problems(store):
    assert verify(store) == []


@given(data=st.data(), text=texts(), name=st.sampled_from(names()))
def test_what_a_strategy_makes_is_whole(data, text, name):
    strategy = create(name, **data.draw(strategy_parameters(name)))
    chunks = strategy.chunk(Document("doc", text))
    leaves = [chunk for chunk in chunks if chunk.level == 0]
    if leaves:
        chunks.append(make_document(leaves))
    vectors = {
        chunk.content_key: Vectors(None if chunk.level == DOCUMENT else np.ones(2, np.float32)) for chunk in chunks
    }
    with open_store("memory:", "cs", replace(SCHEMA, dimension=2)) as store:
        store.put(chunks, vectors)
        assert verify(store) == []


def test_a_chunk_that_is_gone_is_missed_by_its_neighbours(store):
    store.remove([family()[1].id])
    assert kinds(store) == {("index", 0, None), ("link", 0, 0), ("link", 0, 2), ("hash", DOCUMENT, 0)}
    assert [str(problem) for problem in verify(store)] == [
        "doc: level 0: 1 of 5 chunks are missing: 1",
        f"doc: level 0, chunk 0: next_id leads to no chunk of this source: {family()[1].id}",
        f"doc: level 0, chunk 2: prev_id leads to no chunk of this source: {family()[1].id}",
        "doc: level 100, chunk 0: content_hash is not that of its leaves",
    ]


def test_a_chunk_that_a_framework_wrote_back_is_kin_of_its_kin():
    schema = pytest.importorskip("llama_index.core.schema")
    from kinsplit.integrations.llama_index import KinsplitVectorStore

    text = "Some words stand here. " * 200
    with Index("memory:", strategy="hierarchical", embedder="hash:64") as index:
        index.add(Document("doc", text))
        leaf = index.store.find({"source_id": "doc"})[1]
        kept = KinsplitVectorStore(index.store)
        (node,) = kept.get_nodes([leaf.id])
        node.embedding = [1.0] * 64
        kept.add([node])
        assert index.store.get([leaf.id])[0] != leaf
        kept.add([schema.TextNode(text="Another one.", embedding=[1.0] * 64)])
        assert verify(index.store) == []
        kept.delete_nodes([node.node_id])
        assert {problem.kind for problem in verify(index.store)} == {"index", "link", "hash"}


def test_a_stale_chunk_disagrees_with_the_others(store):
    leaf = family()[4]
    stale = replace(leaf, id=chunk_id("doc", "f1", 0, 5), index=5, total=6, prev_id=leaf.id, parent_id=None)
    damage(store, stale)
    assert kinds(store) == {("index", 0, None), ("hash", DOCUMENT, 0)}
    assert "5, 6" in str(verify(store)[0])


def test_two_chunks_with_one_index(store):
    twin = replace(family()[2], id=chunk_id("doc", "f2", 0, 2))
    damage(store, twin)
    assert ("index", 0, 2) in kinds(store)


@pytest.mark.parametrize("name", ["prev_id", "next_id"])
@pytest.mark.parametrize("target", [None, 0, 4, 5, "other"])
def test_a_neighbour_that_is_not_the_neighbour(store, name, target):
    chunks = family()
    leads_to = family("other")[1].id if target == "other" else None if target is None else chunks[target].id
    damage(store, replace(chunks[2], **{name: leads_to}))
    (problem,) = verify(store)
    assert (problem.kind, problem.level, problem.index) == ("link", 0, 2)
    assert name in problem.detail


@pytest.mark.parametrize("target", [0, 6, "other"])
def test_a_parent_that_is_not_the_parent(store, target):
    parent = family("other")[5] if target == "other" else family()[target]
    damage(store, replace(family()[1], parent_id=parent.id))
    assert kinds(store) == {("parent", 0, 1)}


def test_children_without_their_parent(store):
    store.remove([family()[5].id])
    assert kinds(store) == {("parent", 0, n) for n in range(3)} | {("index", 1, None), ("link", 1, 1)}


def test_parents_and_documents_without_children(store):
    store.remove([leaf.id for leaf in family()[:5]])
    assert kinds(store) == {("child", 1, 0), ("child", 1, 1), ("hash", DOCUMENT, 0)}
    store.remove([parent.id for parent in family()[5:7]])
    assert kinds(store) == {("child", DOCUMENT, 0), ("hash", DOCUMENT, 0)}


@pytest.mark.parametrize("changes", [{"text": "Something else."}, {"beside": Beside(("Another heading",))}])
@pytest.mark.parametrize("place", [3, 5])
def test_a_text_that_was_changed_by_other_hands(store, place, changes):
    chunk = replace(family()[place], **changes)
    store.put([chunk], {})
    assert kinds(store) == {("hash", chunk.level, chunk.index)}


def test_a_changed_leaf_whose_document_was_left_as_it_was(store):
    text = family()[3].text[::-1]
    damage(store, replace(family()[3], text=text, content_hash=content_hash(text)))
    assert kinds(store) == {("hash", DOCUMENT, 0)}


def test_a_text_that_is_not_as_long_as_its_place(store):
    chunk = family()[3]
    store.put([replace(chunk, spans=(Span(chunk.start, chunk.end + 1),))], {})
    assert kinds(store) == {("hash", 0, chunk.index)}


def test_a_character_that_no_store_keeps_is_no_problem(store):
    leaves = make_chunks("odd", ["broken \ud800 text", "another"])
    save(store, "odd", [*leaves, make_document(leaves, "Odd")])
    assert verify(store) == []


def test_a_document_that_is_gone(store):
    store.remove([family()[-1].id])
    assert kinds(store) == {("parent", DOCUMENT, None)}


@pytest.mark.parametrize("name", names())
def test_what_an_index_holds_is_whole(name):
    text = "".join(f"# Part {part}\n\n" + "Some words stand here. " * 60 + "\n\n" for part in range(4))
    with Index("memory:", strategy=plain(name), embedder="hash:64") as index:
        index.add([Document("long", text), Document("short", "One sentence.")])
        assert index.store.count(DOCUMENT) == 2
        assert verify(index.store) == []
