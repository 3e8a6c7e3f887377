"""Guarantees of every strategy in both frameworks."""

from __future__ import annotations

import copy
import pickle
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import langchain_text_splitters
import llama_index.core.node_parser
import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document
from llama_index.core.schema import BaseNode, MetadataMode, ObjectType, TextNode

import kinsplit.integrations.langchain as langchain_classes
import kinsplit.integrations.llama_index as llama_index_classes
from kinsplit.details import details
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain import KinsplitTextSplitter, text_splitter
from kinsplit.integrations.llama_index import KinsplitNodeParser, node_parser
from kinsplit.integrations.shared.metadata import BOOKKEEPING
from kinsplit.integrations.shared.origins import generated_name
from kinsplit.parsers import create, describe, names, strategy_class
from tests.integrations.helpers import TEXT, small

#: Keys that are only in the metadata of some chunks.
_SOMETIMES = {"context", "gap", "similarity_gap", "section", "kinsplit"}

every_strategy = pytest.mark.parametrize("name", names())


def parse(name: str, documents: Sequence[BaseNode], **more: Any) -> list[TextNode]:
    return node_parser(name, **small(name), **more).get_nodes_from_documents(documents)


@pytest.fixture
def documents() -> list[Document]:
    return [Document(id_="a", text=TEXT, metadata={"course": "cs"}), Document(id_="b", text=TEXT * 2)]


def check_place(name: str, text: str, source: str, place: dict[str, Any]) -> None:
    """Check that a text is the slice, or the slices, of its source that its metadata name."""
    own = details(place)
    spans = own.get("spans", [[place["char_start"], place["char_end"]]])
    assert (spans[0][0], spans[-1][1]) == (place["char_start"], place["char_end"])
    assert text == "\n\n".join(source[start:end] for start, end in spans)
    assert "spans" not in own or (name == "cluster" and len(spans) > 1)


def check_links(nodes: Sequence[TextNode]) -> None:
    """Check that links join neighbours of one level of one source, both ways, and that metadata say the same."""
    levels = defaultdict(list)
    by_id = {node.id_: node for node in nodes}
    assert len(by_id) == len(nodes)
    for node in nodes:
        levels[node.ref_doc_id, node.metadata["level"]].append(node)
    for line in levels.values():
        for i, node in enumerate(line):
            assert (node.metadata["chunk_index"], node.metadata["total_chunks"]) == (i, len(line))
            before, after = (line[i - 1].id_ if i else None), (line[i + 1].id_ if i + 1 < len(line) else None)
            assert (node.prev_node and node.prev_node.node_id) == (node.metadata["prev_id"] or None) == before
            assert (node.next_node and node.next_node.node_id) == (node.metadata["next_id"] or None) == after
    for node in nodes:
        assert (node.parent_node and node.parent_node.node_id) == (node.metadata["parent_id"] or None)
        for child in node.child_nodes or []:
            assert by_id[child.node_id].parent_node.node_id == node.id_
            assert by_id[child.node_id].metadata["level"] == node.metadata["level"] - 1
    parents = [node.parent_node.node_id for node in nodes if node.parent_node and node.parent_node.node_id in by_id]
    assert len(parents) == sum(len(node.child_nodes or []) for node in nodes)


@every_strategy
def test_nodes_are_slices_with_links_and_ids(name: str, documents: list[Document]) -> None:
    texts = {document.id_: document.text for document in documents}
    nodes = parse(name, documents)
    assert len(nodes) > 4
    for node in nodes:
        assert type(node) is TextNode
        check_place(name, node.text, texts[node.ref_doc_id], node.metadata)
        assert (node.start_char_idx, node.end_char_idx) == (node.metadata["char_start"], node.metadata["char_end"])
        assert node.metadata["source_id"] == node.ref_doc_id
        assert node.metadata["strategy"] == name
        assert node.source_node.node_type == ObjectType.DOCUMENT
        assert node.source_node.metadata == {}
    check_links(nodes)
    if name == "hierarchical":
        assert {node.metadata["level"] for node in nodes} == {0, 1, 2}
        assert all(node.parent_node for node in nodes if node.metadata["level"] < 2)


@every_strategy
def test_source_hash_is_the_document_hash(name: str, documents: list[Document]) -> None:
    assert {n.source_node.hash for n in parse(name, documents[:1])} == {documents[0].hash}


@every_strategy
def test_metadata_keys_are_those_promised_and_stay_out_of_the_embedded_text(
    name: str, documents: list[Document]
) -> None:
    for node in parse(name, documents[:1]):
        assert set(node.metadata) - _SOMETIMES == {"course", *BOOKKEEPING}
        shown = f"course: cs\ncontext: {node.metadata['context']}" if "context" in node.metadata else "course: cs"
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert node.get_metadata_str(mode=mode) == shown
        assert not {"doc_id", "document_id", "ref_doc_id"} & set(node.metadata)


@every_strategy
def test_documents_are_slices_with_ids(name: str) -> None:
    given = [
        LangChainDocument(id="a", page_content=TEXT, metadata={"course": "cs"}),
        LangChainDocument(id="b", page_content=TEXT * 2),
    ]
    texts = {document.id: document.page_content for document in given}
    found = text_splitter(name, **small(name)).split_documents(given)
    assert len({document.id for document in found}) == len(found) > 4
    for document in found:
        place = document.metadata
        check_place(name, document.page_content, texts[place["source_id"]], place)
        assert (place["start_index"], place["end_index"]) == (place["char_start"], place["char_end"])
        own = {"course"} if place["source_id"] == "a" else set()
        assert set(place) - _SOMETIMES == {*BOOKKEEPING, "start_index", "end_index", *own}
        assert place["chunk_id"] == document.id


@every_strategy
def test_inputs_are_left_as_they_were(name: str, documents: list[Document]) -> None:
    before = [document.to_dict() for document in documents]
    given = LangChainDocument(id="a", page_content=TEXT, metadata={"tags": ["x"]})
    parse(name, documents)
    first, *_ = text_splitter(name, **small(name)).split_documents([given])
    first.metadata["tags"].append("y")
    assert [document.to_dict() for document in documents] == before
    assert given == LangChainDocument(id="a", page_content=TEXT, metadata={"tags": ["x"]})


@every_strategy
async def test_async_gives_the_same(name: str, documents: list[Document]) -> None:
    parser, splitter = node_parser(name, **small(name)), text_splitter(name, **small(name))
    assert await parser.aget_nodes_from_documents(documents) == parser.get_nodes_from_documents(documents)
    assert await parser.acall(documents) == parser(documents)
    given = [LangChainDocument(id="a", page_content=TEXT)]
    assert await splitter.atransform_documents(given) == splitter.transform_documents(given)


@every_strategy
def test_rebuilt_parsers_give_the_same(name: str, documents: list[Document]) -> None:
    parser = node_parser(name, **small(name))
    nodes = parser.get_nodes_from_documents(documents)
    kind = type(parser)
    rebuilt = [
        kind.from_dict(parser.to_dict()),
        kind.from_json(parser.to_json()),
        kind.from_defaults(**small(name)),
        pickle.loads(pickle.dumps(parser)),
        copy.copy(parser),
        copy.deepcopy(parser),
        parser.model_copy(),
        parser.model_copy(deep=True),
    ]
    for other in rebuilt:
        assert other.strategy == parser.strategy
        assert other.to_dict() == parser.to_dict()
        assert other.get_nodes_from_documents(documents) == nodes


class Marked(llama_index_classes.KinsplitSentenceNodeParser):
    """A parser with a field of its own."""

    mark: str = ""


def test_a_subclass_may_have_fields_of_its_own(documents: list[Document]) -> None:
    parser = Marked(chunk_size=9, chunk_overlap=0, mark="x")
    nodes = node_parser("sentence", chunk_size=9, chunk_overlap=0).get_nodes_from_documents(documents)
    parser.include_metadata = True
    for other in (parser, Marked.from_dict(parser.to_dict()), pickle.loads(pickle.dumps(parser)), parser.model_copy()):
        assert other.mark == "x"
        assert other.get_nodes_from_documents(documents) == nodes
    parser.chunk_size = 1000
    assert (parser.mark, len(parser.split_text("One. Two."))) == ("x", 1)
    with pytest.raises(InvalidParameterError, match='marks: is not a parameter of "sentence"'):
        Marked(marks="x")


@every_strategy
def test_rebuilt_splitters_give_the_same(name: str) -> None:
    splitter = text_splitter(name, **small(name), add_start_index=False)
    found = splitter.create_documents([TEXT])
    for other in (pickle.loads(pickle.dumps(splitter)), copy.copy(splitter), copy.deepcopy(splitter)):
        assert type(other) is type(splitter)
        assert other.create_documents([TEXT]) == found


@every_strategy
def test_blank_texts_give_nothing(name: str) -> None:
    for blank in ("", " \n\t\u00a0"):
        assert parse(name, [Document(text=blank)]) == []
        assert text_splitter(name).create_documents([blank]) == []
        assert text_splitter(name).split_text(blank) == node_parser(name).split_text(blank) == []


@every_strategy
def test_no_documents_give_nothing(name: str) -> None:
    assert parse(name, []) == []
    assert text_splitter(name).split_documents([]) == []


@every_strategy
def test_classes_show_the_strategys_parameters(name: str) -> None:
    parser, splitter = node_parser(name), text_splitter(name)
    assert type(parser) is getattr(llama_index_classes, generated_name(strategy_class(name).__name__, "NodeParser"))
    assert type(splitter) is getattr(langchain_classes, generated_name(strategy_class(name).__name__, "TextSplitter"))
    assert isinstance(parser, llama_index.core.node_parser.NodeParser)
    assert isinstance(splitter, langchain_text_splitters.TextSplitter)
    assert type(parser).class_name() == type(parser).__name__
    from inspect import signature

    for parameter in describe(name)["parameters"]:
        field, default = parameter["name"], parameter["default"]
        assert getattr(parser, field) == default == create(name).parameters[field]
        assert type(parser).model_fields[field].description == parameter["description"]
        for kind in (type(parser), type(splitter)):
            assert signature(kind).parameters[field].default == default
            assert field in kind.__doc__


@every_strategy
def test_a_parser_describes_itself_as_json_schema(name: str) -> None:
    schema = type(node_parser(name)).model_json_schema()
    assert set(strategy_class(name).model_fields) < set(schema["properties"])


@every_strategy
def test_langchains_private_attributes_are_there(name: str) -> None:
    splitter = text_splitter(name, **small(name))
    leaf = splitter.split_text(TEXT)[-1]
    assert 0 < splitter._length_function(leaf) <= splitter._chunk_size
    assert 0 <= splitter._chunk_overlap < splitter._chunk_size
    assert (splitter._add_start_index, splitter._keep_separator) == (True, True)
    assert splitter._strip_whitespace == (name != "character")
    with pytest.raises(AttributeError):
        splitter._chunk_size = 1


@every_strategy
def test_splitting_a_text_gives_the_chunks_texts(name: str) -> None:
    texts = [node.text for node in parse(name, [Document(text=TEXT)])]
    assert node_parser(name, **small(name)).split_text(TEXT) == texts
    assert text_splitter(name, **small(name)).split_text(TEXT) == texts


def test_no_public_name_has_another_meaning_in_a_framework() -> None:
    taken = {*llama_index.core.node_parser.__all__, *llama_index.core.__all__, *langchain_text_splitters.__all__}
    ours = {*llama_index_classes.__all__, *langchain_classes.__all__}
    assert not ours & taken
    assert {"KinsplitSentenceNodeParser", "KinsplitSentenceTextSplitter", "node_parser", "text_splitter"} <= ours
    assert issubclass(llama_index_classes.KinsplitSentenceNodeParser, KinsplitNodeParser)
    assert issubclass(langchain_classes.KinsplitSentenceTextSplitter, KinsplitTextSplitter)


@pytest.mark.parametrize("module", [llama_index_classes, langchain_classes])
def test_other_names_are_not_there(module: Any) -> None:
    with pytest.raises(AttributeError, match="KinsplitSemanticFoo"):
        getattr(module, "KinsplitSemanticFoo")  # noqa: B009
    assert dir(module) == sorted(module.__all__)
