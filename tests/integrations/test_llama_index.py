"""Node parsers inside LlamaIndex: ids, flags, pipelines, docstores, copies, callbacks, kinds of input."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import Document, MockEmbedding, Settings
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.ingestion import IngestionCache, IngestionPipeline
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.schema import (
    BaseNode,
    ImageDocument,
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore

from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.llama_index import KinsplitSentenceNodeParser, node_parser
from kinsplit.parsers import names
from tests.integrations.helpers import TEXT, small
from tests.parsers.sized import WITHOUT_MODEL


def numbered(i: int, node: BaseNode) -> str:
    return f"{node.node_id}#{i}"


def by_space(text: str) -> list[str]:
    return text.split(" ")


def document(**more: Any) -> Document:
    return Document(**{"id_": "d", "text": TEXT, "metadata": {"course": "cs"}, **more})


def test_a_users_ids_are_used_everywhere() -> None:
    for name in ("sentence", "hierarchical"):
        parser = node_parser(name, **small(name), id_func=numbered)
        nodes = parser([document()])
        assert [n.id_ for n in nodes] == [f"d#{i}" for i in range(len(nodes))]
        by_id = {n.id_: n for n in nodes}
        for node in nodes:
            for link in ("prev_id", "next_id", "parent_id"):
                assert not node.metadata[link] or node.metadata[link] in by_id
            if node.next_node:
                assert by_id[node.next_node.node_id].prev_node.node_id == node.id_
            for child in node.child_nodes or []:
                assert by_id[child.node_id].parent_node.node_id == node.id_


def test_a_users_id_function_survives_being_written_down() -> None:
    parser = node_parser("sentence", id_func=numbered)
    assert parser.to_dict()["id_func"] == f"{__name__}:numbered"
    for other in (
        KinsplitSentenceNodeParser.from_dict(parser.to_dict()),
        KinsplitSentenceNodeParser.from_json(parser.to_json()),
        pickle.loads(pickle.dumps(parser)),
    ):
        assert other.id_func is numbered


def test_a_local_id_function_is_carried_or_refused_but_never_lost() -> None:
    parser = node_parser("sentence", id_func=lambda i, node: f"{node.node_id}-{i}")
    assert KinsplitSentenceNodeParser.from_dict(parser.to_dict()).id_func is parser.id_func
    with pytest.raises(InvalidParameterError, match="id_func: can't be written as JSON"):
        parser.to_json()
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(parser)


def test_an_id_function_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'no\.module:f' can't be imported"):
        node_parser("sentence", id_func="no.module:f")


def test_an_id_function_that_repeats_itself_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="id_func: must return a different id for each node"):
        node_parser("word", chunk_size=2, id_func=lambda i, node: "same")([document()])


def test_23_a_tokenizer_that_cannot_be_carried_is_refused() -> None:
    parser = node_parser("sentence", chunk_size=8, tokenizer=by_space)
    assert max(len(by_space(node.text)) for node in parser([document()])) <= 8
    assert KinsplitSentenceNodeParser.from_dict(parser.to_dict()).strategy == parser.strategy
    with pytest.raises(InvalidParameterError, match="can't be carried to another process"):
        pickle.dumps(parser)
    with pytest.raises(InvalidParameterError, match="tokenizer: can't be written as JSON"):
        parser.to_json()


def test_wrong_parameters_are_refused_at_construction() -> None:
    with pytest.raises(InvalidParameterError, match='size: is not a parameter of "sentence"'):
        node_parser("sentence", size=3)
    with pytest.raises(InvalidParameterError, match="chunk_overlap: must be smaller than chunk_size"):
        node_parser("word", chunk_size=5, chunk_overlap=5)
    with pytest.raises(InvalidParameterError, match="strategy: must be the name of a strategy"):
        node_parser("sentences")


def test_include_metadata_false_leaves_out_only_the_documents_own() -> None:
    node, *_ = node_parser("sentence", include_metadata=False)([document()])
    assert "course" not in node.metadata
    assert node.metadata["source_id"] == "d"


def test_include_prev_next_rel_false_leaves_out_only_these_links() -> None:
    nodes = node_parser("hierarchical", **small("hierarchical"), include_prev_next_rel=False)([document()])
    links = {link for node in nodes for link in node.relationships}
    assert links == {NodeRelationship.SOURCE, NodeRelationship.PARENT, NodeRelationship.CHILD}


def test_templates_separators_and_excluded_keys_of_the_document_are_kept() -> None:
    given = document(
        metadata={"a": 1, "b": 2, "c": 3},
        excluded_embed_metadata_keys=["a", "level"],
        excluded_llm_metadata_keys=["b"],
        metadata_template="{key}={value}",
        metadata_separator=" / ",
        text_template="[{metadata_str}] {content}",
    )
    node, *_ = node_parser("word", chunk_size=3)([given])
    assert node.get_content(MetadataMode.EMBED) == f"[b=2 / c=3] {node.text}"
    assert node.get_content(MetadataMode.LLM) == f"[a=1 / c=3] {node.text}"
    assert node.excluded_embed_metadata_keys.count("level") == 1


def test_the_heading_path_is_embedded_but_not_part_of_the_text() -> None:
    nodes = node_parser("structure", **small("structure"))([document(metadata={})])
    node = next(n for n in nodes if n.metadata.get("context") == "Classes > Methods" and "method" in n.text)
    assert node.get_content(MetadataMode.EMBED) == f"context: Classes > Methods\n\n{node.text}"
    assert "Classes >" not in node.text


def test_a_chunk_does_not_take_over_the_documents_embedding() -> None:
    assert {n.embedding for n in node_parser("word", chunk_size=5)([document(embedding=[1.0])])} == {None}


def test_nodes_share_no_lists_or_metadata() -> None:
    first, second, *_ = node_parser("word", chunk_size=3)([document()])
    first.metadata["course"] = "math"
    first.excluded_embed_metadata_keys.append("course")
    first.excluded_llm_metadata_keys.append("course")
    assert second.metadata["course"] == "cs"
    assert "course" not in second.excluded_embed_metadata_keys + second.excluded_llm_metadata_keys


def test_model_copy_and_assignment_change_what_the_parser_does() -> None:
    parser = node_parser("sentence", chunk_size=500)
    copied = parser.model_copy(update={"chunk_size": 10})
    assert (copied.chunk_size, copied.chunk_overlap, copied.strategy.parameters["chunk_size"]) == (10, 2, 10)
    assert len(copied([document()])) > len(parser([document()])) == 1
    copied.chunk_size = 20
    assert (copied.chunk_overlap, copied.strategy.parameters["chunk_overlap"]) == (4, 4)
    copied.include_metadata = False
    assert "course" not in copied([document()])[0].metadata
    with pytest.raises(InvalidParameterError, match="chunk_size"):
        copied.chunk_size = 0
    assert copied.chunk_size == 20
    with pytest.raises(InvalidParameterError, match="is not a parameter"):
        copied.model_copy(update={"chunksize": 3})


def test_settings_can_set_the_chunk_size() -> None:
    before = Settings._node_parser
    try:
        Settings.node_parser = node_parser("sentence")
        Settings.chunk_size = 10
        assert len(Settings.node_parser([document()])) > 3
    finally:
        Settings._node_parser = before


def test_callbacks_are_called_when_nodes_are_parsed() -> None:
    handler = LlamaDebugHandler(print_trace_on_end=False)
    parser = node_parser("sentence", callback_manager=CallbackManager([handler]))
    parser([document()])
    ((start, end),) = handler.get_event_pairs(CBEventType.NODE_PARSING)
    assert [d.id_ for d in start.payload["documents"]] == ["d"]
    assert len(end.payload["nodes"]) == 1
    pickle.dumps(parser)


def test_a_progress_bar_is_shown_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [Document(id_=str(i), text="One. Two.") for i in range(150)]
    parser = node_parser("sentence")
    quiet = parser.get_nodes_from_documents(documents)
    assert "Parsing nodes" not in capsys.readouterr().err
    assert parser.get_nodes_from_documents(documents, show_progress=True) == quiet
    assert "150/150" in capsys.readouterr().err


def test_unknown_call_arguments_are_passed_over_as_in_the_framework() -> None:
    assert node_parser("word")([document()], some_stage_option=1)


def test_two_documents_with_one_id_are_split_once_or_refused() -> None:
    parser = node_parser("word")
    assert parser([document(), document(id_="e"), document()]) == parser([document(), document(id_="e")])
    pipeline = IngestionPipeline(transformations=[parser], disable_cache=True)
    assert pipeline.run(documents=[document(), document()]) == parser([document()])
    with pytest.raises(InvalidParameterError, match=r"documents: must have different ids.* at 0 and 1 .*'d'"):
        parser([document(), document(text="Another.")])


def test_replaced_metadata_keys_are_named_in_a_warning() -> None:
    given = document(metadata={"level": "beginner", "overlap": 3})
    with pytest.warns(UserWarning, match="'level', 'overlap'"):
        node, *_ = node_parser("word")([given])
    assert (node.metadata["level"], node.metadata["overlap"]) == (0, 0)


def test_every_kind_of_input_gives_nodes() -> None:
    image = ImageDocument(id_="i", text=TEXT, image="aGVsbG8=", image_mimetype="image/png")
    inputs: Sequence[BaseNode] = [
        image,
        document(),
        TextNode(id_="t", text=TEXT),
        IndexNode(id_="x", text=TEXT, index_id="y"),
    ]
    nodes = node_parser("word", chunk_size=10)(inputs)
    assert {(type(n), n.ref_doc_id) for n in nodes} == {
        (ImageNode, "i"),
        (TextNode, "d"),
        (TextNode, "t"),
        (TextNode, "x"),
    }
    assert {n.image for n in nodes if isinstance(n, ImageNode)} == {image.image}
    assert all(n.text == TEXT[n.start_char_idx : n.end_char_idx] for n in nodes)


def test_a_node_that_knows_its_place_gives_offsets_of_the_original() -> None:
    text = "Intro. One two three. Four five six. End."
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d", metadata={"big": "x" * 999}, hash="h")}
    known = TextNode(id_="n", text=text[7:36], start_char_idx=7, end_char_idx=36, relationships=source)
    for node in node_parser("sentence", chunk_size=3, unit="word")([known]):
        assert node.text == text[node.start_char_idx : node.end_char_idx]
        assert (node.ref_doc_id, node.source_node.hash, node.source_node.metadata) == ("d", "h", {})
        assert node.parent_node.node_id == node.metadata["parent_id"] == "n"


def test_a_node_whose_place_is_not_known_gives_none_rather_than_wrong_offsets() -> None:
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="d")}
    unknown = TextNode(id_="n", text="One. Two.", relationships=source)
    changed = TextNode(id_="m", text="One. Two. Three.", start_char_idx=3, end_char_idx=9, relationships=source)
    for node in node_parser("word", chunk_size=1)([unknown, changed]):
        assert (node.start_char_idx, node.end_char_idx, node.metadata.get("char_start")) == (None, None, None)
        assert node.ref_doc_id == "d"


def test_nodes_of_another_parser_are_linked_across_their_edges() -> None:
    text = "# A\n\nOne. Two. Three.\n\n# B\n\nFour. Five. Six.\n"
    sections = MarkdownNodeParser()([Document(id_="d", text=text)])
    nodes = node_parser("word", chunk_size=2)(sections)
    assert [n.metadata["chunk_index"] for n in nodes] == list(range(len(nodes)))
    assert [n.next_node and n.next_node.node_id for n in nodes] == [n.id_ for n in nodes[1:]] + [None]
    assert [n.prev_node and n.prev_node.node_id for n in nodes] == [None] + [n.id_ for n in nodes[:-1]]
    assert {n.parent_node.node_id for n in nodes} == {section.id_ for section in sections}


def test_23_pipelines_with_workers_and_without_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # LlamaIndex starts fresh processes, which import it anew; these are forked from one that has.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kinsplit.integrations.llama_index.parser"])
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: context)
    documents = [Document(id_=str(i), text=TEXT * (i + 1), metadata={"n": i}) for i in range(4)]
    stages = [node_parser("structure", **small("structure")), node_parser("word", chunk_size=6, id_func=numbered)]
    serial = IngestionPipeline(transformations=stages).run(documents=documents)
    parallel = IngestionPipeline(transformations=stages).run(documents=documents, num_workers=2)
    assert parallel == serial
    assert all(n.text == documents[int(n.ref_doc_id)].text[n.start_char_idx : n.end_char_idx] for n in serial)


async def test_an_async_pipeline_gives_the_same() -> None:
    stages = [node_parser("hierarchical", **small("hierarchical"))]
    expected = IngestionPipeline(transformations=stages).run(documents=[document()])
    assert await IngestionPipeline(transformations=stages).arun(documents=[document()]) == expected


def test_a_cache_gives_the_nodes_back_as_they_were() -> None:
    cache = IngestionCache()
    stages = [node_parser("hierarchical", **small("hierarchical"))]
    first = IngestionPipeline(transformations=stages, cache=cache).run(documents=[document()])
    again = IngestionPipeline(transformations=stages, cache=cache).run(documents=[document()])
    assert again == first
    assert again[0] is not first[0]
    finer = [stages[0].model_copy(update={"child_size": 20})]
    assert len(IngestionPipeline(transformations=finer, cache=cache).run(documents=[document()])) > len(first)


def test_a_docstore_sees_unchanged_and_changed_documents() -> None:
    docstore, store = SimpleDocumentStore(), SimpleVectorStore(stores_text=False)
    stages = [node_parser("sentence", **small("sentence")), MockEmbedding(embed_dim=4)]
    pipeline = IngestionPipeline(transformations=stages, docstore=docstore, vector_store=store)
    nodes = pipeline.run(documents=[document(), Document(id_="e", text="Other.")])
    assert len(store.data.embedding_dict) == len(nodes)
    assert pipeline.run(documents=[document(), Document(id_="e", text="Other.")]) == []
    assert len(pipeline.run(documents=[Document(id_="e", text="Changed.")])) == 1
    assert len(store.data.embedding_dict) == len(nodes)
    assert set(store.data.text_id_to_ref_doc_id.values()) == {"d", "e"}


def test_nodes_come_back_from_a_docstore_as_they_were() -> None:
    nodes = node_parser("hierarchical", **small("hierarchical"))([document()])
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    assert docstore.get_nodes([n.id_ for n in nodes]) == nodes


@pytest.mark.parametrize("name", names())
def test_parsing_is_silent(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        node_parser(name, **WITHOUT_MODEL.get(name, {}))([document()])
    assert capsys.readouterr() == ("", "")


def hashes_surrogates() -> bool:
    try:
        return bool(Document(text="\ud800").hash)
    except UnicodeEncodeError:
        return False


@pytest.mark.skipif(hashes_surrogates(), reason="older versions of LlamaIndex hash them")
def test_lone_surrogates_are_refused_with_the_documents_name() -> None:
    with pytest.raises(InvalidParameterError, match=r"documents: can't hold lone surrogates.*'notes.md'.*Replace them"):
        node_parser("word")([Document(id_="notes.md", text="One \ud800 two.")])
